package story

import (
	"time"

	"relock/engine/check"
	"relock/engine/explore/mend"
	"relock/engine/scenario"
	"relock/lessons/advice"
	"relock/web/film"
	"relock/web/page"
	"relock/web/templates"
)

func (m *maker) mender() []Story {
	l := m.l
	rules := []string{l.Say("lost update"), l.Say("two inside at once")}
	token := page.CureRow{
		Name: "checks: token, protocol: fenced", Title: l.Say("A fencing token, checked by the resource"), Verdict: string(mend.Protects), Good: true, Helped: true,
		Note: l.Say("It refuses a write with an older token than it has seen, whatever its thread believes") + ".",
		Says: l.Say("What the lock protects stays intact. Two can still be inside at once, in %[1]s of %[2]s orders.", "42", "55"),
		Open: "/play#v1.z.a~0", Left: "/play#v1.z.b~0", LeftSays: rules[1],
	}
	line := func(n int, tone film.Tone, says string) page.BrokenCount {
		return page.BrokenCount{What: rules[n], Says: says, Tone: tone}
	}
	token.Broken = []page.BrokenCount{line(0, film.Good, l.Say("%[1]s → %[2]s", "42", l.Say("%[1]s of %[2]s orders", "0", "55"))), line(1, film.Plain, l.Say("still %s", l.Say("%[1]s of %[2]s orders", "42", "55")))}
	token.Why = page.CureWhy{
		Says: l.Say("The same moves, at %[1]s's %[2]s. With the change: %[3]s. Without it: %[4]s.", "A", l.Say("write"), l.Say("its write with token %d is refused: a newer one was seen", 33), l.Say("writes %d", 1)),
		Threads: []page.LockThread{{Name: "A", Rows: []page.LockRow{{What: l.Say("write"), Differs: true, First: true, Cells: []page.LockCell{
			{Text: l.Say("writes %d", 1), At: l.Duration(240 * time.Millisecond)}, {Text: l.Say("its write with token %d is refused: a newer one was seen", 33), At: l.Duration(240 * time.Millisecond), Tone: film.Bad},
		}}}}},
	}
	lease := page.CureRow{
		Name: "lease: 500ms", Title: l.Say("A lease of %s", "500 ms"), Verdict: string(mend.UpTo),
		Note: l.Say("It is longer than the longest hold here, %[1]s. A crashed holder keeps the others out for %[2]s", "240 ms", "500 ms") + ".",
		Says: l.Say("None of %[1]s orders breaks a rule. With a pause of %[2]s, %[3]s of %[4]s do.", "687", "500 ms", "67", "85"),
		Open: "/play#v1.z.c~0", Left: "/play#v1.z.d~0", LeftSays: rules[0],
	}
	lease.Broken = []page.BrokenCount{
		line(0, film.Good, l.Say("%[1]s → %[2]s", "42", l.Say("%[1]s of %[2]s orders", "0", "687"))), line(1, film.Good, l.Say("%[1]s → %[2]s", "42", l.Say("%[1]s of %[2]s orders", "0", "687"))),
		{What: l.Say("with a pause of %s", "500 ms"), Says: l.Say("%[1]s of %[2]s orders", "67", "85"), Tone: film.Bad},
	}
	other := page.CureRow{
		Name: "protocol: fenced", Title: l.Say("The lock %s", "fenced"), Verdict: string(mend.Nothing), Says: l.Say("%[1]s of %[2]s orders break a rule.", "42", "55"),
		New: l.Say("New with it: %s.", l.Say("shut out")), Open: "/play#v1.z.e~0",
	}
	before := l.Say("As it is, %[1]s of %[2]s orders with %[3]s break a rule.", "42", "55", l.Say("at most %d delays", 2))
	asks, within := l.Say("What would have saved the counter?"), l.Say("each tried in every order with %s", l.Say("at most %d delays", 2))
	going := page.Mended{Going: true, Asks: asks, Within: within, Before: before, Broken: true, Cures: []page.CureRow{lease}, Tried: l.Say("%[1]d of %[2]d changes tried.", 1, 9), Done: 1, All: 9}
	ended := page.Mended{
		Asks: asks, Within: within, Before: before, Broken: true, Cures: []page.CureRow{token, lease}, Order: page.CureOrder(l), Others: []page.CureRow{other}, Sound: true, Course: "/learn/tokens",
		Program: advice.Program("fenced", "token", "invoice:7"), Report: "# " + token.Title + "\n",
		Tried:  l.Say("%[1]d of %[2]d changes tried.", 9, 9),
		Lesson: l.Say("No lease keeps two out for ever: a pause can always be longer. So let what the lock protects check."),
		Ending: l.Say("No lock can mend this alone: the resource it protects must decide. %s", l.Say("This protects it: %s.", token.Title)),
	}
	open := ended
	open.Lesson, open.Program, open.Report = "", "", ""
	open.Cures, open.Order, open.Sound, open.Ending = nil, "", false, l.Say("No lock can mend this alone: the resource it protects must refuse late writes.")
	nothing := page.Mended{Before: before, Ending: l.Say("There is nothing to mend within these bounds. Nothing beyond them was tried.")}
	causes := []film.Cause{
		{Row: 1, Says: l.Say("%s has the lock: hold count %d, and a lease of %s.", "A", 1, "100 ms")},
		{Row: 7, Says: l.Say("Redis drops %s's key: its lease of %s is over. %s is paused and does not know.", "A", "100 ms", "A")},
		{Row: 8, Says: l.Say("%s has the lock at retry %d: hold count %d, and a lease of %s.", "B", 5, 1, "100 ms"), Broken: l.Clause(check.Title(check.MutualExclusion))},
	}
	return []Story{
		{Name: "Causes of a broken rule", Component: templates.Causes(causes)},
		{Name: "Mended: it begins", Component: templates.Mended(page.MendBegun(l, &scenario.Scenario{Resource: &scenario.Resource{Kind: scenario.KindCounter}}))},
		{Name: "Mended: the search goes on", Component: templates.Mended(going)},
		{Name: "Mended: with the resource's help", Component: templates.Mended(ended)},
		{Name: "Mended: nothing does", Component: templates.Mended(open)},
		{Name: "Mended: nothing to mend", Component: templates.Mended(nothing)},
	}
}
