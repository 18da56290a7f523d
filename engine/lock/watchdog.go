package lock

import (
	"context"
	"errors"
	"time"

	"relock/engine/lock/protocol"
)

// Watchdog names the watchdog's timers on the [clock.Clock].
const Watchdog = "watchdog"

// arm starts the watchdog for a lease that is requested at sent.
func (s *session) arm(sent time.Time) {
	if s.lease.renew == NoWatchdog {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = false
	s.next(sent)
}

// next schedules a renewal one interval after sent. The caller holds mu.
func (s *session) next(sent time.Time) {
	clk := s.l.o.Clock
	s.beat = sent.Add(s.lease.renew)
	if s.l.rounds != nil {
		s.watchdog = s.l.rounds.join(s, s.beat)
		return
	}
	s.watchdog = clk.AfterFunc(s.beat.Sub(clk.Now()), Watchdog, s.later((*session).renew))
}

// disarm stops the watchdog. It waits for a renewal that is in flight, until ctx
// ends and no longer than swift: one that Redis runs later finds its owner's
// lock or none, and what it is answered is for nobody any more.
func (s *session) disarm(ctx context.Context) {
	s.mu.Lock()
	s.stopping = true
	s.watches++
	if s.cancel != nil {
		s.cancel()
		s.cancel = nil
	}
	w := s.watchdog
	s.watchdog = nil
	s.mu.Unlock()
	if w == nil || w.Stop() {
		return
	}
	if s.l.windows == nil { // the renewal's own deadline ends it
		ctx = context.WithoutCancel(ctx)
	} else {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, swift)
		defer cancel()
	}
	_ = w.Wait(ctx)
}

// renewal is a beat of the watchdog that is under way.
type renewal struct {
	s        *session
	call     Call
	request  protocol.Request
	sent     time.Time
	deadline time.Time       // of the lease as it was
	parent   context.Context // the Observer's
	watch    int             // s.watches when it began
	cut      bool            // nobody waits for its answer, which counts no longer; guarded by s.mu
}

// renew runs one beat of the watchdog by itself.
func (s *session) renew() {
	var ctx context.Context
	var cancel context.CancelFunc
	w, tell := s.beginRenewal(func(w *renewal) context.CancelFunc {
		ctx, cancel = s.l.o.Clock.WithDeadline(context.Background(), w.deadline)
		return cancel
	})
	if w == nil {
		tell()
		return
	}
	defer cancel()
	r, err := s.l.send(s.about(cuttable{ctx}, w.call), s.l.p.Renew, w.request)
	tell, _ = s.conclude(w, r, err, ctx.Err() != nil)
	tell()
}

// beginRenewal begins a beat, which start prepares and tells how to cut short. It returns
// nil where there is nothing to renew, and what there is to tell the Observer of that.
func (s *session) beginRenewal(start func(*renewal) context.CancelFunc) (w *renewal, tell func()) {
	tell = func() {}
	sent := s.l.o.Clock.Now()
	s.mu.Lock()
	level := len(s.holds)
	switch {
	case s.stopping, s.lost != nil:
		s.mu.Unlock()
		return nil, tell
	case level == 0: // the acquisition is still in flight
		s.next(sent)
		s.mu.Unlock()
		return nil, tell
	case sent.Sub(s.began) >= s.l.o.MaxAge:
		parent := s.holds[0].parent
		s.mu.Unlock()
		s.age()
		return nil, func() {
			s.observe(parent, Attempt{Call: Call{Name: protocol.CallRenew, Level: level, Attempt: 1}, Began: sent, Count: level, Result: Aged, Err: ErrMaxAge})
		}
	}
	w = &renewal{s: s, call: Call{Name: protocol.CallRenew, Level: level, Attempt: 1}, sent: sent, deadline: s.deadline, parent: s.holds[0].parent, watch: s.watches}
	last := s.last
	s.cancel = start(w)
	s.letGo()
	s.endAtDeadline()
	s.mu.Unlock()
	if s.l.windows != nil {
		s.l.mu.Lock()
		s.rests = true
		s.forget()
		s.l.mu.Unlock()
	}
	w.request = s.request(w.call)
	w.request.Number = last
	return w, nil
}

// conclude draws the conclusions from the answer to a renewal, which may have ended before
// it came, and returns what tells them to others, and whether the lock is lost.
func (s *session) conclude(w *renewal, r protocol.Reply, err error, ended bool) (tell func(), lost bool) {
	at := Attempt{Call: w.call, Began: w.sent, Lease: w.request.Lease, Count: w.call.Level, Result: Renewed, Err: err}
	s.mu.Lock()
	if w.cut {
		s.mu.Unlock()
		return func() {}, false
	}
	now := s.watches == w.watch
	if now {
		s.cancel = nil
	}
	again := now && !s.stopping
	counts := now || s.stopping // otherwise it tells of an earlier hold
	known := s.failed > 0 && protocol.Undialled(err) != nil
	switch {
	case overwritten(err):
		at.Result, at.Count = Lost, 0
	case err != nil:
		at.Result, at.Count = Failed, 0
		if again { // sooner than usual, until the deadline
			s.failed++
			s.next(w.sent.Add(min(pause(s.l.o.Interval, s.failed), s.lease.renew/4) - s.lease.renew))
		}
	case r.Code == protocol.Granted:
		s.failed = 0
		if again && s.lost == nil {
			s.beat = w.sent.Add(s.lease.renew)
			s.rely(w.sent)
			s.next(w.sent)
			at.Until = s.deadline
		}
	default:
		at.Result, at.Count, at.Err = Lost, 0, ErrLost
	}
	s.mu.Unlock()
	if err != nil && ended && !again || known {
		return func() {}, false // not sent, so not an attempt: stopped before, or the Observer knows why
	}
	lost = at.Result == Lost && counts
	return func() {
		s.observe(w.parent, at)
		if lost {
			s.lose(ErrLost)
		}
	}, lost
}

// age stops renewing a hold that has reached Options.MaxAge, and lets its lease
// run out.
func (s *session) age() {
	s.mu.Lock()
	s.aged = true
	s.mu.Unlock()
	s.runOut(ErrMaxAge)
}

// runOut renews no longer. At the end of its lease the hold is lost by cause.
func (s *session) runOut(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.deadline.Sub(s.l.o.Clock.Now())
	s.stopping = true
	if s.expiry != nil {
		s.expiry.Stop()
	}
	s.expiry = s.l.o.Clock.AfterFunc(left, OwnLease, func() { s.lose(cause) })
}

// overwritten reports whether err means that the lock is gone because something
// else is in its key.
func overwritten(err error) bool { return err != nil && errors.Is(err, ErrWrongType) }
