package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"relock/engine/lock/protocol"
)

// Hold is one level of a lock that its owner entered. It is safe for concurrent
// use.
type Hold struct {
	s      *session
	level  int
	label  string
	token  int64
	parent context.Context
	inner  turns // of calls of Do under it

	unwanted bool // it came when nobody was waiting for it any more

	// Guarded by s.mu.
	ctx  *holdContext // nil until Context is called
	over error        // why it ended, nil while it lasts
}

// Key returns the lock's key in Redis.
func (h *Hold) Key() string { return h.s.key }

// Owner returns who holds the lock.
func (h *Hold) Owner() Owner { return h.s.owner }

// Label returns what WithLabel said of the first acquisition, or "".
func (h *Hold) Label() string { return h.label }

// String says which level of which lock it is, and whose, for errors and logs.
func (h *Hold) String() string {
	text := fmt.Sprintf("level %d of %q", h.level, h.s.key)
	if h.label != "" {
		text += " for " + h.label
	}
	return text
}

// Level returns 1 for the first acquisition, 2 for a re-entry, and so on.
func (h *Hold) Level() int { return h.level }

// Token returns the fencing token issued by the first acquisition, which all
// levels share, or 0 if the protocol has none.
func (h *Hold) Token() int64 { return h.token }

type holdKey struct{}

// keyed asks a context for the innermost hold of a key.
type keyed string

// HoldOf returns the hold whose context ctx is or derives from: in the function that
// [Locker.Do] calls, the hold that it runs under. If there are several, it returns the
// innermost; if there are none, nil.
func HoldOf(ctx context.Context) *Hold {
	h, _ := ctx.Value(holdKey{}).(*Hold)
	return h
}

// Until returns the instant, by the Locker's clock, until which you can rely on the hold
// without another renewal: Options.Margin before the lease can expire. Each renewal moves
// it. It is the zero time once the hold is lost or released.
func (h *Hold) Until() time.Time {
	h.s.look()
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	if h.over != nil {
		return time.Time{}
	}
	return h.s.deadline
}

// Context returns a context derived from the one given to Lock. It ends with cause
// ErrLost (or ErrMaxAge) when you can no longer rely on the lease, and with ErrReleased
// at Unlock.
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
	outer, _ := h.parent.Value(keyed(h.s.key)).(*Hold)
	made.within = outer != nil && outer.s == h.s
	h.s.mu.Lock()
	first, over := h.ctx, h.over
	if first == nil {
		h.ctx = made
		if h.s.tether != nil {
			h.s.tie(h)
		}
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

	h      *Hold
	stop   context.CancelCauseFunc
	within bool // another context of the session, which ends it
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
	if over != nil { // the call that noticed it may not have ended the context yet
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
	switch k := key.(type) {
	case keyed:
		if string(k) == c.h.s.key {
			return c.h
		}
	case holdKey:
		return c.h
	}
	c.look()
	return c.Context.Value(key)
}

// Unlock leaves the level. It uses only the values of ctx: Options.ReleaseWait bounds the
// call, and the end of ctx does not, so that a lock does not outlive a cancelled request.
// A Lock of the same owner that still waits for an inner level ends with ErrReleased.
//
// It fails with ErrNotHeld if h is nil or was unlocked before, with
// ErrInnerHeld while an inner level is held, with ErrLost if the lease was lost
// (joined with ErrWrongType if something else is in the key), with ErrUnknown
// if Redis did not answer until the limit, and with ErrRefused if Redis said only that it
// could not run the release. After ErrLost, ErrUnknown and ErrRefused the level has been
// left all the same: the release goes on in the background, until Options.Limit, and at
// the latest the end of the lease frees the lock.
func (h *Hold) Unlock(ctx context.Context) error {
	if h == nil {
		return fmt.Errorf("%w: unlock of a nil Hold", ErrNotHeld)
	}
	limited, cancel := h.s.limited(ctx, h.s.l.o.Limit)
	defer cancel()
	s := h.s.l.reenter(h.s)
	if !s.turnFor(limited, h) {
		s.lose(ErrReleased) // it is not renewed any more
		return fmt.Errorf("%w: unlock of %s: another call of its owner goes on", ErrUnknown, h)
	}
	var rest *releasing
	defer func() { // even if an Observer panics
		if rest == nil {
			s.leave()
		}
	}()
	rest, err := s.unlock(ctx, s.l.o.ReleaseWait, h)
	if rest != nil {
		s.l.settle(func(late bool) {
			defer s.leave()
			if late {
				return
			}
			limited, cancel := s.limited(ctx, s.l.o.Limit-s.l.o.ReleaseWait)
			defer cancel()
			_, _ = s.release(ctx, limited, rest)
		})
	}
	return err
}

// leave is Unlock for a caller that will not try again: if an inner level is still held,
// the hold is not renewed any more.
func (h *Hold) leave(ctx context.Context) error {
	err := h.Unlock(ctx)
	if errors.Is(err, ErrInnerHeld) {
		h.s.runOut(ErrLost)
	}
	return err
}

// isInnermost reports whether its owner is at this level, even if the lock is lost.
func (h *Hold) isInnermost() bool {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	return h.s.isHeld(h) && len(h.s.holds) == h.level
}

// reenter returns the session of a hold, which may be over, for another call.
func (l *Locker) reenter(s *session) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.sessions[s.sessionKey]; now != nil {
		s = now
	} else if now := l.dormant.find(s.sessionKey); now != nil {
		s = now
		l.sessions[s.sessionKey] = s
	}
	s.users++
	return s
}

