package lock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"relock/engine/clock"
	"relock/engine/lock/protocol"
)

// session is what a Locker knows of one owner's holds of one key. Busy is
// held during a call; mu guards what the watchdog and the timer share with it.
type session struct {
	sessionKey

	l     *Locker
	users int           // guarded by l.mu
	busy  chan struct{} // capacity 1

	asked asked // of the call that waits
	lease lease // of the hold, or of the call that asks for one
	words protocol.Words
	late  bool            // a first acquisition went unanswered, and may still arrive
	told  bool            // the owner was told of a loss by Lock
	lanes *protocol.Lanes // to the nodes, nil where there is one

	mu       sync.Mutex
	signal   clock.Signal // a message has come, or the Locker was closed; nil while nobody has waited
	until    time.Time    // of the call that waits: how long it does
	heard    *message
	holds    []*Hold // the levels, outermost first
	room     [2]*Hold
	began    time.Time // when the acquisition of level 1 was sent
	deadline time.Time // the lease is not relied on after this
	aged     bool      // it is not renewed any more, and ends with ErrMaxAge
	lost     error     // why it is no longer relied on

	watchdog clock.Timer // next renewal, nil without one
	cancel   context.CancelFunc
	expiry   clock.Timer // ends the contexts at the deadline
	stopping bool        // the watchdog must not be armed again
}

// begin prepares a call of Lock. Who holds nothing gets its lease, and so does
// who was told that all it held is lost and has not left it.
func (s *session) begin(mine lease) {
	s.look()
	if s.told {
		s.disarm(context.Background()) // what is left of it must not read the lease meanwhile
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told && s.lost != nil {
		s.holds = s.room[:0]
		s.lost = nil
	}
	s.told = false
	if len(s.holds) == 0 {
		s.words = s.l.keyedFor(s.key).Words(string(s.owner), s.l.o.ID, mine.length)
		s.lease = mine
	}
}

func (s *session) level() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.holds)
}

// wakeUp is what ends a sleep of the session's.
func (s *session) wakeUp() clock.Signal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.signal == nil {
		s.signal = s.l.o.Clock.NewSignal()
		if s.heard != nil { // before there was anything to fire
			s.signal.Fire()
		}
	}
	return s.signal
}

// wake ends a sleep of the session's.
func (s *session) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.signal != nil {
		s.signal.Fire()
	}
}

// stay keeps the session until drop.
func (s *session) stay() {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	s.users++
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
	if s.users == 0 && s.level() == 0 && s.l.sessions[s.sessionKey] == s {
		delete(s.l.sessions, s.sessionKey)
		s.l.shared.release(s)
	}
}

// observe tells the Observer of an attempt.
func (s *session) observe(ctx context.Context, a Attempt) {
	if s.l.o.Observer.Attempted == nil {
		return
	}
	a.Key, a.Owner = s.key, s.owner
	if a.Began.IsZero() {
		a.Began = s.l.o.Clock.Now()
	}
	a.Took = s.l.o.Clock.Now().Sub(a.Began)
	s.l.o.Observer.Attempted(ctx, a)
}

func (s *session) tellWait(ctx context.Context, d time.Duration) {
	if s.l.o.Observer.Waiting != nil {
		s.l.o.Observer.Waiting(ctx, Wait{Key: s.key, Owner: s.owner, For: d})
	}
}

// acquisition is what one attempt of Lock came to.
type acquisition struct {
	hold      *Hold
	err       error
	unknown   bool          // Redis did not answer
	final     bool          // trying again would not help
	abandoned bool          // the context ended first; the reply is settled elsewhere
	slow      bool          // Redis did not answer as soon as it mostly does
	held      bool          // another owner holds the lock
	pttl      time.Duration // and for how long, where Redis said so
}

