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
	log := page.DiagnosisLog{Title: l.Say("The logs of the clients"), Lines: []string{"  0.000 A lock: acquired", "  0.500 B lock: refused", "  3.500 B lock attempt 2: acquired"}}
	monitor := page.DiagnosisLog{Title: "redis-cli MONITOR", Tool: true, Lines: []string{`1700000000.000000 [0 127.0.0.1:50001] "SET" "report" "A" "NX" "PX" "3000"`}}
	return []Story{
		{Name: "Diagnosis: what was logged", Component: templates.DiagnosisLogs([]page.DiagnosisLog{log, monitor})},
		{Name: "Diagnosis: where the logs of a wrong cause part", Component: templates.DiagnosisFound(page.Diagnosis{Parting: &page.DiagnosisParting{
			Says: l.Say("Its run writes something else. In “%[1]s”, line %[2]d is not the line here, but: %[3]s", log.Title, 3, "4.500 B lock attempt 2: acquired"),
			Diff: []page.ReviewDiff{{Sign: " ", Text: log.Lines[1]}, {Sign: "-", Text: log.Lines[2]}, {Sign: "+", Text: "  4.500 B lock attempt 2: acquired"}},
		}})},
		{Name: "Diagnosis: what a command prints under two causes", Component: templates.DiagnosisFound(page.Diagnosis{Printed: []page.DiagnosisAnswer{
			{Cause: "<p>A</p>", Reply: `"A"`}, {Cause: "<p>B</p>", Reply: "(nil)"},
		}})},
		{Name: "Ranking: an order that is half right, one of its runs on the stage", Component: templates.Ranked(page.Ranking{
			Of:         "Two writes",
			Situations: []string{"<p>A works on.</p>", "<p>A stands still.</p>"},
			Right:      []string{"Right in it: your number 1 saves more than your number 3."},
			Rows: []page.RankingRow{
				{Mend: "<p>The counter compares.</p>", Saves: 2, Cells: []page.RankingCell{{Saved: true, Watch: "#1-1"}, {Saved: true, Watch: "#1-2"}}},
				{Mend: "<p>A watchdog renews.</p>", Saves: 1, Cells: []page.RankingCell{{Saved: true, Watch: "#2-1"}, {Watch: "#2-2", Shown: true}}},
				{Mend: "<p>Replicas have it.</p>", Cells: []page.RankingCell{{Watch: "#3-1"}, {Watch: "#3-2"}}},
			},
		})},
		{Name: "Scene: what is asked for", Component: templates.Scene(target)},
		{Name: "Scene: nobody is inside", Component: templates.Scene(here)},
		{Name: "Goal: out of reach", Component: templates.GoalOutlook(page.GoalOutlook{
			Says: l.Say("From here it can no longer be done: the rest can come in one order only."), Lost: true, Back: 3, Go: l.Say("Back to move %d", 3),
		})},
		{Name: "Goal: not known", Component: templates.GoalOutlook(page.GoalOutlook{
			Says: l.Say("The search found no way from here. But it could not search every order, so there may be one."),
		})},
	}
}
