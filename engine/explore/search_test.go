package explore_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"relock/engine/explore"
	"relock/engine/racetest"
	"relock/engine/scenario"
)

// told is a space in one line: "schedules, broken, by standing still: rule n, rule standing n".
func told(s *explore.Space) string {
	by := map[string]string{}
	for _, r := range s.Rules() {
		by[r.Name] = r.Schedules.String()
		if r.ByStandingStill.Sign() > 0 {
			by[r.Name+" standing"] = r.ByStandingStill.String()
		}
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(by)) {
		list = append(list, name+" "+by[name])
	}
	return fmt.Sprintf("%s %s, %s broken, %s by standing still: %s", s.Ending(), s.Schedules(), s.Broken(), s.ByStandingStill(), strings.Join(list, ", "))
}

func search(t testing.TB, name string, b explore.Bounds, workers int) *explore.Space {
	t.Helper()
	space, err := explore.Search(t.Context(), load(t, name), b, explore.Options{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	return space
}

// The counts are those of an enumeration that merges nothing; see
// TestCountsAreThoseOfEverySchedule. Up to two delays they were counted
// independently before, by a prototype.
func TestCounts(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct {
		name string
		want []string // by delays
	}{
		{"two-threads", []string{"4, 0 broken, 0 by standing still: ", "124, 0 broken, 0 by standing still: ", "1574, 0 broken, 0 by standing still: "}},
		{"lease-expiry", []string{
			"1, 1 broken, 0 by standing still: mutual-exclusion 1", "12, 9 broken, 0 by standing still: mutual-exclusion 9",
			"53, 38 broken, 0 by standing still: mutual-exclusion 38", "144, 105 broken, 1 by standing still: mutual-exclusion 105, mutual-exclusion standing 1",
		}},
		{"mutex-unsafe", []string{
			"1, 0 broken, 0 by standing still: ", "15, 1 broken, 0 by standing still: shut-out 1",
			"182, 115 broken, 6 by standing still: foreign-release 6, foreign-release standing 6, lost-update 3, lost-update standing 3, mutual-exclusion 3, mutual-exclusion standing 3, shut-out 109",
			"915, 728 broken, 53 by standing still: foreign-release 47, foreign-release standing 47, lost-update 25, lost-update standing 25, mutual-exclusion 25, mutual-exclusion standing 25, shut-out 678, shut-out standing 3",
		}},
		{"value", []string{
			"1, 0 broken, 0 by standing still: ", "10, 0 broken, 0 by standing still: ",
			"40, 3 broken, 3 by standing still: lost-update 3, lost-update standing 3, mutual-exclusion 3, mutual-exclusion standing 3", "99, 20 broken, 20 by standing still: lost-update 20, lost-update standing 20, mutual-exclusion 20, mutual-exclusion standing 20",
		}},
		{"naive", []string{"1, 0 broken, 0 by standing still: ", "29, 0 broken, 0 by standing still: ", "463, 0 broken, 0 by standing still: "}},
	} {
		for delays, want := range c.want {
			if got := told(search(t, c.name, explore.Bounds{Delays: delays}, 0)); got != "exhausted "+want {
				t.Errorf("%s, %d delays: %s, want %s", c.name, delays, got, want)
			}
		}
	}
}

// small are scenarios with few enough schedules to play each of them: every
// kind of fault, every lock.
func small(t *testing.T) map[string]*scenario.Scenario {
	t.Helper()
	list := map[string]*scenario.Scenario{}
	for name, text := range map[string]string{
		"reentrant":  "lock: {protocol: reentrant, lease: 100ms, watchdog: 40ms}\nthreads: [{name: A, depth: 2, work: 10ms}, {name: B, depth: 1, start: 5ms, work: 10ms, retry: {times: 1}}]",
		"sequenced":  "lock: {protocol: reentrant-sequenced, lease: 100ms, watchdog: 40ms}\nthreads: [{name: A, depth: 1, work: 10ms}, {name: B, depth: 1, start: 5ms, work: 10ms, retry: {times: 1}}]",
		"naive":      "lock: {protocol: reentrant-naive, lease: 60ms, watchdog: 40ms}\nresource: {kind: counter}\nthreads: [{name: A, depth: 1, work: 30ms}, {name: B, depth: 1, start: 5ms, work: 5ms, retry: {times: 0}}]",
		"fenced":     "lock: {protocol: fenced, lease: 60ms, watchdog: off}\nresource: {kind: counter, checks: token}\nthreads: [{name: A, depth: 1, work: 20ms}, {name: B, depth: 1, work: 5ms, retry: {times: 1}}]",
		"notify":     "lock: {protocol: reentrant-notify, lease: 60ms, watchdog: off}\nthreads: [{name: A, depth: 1, work: 20ms}, {name: B, depth: 1, work: 5ms, retry: {times: 1}}]",
		"fair":       "lock: {protocol: reentrant-fair, lease: 60ms, watchdog: off}\nthreads: [{name: A, depth: 1, work: 20ms}, {name: B, depth: 1, work: 5ms, retry: {times: 1}}]",
		"mutex":      "lock: {protocol: mutex-blind, lease: 60ms, watchdog: 30ms}\nresource: {kind: counter}\nthreads: [{name: A, depth: 1, work: 10ms}, {name: B, depth: 1, start: 5ms, work: 5ms, retry: {times: 0}}]",
		"spin":       "lock: {protocol: spin}\nresource: {kind: counter}\nthreads: [{name: A, depth: 1, work: 20ms, process: P}, {name: B, depth: 1, work: 5ms, process: P, retry: {times: 2}}]",
		"purchases":  "lock: {protocol: none}\nresource: {kind: purchases, limit: 1}\nthreads: [{name: A, depth: 1, user: u, work: 5ms}, {name: B, depth: 1, user: u, work: 5ms}]",
		"heartbeat":  "kind: heartbeat\nlock: {lease: 30ms}\nthreads: [{name: D, work: 10ms, repeat: 2}, {name: V, work: 10ms, repeat: 2}]",
		"alone":      "lock: {protocol: reentrant, lease: 40ms, watchdog: 20ms}\nresource: {kind: counter}\nthreads: [{name: ALONE, depth: 1, work: 10ms, retry: {times: 0}}]",
		"after":      "lock: {protocol: value, lease: 60ms}\nresource: {kind: counter}\nthreads: [{name: A, depth: 2, work: 5ms, after: 10ms}, {name: B, start: 12ms, work: 10ms, retry: {times: 0}}]",
		"stops":      "lock: {protocol: mutex, lease: 40ms, watchdog: off}\nthreads: [{name: A, depth: 2, work: 5ms, after: 10ms, on-lost: stop, retry: {times: 3, interval: 15ms}}, {name: B, start: 5ms, work: 5ms, retry: {times: 0}}]",
		"held-up":    "lock: {protocol: mutex-unsafe, lease: 30ms}\nthreads: [{name: HELD-UP, work: 5ms, on-lost: stop, retry: {times: 0}}]\nfaults: [{thread: HELD-UP, at: unlock, do: delay, for: 20ms}]",
		"waits":      "lock: {protocol: reentrant, lease: 60ms, watchdog: off, wait: 1 of 2 in 10ms}\nthreads: [{name: A, work: 20ms}, {name: B, start: 5ms, work: 5ms, retry: {times: 0}}]",
		"told":       "lock: {protocol: reentrant, lease: 300ms, watchdog: 100ms}\nthreads: [{name: A, work: 150ms}, {name: B, start: 295ms, work: 5ms, retry: {times: 0}}]",
		"both-pause": "lock: {protocol: mutex, lease: 40ms, watchdog: off}\nthreads: [{name: A, depth: 1, work: 10ms}, {name: B, depth: 1, work: 10ms, retry: {times: 0}}]\nfaults: [{thread: A, at: work, do: pause, for: 30ms}]",
	} {
		sc, err := scenario.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list[name] = sc
	}
	return list
}

// few are small scenarios with hundreds of schedules instead of thousands.
var few = map[string]bool{"spin": true, "purchases": true}

// A search that merges states and remembers answers counts what playing every
// schedule from its start counts.
func TestCountsAreThoseOfEverySchedule(t *testing.T) {
	racetest.Skip(t)
	for name, sc := range small(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			delays := 2
			if testing.Short() && !few[name] {
				delays--
			}
			// Different faults that cost the same must not be taken for one another.
			bounds := []explore.Bounds{{Delays: delays}, {Delays: delays - 1, Kinds: sc.StrikeKinds(), MaxFaults: 1}}
			if testing.Short() { // else they are among those
				kinds := slices.DeleteFunc(sc.StrikeKinds(), func(kind string) bool { return kind != "skip-unlock" && kind != "evict" })
				bounds = append(bounds, explore.Bounds{Delays: 1, Kinds: kinds, MaxFaults: min(len(kinds), 1)})
			}
			if len(sc.Threads[0].Name) > 1 {
				bounds = append(bounds, explore.Bounds{Kinds: sc.StrikeKinds(), MaxFaults: 2})
			}
			if sc.Lock.Wait.Count > 0 { // nothing of these reads what a replica lacks
				bounds = append(bounds, explore.Bounds{Delays: delays - 1, Kinds: []string{"restart"}, MaxFaults: 1})
			}
			for _, b := range bounds {
				space, err := explore.Search(t.Context(), sc, b, explore.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if got, want := told(space), enumerate(t, sc, b).told(); got != want {
					t.Errorf("%+v: %s, but one by one %s", b, got, want)
				}
			}
		})
	}
}

// A search that is stopped at once has seen no schedule, and draws nothing.
func TestStoppedAtOnce(t *testing.T) {
	racetest.Skip(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	space, err := explore.Search(ctx, load(t, "value"), explore.Bounds{}, explore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := told(space); got != "stopped 0, 0 broken, 0 by standing still: " {
		t.Error(got)
	}
	if sample, err := explore.Draw(ctx, load(t, "value"), explore.Bounds{}, 10, 1000); err == nil {
		t.Errorf("drawn: %+v", sample)
	}
}
