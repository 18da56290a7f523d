package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
	"relock/engine/lock/protocol"
)

// session is a Locker's state for one owner and key. Its calls take turns; mu
// guards what the call shares with the watchdog, the timers and an Unlock that
// waits for its turn.
type session struct {
	sessionKey

	l     *Locker
	users int  // guarded by l.mu
	rests bool // between calls it is dormant; guarded by l.mu
	kept  bool // it was dormant before; guarded by l.mu
	turns turns

	asked   asked     // by the waiting call
	lease   lease     // of the hold, or of the call acquiring one
	since   time.Time // when the lock call that has the turn began
	words   protocol.Words
	late    bool            // a first acquisition went unanswered and may still reach Redis
	told    bool            // Lock has reported the loss to the owner
	leaving releasing       // of the hold whose turn it is to go
	lanes   *protocol.Lanes // to the nodes, nil if there is only one

	mu       sync.Mutex
	signal   clock.Signal // a message has come, or the Locker was closed; nil before the first wait
	until    time.Time    // when the waiting call gives up
	last     int64        // the number of the newest call
	heard    *message
	holds    []*Hold // the levels, outermost first
	room     [2]*Hold
	first    Hold      // the first hold of all: most sessions have no other
	began    time.Time // when the call that acquired level 1 was sent
	deadline time.Time // the lease is not relied on after this
	aged     bool      // it is no longer renewed, and ends with ErrMaxAge
	lost     error     // why it is no longer relied on

	tether   *tether     // once it was renewed: then its timers do not keep it
	watchdog clock.Timer // next renewal, or nil
	beat     time.Time   // when it is due
	watches  int         // how often it was stopped: an older renewal's answer does not count
	failed   int         // renewals in a row that Redis did not answer or refused
	cancel   context.CancelFunc
	expiry   clock.Timer // ends the contexts at the deadline, or nil
	stopping bool        // do not arm the watchdog again

	parting []*Hold // whose Unlock waits for its turn; each was the innermost then
	cut     func()  // ends the question that is under way, if it is slow; else nil
}

// begin prepares a call of Lock. If the owner holds nothing, or has been told
// that everything it held is lost, the call's lease becomes the session's.
func (s *session) begin(mine lease) {
	s.look()
	if s.told {
		s.disarm(context.Background()) // the old watchdog must not read the lease while it changes
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told && s.lost != nil {
		s.holds = s.room[:0]
	}
	s.told = false
	if len(s.holds) == 0 {
		s.lost = nil // all of it was unlocked: the next watchdog must not take it for its own
		s.words = s.l.caller.Words(s.l.keyedFor(s.key), protocol.Labelled(string(s.owner), mine.label), mine.length)
		s.lease = mine
	}
}

func (s *session) level() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.holds)
}

// wakeUp returns the signal that ends a sleep of the session.
func (s *session) wakeUp() clock.Signal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.signal == nil {
		s.signal = s.l.o.Clock.NewSignal()
		if s.heard != nil { // a message came before the signal existed
			s.signal.Fire()
		}
	}
	return s.signal
}

// wake ends a sleep of the session.
func (s *session) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.signal != nil {
		s.signal.Fire()
	}
}

// stay keeps the session alive until drop.
func (s *session) stay() {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	s.users++
}

// leave ends a call's turn.
func (s *session) leave() {
	s.turns.leave()
	s.drop()
}

// drop ends a use of the session. One without levels is forgotten. One whose levels are
// lost or were renewed is remembered only as long as somebody has one of its holds.
func (s *session) drop() {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	s.users--
	s.forget()
}

// forget forgets the session if it has no use any more. The caller holds l.mu.
func (s *session) forget() {
	if s.users > 0 || s.l.sessions[s.sessionKey] != s {
		return
	}
	s.mu.Lock()
	levels, lost := len(s.holds), s.lost != nil
	s.mu.Unlock()
	switch {
	case levels == 0:
		delete(s.l.sessions, s.sessionKey)
	case lost, s.rests:
		delete(s.l.sessions, s.sessionKey)
		s.l.dormant.keep(s, !s.kept)
		s.kept = true
	}
}

