package box

import (
	"errors"
	"fmt"
	"sort"
	"testing"
	"time"

	"relock/engine/clock"
	"relock/engine/journal"
	"relock/engine/store"
)

// Patterns end after so many steps, and not after some time: as far as they may go is
// the same on every machine.
func TestPatternsAreCounted(t *testing.T) {
	const text = "return string.find(string.rep('a', %d), 'a-b') and 1 or 0"
	r := newRunner()
	defer func() { _ = r.Close() }()
	longest := sort.Search(5000, func(n int) bool {
		_, err := r.run(Question{Script: fmt.Sprintf(text, n), Now: clock.Epoch})
		if err != nil && !errors.Is(err, ErrSteps) {
			t.Fatal(err)
		}
		return err != nil
	})
	if _, err := r.run(Question{Script: fmt.Sprintf(text, longest-1), Now: clock.Epoch}); err != nil || r.steps > Steps || r.steps < Steps*9/10 {
		t.Errorf("%d letters take %d steps: %v", longest-1, r.steps, err)
	}
	many := "local s = string.rep('a', 300) for i = 1, 100 do string.find(s, 'a-b') end return 1" // each within the bounds
	if _, err := r.run(Question{Script: many, Now: clock.Epoch}); !errors.Is(err, ErrSteps) {
		t.Errorf("many patterns in a script come to %v", err)
	}
	if _, err := r.run(Question{Script: fmt.Sprintf(text, 10), Now: clock.Epoch}); err != nil {
		t.Errorf("the next script has no steps: %v", err)
	}
}

func BenchmarkRun(b *testing.B) {
	r := newRunner()
	defer func() { _ = r.Close() }()
	q := Question{
		Script: journal.Wrap("if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then\n redis.call('HINCRBY', KEYS[1], ARGV[1], 1)\n redis.call('PEXPIRE', KEYS[1], 30000)\n return {1, 2}\nend return {0, redis.call('PTTL', KEYS[1])}"),
		Keys:   []string{"k"}, Args: []string{"me"}, Now: clock.Epoch.Add(time.Hour), Items: []store.Item{{Name: "k", Type: "hash", Hash: map[string]string{"me": "1"}, TTL: time.Second}},
	}
	for b.Loop() {
		if _, err := r.run(q); err != nil {
			b.Fatal(err)
		}
	}
}
