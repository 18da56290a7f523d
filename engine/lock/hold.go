package lock

import (
	"context"
	"fmt"
	"time"

	"relock/engine/lock/protocol"
)

// Hold is one level of a lock that its owner entered. It is safe for concurrent
// use.
type Hold struct {
	s      *session
	level  int
	token  int64
	parent context.Context

	// Guarded by s.mu.
	ctx  *holdContext // nil until Context is called
	over error        // why it ended, nil while it lasts
}

// Key returns the lock's key in Redis.
func (h *Hold) Key() string { return h.s.key }

// Owner returns who holds the lock.
func (h *Hold) Owner() Owner { return h.s.owner }

// Level returns 1 for the first acquisition, 2 for a re-entry, and so on.
func (h *Hold) Level() int { return h.level }

// Token returns the fencing token issued by the first acquisition and confirmed
// at re-entry, or 0 if the protocol has none.
func (h *Hold) Token() int64 { return h.token }

// Until returns the instant, by the Locker's clock, until which the hold may be
// relied on unless it is renewed: Options.Margin before the lease can expire.
// Each renewal moves it. It is the zero time once the hold is lost or released,
// and for protocols that never notice a loss.
func (h *Hold) Until() time.Time {
	h.s.look()
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	if h.over != nil || h.s.l.p.Naive {
		return time.Time{}
	}
	return h.s.deadline
}

// Context returns a context derived from the one given to Lock. It ends with
// cause ErrLost (or ErrMaxAge) when the lease can no longer be relied on, and
// with ErrReleased at Unlock.
//
// Its Err reads the clock on each call, so it is right even on a machine that
// is too busy to run timers or was suspended. Its Done closes when a timer
// fires or Err finds the lease over, whichever is first. Contexts derived from
// it end when Done closes.
func (h *Hold) Context() context.Context {
	h.s.mu.Lock()
	made := h.ctx
	h.s.mu.Unlock()
	if made != nil {
		return made
	}
	// Without the mutex, because the parent may be another hold's context,
	// which takes it.
	made = &holdContext{h: h}
	made.Context, made.stop = context.WithCancelCause(h.parent)
	h.s.mu.Lock()
	first, over := h.ctx, h.over
	if first == nil {
		h.ctx = made
	}
	h.s.mu.Unlock()
	switch {
	case first != nil: // a concurrent call was faster
		made.stop(nil)
		return first
	case over != nil:
		made.stop(over)
	}
	return made
}

// finish ends the hold with cause, once, and returns the function that ends its
// context, to be called without the mutex. The caller holds s.mu.
func (h *Hold) finish(cause error) (end func()) {
	if h.over == nil {
		h.over = cause
	}
	if h.ctx == nil {
		return func() {}
	}
	return func() { h.ctx.stop(cause) }
}

// holdContext is a context that checks the clock whenever it is asked.
type holdContext struct {
	context.Context

	h    *Hold
	stop context.CancelCauseFunc
}

// look ends the context if its hold is over.
func (c *holdContext) look() {
	if c.Context.Err() != nil {
		return
	}
	c.h.s.look()
	c.h.s.mu.Lock()
	over := c.h.over
	c.h.s.mu.Unlock()
	if over != nil { // whoever noticed may not have ended the context yet
		c.stop(over)
	}
}

// Err implements [context.Context].
func (c *holdContext) Err() error {
	c.look()
	return c.Context.Err()
}

// Value implements [context.Context]. It checks the clock because context.Cause
// calls Value.
func (c *holdContext) Value(key any) any {
	if k, ok := key.(ownerKey); ok && k.l == c.h.s.l {
		return c.h.s.owner
	}
	c.look()
	return c.Context.Value(key)
}

// Unlock leaves the level. Of ctx only the values count: Options.Limit bounds
// the call, and the end of ctx does not, so that a lock does not outlive a
// cancelled request. It fails with ErrNotHeld if h is nil or was unlocked
// before, with ErrInnerHeld while an inner level is held, with ErrLost if the
// lease was lost (joined with ErrWrongType if something else is in the key),
// and with ErrUnknown if Redis did not answer. After ErrLost and ErrUnknown the
// level has been left all the same.
func (h *Hold) Unlock(ctx context.Context) error {
	if h == nil {
		return fmt.Errorf("%w: unlock of a nil Hold", ErrNotHeld)
	}
	s := h.s.l.reenter(h.s)
	defer s.leave()
	return s.unlock(ctx, h)
}

// reenter waits for the session's turn on behalf of a hold, which may be over.
func (l *Locker) reenter(s *session) *session {
	l.mu.Lock()
	if now := l.sessions[s.sessionKey]; now != nil {
		s = now
	}
	s.users++
	l.mu.Unlock()
	s.settled()
	s.busy <- struct{}{}
	return s
}

// unlock leaves the level of h. The caller has the session's turn.
func (s *session) unlock(ctx context.Context, h *Hold) error {
	s.mu.Lock()
	innermost := len(s.holds) > 0 && s.holds[len(s.holds)-1] == h
	held := len(s.holds) >= h.level && s.holds[h.level-1] == h
	over := h.over
	s.mu.Unlock()
	c := Call{Name: protocol.CallUnlock, Level: h.level, Attempt: 1}
	switch {
	case innermost:
	case held:
		s.observe(ctx, Attempt{Call: c, Result: Failed, Err: ErrInnerHeld})
		return fmt.Errorf("%w: level %d of %q cannot be left", ErrInnerHeld, h.level, s.key)
	case over != nil && over != ErrReleased: //nolint:errorlint // the very value
		s.observe(ctx, Attempt{Call: c, Result: NotHeld, Err: over})
		return fmt.Errorf("%w: level %d of %q, and its owner has begun anew", over, h.level, s.key)
	default:
		s.observe(ctx, Attempt{Call: c, Result: NotHeld, Err: ErrNotHeld})
		return fmt.Errorf("%w: level %d of %q was left before", ErrNotHeld, h.level, s.key)
	}
	c.Number = s.l.number()
	limited, cancel := s.limited(ctx, s.l.o.Limit)
	defer cancel()
	if h.level == 1 && !s.l.p.Naive {
		s.disarm(limited)
	}
	r, err := s.release(ctx, limited, c)
	if h.level == 1 && s.l.p.Naive {
		s.disarm(limited) // too late: the lock may be another's already
	}
	switch {
	case err == nil && r.Code != protocol.Granted && s.l.p.Naive:
		err = fmt.Errorf("%w: unlock of level %d of %q", ErrNotHeld, h.level, s.key)
	case err == nil && r.Code != protocol.Granted:
		err = fmt.Errorf("%w: unlock of level %d of %q", ErrLost, h.level, s.key)
		s.lose(ErrLost)
	case overwritten(err) && !s.l.p.Naive:
		err = fmt.Errorf("%w: unlock of level %d of %q: %w", ErrLost, h.level, s.key, err)
		s.lose(ErrLost)
	}
	s.mu.Lock()
	s.holds = s.holds[:len(s.holds)-1]
	if h.level == 1 && s.expiry != nil {
		s.expiry.Stop()
		s.expiry = nil
	}
	finish := h.finish(ErrReleased)
	s.mu.Unlock()
	finish()
	return err
}
