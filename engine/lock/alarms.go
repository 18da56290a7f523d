package lock

import (
	"container/heap"
	"context"
	"errors"
	"sync"
	"time"

	"relock/engine/clock"
)

// alarms is the system's clock with one timer for all that is set on it. Most
// of what a lock sets (a renewal, the lease's end, a call's limit) is stopped
// long before it is due, and to set a timer that is the next to fire wakes a
// thread of the runtime, which costs more than the rest of a call. Here the
// timer is left alone while it fires early enough: when it does, it sets off
// what is due, and is set to what is next. It is safe for concurrent use.
type alarms struct {
	clock.System

	mu    sync.Mutex
	due   byTime
	timer *time.Timer // runs ring
	fires time.Time   // when the timer does, zero while it does not
}

// AfterFunc implements [clock.Clock].
func (s *alarms) AfterFunc(d time.Duration, doing string, f func()) clock.Timer {
	if d <= 0 {
		return s.System.AfterFunc(d, doing, f)
	}
	return s.after(d, ringFunc(f))
}

// ringer is what an alarm sets off.
type ringer interface{ ring() }

type ringFunc func()

func (f ringFunc) ring() { f() }

// after is AfterFunc for what needs no closure.
func (s *alarms) after(d time.Duration, r ringer) clock.Timer {
	a := &alarm{of: s, at: time.Now().Add(d), run: r} //nolint:forbidigo // alarms are the system clock's
	s.mu.Lock()
	defer s.mu.Unlock()
	heap.Push(&s.due, a)
	if s.fires.IsZero() || a.at.Before(s.fires) {
		s.set(a.at)
	}
	return a
}

// set has the timer fire at an instant. The caller holds mu.
func (s *alarms) set(at time.Time) {
	s.fires = at
	if s.timer == nil {
		s.timer = time.AfterFunc(time.Until(at), s.ring) //nolint:forbidigo // alarms are the system clock's
		return
	}
	s.timer.Reset(time.Until(at))
}

// ring sets off what is due.
func (s *alarms) ring() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now() //nolint:forbidigo // alarms are the system clock's
	for len(s.due) > 0 && !s.due[0].at.After(now) {
		a := s.due[0]
		heap.Pop(&s.due)
		go func() {
			defer a.finish()
			a.run.ring()
		}()
	}
	s.fires = time.Time{}
	if len(s.due) > 0 {
		s.set(s.due[0].at)
	}
}

// WithDeadline implements [clock.Clock].
func (s *alarms) WithDeadline(parent context.Context, at time.Time) (context.Context, context.CancelFunc) {
	left := time.Until(at)
	if sooner, ok := parent.Deadline(); left <= 0 || ok && sooner.Before(at) {
		return context.WithDeadline(parent, at)
	}
	ctx, end := context.WithCancelCause(parent)
	a := s.AfterFunc(left, "deadline", func() { end(context.DeadlineExceeded) })
	return limited{ctx, at}, func() {
		a.Stop()
		end(context.Canceled)
	}
}

// limited is a context that ends at an instant.
type limited struct {
	context.Context

	at time.Time
}

func (c limited) Deadline() (time.Time, bool) { return c.at, true }

func (c limited) Err() error {
	err := c.Context.Err()
	if err != nil && errors.Is(context.Cause(c.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}

// alarm is a [clock.Timer]. What is below of is guarded by its mu.
type alarm struct {
	at  time.Time
	run ringer
	of  *alarms

	index int // in of.due, -1 when it is no longer there
	over  bool
	ended chan struct{} // closed when it is over, nil while nobody waits
}

// Stop implements [clock.Timer].
func (a *alarm) Stop() bool {
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	if a.index < 0 {
		return false
	}
	heap.Remove(&a.of.due, a.index)
	a.end()
	return true
}

func (a *alarm) finish() {
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	a.end()
}

// end wakes those who wait. The caller holds mu.
func (a *alarm) end() {
	a.over = true
	if a.ended != nil {
		close(a.ended)
	}
}

// Wait implements [clock.Timer].
func (a *alarm) Wait(ctx context.Context) error {
	a.of.mu.Lock()
	if a.over {
		a.of.mu.Unlock()
		return nil
	}
	if a.ended == nil {
		a.ended = make(chan struct{})
	}
	ended := a.ended
	a.of.mu.Unlock()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// byTime is a heap of alarms, the next first.
type byTime []*alarm

func (h byTime) Len() int           { return len(h) }
func (h byTime) Less(i, j int) bool { return h[i].at.Before(h[j].at) }

func (h byTime) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements [heap.Interface].
func (h *byTime) Push(x any) {
	a, _ := x.(*alarm)
	a.index = len(*h)
	*h = append(*h, a)
}

// Pop implements [heap.Interface].
func (h *byTime) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	a.index = -1
	return a
}