// observe reports an attempt to the Observer.
func (s *session) observe(ctx context.Context, a Attempt) {
	if s.l.o.Observer.Attempted == nil {
		return
	}
	a.Key, a.Owner, a.Label = s.key, s.owner, s.lease.label
	if a.Began.IsZero() {
		a.Began = s.l.o.Clock.Now()
	}
	switch {
	case !a.Since.IsZero():
	case a.Name == protocol.CallLock:
		a.Since = s.since
	default:
		a.Since = a.Began
	}
	a.Took = s.l.o.Clock.Now().Sub(a.Began)
	s.l.o.Observer.Attempted(ctx, a)
}

func (l *Locker) tellWait(ctx context.Context, w Wait) {
	if l.o.Observer.Waiting != nil {
		l.o.Observer.Waiting(ctx, w)
	}
}

// acquisition is the outcome of one attempt of Lock.
type acquisition struct {
	hold      *Hold
	err       error          // why there is no hold
	unknown   bool           // Redis did not answer what may have been sent
	unsent    bool           // there was no connection to send it on
	refused   bool           // Redis answered that it cannot run anything now
	final     bool           // trying again would not help
	abandoned bool           // the context ended first; another task settles the reply
	slow      bool           // Redis did not answer within swift
	held      bool           // another owner holds the lock
	pttl      time.Duration  // and for how long, where Redis said so
	left      *time.Duration // the same, if a waiter that gets messages has asked for it
}

// attempt asks for the level once. The end of ctx does not cut the call short,
// because a reply that nobody waits for may be a lock that nobody releases. If
// ctx ends first, a task waits for the reply and gives back what was granted.
// Redis mostly answers at once, and a task costs more than the rest of the
// call, so the task is only started when Redis is slow.
func (s *session) attempt(ctx context.Context, c Call) acquisition {
	endless := ctx.Done() == nil
	if (!endless || c.Level > 1) && s.l.isSwift() {
		limited, cancel := s.limited(ctx, swift)
		defer cancel()
		a := s.ask(ctx, limited, c, true)
		if !a.slow {
			s.l.slow.wasNot()
		}
		if !a.slow && (ctx.Err() == nil || a.hold == nil && !a.unknown) {
			return a
		}
		if !a.slow {
			s.l.o.Clock.AfterFunc(0, settlement, func() { s.undo(ctx, c, a) })
			return acquisition{abandoned: true, err: a.err}
		}
		s.l.slow.was()
	}
	if endless {
		return s.insist(ctx, c)
	}
	var a acquisition
	var panicked any
	asked := s.l.o.Clock.AfterFunc(0, Acquisition, func() {
		defer func() {
			if s.l.windows != nil { // a run catches its own
				panicked = recover()
			}
		}()
		a = s.insist(ctx, c)
	})
	if asked.Wait(ctx) == nil {
		if panicked != nil { // in the goroutine of the call
			panic(panicked)
		}
		return a
	}
	s.l.o.Clock.AfterFunc(0, settlement, func() {
		// However long a client that ignores contexts takes: a level given back
		// sooner could still be granted afterwards.
		_ = asked.Wait(context.WithoutCancel(ctx))
		if panicked != nil {
			defer panic(panicked)
			defer s.leave()
			s.withdraw(ctx, c)
			return
		}
		s.undo(ctx, c, a)
	})
	return acquisition{abandoned: true, err: ErrUnknown}
}

