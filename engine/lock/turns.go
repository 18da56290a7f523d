package lock

import (
	"context"
	"slices"
	"sync"
	"time"

	"relock/engine/clock"
)

// turns lets the calls of one session go on one at a time, first come first
// served. The zero value is ready to use. It is safe for concurrent use.
type turns struct {
	mu      sync.Mutex
	taken   bool
	waiting []*waiter
}

// waiter is a call that waits for its turn.
type waiter struct {
	signal clock.Signal
	called bool // it is its turn
}

// tryTake takes the turn if it is free.
func (t *turns) tryTake() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken {
		return false
	}
	t.taken = true
	return true
}

// take waits for the turn. It fails with ctx's cause once ctx has ended.
func (t *turns) take(ctx context.Context, clk clock.Clock) error {
	t.mu.Lock()
	if !t.taken {
		t.taken = true
		t.mu.Unlock()
		return nil
	}
	w := &waiter{signal: clk.NewSignal()}
	t.waiting = append(t.waiting, w)
	t.mu.Unlock()
	for {
		const long = time.Hour // a signal or the end of ctx comes first
		_, err := clk.Await(ctx, long, w.signal)
		switch {
		case t.wasCalled(w, err != nil):
			return nil
		case err != nil:
			return err
		}
	}
}

// wasCalled reports whether it is w's turn. If it is not and w gives up, w
// waits no longer.
func (t *turns) wasCalled(w *waiter, givesUp bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !w.called && givesUp {
		t.waiting = slices.DeleteFunc(t.waiting, func(o *waiter) bool { return o == w })
	}
	return w.called
}

// leave gives the turn to the next call.
func (t *turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.taken = false
		return
	}
	next := t.waiting[0]
	t.waiting = t.waiting[1:]
	next.called = true
	next.signal.Fire()
}
