package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"relock/engine/clock"
)

// session is what a Locker knows of one owner's holds of one key. Busy is
// held during a call; mu guards what the watchdog and the timer share with it.
type session struct {
	sessionKey

	l     *Locker
	users int           // guarded by l.mu
	busy  chan struct{} // capacity 1

	signal clock.Signal // a message has come
	asked  asked        // of the call that waits

	mu       sync.Mutex
	until    time.Time // of the call that waits: how long it does
	heard    *message
	holds    []*Hold   // the levels, outermost first
	began    time.Time // when the acquisition of level 1 was sent
	deadline time.Time // the lease is not relied on after this
	lost     error     // why it is no longer relied on

	watchdog clock.Timer // next renewal, nil without one
	cancel   context.CancelFunc
	expiry   clock.Timer // ends the contexts at the deadline
	stopping bool        // the watchdog must not be armed again
}

func (s *session) level() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.holds)
}

// leave ends a call's turn.
func (s *session) leave() {
	<-s.busy
	s.drop()
}

func (s *session) drop() {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	s.users--
	if s.users == 0 && s.level() == 0 {
		delete(s.l.sessions, s.sessionKey)
	}
}

// acquisition is what one attempt of Lock came to.
type acquisition struct {
	hold      *Hold
	err       error
	unknown   bool  // Redis did not answer
	final     bool  // trying again would not help
	abandoned bool  // the context ended first; the reply is settled elsewhere
	held      bool  // another owner holds the lock
	pttl      int64 // and for how many milliseconds, where Redis said so
}

// attempt asks for the level once. The call itself is not cut short by ctx,
// because a reply that nobody waits for may be a lock that nobody releases:
// when ctx ends first, a task of its own waits for the reply and gives back
// what it granted.
func (s *session) attempt(ctx context.Context, c Call) acquisition {
	if ctx.Done() == nil {
		return s.ask(ctx, ctx, c)
	}
	var a acquisition
	asked := s.l.o.Clock.AfterFunc(0, "acquisition", func() { a = s.ask(ctx, context.WithoutCancel(ctx), c) })
	if asked.Wait(ctx) == nil {
		return a
	}
	s.l.o.Clock.AfterFunc(0, "settlement", func() {
		defer s.leave()
		// However long it takes with a client that minds no context: what was
		// given back sooner could still be granted afterwards.
		_ = asked.Wait(context.WithoutCancel(ctx))
		if a.hold != nil {
			_ = s.unlock(ctx, a.hold)
			return
		}
		s.leaveLine(ctx, c)
		s.settle(ctx, c, a)
	})
	return acquisition{abandoned: true}
}

// limited is a context that outlives ctx and ends at the engine's own limit.
func (s *session) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	clk := s.l.o.Clock
	if ctx.Done() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	return clk.WithDeadline(ctx, clk.Now().Add(s.l.o.Limit))
}

// ask sends lock.lua and makes what it answers into a hold. The hold's
// context descends from parent.
func (s *session) ask(parent, ctx context.Context, c Call) acquisition {
	l := s.l
	ctx, cancel := s.limited(WithCall(ctx, c))
	defer cancel()
	sent := l.o.Clock.Now()
	if c.Level == 1 && !l.p.naive {
		s.mu.Lock()
		s.heard = nil // what Redis answers now is newer
		s.mu.Unlock()
		s.arm(sent)
	}
	r, err := l.p.lock(ctx, s.steps(c))
	if err == nil && r.now > 0 {
		s.asked = asked{sent, r.now}
	}
	granted := err == nil && r.code == codeGranted
	if granted && l.p.naive {
		s.armNaively(l.o.Clock.Now())
	}
	if granted && c.Level == 1 && !l.p.naive && !l.o.Clock.Now().Before(s.deadlineAfter(sent)) {
		// The grant is older than the lease that came with it (F44).
		granted, err = false, fmt.Errorf("%w: the grant came too late: %w", ErrNotAcquired, ErrLost)
	}
	if granted && c.Level > 1 && s.lostCause() != nil {
		granted, err = false, s.lostCause()
	}
	if !granted && c.Level == 1 {
		s.disarm(ctx)
	}
	at := Attempt{Call: c, Count: r.count, Token: r.token, Err: err}
	a := acquisition{err: err}
	switch {
	case granted:
		a.hold = s.push(parent, c.Level, r.token, sent)
		at.Result = Acquired
		if c.Level > 1 {
			at.Result = Reentered
		}
	case err == nil && r.code == codeRefused:
		a.err, a.held, a.pttl = ErrHeld, true, r.pttl
		at.Result = Refused
	case err == nil || errors.Is(err, ErrLost):
		if err == nil {
			at.Err = ErrLost
			s.lose(ErrLost)
		} else {
			s.giveBack(ctx, c)
		}
		a.err, a.final = fmt.Errorf("%w: level %d: %w", ErrNotAcquired, c.Level, at.Err), c.Level > 1
		at.Result = Lost
	default:
		a.err = fmt.Errorf("%w: %w", ErrNotAcquired, err)
		a.final = answered(err)
		a.unknown = !a.final
		at.Result = Failed
	}
	l.observe(at)
	return a
}