// insist asks for the level, whether or not ctx ends, until Options.Limit is
// reached or an Unlock of an outer level cuts the question short.
func (s *session) insist(ctx context.Context, c Call) acquisition {
	if c.Level == 1 {
		limited, cancel := s.limited(ctx, s.l.o.Limit)
		defer cancel()
		return s.ask(ctx, limited, c, false)
	}
	clk := s.l.o.Clock
	limited, cut := clk.WithDeadline(context.WithoutCancel(ctx), clk.Now().Add(s.l.o.Limit))
	defer cut()
	s.cutWith(cut)
	defer s.cutWith(nil)
	return s.ask(ctx, cuttable{limited}, c, false)
}

// cutWith records what ends the question that is under way, nil if none is.
func (s *session) cutWith(cut func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = cut
	if cut != nil && slices.ContainsFunc(s.parting, s.isHeld) {
		cut()
	}
}

// parts reports whether an outer level is about to be left. Then Redis need not
// hear of inner ones: the release names its level.
func (s *session) parts() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.parting, s.isHeld)
}

// undo gives back what an attempt was, or may have been, granted.
func (s *session) undo(ctx context.Context, c Call, a acquisition) {
	s.told = false // nobody has heard it
	if a.hold == nil && s.l.windows != nil {
		s.forgo(ctx, c, a)
		return
	}
	defer s.leave()
	switch {
	case a.hold == nil: // a run shows its tasks: this is one
		s.leaveLine(ctx, c)
		s.settle(ctx, c, a)
	case s.parts():
		s.pop(a.hold)
	default:
		s.takeBack(ctx, a.hold)
	}
}

// forgo has the place in the line of a call given back that got nothing, and what Redis may
// still grant it, and ends its turn.
func (s *session) forgo(ctx context.Context, c Call, a acquisition) {
	s.l.settle(func(late bool) {
		defer s.leave()
		if !late {
			s.leaveLine(ctx, c)
			s.settle(ctx, c, a)
		}
	})
}

// takeBack releases a level whose caller never gets it.
func (s *session) takeBack(ctx context.Context, h *Hold) {
	h.unwanted = true
	_, _ = s.unlock(ctx, s.l.o.Limit, h)
}

// withdraw gives back what a call has got, or may have, that ends in a panic.
func (s *session) withdraw(ctx context.Context, c Call) {
	s.mu.Lock()
	var got *Hold
	if len(s.holds) == c.Level {
		got = s.holds[c.Level-1]
	}
	s.mu.Unlock()
	if got != nil {
		s.takeBack(ctx, got)
		return
	}
	s.leaveLine(ctx, c)
	s.settle(ctx, c, acquisition{unknown: true})
}

// limited returns a context with ctx's values that ends after the given time,
// and not with ctx.
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
	case after == s.l.o.ReleaseWait:
		return &limit{ctx, deadline, s.l.releaseWindows}, func() {}
	default:
		return &limit{ctx, deadline, s.l.windows}, func() {}
	}
}

// about tells the client which call a command belongs to, if it wants to know.
func (s *session) about(ctx context.Context, c Call) context.Context {
	if !s.l.tells {
		return ctx
	}
	return protocol.WithCall(ctx, c)
}

