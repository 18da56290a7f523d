package interpreter

import (
	"errors"
	"fmt"
	"sort"
	"testing"
)

// Patterns end after so many steps, and not after some time: as far as they may go is
// the same on every machine.
func TestPatternsAreCounted(t *testing.T) {
	const text = "return string.find(string.rep('a', %d), 'a-b') and 1 or 0"
	r := New()
	longest := sort.Search(5000, func(n int) bool {
		_, err := r.Run(Script{Text: fmt.Sprintf(text, n)})
		if err != nil && !errors.Is(err, ErrSteps) {
			t.Fatal(err)
		}
		return err != nil
	})
	if _, err := r.Run(Script{Text: fmt.Sprintf(text, longest-1)}); err != nil || r.steps > Steps || r.steps < Steps*9/10 {
		t.Errorf("%d letters take %d steps: %v", longest-1, r.steps, err)
	}
	many := "local s = string.rep('a', 300) for i = 1, 100 do string.find(s, 'a-b') end return 1" // each within the bounds
	if _, err := r.Run(Script{Text: many}); !errors.Is(err, ErrSteps) {
		t.Errorf("many patterns in a script come to %v", err)
	}
	if _, err := r.Run(Script{Text: fmt.Sprintf(text, 10)}); err != nil {
		t.Errorf("the next script has no steps: %v", err)
	}
}
