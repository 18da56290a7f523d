package view_test

import (
	"strings"
	"testing"

	"relock/web/view"
	"relock/web/words"
)

// film plays a scenario of the lessons.
func film(t *testing.T, l words.Language, name string) *view.Film {
	t.Helper()
	p := play(t, name+".yaml", as)
	f := view.NewFilm(l, p.sc, p.owners)
	for _, e := range p.events {
		f.Add(e)
	}
	return f
}

// A fault that strikes in the step in which a call has ended does not make
// the call's outcome bad, and is told after it.
func TestAFaultDoesNotSpoilTheOutcome(t *testing.T) {
	for _, c := range []struct {
		name            string
		step            int
		title, note     string
		outcome, struck string
	}{
		{"fenced-late-write", 1, "lock: acquired", "fault: stands still for 200 ms", "A has the lock and fencing token 1", "A's whole process stands still for 200 ms"},
		{"crash", 4, "lock: level 2 entered", "fault: the process dies", "A is at level 2: hold count 2", "A dies with the lock"},
	} {
		f := film(t, words.English, c.name)
		cell := f.Rows()[c.step-1].Cells[0]
		bad := -1
		for i, n := range cell.Notes {
			if n == (view.Note{Text: c.note, Tone: view.Bad}) {
				bad = i
			}
		}
		if cell.Title != c.title || cell.Tone != view.Good || bad < 0 {
			t.Errorf("%s: %+v", c.name, cell)
		}
		why := f.Frames()[c.step-1].Why
		if first := strings.Index(why, c.outcome); first != 0 || strings.Index(why, c.struck) < first {
			t.Errorf("%s: %s", c.name, why)
		}
	}
}