// ask sends the acquisition and turns an answer before the end of ctx into a
// hold, whose context derives from parent. One that is probed for has no
// outcome if Redis is slow: it is asked for again.
func (s *session) ask(parent, ctx context.Context, c Call, probe bool) acquisition {
	l := s.l
	ctx = s.about(ctx, c)
	sent := l.o.Clock.Now()
	if c.Level == 1 {
		s.mu.Lock()
		s.heard = nil // Redis' answer will be newer
		s.mu.Unlock()
		s.arm(sent)
	}
	request := s.request(c)
	r, err := l.send(ctx, l.p.Lock, request)
	if errors.Is(err, protocol.ErrTooLate) {
		err = fmt.Errorf("%w: %w", err, ErrLost)
	}
	if err == nil && l.p.Granting {
		s.asked = asked{sent, r.Now}
	}
	granted := err == nil && r.Code == protocol.Granted
	if granted && c.Level == 1 && passed(l.o.Clock.Now(), s.deadlineAfter(sent)) {
		// The grant took longer to arrive than its lease lasts (F44).
		granted, err = false, fmt.Errorf("the grant came too late: %w", ErrLost)
	}
	if granted && c.Level > 1 && s.lostCause() != nil {
		granted, err = false, s.lostCause()
	}
	if !granted && c.Level == 1 {
		s.disarm(ctx)
	}
	at := Attempt{Call: c, Began: sent, Lease: request.Lease, Count: r.Count, Token: r.Token, Err: err}
	a := acquisition{err: err}
	if err != nil && probe && ctx.Err() != nil && !protocol.Answered(err) {
		s.late = s.late || c.Level == 1
		a.slow = true
		return a // it is sent again, and that attempt is observed
	}
	switch {
	case granted:
		a.hold = s.push(parent, c.Level, r.Token, sent)
		at.Result, at.Until, at.Token = Acquired, s.reliedOn(), a.hold.token
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
		a.err, a.final = fmt.Errorf("level %d: %w", c.Level, at.Err), c.Level > 1
		s.told = c.Level > 1
		at.Result = Lost
	default:
		a.err, a.refused = err, protocol.Passing(err)
		a.unsent = l.p.Nodes == 0 && protocol.Unsent(err)
		a.unknown = !a.unsent && !protocol.Answered(err)
		a.final = !a.unknown && !a.unsent && !a.refused
		if a.unknown || a.unsent {
			a.err = fmt.Errorf("%w: %w", ErrUnknown, err)
		}
		s.late = s.late || a.unknown && c.Level == 1
		at.Result = Failed
	}
	s.observe(parent, at)
	return a
}

// waitsUntil records when the call that is about to ask gives up.
func (s *session) waitsUntil(t time.Time) {
	if s.l.p.Leave == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = t
}

// longWait is the most leases for which Redis keeps the place of a waiter that
// does not ask again.
const longWait = 10

// patience returns how long the waiting call may stay silent before it loses
// its place, 0 if no call waits.
func (s *session) patience() time.Duration {
	if s.l.p.Leave == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.until.Sub(s.l.o.Clock.Now())
	switch {
	case left <= 0:
		return 0
	case s.l.p.Granting: // who lives asks sooner
		return protocol.Grant(s.lease.length)
	}
	return min(left, max(longWait*s.lease.length, 2*(s.l.o.Interval+s.l.o.JitterMax))) + s.lease.length
}

func (s *session) request(c Call) protocol.Request {
	r := protocol.Request{
		Words: s.words, Client: s.l.client, Key: s.key, Owner: s.words.Owner(), Level: c.Level, Lease: s.lease.length,
		Nodes: s.l.nodes, Lanes: s.lanes, Clock: s.l.o.Clock, Inbox: s.l.o.Inbox,
		Retries: s.l.o.Retries, Interval: s.l.o.Interval,
		TokenTTL: s.l.o.TokenTTL, Patience: s.patience(), Locker: s.l.o.ID, Number: c.Number,
		GivesBack: c.GivesBack,
	}
	if c.Name == protocol.CallUnlock && c.Level == 1 && s.late {
		r.Remember = lateAtMost
	}
	return r
}

// push records that level was granted.
func (s *session) push(parent context.Context, level int, token int64, sent time.Time) *Hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &s.first
	if h.s != nil {
		h = &Hold{}
	}
	h.s, h.level, h.label, h.token, h.parent = s, level, s.lease.label, token, parent
	if len(s.holds) > 0 {
		h.token = s.holds[0].token
	}
	s.holds = append(s.holds, h)
	if level == 1 {
		s.lost, s.aged = nil, false
		s.began = sent
		s.rely(sent)
	}
	if s.lost == nil {
		s.has(level)
	}
	return h
}

// deadlineAfter returns how long to rely on a lease that was requested at sent.
func (s *session) deadlineAfter(sent time.Time) time.Time {
	return sent.Add(s.lease.length - s.lease.margin)
}

