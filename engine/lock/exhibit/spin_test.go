package exhibit_test

import (
	"sync"
	"testing"
	"time"

	"relock/engine/lock"
	"relock/engine/lock/exhibit"
)

// Goroutines of one process add to a counter that nothing else protects.
func TestSpinLockWithinAProcess(t *testing.T) {
	var memory exhibit.Memory
	var wg sync.WaitGroup
	counter := 0
	const workers, rounds = 8, 300
	for range workers {
		l, err := exhibit.New(nil, lock.Options{Protocol: exhibit.SpinIn(&memory), Lease: time.Second, Interval: time.Microsecond})
		if err != nil {
			t.Fatal(err)
		}
		owner := lock.NewOwner()
		wg.Go(func() {
			for range rounds {
				outer, err := l.Lock(t.Context(), "k", owner)
				if err != nil {
					t.Error(err)
					return
				}
				inner, err := l.Lock(t.Context(), "k", owner)
				if err != nil {
					t.Error(err)
					return
				}
				counter++
				for _, h := range []*exhibit.Hold{inner, outer} {
					if err := h.Unlock(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if counter != workers*rounds {
		t.Errorf("the counter is at %d, want %d", counter, workers*rounds)
	}
}
