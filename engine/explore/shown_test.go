package explore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"relock/engine/explore"
	"relock/engine/lock/exhibit"
	"relock/engine/racetest"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/link"
)

// plays reports whether a scenario's own moves fit it and break a rule; of an end, that they fit.
func plays(ctx context.Context, sc *scenario.Scenario, rule string) error {
	r, err := run.New(sc, run.Options{})
	if err != nil {
		return err
	}
	if err := r.Execute(ctx); err != nil {
		return err
	}
	events, _ := r.Log().Since(0)
	if rule != "" && !slices.ContainsFunc(events, func(e trace.Event) bool {
		v, ok := e.Body.(trace.Violation)
		return ok && v.Rule == rule
	}) {
		return fmt.Errorf("%s is not broken", rule)
	}
	return nil
}

// played checks that an order, as text and as a link, is the order.
func played(ctx context.Context, t *testing.T, sc *scenario.Scenario, moves []scenario.Move, rule string) {
	t.Helper()
	sc = sc.WithSchedule(moves)
	for name, form := range map[string]func() ([]byte, error){"whole": sc.MarshalJSON, "compact": sc.Compact} {
		text, err := form()
		if err != nil {
			t.Fatal(err)
		}
		read, err := scenario.Parse(text)
		if err != nil {
			t.Errorf("%s: its %s text is refused: %v\n%s", rule, name, err, text)
			return
		}
		if err := plays(ctx, read, rule); err != nil {
			t.Errorf("%s: its %s text does not play: %v\n%s", rule, name, err, text)
			return
		}
	}
	text, err := link.Encode(link.Contents{Scenario: sc, At: len(moves)})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := link.Decode(text)
	if err == nil {
		err = plays(ctx, opened.Scenario, rule)
	}
	if err != nil {
		t.Errorf("%s: its link: %v", rule, err)
	}
}

// Every order that a search shows can be written down, read again and played, and breaks its
// rule there, too: that of a rule, that of an end, and the way to any state.
func TestWhatIsShownCanBePlayed(t *testing.T) {
	racetest.Skip(t)
	names, each := exhibit.Names(), 4
	if testing.Short() {
		names, each = names[:len(names)/2], 1
	}
	shown := 0
	for i, protocol := range names {
		random := rand.New(rand.NewPCG(61, uint64(i)))
		for range each {
			sc, b := made(t, random, protocol)
			sc.Title = ""            // the whole text, which is longer than a title
			if random.IntN(2) == 0 { // long leases, clocks that drift, instants off the whole ms
				sc = stretched(t, sc, random)
			}
			b.Delays = max(b.Delays, 1)
			s, err := explore.Search(t.Context(), sc, b, explore.Options{})
			if err != nil {
				t.Fatalf("%s: %v", protocol, err)
			}
			for _, rule := range s.Rules() {
				played(t.Context(), t, sc, rule.Schedule, rule.Name)
				shown++
			}
			for _, end := range s.Ends()[:min(3, len(s.Ends()))] {
				moves, err := s.Moves(t.Context(), end)
				if err != nil {
					t.Fatal(err)
				}
				played(t.Context(), t, sc, moves, "")
				shown++
			}
			played(t.Context(), t, sc, s.Way(random.IntN(s.States())), "")
		}
	}
	if shown < 3*each*len(names) {
		t.Errorf("only %d orders were shown", shown)
	}
}

// A lease that is taken for a million times as much ends in a day, or in a century: so do the orders in which
// it is waited for.
func TestAnOrderMayLastACentury(t *testing.T) {
	racetest.Skip(t)
	for _, lease := range []string{"1ms", "90ms", "5s", "1h"} {
		sc, err := scenario.Parse([]byte("lock: {protocol: reentrant-naive, lease: " + lease + ", watchdog: off, retry: {times: 1, interval: 10ms}}\nthreads: [{name: A, work: 30ms}, {name: B, work: 30ms}]"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := explore.Search(t.Context(), sc, explore.Bounds{Delays: 2}, explore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Rules()) == 0 {
			t.Errorf("%s: no rule breaks", lease)
		}
		for _, rule := range s.Rules() {
			played(t.Context(), t, sc, rule.Schedule, rule.Name)
		}
	}
}

// stretched is a scenario with a lease from 1 ms to the longest, and clocks that drift.
func stretched(t *testing.T, sc *scenario.Scenario, random *rand.Rand) *scenario.Scenario {
	t.Helper()
	other := *sc
	other.Lock.Lease = time.Duration([]int{1, 87, 100, 24_000, 3_600_000}[random.IntN(5)]) * time.Millisecond
	other.Threads = slices.Clone(sc.Threads)
	for i := range other.Threads {
		other.Threads[i].Drift = scenario.Drift(random.IntN(3)-1) * 37 * scenario.Percent / 3
	}
	if other.Lock.Watchdog > 0 {
		other.Lock.Watchdog = max((other.Lock.Lease / 3).Truncate(time.Microsecond), time.Millisecond)
	}
	text, err := other.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	read, err := scenario.Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return read
}
