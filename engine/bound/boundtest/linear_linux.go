// Package boundtest tests that work on an input grows no faster than the input.
package boundtest

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	tries   = 6                    // a busy machine's caches make single measurements up to twice as long
	slack   = 1.3                  // times linear, for each time that the size doubles: where there is more memory, it is slower
	enough  = 8 * time.Millisecond // to be measured
	largest = 256                  // times the input, until that is enough
	refused = 16                   // times the input, for about the same time: there is a bound, and more input only takes long to make
)

// Linear fails a test if work takes more than 1.3 times as much processor time as an
// input's size demands, for each time that it doubles up to 8 times the size. Make returns the work for an input
// of a size, which is multiplied until its work can be measured. It is made before the clock
// runs, and again for each try. Only the calling goroutine's time counts, so the work must
// do everything itself; the collector's does not.
func Linear(t *testing.T, makeWork func(times int) (work func())) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // who allocates helps the collector, in bursts
	cost := func(times int) time.Duration {
		work := makeWork(times)
		runtime.GC()
		before := spent(t)
		work()
		return spent(t) - before
	}
	unit, sizes := 1, []int{1, 2, 4, 8}
	if testing.Short() {
		sizes = []int{1, 8}
	}
	first := min(cost(unit), cost(unit))
	for took := first; took < enough && unit < largest; took = cost(unit) {
		if testing.Short() && unit >= refused && took < 2*first {
			break
		}
		unit *= 2
	}
	least := map[int]time.Duration{}
	worst := ""
	for range tries {
		for _, times := range sizes {
			took := cost(unit * times)
			if was, ok := least[times]; !ok || took < was {
				least[times] = took
			}
		}
		if worst = growth(least); worst == "" {
			return
		}
	}
	t.Errorf("processor time: %s", worst)
}

// growth says where the time grows too fast, or nothing.
func growth(least map[int]time.Duration) string {
	for times, most := 2, slack; times <= 8; times, most = 2*times, most*slack {
		if least[times] == 0 {
			continue
		}
		if ratio := float64(least[times]) / float64(least[1]) / float64(times); ratio > most {
			return fmt.Sprintf("%v for the input, and %v for %d times as much: %.2f times linear", least[1], least[times], times, ratio)
		}
	}
	return ""
}

// spent is the processor time of this thread.
func spent(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}