// rely extends the deadline after a success of a command sent at sent. The
// caller holds mu.
func (s *session) rely(sent time.Time) {
	s.relyUntil(s.deadlineAfter(sent))
}

// Names, on the [clock.Clock], of what a Locker has run beside its callers.
const (
	OwnLease    = "lease"       // the timers by which clients count their leases
	Acquisition = "acquisition" // a call of Lock whose context may end before Redis answers

	settlement = "settlement" // what is left to do when such a call has ended
)

// relyUntil sets the deadline. The caller holds mu.
func (s *session) relyUntil(deadline time.Time) {
	if s.expiry != nil {
		s.expiry.Stop()
		s.expiry = nil
	}
	s.deadline = deadline
	// A watchdog that comes before the deadline sees to it that the contexts end
	// there: a timer less for every short hold. Clocks other than the system's
	// show their timers, so there both run.
	if s.l.windows == nil || s.lease.renew == NoWatchdog || !s.beat.Before(deadline) {
		s.endAtDeadline()
	}
}

// endAtDeadline starts the timer that ends the contexts at the deadline, unless
// it runs. The caller holds mu.
func (s *session) endAtDeadline() {
	if s.expiry == nil {
		clk := s.l.o.Clock
		s.expiry = clk.AfterFunc(s.deadline.Sub(clk.Now()), OwnLease, s.later((*session).leaseEnded))
	}
}

// reliedOn returns the deadline.
func (s *session) reliedOn() time.Time {
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

// passed reports whether an instant is over, by the monotonic clock or by the
// wall clock, which keeps going while a machine sleeps.
func passed(now, at time.Time) bool {
	return !now.Before(at) || !now.Round(0).Before(at.Round(0))
}

// endsWith returns why the lease cannot be relied on now, or nil.
func (s *session) endsWith() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.holds) == 0:
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

// look ends the contexts if the clock says that the lease is over, because a
// timer may be late on a machine that is busy, was suspended or slept. It may
// be called from anywhere, so it stops no timer; the lease's own timer does
// that when it fires.
func (s *session) look() {
	if cause := s.endsWith(); cause != nil {
		s.end(cause)
	}
}

// lose stops all renewals and ends the contexts of all levels with cause, once.
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
	s.has(0)
	loss := Loss{Key: s.key, Owner: s.owner, Label: s.lease.label, Levels: len(s.holds), Err: cause}
	parent := s.holds[0].parent
	ends := make([]func(), len(s.holds))
	for i, h := range s.holds {
		ends[i] = h.finish(cause)
	}
	s.mu.Unlock()
	s.l.mu.Lock()
	s.forget()
	s.l.mu.Unlock()
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

// settle gives the level back if it is unknown whether it was granted, and a
// release of an outer level is not about to do so.
func (s *session) settle(ctx context.Context, c Call, a acquisition) {
	if a.unknown && !s.parts() {
		s.giveBack(ctx, c)
	}
}

// giveBack leaves the level of c, entered or not. The answer does not matter:
// the lease cleans up what this cannot.
func (s *session) giveBack(ctx context.Context, c Call) {
	limited, cancel := s.limited(ctx, s.l.o.Limit)
	defer cancel()
	_, _ = s.release(ctx, limited, &releasing{Call: Call{Name: protocol.CallUnlock, Level: c.Level, Number: s.number(), GivesBack: true}})
}

// longestPause is the most between two questions to a Redis that does not
// answer or refuses: short enough for a release to get through soon after Redis
// is back.
const longestPause = 250 * time.Millisecond

// shareOfOutage is how long the owners of a Locker wait for each of them between two tries
// to connect: a thousand try some 330 times a second, three quarters of this apart.
const shareOfOutage = 4 * time.Millisecond

// pause returns how long to wait after so many attempts in a row that Redis did
// not answer or refused, n from 1: first, then twice as long each time, up to
// longestPause.
func pause(first time.Duration, n int) time.Duration {
	first = min(first, longestPause)
	return min(first<<min(n-1, 10), longestPause)
}

