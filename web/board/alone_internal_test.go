package board

import (
	"errors"
	"testing"
	"time"

	"relock/engine"
	"relock/engine/trace"

	"relock/web/lesson"
)

// alone steps through a scenario that breaks, in slices of four moves.
func alone(t *testing.T, full func() error) *Alone {
	t.Helper()
	plan, err := plannedExample(t.Context(), lesson.Place{Example: "lease-expiry"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := OpenAlone(t.Context(), plan.Scenario, []Line{{Parent: -1}}, func(trace.Event) bool { return false }, full)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	a.referee.most = 4
	now := time.Now()
	a.referee.now = func() time.Time { return now } // a slice is as long as it may be, on a slow machine, too
	return a
}

func (a *Alone) must(t *testing.T, c Command) Entry {
	t.Helper()
	e, err := a.Do(t.Context(), c)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	return e
}

// A board of one acts where a command says, and at the branch's end where it
// says nothing.
func TestAloneActsWhereItIsTold(t *testing.T) {
	a, start := alone(t, nil), 0
	a.must(t, Command{Do: "step", Thread: "A"})
	a.must(t, Command{Do: "step"})
	a.must(t, Command{Do: "step", Thread: "A", At: &start}) // along what is there
	if e := a.must(t, Command{Do: "time", To: "by", By: "5ms", At: &start}); e.Stand.Branch != 1 {
		t.Errorf("a fork leads to %+v", e.Stand)
	}
	list, err := a.Tracks(t.Context())
	if err != nil || len(list) != 2 || len(list[0].Moves) != 2 || len(list[1].Moves) != 1 || list[1].Parent != 0 || list[1].Fork != 0 {
		t.Errorf("there are %d branches (%v): %+v", len(list), err, list)
	}
	if n := len(list[0].Events) + len(list[1].Events); a.Events() != n {
		t.Errorf("%d events, want %d", a.Events(), n)
	}
	a.must(t, Command{Do: "drop", Branch: 1})
	beyond := 3
	for _, c := range []struct {
		command Command
		want    error
	}{
		{Command{Do: "step", Branch: 1}, engine.ErrNoBranch},
		{Command{Do: "cut", At: &beyond}, engine.ErrNoMove},
		{Command{Do: DoJoin}, ErrNotCommand},
	} {
		if e, err := a.Do(t.Context(), c.command); !errors.Is(err, c.want) || e.Stand != nil {
			t.Errorf("%+v comes to %+v, %v, want %v", c.command, e, err, c.want)
		}
	}
}

// A run goes on to the end, some moves at a time.
func TestAloneARunGoesOn(t *testing.T) {
	a := alone(t, nil)
	e, err := a.Do(t.Context(), Command{Do: "run", To: "end"})
	slices := 1
	for ; err == nil && a.Going(); slices++ {
		if n := len(e.Made[0].Moves); n != 4 {
			t.Errorf("a slice has %d moves", n)
		}
		e, err = a.GoOn(t.Context())
	}
	b, _ := a.Track(t.Context(), 0)
	if err != nil || slices < 3 || !b.Positions[len(b.Moves)].Over {
		t.Errorf("after %d slices and %d moves: %v", slices, len(b.Moves), err)
	}
}

// A visitor who steps alone has the engine's limit and the memory's, not a room's.
func TestAloneHasNoRoomsLimit(t *testing.T) {
	errFull := errors.New("full")
	full := false
	a := alone(t, func() error {
		if full {
			return errFull
		}
		return nil
	})
	if a.referee.bytes <= engine.MaxSize {
		t.Errorf("the run may take %d bytes, a session %d", a.referee.bytes, engine.MaxSize)
	}
	a.must(t, Command{Do: "run", To: "end"})
	full = true
	if _, err := a.GoOn(t.Context()); !errors.Is(err, errFull) || a.Going() {
		t.Errorf("it goes on: %v", err)
	}
}
