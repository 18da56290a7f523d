package lock

import (
	"context"
	"sync/atomic"
	"time"

	"relock/engine/clock"
)

// limit is the context of a call that ends at an instant, and not with the
// context that it was made from: of that only the values count. A client asks
// for Done at every call, and for most nothing ever comes of it. So calls that
// end about the same time share a channel, which closes a little later than
// their deadline; Err is exact.
type limit struct {
	context.Context

	deadline time.Time
	shared   *windows
}

// Deadline implements [context.Context].
func (c *limit) Deadline() (time.Time, bool) { return c.deadline, true }

// Done implements [context.Context].
func (c *limit) Done() <-chan struct{} { return c.shared.doneBy(c.deadline) }

// Err implements [context.Context].
func (c *limit) Err() error {
	if time.Now().Before(c.deadline) { //nolint:forbidigo // windows are of the system clock
		return nil
	}
	return context.DeadlineExceeded
}

// windows are channels that close at instants, for all whose deadlines are at
// most a slack before them. It is safe for concurrent use.
type windows struct {
	clock clock.System
	slack time.Duration
	last  atomic.Pointer[window]
}

type window struct {
	closes time.Time
	done   chan struct{}
}

// doneBy is a channel that closes at the instant, or at most the slack later.
func (w *windows) doneBy(at time.Time) <-chan struct{} {
	last := w.last.Load()
	if last != nil && !last.closes.Before(at) && last.closes.Sub(at) <= w.slack {
		return last.done
	}
	next := &window{closes: at.Add(w.slack), done: make(chan struct{})}
	w.clock.AfterFunc(time.Until(next.closes), "limit", func() { close(next.done) })
	w.last.CompareAndSwap(last, next)
	return next.done
}
