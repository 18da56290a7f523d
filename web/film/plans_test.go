package film_test

import (
	"testing"

	"relock/engine"
	"relock/engine/run"
	"relock/lessons/lessonstest"
	"relock/web/film"
	"relock/web/words"
)

// stepping steps through a bundled scenario, and gives the picture at each of its rows.
func stepping(t *testing.T, name string, each func(b *engine.Path, p film.Picture)) {
	t.Helper()
	sc := lessonstest.Scenario(t, name+".yaml")
	paths := engine.NewPaths(sc)
	defer paths.Close()
	b, err := paths.Path(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	l := film.LanesOf(sc, b.Header.Owners)
	for {
		for _, e := range b.Events[seen:] {
			l.Add(e)
		}
		seen = len(b.Events)
		tip := b.End()
		l.Plan(tip.Plans)
		each(b, l.Window(words.English, "p", 0, film.MaxLaneRows))
		if tip.Over {
			return
		}
		if b, err = paths.Try(t.Context(), b.Moves, engine.Wish{}); err != nil {
			t.Fatal(err)
		}
	}
}

// A step moves nothing that is drawn: the rows before it stay where they are in the
// picture, and the picture as wide as it was, unless the run outlasts its planned work.
func TestAStepMovesNothing(t *testing.T) {
	wider := 0
	for n, file := range lessonstest.Names(t) {
		if testing.Short() && n%9 != 0 {
			continue
		}
		name := file[:len(file)-len(".yaml")]
		var before film.Picture
		stepping(t, name, func(_ *engine.Path, p film.Picture) {
			for i, c := range before.Columns {
				if p.Columns[i].X != c.X {
					t.Errorf("%s: T%d is at %g, and was at %g", name, c.Step, p.Columns[i].X, c.X)
				}
			}
			if before.Width > 0 && p.Width != before.Width {
				if wider++; p.Width < before.Width && len(p.Columns) == len(before.Columns) {
					t.Errorf("%s: %g wide, and was %g", name, p.Width, before.Width)
				}
			}
			before = p
		})
	}
	t.Logf("%d times it became wider", wider)
}

// At T1 one sees that the work outlasts the lease: the work's end, the lease's, and who
// comes, each at the place of its row once it is there.
func TestWhatIsSettledIsDrawn(t *testing.T) {
	var planned []film.Planned
	places := map[float64]float64{} // by milliseconds
	stepping(t, "lease-expiry", func(_ *engine.Path, p film.Picture) {
		if len(p.Columns) == 1 {
			planned = p.Plans
			if len(p.Ends) != 2 || p.Ends[1].Y != p.Key.Bottom {
				t.Errorf("the lease ends %+v", p.Ends)
			}
		}
		for _, c := range p.Columns {
			if _, ok := places[c.At]; !ok {
				places[c.At] = c.X
			}
		}
	})
	got := map[run.Next]string{}
	for _, one := range planned {
		got[one.Next] = one.At.String()
		if x := places[float64(one.At.Milliseconds())]; x < one.X || x > one.X+14 {
			t.Errorf("%q at %v is at %g, its row at %g", one.Next, one.At, one.X, x)
		}
	}
	if len(got) != 3 || got[run.NextStart] != "10ms" || got[run.NextWork] != "300ms" || got[""] != "200ms" {
		t.Errorf("planned %v", got)
	}
}

// A picture of a run for who cannot step it shows nothing that is still to come.
func TestStillsHaveNoPlans(t *testing.T) {
	sc := lessonstest.Scenario(t, "lease-expiry.yaml")
	l := film.LanesOf(sc, nil)
	l.Plan([]run.Plan{{Thread: "A", Next: run.NextStart}})
	if n := len(l.Window(words.English, "p", 0, 9).Plans); n != 1 {
		t.Errorf("%d plans in a window", n)
	}
	for _, p := range []film.Picture{l.Still(words.English, "p"), l.Small(words.English, "p"), l.Follow(words.English, "p", 0, 9)} {
		if len(p.Plans) > 0 {
			t.Errorf("plans %+v", p.Plans)
		}
	}
}
