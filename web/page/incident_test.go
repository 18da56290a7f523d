package page_test

import (
	"io/fs"
	"slices"
	"testing"

	"relock/engine"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons"
	"relock/lessons/lessonstest"
	"relock/web/page"
)

// An incident opens at the row in which the rule of its symptom is broken, if its run
// breaks it; and it is told after what its run shows first.
func TestAnIncidentOpensAtTheRuleOfItsSymptom(t *testing.T) {
	symptoms, err := lessons.Incidents()
	if err != nil {
		t.Fatal(err)
	}
	for _, symptom := range symptoms {
		breaks := 0
		for _, i := range symptom.Incidents {
			data, err := fs.ReadFile(lessons.IncidentFiles(), i.File(false))
			if err != nil {
				t.Fatal(err)
			}
			sc, err := scenario.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			at, err := page.GoesWrong(i.ID, symptom.Rule, sc)
			if err != nil {
				t.Fatal(err)
			}
			events := lessonstest.PlayScenario(t, sc).Events
			broken := engine.Broken(events)
			if !slices.Contains(broken, symptom.Rule) {
				if len(broken) > 0 {
					t.Errorf("%s breaks %v, but it is told as %s", i.ID, broken, symptom.Rule)
				}
				continue
			}
			breaks++
			if !slices.ContainsFunc(events, func(e trace.Event) bool {
				v, is := e.Body.(trace.Violation)
				return is && e.Step == at.Row && v.Rule == symptom.Rule
			}) {
				t.Errorf("%s opens at T%d, where %s is not broken", i.ID, at.Row, symptom.Rule)
			}
		}
		if breaks == 0 {
			t.Errorf("no run of %s breaks %s", symptom.ID, symptom.Rule)
		}
	}
}

// What would mend an incident opens at the last row that is not after the one at which the
// incident goes wrong, and before the run's end.
func TestACureOpensWhereItWentWrong(t *testing.T) {
	symptoms, err := lessons.Incidents()
	if err != nil {
		t.Fatal(err)
	}
	for _, symptom := range symptoms {
		for _, i := range symptom.Incidents {
			read := func(cured bool) *scenario.Scenario {
				data, err := fs.ReadFile(lessons.IncidentFiles(), i.File(cured))
				if err != nil {
					t.Fatal(err)
				}
				sc, err := scenario.Parse(data)
				if err != nil {
					t.Fatal(err)
				}
				return sc
			}
			if !i.Cured {
				continue
			}
			wrong, err := page.GoesWrong(i.ID, symptom.Rule, read(false))
			if err != nil {
				t.Fatal(err)
			}
			at, err := page.GoesWell(i.ID, wrong, read(true))
			if err != nil {
				t.Fatal(err)
			}
			last := 0
			for _, e := range lessonstest.PlayScenario(t, read(true)).Events {
				if _, ends := e.Body.(trace.End); e.At <= wrong.At && (!ends || e.Thread != "") {
					last = max(last, e.Step)
				}
			}
			if last == 0 || at.Row != last {
				t.Errorf("%s, mended, opens at T%d; the last row until %v is T%d", i.ID, at.Row, wrong.At, last)
			}
		}
	}
}