// waitsUntil notes until when the call waits that is about to ask.
func (s *session) waitsUntil(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = t
}

// patience is how long the call that waits may be without asking again, 0
// where none waits.
func (s *session) patience() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.until.Sub(s.l.o.Clock.Now())
	if left <= 0 {
		return 0
	}
	return left + s.l.o.Lease
}

func (s *session) steps(c Call) steps {
	return steps{
		client: s.l.client, key: s.key, owner: string(s.owner), level: c.Level, lease: s.l.o.Lease, memory: s.l.o.Memory,
		nodes: s.l.nodes, clock: s.l.o.Clock, inTurn: s.l.o.NodesInTurn, inbox: s.l.o.Inbox,
		retries: s.l.o.Retries, interval: s.l.o.Interval,
		patience: s.patience(),
	}
}

// push records that level was granted.
func (s *session) push(parent context.Context, level int, token int64, sent time.Time) *Hold {
	h := &Hold{s: s, level: level, token: token}
	h.ctx, h.end = context.WithCancelCause(parent)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = append(s.holds, h)
	if level == 1 {
		s.lost = nil
		s.began = sent
		if !s.l.p.naive {
			s.rely(sent)
		}
	}
	return h
}

// deadlineAfter is how long a lease that was asked for at sent is relied on.
func (s *session) deadlineAfter(sent time.Time) time.Time {
	return sent.Add(s.l.o.Lease - s.l.o.Margin)
}

// rely moves the deadline after a good answer to what was sent at sent. The
// caller holds mu.
func (s *session) rely(sent time.Time) {
	s.relyUntil(s.deadlineAfter(sent))
}

// relyUntil moves the deadline. The caller holds mu.
func (s *session) relyUntil(deadline time.Time) {
	if s.expiry != nil {
		s.expiry.Stop()
	}
	s.deadline = deadline
	s.expiry = s.l.o.Clock.AfterFunc(s.deadline.Sub(s.l.o.Clock.Now()), "lease", func() {
		s.mu.Lock()
		over := !s.l.o.Clock.Now().Before(s.deadline)
		s.mu.Unlock()
		if over {
			s.lose(ErrLost)
		}
	})
}

// lose ends the contexts of all levels with cause, once.
func (s *session) lose(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost != nil || len(s.holds) == 0 {
		return
	}
	s.lost = cause
	s.stopping = true
	if s.cancel != nil {
		s.cancel()
	}
	if s.watchdog != nil {
		s.watchdog.Stop()
	}
	for _, h := range s.holds {
		h.end(cause)
	}
}

func (s *session) lostCause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// settle gives the level back after an acquisition whose fate is not known.
func (s *session) settle(ctx context.Context, c Call, a acquisition) {
	if a.unknown {
		s.giveBack(ctx, c)
	}
}

// giveBack leaves the level of c, whether or not it was entered. The answer
// does not matter: what it cannot undo, the lease does.
func (s *session) giveBack(ctx context.Context, c Call) {
	ctx, cancel := s.limited(ctx)
	defer cancel()
	_, _ = s.release(ctx, Call{Name: CallUnlock, Level: c.Level, GivesBack: true}, s.l.o.Retries)
}

// release sends unlock.lua until Redis answers, at most 1 + retries times.
func (s *session) release(ctx context.Context, c Call, retries int) (reply, error) {
	l := s.l
	for c.Attempt = 1; ; c.Attempt++ {
		r, err := l.p.unlock(WithCall(ctx, c), s.steps(c))
		at := Attempt{Call: c, Count: r.count, Err: err}
		switch {
		case err != nil:
			at.Result = Failed
		case r.code == codeGranted && r.count <= 0:
			at.Result = Released
		case r.code == codeGranted:
			at.Result = Decremented
		case s.ownRelease(c):
			at.Result, r = Released, reply{code: codeGranted}
		case s.level() > 0 && !l.p.naive:
			at.Result, at.Err = Lost, ErrLost
		default:
			at.Result, at.Err = NotHeld, ErrNotHeld
		}
		l.observe(at)
		if err == nil || answered(err) {
			return r, err
		}
		if c.Attempt <= retries && l.o.Observer != nil {
			l.o.Observer.Waiting(l.o.Interval)
		}
		if c.Attempt > retries || l.o.Clock.Sleep(ctx, l.o.Interval) != nil || ctx.Err() != nil {
			return r, errors.Join(ErrUnknown, err)
		}
	}
}

// ownRelease tells whether "not held" is the answer to an unlock that had
// been run before and only its reply was lost: so it is while the lease
// cannot have ended yet.
func (s *session) ownRelease(c Call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.Attempt > 1 && c.Level == 1 && len(s.holds) == 1 && s.lost == nil &&
		s.l.o.Clock.Now().Before(s.deadline)
}
