package board

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"relock/engine"
	"relock/engine/scenario"
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
		{Command{Do: "step", Branch: 1}, ErrNoBranch},
		{Command{Do: "cut", At: &beyond}, ErrNoMove},
		{Command{Do: DoJoin}, ErrNotCommand},
	} {
		if e, err := a.Do(t.Context(), c.command); !errors.Is(err, c.want) || e.Stand != nil {
			t.Errorf("%+v comes to %+v, %v, want %v", c.command, e, err, c.want)
		}
	}
}

// A board has so many branches. Along what is there one can always go; of a dropped branch
// nothing stays.
func TestBranchesAreLimited(t *testing.T) {
	a, start := alone(t, nil), 0
	a.must(t, Command{Do: "step"})
	a.must(t, Command{Do: "step"})
	for range MaxBranches - 2 {
		a.must(t, Command{Do: "cut", At: &start})
	}
	elsewhere := Command{Do: "time", To: "by", By: "5ms", At: &start}
	e := a.must(t, elsewhere)
	for _, c := range []Command{elsewhere, {Do: "cut", At: &start}, {Do: DoAdd, Moves: []json.RawMessage{[]byte("1")}}} {
		if c.By != "" {
			c.By = "6ms"
		}
		if _, err := a.Do(t.Context(), c); !errors.Is(err, ErrBranches) {
			t.Errorf("%s makes one branch too many: %v", c.Do, err)
		}
	}
	if e := a.must(t, Command{Do: "step", Thread: "A", At: &start}); e.Stand.Branch != 0 || len(e.Made) > 0 {
		t.Errorf("along the branch, which needs no other one: %+v", e)
	}
	size, events := a.Size(), a.Events()
	a.must(t, Command{Do: "drop", Branch: e.Stand.Branch})
	if a.Size() >= size || a.Events() > events {
		t.Errorf("%d bytes and %d events without it, %d and %d with it", a.Size(), a.Events(), size, events)
	}
	if e := a.must(t, elsewhere); e.Stand.Branch != MaxBranches {
		t.Errorf("after one was dropped: %+v", e)
	}
}

// A run goes on to the end, some moves at a time, also where it ends with a slice.
func TestAloneARunGoesOn(t *testing.T) {
	for most := 1; most <= 4; most++ {
		a := alone(t, nil)
		a.referee.most = most
		e, err := a.Do(t.Context(), Command{Do: "run", To: "end"})
		slices := 1
		for ; err == nil && a.Going(); slices++ {
			if n := len(e.Made[0].Moves); n != most {
				t.Errorf("a slice has %d moves of %d", n, most)
			}
			e, err = a.GoOn(t.Context())
		}
		b, _ := a.Track(t.Context(), 0)
		if err != nil || slices < 3 || !b.Positions[len(b.Moves)].Over {
			t.Errorf("%d moves a slice: after %d slices and %d moves: %v", most, slices, len(b.Moves), err)
		}
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

// A scenario that was changed after its moves keeps those that fit, on each branch, and says how
// many it has dropped.
func TestAloneDropsTheMovesThatNoLongerFit(t *testing.T) {
	sc, err := scenario.Parse([]byte("lock: {watchdog: off}\nthreads: [{name: A, work: 5ms}]"))
	if err != nil {
		t.Fatal(err)
	}
	first := scenario.Move{}
	many := make([]scenario.Move, 14)
	second := scenario.Move{Choice: 1} // there is one thread
	lines := []Line{
		{Parent: -1, Moves: []scenario.Move{first}},
		{Parent: 0, Fork: 1, Moves: many},
		{Parent: 1, Fork: 9, Moves: append(many[:10:10], second)},
		{Parent: 0, Fork: 1, Moves: []scenario.Move{second, first}},
	}
	a, err := OpenAlone(t.Context(), sc, lines, func(trace.Event) bool { return false }, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	list, err := a.Tracks(t.Context())
	if err != nil || len(list) != 4 {
		t.Fatalf("%d branches, %v", len(list), err)
	}
	end := len(list[1].Moves)
	if !list[1].Positions[end].Over || end == 0 || end >= 9 {
		t.Errorf("the run ends after %d moves: %v", end, list[1].Positions[end].Over)
	}
	for i, want := range []struct{ moves, fork int }{{1, 0}, {end, 1}, {end, end}, {0, 0}} {
		if b := list[i]; len(b.Moves) != want.moves || b.Fork != want.fork {
			t.Errorf("branch %d has %d moves, forks at %d; want %+v", i, len(b.Moves), b.Fork, want)
		}
	}
	said := []string{
		fmt.Sprintf("of 14 moves the last %d no longer fit the scenario and are dropped: the run has ended", 14-end),
		fmt.Sprintf("of 11 moves the last %d no longer fit the scenario and are dropped: the run has ended", 11-end),
		"of 2 moves the last 2 no longer fit the scenario and are dropped: choice 1 cannot be made: only 0 can move",
	}
	for i, m := range a.Dropped() {
		if i >= len(said) || m.Says().String() != said[i] {
			t.Errorf("it says %q", m.Says())
		}
	}
	if len(a.Dropped()) != len(said) {
		t.Errorf("it says %d things, want %d", len(a.Dropped()), len(said))
	}
	a.must(t, Command{Do: "step", Branch: 0}) // they go on
}
