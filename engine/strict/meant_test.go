package strict_test

import (
	"testing"

	"relock/engine/strict"
)

// A word with a slip of the hand is the one that it looks like; one that is like none is none.
func TestAWordThatIsMeant(t *testing.T) {
	allowed := []string{"explore", "export", "lease", "lock", "run", "缺省"}
	for word, want := range map[string]string{
		"exlpore": "explore", "explor": "explore", "leese": "lease", "lok": "lock", "rnu": "run", "unlock": "lock",
		"": "", "x": "", "serve": "", "lost": "", "缺": "", "explosion": "",
	} {
		if got := strict.Closest(word, allowed); got != want {
			t.Errorf("%q is meant to be %q, want %q", word, got, want)
		}
	}
}