// attempt asks for the level once. The call itself is not cut short by ctx,
// because a reply that nobody waits for may be a lock that nobody releases:
// when ctx ends first, a task of its own waits for the reply and gives back
// what it granted. A task costs more than all else of a call, and Redis mostly
// answers at once; so there is one only where it did not.
func (s *session) attempt(ctx context.Context, c Call) acquisition {
	if ctx.Done() == nil {
		return s.ask(ctx, ctx, c, s.l.o.Limit)
	}
	if s.l.isSwift() {
		a := s.ask(ctx, ctx, c, swift)
		if !a.slow {
			s.l.slow.wasNot()
		}
		if !a.slow && (ctx.Err() == nil || a.hold == nil && !a.unknown) {
			return a
		}
		if !a.slow {
			s.l.o.Clock.AfterFunc(0, "settlement", func() { s.undo(ctx, c, a) })
			return acquisition{abandoned: true}
		}
		s.l.slow.was()
	}
	var a acquisition
	asked := s.l.o.Clock.AfterFunc(0, "acquisition", func() { a = s.ask(ctx, context.WithoutCancel(ctx), c, s.l.o.Limit) })
	if asked.Wait(ctx) == nil {
		return a
	}
	s.l.o.Clock.AfterFunc(0, "settlement", func() {
		// However long it takes with a client that minds no context: what was
		// given back sooner could still be granted afterwards.
		_ = asked.Wait(context.WithoutCancel(ctx))
		s.undo(ctx, c, a)
	})
	return acquisition{abandoned: true}
}

// undo gives back what an attempt was granted, or may have been, and ends the
// call.
func (s *session) undo(ctx context.Context, c Call, a acquisition) {
	defer s.leave()
	if a.hold != nil {
		_ = s.unlock(ctx, a.hold)
		return
	}
	s.leaveLine(ctx, c)
	s.settle(ctx, c, a)
}

// limited is a context that outlives ctx and ends at the engine's own limit.
func (s *session) limited(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
	clk := s.l.o.Clock
	deadline := clk.Now().Add(after)
	switch {
	case s.l.windows == nil:
		if ctx.Done() != nil {
			ctx = context.WithoutCancel(ctx)
		}
		return clk.WithDeadline(ctx, deadline)
	case after == swift:
		return &limit{ctx, deadline, s.l.swiftWindows}, func() {}
	default:
		return &limit{ctx, deadline, s.l.windows}, func() {}
	}
}

// about says to the client what a command is sent for, if it asks.
func (s *session) about(ctx context.Context, c Call) context.Context {
	if !s.l.tells {
		return ctx
	}
	return protocol.WithCall(ctx, c)
}

// ask sends lock.lua and makes what it answers within limit into a hold. The
// hold's context descends from parent.
func (s *session) ask(parent, ctx context.Context, c Call, limit time.Duration) acquisition {
	l := s.l
	ctx, cancel := s.limited(s.about(ctx, c), limit)
	defer cancel()
	sent := l.o.Clock.Now()
	if c.Level == 1 && !l.p.Naive {
		s.mu.Lock()
		s.heard = nil // what Redis answers now is newer
		s.mu.Unlock()
		s.arm(sent)
	}
	r, err := l.p.Lock(ctx, s.request(c))
	if errors.Is(err, protocol.ErrTooLate) {
		err = fmt.Errorf("%w: %w: %w", ErrNotAcquired, err, ErrLost)
	}
	if err == nil && r.Now > 0 {
		s.asked = asked{sent, r.Now}
	}
	granted := err == nil && r.Code == protocol.Granted
	if granted && l.p.Naive {
		s.armNaively(l.o.Clock.Now())
	}
	if granted && c.Level == 1 && !l.p.Naive && passed(l.o.Clock.Now(), s.deadlineAfter(sent)) {
		// The grant is older than the lease that came with it (F44).
		granted, err = false, fmt.Errorf("%w: the grant came too late: %w", ErrNotAcquired, ErrLost)
	}
	if granted && c.Level > 1 && s.lostCause() != nil {
		granted, err = false, s.lostCause()
	}
	if !granted && c.Level == 1 {
		s.disarm(ctx)
	}
	at := Attempt{Call: c, Began: sent, Count: r.Count, Token: r.Token, Err: err}
	a := acquisition{err: err}
	if err != nil && limit == swift && ctx.Err() != nil && !protocol.Answered(err) {
		s.late = s.late || c.Level == 1
		a.slow = true
		return a // it is asked again, and that is observed
	}
	switch {
	case granted:
		a.hold = s.push(parent, c.Level, r.Token, sent)
		at.Result, at.Until = Acquired, s.reliedOn()
		if c.Level > 1 {
			at.Result = Reentered
		}
	case err == nil && (r.Code == protocol.Refused || r.Code == protocol.Stale):
		a.err, a.held, a.pttl = ErrHeld, true, r.PTTL
		at.Result = Refused
	case err == nil || errors.Is(err, ErrLost):
		if err == nil {
			at.Err = ErrLost
			s.lose(ErrLost)
		} else {
			s.giveBack(ctx, c)
		}
		a.err, a.final = fmt.Errorf("%w: level %d: %w", ErrNotAcquired, c.Level, at.Err), c.Level > 1
		s.told = c.Level > 1
		at.Result = Lost
	default:
		a.err = fmt.Errorf("%w: %w", ErrNotAcquired, err)
		a.final = protocol.Answered(err)
		a.unknown = !a.final
		s.late = s.late || a.unknown && c.Level == 1
		at.Result = Failed
	}
	s.observe(parent, at)
	return a
}

