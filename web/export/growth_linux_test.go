package export_test

import (
	"errors"
	"math"
	"runtime"
	"syscall"
	"testing"
	"time"

	"relock/engine/bound"
)

// worked returns the processor time that f takes on its thread: what else runs on the
// machine does not count.
func worked(t *testing.T, f func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const thread = 1 // RUSAGE_THREAD
	now := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(thread, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := now()
	f()
	return now() - before
}

// The work for a run grows with its events, whatever they are: of the same kind again
// and again, with another name each, all in one step.
func TestGrowthInProcessorTime(t *testing.T) {
	const (
		enough = 3 * time.Millisecond // to be measured
		tries  = 6
		more   = 1.3 // than the events, for each time that they double: memory is slower, too, where there is more
	)
	for shape, of := range shapes(t) {
		for name, write := range writers() {
			cost := func(n int) time.Duration {
				r := of(n)
				runtime.GC()
				return worked(t, func() {
					if err := write(t.Context(), r); err != nil && !errors.Is(err, bound.ErrWritten) {
						t.Errorf("%s of %q, %d events: %v", name, shape, n, err)
					}
				})
			}
			n := 512
			one := cost(n)
			for ; one < enough && n < 1<<14; n *= 2 {
				one = cost(2 * n)
			}
			sizes := []int{8, 4, 2}
			if testing.Short() {
				sizes = sizes[:1]
			}
			for _, times := range sizes {
				most := float64(times) * math.Pow(more, math.Log2(float64(times)))
				many := cost(times * n)
				for try := 1; try < tries && float64(many) > most*float64(one); try++ {
					one, many = max(one, cost(n)), min(many, cost(times*n)) // noise is in both
				}
				if float64(many) > most*float64(one) {
					t.Errorf("%s of %q: %v for %d events, and %v for %d times as many", name, shape, one, n, many, times)
					break
				}
			}
		}
	}
}
