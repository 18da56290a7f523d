package lock_test

import (
	"sync"
	"testing"
	"time"

	"relock/engine/lock"
)

// Goroutines of one process add to a counter that nothing else protects.
func TestSpinLockWithinAProcess(t *testing.T) {
	var memory lock.Memory
	var wg sync.WaitGroup
	counter := 0
	const workers, rounds = 8, 300
	for range workers {
		l, err := lock.New(nil, lock.Options{
			Protocol: lock.Spin, Memory: &memory, Lease: time.Second, Retries: 1 << 20, Interval: time.Microsecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		owner := lock.NewOwner()
		wg.Go(func() {
			for range rounds {
				if err := nested(l, owner, 2, func(int) { counter++ }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if counter != workers*rounds*2 {
		t.Errorf("the counter is at %d, want %d", counter, workers*rounds*2)
	}
}