// releasing is how far a release has got.
type releasing struct {
	Call

	since      time.Time // when its first attempt began
	unwanted   bool      // its hold came when nobody waited for it any more
	unanswered bool      // an attempt was, and may have run
	open       bool      // it may be sent again
	behind     time.Time // until when the lease of a hold that nobody waits to be released lasts
}

// release sends the release until Redis carries it out, refuses it for good, or
// ctx ends; and then again from where it was. The Observer gets the context caller.
func (s *session) release(caller, ctx context.Context, of *releasing) (protocol.Reply, error) {
	l := s.l
	c := &of.Call
	if of.since.IsZero() {
		of.since = l.o.Clock.Now()
	}
	since := of.since
	of.open = false
	for c.Attempt++; ; c.Attempt++ {
		began := since
		if c.Attempt > 1 {
			began = l.o.Clock.Now()
		}
		request := s.request(*c)
		request.GivesBack = request.GivesBack || of.unwanted
		r, err := l.send(s.about(ctx, *c), l.p.Unlock, request)
		at := Attempt{Call: *c, Since: since, Began: began, Count: r.Count, Err: err}
		switch {
		case err != nil:
			at.Result = Failed
		case r.Code == protocol.Granted && r.Count <= 0:
			at.Result, at.Err = Released, r.Unsent
		case r.Code == protocol.Granted:
			at.Result = Decremented
		case of.unanswered && s.ownRelease(of):
			at.Result, r = Released, protocol.Reply{Code: protocol.Granted}
		case s.level() > 0:
			at.Result, at.Err = Lost, ErrLost
		default:
			at.Result, at.Err = NotHeld, ErrNotHeld
		}
		s.observe(caller, at)
		switch {
		case err == nil:
			if c.Level == 1 {
				s.late = false
			}
			return r, nil
		case c.Level > 1 && l.p.Levels && protocol.Full(err):
			// Redis has no room to count down. It need not: the next call names
			// its level, and sets the count right.
			return protocol.Reply{Code: protocol.Granted, Count: c.Level - 1}, nil
		case protocol.Answered(err) && !protocol.Passing(err):
			return r, err
		}
		unsent := l.one && protocol.Unsent(err)
		of.unanswered = of.unanswered || !protocol.Answered(err) && !unsent
		if !l.p.Once && ctx.Err() == nil && !errors.Is(err, redis.ErrClosed) { // a closed client asks nobody
			d := pause(l.o.Interval, c.Attempt)
			if unsent && of.behind.IsZero() { // the crew is small
				d = l.crowded(d)
			}
			l.tellWait(caller, Wait{Key: s.key, Owner: s.owner, For: d, Err: err})
			if s.sleep(ctx, d, unsent) == nil && ctx.Err() == nil {
				continue
			}
		}
		of.open = !l.p.Once && !errors.Is(err, redis.ErrClosed)
		if of.unanswered || unsent {
			err = fmt.Errorf("%w: %w", ErrUnknown, err)
		}
		return r, err
	}
}

// sleep is a pause that, if there is no connection, ends when there is one.
func (s *session) sleep(ctx context.Context, d time.Duration, unsent bool) error {
	if !unsent {
		return s.l.o.Clock.Sleep(ctx, d)
	}
	_, err := s.l.o.Clock.Await(ctx, d, s.wakeUp())
	return err
}

// ownRelease reports whether "not held" answers an unlock of which an earlier
// copy ran and only lost its reply. That is so while the lease cannot have
// expired.
func (s *session) ownRelease(c *releasing) bool {
	if !c.behind.IsZero() {
		return !passed(s.l.o.Clock.Now(), c.behind)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.Level == 1 && len(s.holds) == 1 && s.lost == nil && !passed(s.l.o.Clock.Now(), s.deadline)
}
