package lock

import (
	"context"
	"sync/atomic"
	"time"

	"relock/engine/clock"
)

// limit is a context that ends at an instant and takes only values from its
// parent. A client asks for Done at every call and hardly ever needs it, so
// calls that end at about the same time share a channel, which closes slightly
// after their deadline. Err is exact.
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

// windows hand out channels that close at instants. Deadlines at most a slack
// apart share one. They are safe for concurrent use.
type windows struct {
	clock clock.System
	slack time.Duration
	last  atomic.Pointer[window]
}

type window struct {
	closes time.Time
	done   chan struct{}
}

// doneBy returns a channel that closes at the given instant, or at most the
// slack later.
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