// waitsUntil notes until when the call waits that is about to ask.
func (s *session) waitsUntil(t time.Time) {
	if s.l.p.Leave == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = t
}

// longWait is how many leases the place of a waiter that does not ask again is
// kept at most.
const longWait = 10

// patience is how long the call that waits may be without asking again, 0
// where none waits.
func (s *session) patience() time.Duration {
	if s.l.p.Leave == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.until.Sub(s.l.o.Clock.Now())
	if left <= 0 {
		return 0
	}
	return min(left, max(longWait*s.lease.length, 2*(s.l.o.Interval+s.l.o.JitterMax))) + s.lease.length
}

func (s *session) request(c Call) protocol.Request {
	r := protocol.Request{
		Words: s.words, Client: s.l.client, Key: s.key, Owner: string(s.owner), Level: c.Level, Lease: s.lease.length,
		Nodes: s.l.nodes, Lanes: s.lanes, Clock: s.l.o.Clock, Inbox: s.l.o.Inbox,
		Retries: s.l.o.Retries, Interval: s.l.o.Interval,
		Patience: s.patience(), Locker: s.l.o.ID, Number: c.Number,
	}
	if c.Name == protocol.CallUnlock && c.Level == 1 && s.late {
		r.Remember = lateAtMost
	}
	return r
}

// push records that level was granted.
func (s *session) push(parent context.Context, level int, token int64, sent time.Time) *Hold {
	h := &Hold{s: s, level: level, token: token, parent: parent}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = append(s.holds, h)
	if level == 1 {
		s.lost, s.aged = nil, false
		s.began = sent
		if !s.l.p.Naive {
			s.rely(sent)
		}
	}
	return h
}

// deadlineAfter is how long a lease that was asked for at sent is relied on.
func (s *session) deadlineAfter(sent time.Time) time.Time {
	return sent.Add(s.lease.length - s.lease.margin)
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
	s.expiry = s.l.o.Clock.AfterFunc(s.deadline.Sub(s.l.o.Clock.Now()), "lease", s.leaseEnded)
}

