package story

import (
	"relock/engine/check"
	"relock/engine/outside/lab"
	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/verdict"
	"relock/web/page"
	"relock/web/templates"
)

func (m *maker) lab() []Story {
	l := m.l
	in := lab.Bounds{Faults: []string{lab.LoseReply}, MaxFaults: 1, MaxOrders: 2000}
	order := []lab.Decision{{Thread: "A", Do: lab.LoseReply}, {Thread: "A"}, {Thread: "B"}}
	found := func(tried lab.Tried) page.LabFound {
		return page.NewLabFound(l, check.Kind{}, in, 0, 0, 0, false, tried, nil)
	}
	broken := verdict.Evidence{Broken: []string{check.MutualExclusion}, Key: true, Inside: 2}
	return []Story{
		{Name: "LabFound: the search goes on", Component: templates.LabFound(page.NewLabFound(l, check.Kind{}, in, 31, 12, 4, true, lab.Tried{}, nil))},
		{Name: "LabFound: a rule breaks", Component: templates.LabFound(found(lab.Tried{
			Ending: lab.Exhausted, Orders: 65, Broken: 9, Rules: []lab.Broken{{Rule: "shut-out", By: trace.ByEffects, Orders: 9, Order: order}}, Evidence: broken,
		}))},
		{Name: "LabFound: none does", Component: templates.LabFound(found(lab.Tried{Ending: lab.Exhausted, Orders: 638, Evidence: verdict.Evidence{Key: true, Inside: 2}}))},
		{Name: "LabFound: it cannot be judged", Component: templates.LabFound(found(lab.Tried{Ending: lab.Exhausted, Orders: 10, Evidence: verdict.Evidence{Advice: verdict.Advice{NoKey: verdict.Help{Says: phrase.Say("Name the lock's key.")}}}}))},
		{Name: "LabFound: there are more", Component: templates.LabFound(found(lab.Tried{
			Ending: lab.Bound, Orders: 2000, Broken: 0, Drawn: &lab.Drawn{Orders: 200, Broken: 3, Low: .005, High: .043}, Evidence: broken,
		}))},
		{Name: "LabFound: it cannot be searched", Component: templates.LabFound(page.NewLabFound(l, check.Kind{}, in, 0, 0, 0, false, lab.Tried{}, &lab.RoundlessError{Thread: "B"}))},
	}
}
