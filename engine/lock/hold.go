package lock

import (
	"context"
	"fmt"
)

// Hold is one level of a lock that was entered. It is safe for concurrent use.
type Hold struct {
	s     *session
	level int
	token int64
	ctx   context.Context //nolint:containedctx // the hold is a lease on time, and says when it is over
	end   context.CancelCauseFunc
}

// Key is the lock's key in Redis.
func (h *Hold) Key() string { return h.s.key }

// Owner is who holds it.
func (h *Hold) Owner() Owner { return h.s.owner }

// Level is 1 for the first acquisition, 2 for a re-entry, and so on.
func (h *Hold) Level() int { return h.level }

// Token is the fencing token that came with the first acquisition or was
// confirmed at re-entry; 0 where the protocol has none.
func (h *Hold) Token() int64 { return h.token }

// Context descends from the context that Lock was given. It ends with cause
// ErrLost (or ErrMaxAge) when the lease can no longer be relied on, and with
// ErrReleased at Unlock.
func (h *Hold) Context() context.Context { return h.ctx }

// Unlock leaves the level. It is not cut short by ctx's end, but limited by
// Options.Limit, so that a lock does not outlive its cancelled request; of
// ctx only the values count. It fails with ErrNotHeld when this hold was
// unlocked before, with ErrInnerHeld while an inner level is held, with
// ErrLost when the lease was lost, and with ErrUnknown when Redis did not
// answer. After ErrLost and ErrUnknown the level has been left as well.
func (h *Hold) Unlock(ctx context.Context) error {
	s, err := h.s.l.enter(context.WithoutCancel(ctx), h.s.sessionKey)
	if err != nil {
		return err
	}
	defer s.leave()
	return s.unlock(ctx, h)
}

// unlock leaves the level of h. The caller has the session's turn.
func (s *session) unlock(ctx context.Context, h *Hold) error {
	s.mu.Lock()
	innermost := len(s.holds) > 0 && s.holds[len(s.holds)-1] == h
	held := len(s.holds) >= h.level && s.holds[h.level-1] == h
	s.mu.Unlock()
	c := Call{Name: CallUnlock, Level: h.level, Attempt: 1}
	switch {
	case innermost:
	case held:
		s.l.observe(Attempt{Call: c, Result: Failed, Err: ErrInnerHeld})
		return fmt.Errorf("%w: level %d of %q cannot be left", ErrInnerHeld, h.level, s.key)
	default:
		s.l.observe(Attempt{Call: c, Result: NotHeld, Err: ErrNotHeld})
		return fmt.Errorf("%w: level %d of %q was left before", ErrNotHeld, h.level, s.key)
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	if h.level == 1 && !s.l.p.naive {
		s.disarm(ctx)
	}
	r, err := s.release(ctx, c, s.l.o.Retries)
	if h.level == 1 && s.l.p.naive {
		s.disarm(ctx) // too late: the lock may be another's already
	}
	switch {
	case err == nil && r.code == codeNotHeld && s.l.p.naive:
		err = fmt.Errorf("%w: unlock of level %d of %q", ErrNotHeld, h.level, s.key)
	case err == nil && r.code == codeNotHeld:
		err = fmt.Errorf("%w: unlock of level %d of %q", ErrLost, h.level, s.key)
		s.lose(ErrLost)
	}
	s.mu.Lock()
	s.holds = s.holds[:len(s.holds)-1]
	if h.level == 1 && s.expiry != nil {
		s.expiry.Stop()
		s.expiry = nil
	}
	s.mu.Unlock()
	h.end(ErrReleased)
	return err
}
