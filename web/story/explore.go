package story

import (
	"slices"
	"time"

	"relock/engine/explore"
	"relock/web/page"
	"relock/web/templates"
)

func (m *maker) explorer() []Story {
	l := m.l
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	graph := explore.Graph{
		States: []explore.State{
			{At: 0, Share: 1, Broken: 0.5, Fate: explore.Open},
			{At: ms(50), Share: 0.5, Broken: 0.5, Fate: explore.Broken},
			{At: ms(50), Share: 0.5, Fate: explore.Sound},
		},
		Ways: []explore.Way{
			{From: 0, To: 1, Share: 0.5, Broken: 0.5, Fate: explore.Broken},
			{From: 0, To: 2, Share: 0.5, Fate: explore.Sound},
			{From: 1, To: -1, Share: 0.5, Broken: 0.5, Breaks: true, Fate: explore.Broken},
			{From: 2, To: -1, Share: 0.5, Fate: explore.Sound},
		},
		Order: []int{0, 1, 2},
	}
	cut := graph
	cut.Cut = true
	cut.States, cut.Ways = slices.Clone(graph.States), slices.Clone(graph.Ways)
	cut.States[2].Fate, cut.Ways[1].Fate = explore.Untried, explore.Untried
	rule := page.BrokenRule{Name: "shut-out", Title: l.Say("shut out"), Cost: l.Say("%d moves", 10)}
	going := page.Begun(l, 0, false)
	going.Least = l.Say("The smallest found takes")
	going.Rules = []page.BrokenRule{rule}
	rule.Orders, rule.Share, rule.Lost = l.Say("%[1]s of %[2]s (%[3]s)", "109", "182", "60 %"), 0.6, l.Say("After move %d it is inevitable.", 7)
	ended := page.Found{
		Title: going.Title, Least: l.Say("The smallest takes"), Counted: l.Say("%s states, merged where they are the same.", "298"), Rules: []page.BrokenRule{rule},
		Ending: l.Say("%[1]s of %[2]s orders with %[3]s break a rule. All of them were tried.", "109", "182", l.Say("at most %d delays", 2)),
		Others: l.Say("All other rules hold in every order. Nothing beyond that was searched."),
	}
	judged := ended
	rule.Link = "/play#v1"
	judged.Rules = []page.BrokenRule{rule}
	judged.Never = l.Say("No order reached these commands: %s.", l.Say("%[1]s, line %[2]s", "unlock", "4"))
	sound := ended
	sound.Rules, sound.Others, sound.Sound = nil, "", true
	sound.Ending = l.Say("None of the %[1]s orders with %[2]s breaks a rule. Nothing beyond that was searched.", "182", l.Say("at most %d delays", 2))
	stopped := sound
	stopped.Sound, stopped.Maybe = false, true
	stopped.Ending = l.Say("%s %s", l.Say("The search was cut short: %s.", l.Say("it was stopped")), l.Say("None of the %s orders tried breaks a rule. That does not mean that none can.", "182"))
	return []Story{
		{Name: "Found: the search goes on", Component: templates.Found(going)},
		{Name: "Found: a rule is broken", Component: templates.Found(ended)},
		{Name: "Found: a lock of one's own is judged", Component: templates.Found(judged)},
		{Name: "Found: no rule is broken", Component: templates.Found(sound)},
		{Name: "Found: the search was cut short", Component: templates.Found(stopped)},
		{Name: "ExploreKinds", Component: templates.ExploreKinds([]page.Kind{{Name: "crash", Label: l.Say("crash")}, {Name: "pause", Label: l.Say("pause")}})},
		{Name: "Space: three states", Component: templates.Space(page.NewSpacePicture(l, graph))},
		{Name: "Space: a search that was cut short", Component: templates.Space(page.NewSpacePicture(l, cut))},
		{Name: "Outlook: outside of the space", Component: templates.Outlook(page.Outlook{})},
		{Name: "Outlook: two branches part", Component: templates.Outlook(page.Outlook{
			Here: l.Say("From here on every order breaks a rule: all %s.", "33"), Tone: string(page.All),
			Parting: &page.Parting{
				Bad: l.Say("main"), Good: l.Say("branch %d", 1), At: m.ms(50), Before: l.Say("From here %s", l.Say("%[1]s of %[2]s ways break a rule.", "33", "38")),
				BadDid: l.Say("nobody moves until %s", m.ms(60)), BadAfter: l.Say("%[1]s of %[2]s break", "33", "33"),
				GoodDid: l.Say("%s: %s", "B", "EXISTS"), GoodAfter: l.Say("%[1]s of %[2]s break", "0", "5"),
			},
		})},
	}
}
