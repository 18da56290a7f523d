package board

import (
	"context"
	"slices"
	"testing"
	"time"

	"relock/engine"
	"relock/engine/pause"
	"relock/engine/scenario"
)

// giving is a Yielder that notes whether a run was locked where it was to yield.
type giving struct {
	run    *Run
	locked []bool
}

func (g *giving) Pause(context.Context) error {
	free := g.run.mu.TryLock()
	if free {
		g.run.mu.Unlock()
	}
	g.locked = append(g.locked, !free)
	return nil
}

func (g *giving) Away(ctx context.Context, wait func()) {
	_ = g.Pause(ctx)
	wait()
}

func (*giving) Whose() string { return "the room's" }

// Members look at a room's run in their turn. Were its leader to wait for a turn while
// it has the run, both would wait for each other. A board of one has nobody who looks,
// and yields.
func TestARoomsRunIsNotKeptWhileOthersHaveATurn(t *testing.T) {
	sc, err := scenario.Parse([]byte(`threads: [{name: A}, {name: B}]`))
	if err != nil {
		t.Fatal(err)
	}
	state := func() *State {
		return &State{Scene: Scene{Branches: []Branch{{Parent: -1}}}, Made: 1, People: map[string]*Member{}, Seats: map[string]Seat{}}
	}
	for _, shared := range []bool{true, false} {
		run := runOf(sc)
		var kept runs
		if shared {
			kept.take(0, run)
		}
		y := &giving{run: run}
		ctx := pause.With(t.Context(), y)
		f := referee{state: state(), run: run, now: time.Now}
		e, err := f.goOn(ctx, nil, Command{To: "end"})
		f.log(e)
		if err != nil || len(f.state.Branches[0].Moves) == 0 {
			t.Fatalf("shared %v: no moves, %v", shared, err)
		}
		run.forget()
		if _, err := run.Track(ctx, f.state, 0); err != nil {
			t.Fatal(err)
		}
		_, err = run.try(ctx, f.state, 0, 0, func(ctx context.Context, s *engine.Session, b *engine.Branch) (*engine.Branch, error) {
			if whose := pause.Whose(ctx); whose != "the room's" {
				t.Errorf("shared %v: the work is for %q", shared, whose)
			}
			return b, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(y.locked, true) == shared {
			t.Errorf("shared %v: yields with the run locked: %v", shared, y.locked)
		}
		run.Close()
	}
}
