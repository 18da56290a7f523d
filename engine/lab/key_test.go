package lab_test

import (
	"slices"
	"strings"
	"testing"

	"relock/engine/lab"
)

// Where no command makes a lock for sure, it is the key whose state decided what another
// thread was told; what is a list cannot be judged.
func TestTheLockIsFoundByWhatItDecided(t *testing.T) {
	for kind, want := range map[string]string{
		"looks, then sets": "k broken mutual-exclusion foreign-release replaced",
		"looks at a hash":  "k broken mutual-exclusion foreign-release replaced",
		"a marker beside":  "k broken mutual-exclusion foreign-release replaced",
		"swaps":            "k unbroken",
		"swaps a deadline": "k broken foreign-release replaced",
		"takes over":       "k broken foreign-release",
		"counts":           "k unbroken",
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