// reliedOn is until when the lease is, the zero time of protocols that never
// find out.
func (s *session) reliedOn() time.Time {
	if s.l.p.Naive {
		return time.Time{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deadline
}

// leaseEnded is what its clock calls at the lease's end.
func (s *session) leaseEnded() {
	if cause := s.endsWith(); cause != nil {
		s.lose(cause)
	}
}

// passed tells whether an instant is over: by the monotonic clock, and by the
// calendar, which goes on while a machine sleeps.
func passed(now, at time.Time) bool {
	return !now.Before(at) || !now.Round(0).Before(at.Round(0))
}

// endsWith is why the lease cannot be relied on now, or nil.
func (s *session) endsWith() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.l.p.Naive, len(s.holds) == 0:
		return nil
	case s.lost != nil:
		return s.lost
	case !passed(s.l.o.Clock.Now(), s.deadline):
		return nil
	case s.aged:
		return ErrMaxAge
	default:
		return ErrLost
	}
}

// look ends the contexts if the clock says that the lease is over: a timer may
// be late on a machine that is busy, was stopped, or slept. It stops no timer,
// as it is called from anywhere; the lease's own does, when it comes.
func (s *session) look() {
	if cause := s.endsWith(); cause != nil {
		s.end(cause)
	}
}

// lose ends the contexts of all levels with cause, once, and all that renews
// the lease.
func (s *session) lose(cause error) {
	s.mu.Lock()
	if len(s.holds) > 0 {
		s.stopping = true
		if s.cancel != nil {
			s.cancel()
		}
		if s.watchdog != nil {
			s.watchdog.Stop()
		}
	}
	s.mu.Unlock()
	s.end(cause)
}

// end ends the contexts of all levels with cause, once.
func (s *session) end(cause error) {
	s.mu.Lock()
	if s.lost != nil || len(s.holds) == 0 {
		s.mu.Unlock()
		return
	}
	s.lost = cause
	loss := Loss{Key: s.key, Owner: s.owner, Levels: len(s.holds), Err: cause}
	parent := s.holds[0].parent
	ends := make([]func(), len(s.holds))
	for i, h := range s.holds {
		ends[i] = h.finish(cause)
	}
	s.mu.Unlock()
	for _, end := range ends {
		end()
	}
	if s.l.o.Observer.Lost != nil {
		s.l.o.Observer.Lost(parent, loss)
	}
}

func (s *session) lostCause() error {
	s.look()
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
	limited, cancel := s.limited(ctx, s.l.o.Limit)
	defer cancel()
	_, _ = s.release(ctx, limited, Call{Name: protocol.CallUnlock, Level: c.Level, Number: s.l.number(), GivesBack: true})
}

// mostReleases is how often a release that is not answered is tried again
// where Lock tries until its context ends: the caller waits meanwhile.
const mostReleases = 5

// release sends unlock.lua until Redis answers, and tries again as often as
// Lock does. The Observer is given caller.
func (s *session) release(caller, ctx context.Context, c Call) (protocol.Reply, error) {
	l := s.l
	retries := l.o.Retries
	if retries == math.MaxInt {
		retries = mostReleases
	}
	for c.Attempt = 1; ; c.Attempt++ {
		began := l.o.Clock.Now()
		r, err := l.p.Unlock(s.about(ctx, c), s.request(c))
		at := Attempt{Call: c, Began: began, Count: r.Count, Err: err}
		switch {
		case err != nil:
			at.Result = Failed
		case r.Code == protocol.Granted && r.Count <= 0:
			at.Result = Released
		case r.Code == protocol.Granted:
			at.Result = Decremented
		case s.ownRelease(c):
			at.Result, r = Released, protocol.Reply{Code: protocol.Granted}
		case s.level() > 0 && !l.p.Naive:
			at.Result, at.Err = Lost, ErrLost
		default:
			at.Result, at.Err = NotHeld, ErrNotHeld
		}
		s.observe(caller, at)
		if err == nil || protocol.Answered(err) {
			if c.Level == 1 {
				s.late = false
			}
			return r, err
		}
		if c.Attempt > retries || ctx.Err() != nil {
			return r, errors.Join(ErrUnknown, err)
		}
		s.tellWait(caller, l.o.Interval)
		if l.o.Clock.Sleep(ctx, l.o.Interval) != nil || ctx.Err() != nil {
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
		!passed(s.l.o.Clock.Now(), s.deadline)
}
