package lessons_test

import (
	"io/fs"
	"testing"

	"relock/engine"
	"relock/engine/scenario"
	"relock/lessons"
	"relock/lessons/lessonstest"
)

// Each incident goes wrong as it is told, and its cure does not.
func TestIncidentsGoWrongAndAreCured(t *testing.T) {
	symptoms, err := lessons.Incidents()
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, s := range symptoms {
		for _, i := range s.Incidents {
			count++
			broken, ends := incident(t, i, false)
			if len(broken) == 0 && ends == "" {
				t.Errorf("%s: nothing goes wrong", i.ID)
			}
			if !i.Cured {
				continue
			}
			if broken, _ := incident(t, i, true); len(broken) > 0 {
				t.Errorf("%s: its cure breaks %v", i.ID, broken)
			}
		}
	}
	if count < 10 {
		t.Errorf("%d incidents", count)
	}
}

// incident plays a scenario of an incident, and returns the rules it breaks and a
// thread that did not get its work done.
func incident(t *testing.T, i lessons.Incident, cured bool) (broken []string, failed string) {
	t.Helper()
	data, err := fs.ReadFile(lessons.IncidentFiles(), i.File(cured))
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scenario.Parse(data)
	if err != nil {
		t.Fatalf("%s: %v", i.File(cured), err)
	}
	if sc.Title != string(i.Title) || sc.Expect == nil || sc.Expect.Violations == nil {
		t.Errorf("%s: the title %q, or nothing is expected of it", i.File(cured), sc.Title)
	}
	r := lessonstest.PlayScenario(t, sc)
	for _, one := range engine.Unexpected(sc.Expect, r.Events) {
		t.Errorf("%s: %s", i.File(cured), one)
	}
	for thread, end := range sc.Expect.Outcome {
		if end != "done" {
			failed = thread
		}
	}
	return engine.Broken(r.Events), failed
}
