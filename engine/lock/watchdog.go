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

// renew runs one beat of the watchdog.
func (s *session) renew() {
	clk := s.l.o.Clock
	sent := clk.Now()
	s.mu.Lock()
	level, watch, last := len(s.holds), s.watches, s.last
	switch {
	case s.stopping, s.lost != nil:
		s.mu.Unlock()
		return
	case level == 0: // the acquisition is still in flight
		s.next(sent)
		s.mu.Unlock()
		return
	case sent.Sub(s.began) >= s.l.o.MaxAge:
		parent := s.holds[0].parent
		s.mu.Unlock()
		s.age()
		s.observe(parent, Attempt{Call: Call{Name: protocol.CallRenew, Level: level, Attempt: 1}, Began: sent, Count: level, Result: Aged, Err: ErrMaxAge})
		return
	}
	deadline, parent := s.deadline, s.holds[0].parent
	ctx, cancel := clk.WithDeadline(context.Background(), deadline)
	s.cancel = cancel
	s.letGo()
	s.endAtDeadline()
	s.mu.Unlock()
	defer cancel()
	if s.l.windows != nil {
		s.l.mu.Lock()
		s.rests = true
		s.forget()
		s.l.mu.Unlock()
	}

	c := Call{Name: protocol.CallRenew, Level: level, Attempt: 1}
	request := s.request(c)
	request.Number = last
	r, err := s.l.p.Renew(s.about(cuttable{ctx}, c), request)
	at := Attempt{Call: c, Began: sent, Lease: request.Lease, Count: level, Result: Renewed, Err: err}
	s.mu.Lock()
	now := s.watches == watch
	if now {
		s.cancel = nil
	}
	again := now && !s.stopping
	counts := now || s.stopping // otherwise it tells of an earlier hold
	switch {
	case overwritten(err):
		at.Result, at.Count = Lost, 0
	case err != nil:
		at.Result, at.Count = Failed, 0
		if again { // sooner than usual, until the deadline
			s.failed++
			s.next(sent.Add(min(pause(s.l.o.Interval, s.failed), s.lease.renew/4) - s.lease.renew))
		}
	case r.Code == protocol.Granted:
		s.failed = 0
		if again && s.lost == nil {
			s.beat = sent.Add(s.lease.renew)
			s.rely(sent)
			s.next(sent)
			at.Until = s.deadline
		}
	default:
		at.Result, at.Count, at.Err = Lost, 0, ErrLost
	}
	s.mu.Unlock()
	if err != nil && ctx.Err() != nil && !again {
		return // stopped before it was sent, so not an attempt
	}
	s.observe(parent, at)
	if at.Result == Lost && counts {
		s.lose(ErrLost)
	}
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
