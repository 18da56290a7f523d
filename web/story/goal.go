package story

import (
	"relock/web/page"
	"relock/web/templates"
)

func (m *maker) goals() []Story {
	l := m.l
	a, b := page.SceneThread{Name: "A"}, page.SceneThread{Name: "B", Ordinal: 1}
	target := page.Scene{Caption: l.Say("The target"), Inside: []page.SceneThread{a, b}, Holders: []page.SceneThread{b}, Broken: []string{l.Say("two inside at once")}}
	here := page.Scene{Caption: l.Say("Where you are"), Outside: []page.SceneThread{a, b}, Key: l.Say("no key"), Resource: l.Say("counter") + ": 1"}
	return []Story{
		{Name: "Scene: what is asked for", Component: templates.Scene(target)},
		{Name: "Scene: nobody is inside", Component: templates.Scene(here)},
		{Name: "Goal: out of reach", Component: templates.GoalOutlook(page.GoalOutlook{
			Says: l.Say("From here it can no longer be done: no step is left that could come in another order."), Lost: true, Back: 3, Go: l.Say("Back to move %d", 3),
		})},
		{Name: "Goal: not known", Component: templates.GoalOutlook(page.GoalOutlook{
			Says: l.Say("The search found no way from here. But it could not search every order, so there may be one."),
		})},
	}
}
