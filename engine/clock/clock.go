// Package clock gives the engine its time: real time, or virtual time that
// makes a run a pure function of its inputs.
//
// The threads of one client run in a [Process]: its business code and its
// watchdog share one, pause together and die together. Both clocks hand out
// processes, so code written against [Clock] cannot tell which one it runs
// under.
package clock

import (
	"context"
	"errors"
	"time"
)

// Clock is the time that timed code uses. Implementations are safe for
// concurrent use.
type Clock interface {
	// Now returns the current time. Differences between two times are
	// monotonic.
	Now() time.Time
	// Sleep returns nil after d, or ctx's cause as soon as ctx has ended.
	// A d of zero or less returns at once.
	Sleep(ctx context.Context, d time.Duration) error
	// AfterFunc runs f in its own goroutine after d. Doing is a name for observers of the
	// clock, without any effect.
	AfterFunc(d time.Duration, doing string, f func()) Timer
	// NewSignal returns a signal for Await.
	NewSignal() Signal
	// Await is a Sleep that also ends when s fires, or at once if s has fired
	// since the last Await. It reports whether s fired.
	Await(ctx context.Context, d time.Duration, s Signal) (fired bool, err error)
	// WithDeadline is context.WithDeadline on this clock. The cause at the
	// deadline is context.DeadlineExceeded.
	WithDeadline(ctx context.Context, deadline time.Time) (context.Context, context.CancelFunc)
}

// Signal wakes one sleeper of the clock that made it. On the virtual clock only
// tasks that the clock runs may fire it; on the wall clock it is safe for
// concurrent use.
type Signal interface{ Fire() }

// Timer is a function that runs once, later. It is safe for concurrent use.
type Timer interface {
	// Stop keeps the function from running and reports whether it did: false
	// means that the function has started, or was stopped before.
	Stop() bool
	// Wait returns nil once the function has returned or was stopped, or ctx's
	// cause as soon as ctx has ended.
	Wait(ctx context.Context) error
}

// TimeOfDay returns what a clock shows as the time of day. That is its Now, unless it
// tells the two apart: nobody sets the clock that measures spans, but anybody can set the
// time of day.
func TimeOfDay(c Clock) time.Time {
	if w, ok := c.(interface{ TimeOfDay() time.Time }); ok {
		return w.TimeOfDay()
	}
	return c.Now()
}

// Process is a [Clock] for code that pauses and dies together.
type Process interface {
	Clock
	// Go starts f, the process's business, after delay.
	Go(delay time.Duration, f func())
	// Work is a Sleep that stands for effort rather than a timer: a paused process does
	// no work, so a pause adds its length.
	Work(ctx context.Context, d time.Duration) error
	// Gate is called before each Redis call. It returns when the caller may
	// continue, or ctx's cause. Doing says what is about to be sent, for
	// observers of the clock.
	Gate(ctx context.Context, doing any) error
	// Pause stops the process for d from now. Whatever falls due meanwhile happens when
	// it continues.
	Pause(d time.Duration)
	// Kill ends the process: every task of it that waits, or uses this clock
	// again, ends in runtime.Goexit. Deferred functions run, but end in turn as
	// soon as they use the clock.
	Kill()
}

// errEnded is the cause of contexts that ended without one.
var errEnded = errors.New("clock: context ended")

func cause(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return errEnded
}
