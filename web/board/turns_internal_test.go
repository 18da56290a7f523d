package board

import (
	"context"
	"testing"
	"time"

	"relock/engine/pause"
	"relock/engine/scenario"
)

// giving is a Yielder that counts how often it is to yield.
type giving struct{ times int }

func (g *giving) Pause(context.Context) error {
	g.times++
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
		y := &giving{}
		ctx := pause.With(t.Context(), y)
		f := referee{state: state(), run: run, now: time.Now}
		e, err := f.goOn(ctx, nil, Command{To: "end"})
		f.log(e)
		if err != nil || len(f.state.Branches[0].Moves) == 0 {
			t.Fatalf("shared %v: no moves, %v", shared, err)
		}
		run.Close()
		if _, err := run.Track(ctx, f.state, 0); err != nil {
			t.Fatal(err)
		}
		if whose := pause.Whose(run.within(ctx)); whose != "the room's" {
			t.Errorf("shared %v: the work is for %q", shared, whose)
		}
		if shared == (y.times > 0) {
			t.Errorf("shared %v: yields %d times", shared, y.times)
		}
		run.Close()
	}
}
