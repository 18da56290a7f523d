package lab_test

import (
	"slices"
	"strings"
	"testing"

	"relock/engine/outside/lab"
	"relock/engine/racetest"
	"relock/engine/trace"
)

// If no command makes a lock for sure, it is the key whose state decided the answer that
// another thread got. What it holds may not be of a kind that is judged without marks.
func TestTheLockIsFoundByWhatItDecided(t *testing.T) {
	racetest.Skip(t)
	for kind, want := range map[string]string{
		"looks, then sets": "k broken mutual-exclusion foreign-release replaced",
		"looks at a hash":  "k unjudged kind-unknown",
		"a marker beside":  "k broken mutual-exclusion foreign-release replaced",
		"swaps":            "k unbroken",
		"swaps a deadline": "k broken foreign-release replaced",
		"takes over":       "k broken foreign-release",
		"counts":           "k unjudged kind-unknown",
		"queues in a list": "k unjudged kind-unknown",
		"takes a token":    "busy unjudged kind-unknown",
	} {
		t.Run(strings.ReplaceAll(kind, " ", "-"), func(t *testing.T) {
			t.Parallel()
			found := search(t, options(t, kind))
			have := []string{found.Key, string(found.Judgement().Verdict)}
			for _, r := range found.Rules {
				have = append(have, r.Name)
			}
			for _, l := range found.Judgement().Unjudged {
				have = append(have, string(l.Reason))
			}
			if !slices.Equal(have, strings.Fields(want)) || found.Ending != lab.Exhausted {
				t.Errorf("ended as %s: %v, want %s", found.Ending, have, want)
			}
		})
	}
}

// A thread that puts its value in the place of a deadline takes the lock over if it has passed, and
// gets it like any other if the key was gone.
func TestALockWhoseDeadlineHasPassedIsTakenOver(t *testing.T) {
	racetest.Skip(t)
	for kind, want := range map[string]bool{"takes over": true, "swaps a deadline": false} {
		t.Run(strings.ReplaceAll(kind, " ", "-"), func(t *testing.T) {
			t.Parallel()
			o := options(t, kind)
			found := search(t, o)
			_, events, err := found.Rules[0].Order.Trace(found, o, "")
			if err != nil {
				t.Fatal(err)
			}
			taken, over := 0, 0
			for _, e := range events {
				if b, is := e.Body.(trace.Outcome); is && b.Result == trace.Acquired {
					taken++
					if b.TakesOver {
						over++
					}
				}
			}
			if taken < 1 || (over > 0) != want || over == taken {
				t.Errorf("taken %d times, over %d times, want over: %t", taken, over, want)
			}
		})
	}
}
