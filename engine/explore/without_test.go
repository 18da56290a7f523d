package explore_test

import (
	"strings"
	"testing"
	"time"

	"relock/engine/explore"
	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// A fault costs the time that an order lasts longer than the same moves without it: both
// hold moves back.
func TestTheSameMovesWithoutTheFault(t *testing.T) {
	racetest.Skip(t)
	const alone = "lock: {protocol: mutex, lease: 300ms, watchdog: off}\nthreads: [{name: A, work: 50ms}]\n"
	const beside = "lock: {protocol: mutex, lease: 300ms, watchdog: off, retry: {times: 9, interval: 40ms}}\n" +
		"threads: [{name: A, work: 50ms}, {name: B, start: 20ms, work: 20ms}]\n"
	for _, c := range []struct {
		name, text, fault string
		b                 explore.Bounds
		latest            time.Duration // later than without the fault, at most
		ends              time.Duration // without the fault
		gives             trace.Result  // the first thread's result with the fault
	}{
		{"a request that is delayed", alone, "faults: [{thread: A, at: lock, do: delay, for: 30ms}]", explore.Bounds{}, 30 * time.Millisecond, 50 * time.Millisecond, trace.Done},
		// B asks at 20 and at 60 ms; the key goes at 50, or at 70 ms, and B gets it at 100 ms.
		{"an unlock that is delayed", beside, "faults: [{thread: A, at: unlock, do: delay, for: 20ms}]", explore.Bounds{}, 40 * time.Millisecond, 80 * time.Millisecond, trace.Done},
		// The request, held back from 70 to 100 ms, comes when B has asked once more; B gets the lock at 140 ms.
		{"an unlock that is delayed, and B held back", beside, "faults: [{thread: A, at: unlock, do: delay, for: 20ms}]", explore.Bounds{Delays: 1}, 80 * time.Millisecond, 80 * time.Millisecond, trace.Done},
		{"a pause at work", alone, "faults: [{thread: A, at: work, do: pause, for: 70ms}]", explore.Bounds{}, 70 * time.Millisecond, 50 * time.Millisecond, trace.Done},
		{"a crash", alone, "faults: [{thread: A, at: work, do: crash}]", explore.Bounds{}, -50 * time.Millisecond, 50 * time.Millisecond, trace.Crashed},
	} {
		t.Run(c.name, func(t *testing.T) {
			sound, faulty := parsed(t, c.text), parsed(t, c.text+c.fault)
			space, err := explore.Search(t.Context(), faulty, c.b, explore.Options{Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			y, err := explore.NewYardstick(t.Context(), sound)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = y.Close() }()
			var pairs []explore.Pair
			all, err := space.Without(t.Context(), y, 1000, func(p explore.Pair) { pairs = append(pairs, p) })
			if err != nil || !all || int64(len(pairs)) != space.Schedules().Int64() {
				t.Fatalf("%d pairs of %v schedules, all: %t, %v", len(pairs), space.Schedules(), all, err)
			}
			latest := pairs[0]
			for _, p := range pairs {
				if p.With.At-p.Without.At >= latest.With.At-latest.Without.At {
					latest = p
				}
				if p.With.Results[0] != c.gives || p.Without.Results[0] != trace.Done {
					t.Errorf("with the fault %v, without it %v", p.With.Results, p.Without.Results)
				}
			}
			if later := latest.With.At - latest.Without.At; later != c.latest || latest.Without.At != c.ends {
				t.Errorf("an order ends %v later than without the fault (%v), want %v (%v)", later, latest.Without.At, c.latest, c.ends)
			}
			if some, err := space.Without(t.Context(), y, len(pairs)-1, func(explore.Pair) {}); some || err != nil {
				t.Errorf("all but one are all: %v", err)
			}
		})
	}
}

func parsed(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Parse([]byte(strings.TrimSpace(text)))
	if err != nil {
		t.Fatal(err)
	}
	return sc
}
