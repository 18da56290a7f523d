package explore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"relock/engine/explore"
	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/engine/verdict"
)

func TestASearchIsJudgedByWhatItsOrdersHaveShown(t *testing.T) {
	racetest.Skip(t)
	const two = "\nthreads:\n  - {name: A, work: 100ms}\n  - {name: B, start: 10ms, work: 100ms}\n"
	for name, c := range map[string]struct {
		text   string
		bounds explore.Bounds
		want   string
	}{
		"two take turns":      {"lock: {protocol: mutex, lease: 1s, retry: {times: 5, interval: 50ms}}" + two, explore.Bounds{}, "unbroken"},
		"twins take turns":    {"lock: {protocol: mutex, lease: 1s, retry: {times: 5, interval: 50ms}}\nthreads: [{name: A, work: 10ms}, {name: B, work: 10ms}, {name: C, work: 10ms}]\n", explore.Bounds{}, "unbroken"},
		"the second gives up": {"lock: {protocol: mutex, lease: 1s, retry: {times: 0}}" + two, explore.Bounds{}, "unjudged one-inside"},
		"either one gives up": {"lock: {protocol: mutex, lease: 1s, retry: {times: 0}}\nthreads: [{name: A, work: 10ms}, {name: B, work: 20ms}]\n", explore.Bounds{}, "unjudged one-inside"},
		"alone":               {"lock: {protocol: mutex, lease: 1s}\nthreads: [{name: A, work: 10ms}]\n", explore.Bounds{}, "unjudged one-inside"},
		"nobody gets in": {
			"lock: {protocol: mutex, lease: 1s, retry: {times: 0}}" + two + "faults: [{do: answer-error, error: BUSY, thread: A, at: lock, level: 1}, {do: answer-error, error: BUSY, thread: B, at: lock, level: 1}]\n",
			explore.Bounds{},
			"unjudged no-key",
		},
		"a fault without an occasion": {"lock: {protocol: mutex, lease: 1s, retry: {times: 5, interval: 50ms}}" + two + "faults: [{do: evict, time: 1h}]\n", explore.Bounds{}, "unjudged fault-never-struck"},
		"too many orders":             {"lock: {protocol: mutex, lease: 1s, retry: {times: 5, interval: 50ms}}" + two, explore.Bounds{Delays: 2, MaxStates: 20}, "unjudged cut"},
		"a lease that ends":           {"lock: {protocol: mutex, lease: 50ms, watchdog: off, retry: {times: 5, interval: 50ms}}" + two, explore.Bounds{}, "broken"},
	} {
		sc, err := scenario.Parse([]byte("title: x\n" + c.text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		space, err := explore.Search(t.Context(), sc, c.bounds, explore.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := judged(space.Judgement(nil)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func judged(j verdict.Judgement) string {
	list := []string{string(j.Verdict)}
	for _, l := range j.Unjudged {
		list = append(list, string(l.Reason))
	}
	return strings.Join(list, " ")
}

// Searching twins once finds the same threads inside as playing each order.
func TestWhoWasInsideIsTheSameForTwins(t *testing.T) {
	racetest.Skip(t)
	seen := map[int]bool{}
	for _, times := range []int{0, 1, 3} {
		for _, protocol := range []string{"mutex", "reentrant", "none"} {
			sc, err := scenario.Parse(fmt.Appendf(nil, "title: x\nlock: {protocol: %s, retry: {times: %d, interval: 50ms}}\nthreads: [{name: A, work: 60ms}, {name: B, work: 60ms}, {name: C, work: 10ms}]\n", protocol, times))
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, o := range []explore.Options{{}, explore.Apart(explore.Options{})} {
				space, err := explore.Search(t.Context(), sc, explore.Bounds{Delays: min(times, 1)}, o)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, space.Evidence().Inside)
			}
			seen[got[0]] = true
			if len(slices.Compact(got)) != 1 {
				t.Errorf("%s, %d retries: %v inside, with twins and without", protocol, times, got)
			}
		}
	}
	if len(seen) < 2 {
		t.Errorf("all have the same number inside: %v", seen)
	}
}