// turnFor waits for the session's turn to leave the level of h, until limited
// ends. If that level is the innermost, it cuts short the owner's question for a deeper
// one.
func (s *session) turnFor(limited context.Context, h *Hold) bool {
	if s.turns.tryTake() {
		return true
	}
	s.mu.Lock()
	parts := s.isHeld(h) && len(s.holds) == h.level
	if parts {
		s.parting = append(s.parting, h)
		if s.cut != nil {
			s.cut()
		}
		if s.signal != nil {
			s.signal.Fire()
		}
	}
	s.mu.Unlock()
	err := s.turns.take(limited, s.l.o.Clock)
	if parts {
		s.mu.Lock()
		i := slices.Index(s.parting, h)
		s.parting = slices.Delete(s.parting, i, i+1)
		s.mu.Unlock()
	}
	if err != nil {
		s.drop()
		return false
	}
	return true
}

// isHeld reports whether h is one of the levels. The caller holds mu.
func (s *session) isHeld(h *Hold) bool { return len(s.holds) >= h.level && s.holds[h.level-1] == h }

// unlock leaves the level of h, or tries to for that long, and returns what is left to do
// of a release of level 1: after an inner one nothing is, because the next call names its
// level. The caller has the session's turn.
func (s *session) unlock(ctx context.Context, wait time.Duration, h *Hold) (rest *releasing, err error) {
	s.mu.Lock()
	innermost := len(s.holds) > 0 && s.holds[len(s.holds)-1] == h
	held := s.isHeld(h)
	over := h.over
	s.mu.Unlock()
	c := Call{Name: protocol.CallUnlock, Level: h.level, Attempt: 1}
	switch {
	case innermost:
	case held:
		s.observe(ctx, Attempt{Call: c, Result: Failed, Err: ErrInnerHeld})
		return nil, fmt.Errorf("%w: %s cannot be left", ErrInnerHeld, h)
	case over != nil && over != ErrReleased: //nolint:errorlint // the very value
		s.observe(ctx, Attempt{Call: c, Result: NotHeld, Err: over})
		return nil, fmt.Errorf("%w: %s, and its owner has begun again", over, h)
	default:
		s.observe(ctx, Attempt{Call: c, Result: NotHeld, Err: ErrNotHeld})
		return nil, fmt.Errorf("%w: %s was left before", ErrNotHeld, h)
	}
	limited, cancel := s.limited(ctx, wait)
	defer cancel()
	c.Number = s.number()
	if h.level == 1 {
		s.disarm(limited)
	}
	done := false
	defer s.unless(&done, func() { s.pop(h) })
	s.leaving = releasing{Call: c, unwanted: h.unwanted}
	s.leaving.Attempt = 0
	of := &s.leaving
	r, err := s.release(ctx, limited, of)
	switch {
	case err == nil && r.Code != protocol.Granted:
		err = fmt.Errorf("%w: unlock of %s", ErrLost, h)
		s.lose(ErrLost)
	case overwritten(err):
		err = fmt.Errorf("%w: unlock of %s: %w", ErrLost, h, err)
		s.lose(ErrLost)
	}
	done = true
	if of.open && h.level == 1 && wait < s.l.o.Limit {
		of.behind = s.reliedOn()
		rest = of
	}
	s.pop(h)
	return rest, err
}

// pop ends the innermost level, h.
func (s *session) pop(h *Hold) {
	s.mu.Lock()
	s.holds = s.holds[:len(s.holds)-1]
	if s.lost == nil {
		s.has(len(s.holds))
	}
	if h.level == 1 && s.expiry != nil {
		s.expiry.Stop()
		s.expiry = nil
	}
	if s.tether != nil {
		s.tether.mu.Lock()
		delete(s.tether.ends, h.level)
		s.tether.mu.Unlock()
	}
	finish := h.finish(ErrReleased)
	s.mu.Unlock()
	finish()
}
