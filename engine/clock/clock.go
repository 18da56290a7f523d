// Package clock is where the engine gets its time: the wall's, or a virtual
// one under which a run is a pure function of its inputs.
//
// A [Process] is what a machine's process is to its threads: everything that
// belongs to one client (its business code and its watchdog) shares one, is
// paused with it and dies with it. Both clocks hand out processes, so that
// code written against [Clock] cannot tell which one it runs under.
package clock

import (
	"context"
	"errors"
	"time"
)

// Clock is what timed code asks of time. Implementations are safe for
// concurrent use.
type Clock interface {
	// Now is the present instant. Differences of two instants are monotonic.
	Now() time.Time
	// Sleep returns nil after d, or ctx's cause as soon as ctx has ended.
	// A d of zero or less returns at once.
	Sleep(ctx context.Context, d time.Duration) error
	// AfterFunc runs f in a goroutine of its own after d. Doing names it for
	// whoever watches the clock, and changes nothing.
	AfterFunc(d time.Duration, doing string, f func()) Timer
	// NewSignal returns a signal for Await.
	NewSignal() Signal
	// Await sleeps like Sleep, but only until s fires or if it has fired since
	// the last Await, and tells whether it has.
	Await(ctx context.Context, d time.Duration, s Signal) (fired bool, err error)
	// WithDeadline is context.WithDeadline by this clock. The cause at the
	// deadline is context.DeadlineExceeded.
	WithDeadline(ctx context.Context, deadline time.Time) (context.Context, context.CancelFunc)
}

// Signal wakes one sleeper, of the clock that made it. On the virtual clock
// only what the clock moves may fire it; else it is safe for concurrent use.
type Signal interface{ Fire() }

// Timer is a function that runs once, later. It is safe for concurrent use.
type Timer interface {
	// Stop keeps the function from running and tells whether it did: false
	// means that the function has begun, or that it was stopped before.
	Stop() bool
	// Wait returns nil when the function has returned or was stopped, or
	// ctx's cause as soon as ctx has ended.
	Wait(ctx context.Context) error
}

// Process is a [Clock] for everything that pauses and dies together.
type Process interface {
	Clock
	// Go starts f, the process' business, after delay.
	Go(delay time.Duration, f func())
	// Work sleeps like Sleep, but is effort and not a timer: while the
	// process is paused no work is done, so that a pause adds its length.
	Work(ctx context.Context, d time.Duration) error
	// Gate is passed before each Redis call. It returns when the caller may
	// go on, or ctx's cause. Doing says what is about to be sent, for whoever
	// watches the clock.
	Gate(ctx context.Context, doing any) error
	// Pause stops the process for d from now: nothing of it moves, and what
	// falls due meanwhile happens when it goes on.
	Pause(d time.Duration)
	// Kill ends the process: whatever of it is waiting, or calls this clock
	// again, ends in runtime.Goexit. Deferred functions do run, and every use
	// of the clock in them ends them in turn.
	Kill()
}

// errEnded is given where a context ended without a cause of its own.
var errEnded = errors.New("clock: context ended")

func cause(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return errEnded
}
