package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/scenario"
)

// Refuses says why Apply would refuse f as a move that is made now: with a
// *Refusal, or nil where f would strike. It fails with Redis' error. Nothing
// changes.
func (s *Stepper) Refuses(ctx context.Context, f scenario.Fault) error {
	scripts := false
	if ofRedis(f) {
		var err error
		if scripts, err = s.hasScripts(ctx, s.node(f)); err != nil {
			return err
		}
	}
	if why := s.refusal(f, scripts); why != nil {
		return why
	}
	return nil
}

// Pointless lists the scenario.Strikes that would change nothing now: the ones that
// Refuses refuses, and also those that Apply takes to no effect: a moment that cannot
// come any more, a loss of data where there are none. A schedule may have the latter,
// since one that could be played stays good; to who chooses, it would be a promise that
// is not kept. It fails with Redis' error. The list is the last one again where nothing
// is different; it is not to be changed. Of a run that has ended it is empty.
func (s *Stepper) Pointless(ctx context.Context) ([]Pointless, error) {
	if s.over {
		return nil, nil
	}
	scripts, err := s.hasScripts(ctx, s.nodes[0]) // to which each of them happens
	if err != nil {
		return nil, err
	}
	var list []Pointless
	if s.strikes == nil {
		s.strikes = strikes(s.r.sc)
	}
	for i := range s.strikes {
		f := &s.strikes[i]
		why := s.refusal(*f, scripts)
		switch {
		case why != nil:
		case ofRedis(*f):
			why = s.losesNothing(*f)
		default:
			why = s.r.thread(f.Thread).tooLate(*f)
		}
		if why != nil {
			list = append(list, Pointless{f, *why})
		}
	}
	if !slices.Equal(list, s.pointless) {
		s.pointless = list
	}
	return s.pointless, nil
}

// strikes are the faults that Pointless tells about.
func strikes(sc *scenario.Scenario) []scenario.Fault {
	var list []scenario.Fault
	for _, one := range sc.Strikes() {
		if one.Never == "" {
			list = append(list, one.Fault)
		}
	}
	return list
}

// ofRedis tells whether a fault that is struck by hand happens to Redis.
func ofRedis(f scenario.Fault) bool { return f.Thread == "" || f.Node > 0 }

// strikeByHand lets a fault strike now, or at the next call of its kind.
func (s *Stepper) strikeByHand(ctx context.Context, f scenario.Fault) error {
	if err := s.Refuses(ctx, f); err != nil {
		return err
	}
	if ofRedis(f) {
		if err := s.strike(ctx, f); err != nil {
			return err
		}
		return s.settle(ctx)
	}
	t := s.r.thread(f.Thread)
	s.newSlice = true
	t.toldFault(f)
	switch f.Do {
	case fault.Pause:
		t.tell(described(f))
		t.process.Pause(f.For)
	case fault.ClientClockJump:
		t.tell(described(f))
		t.process.Jump(f.By)
	case fault.Crash:
		t.tell(described(f))
		t.fall()
	default:
		s.waiting[t] = append(s.waiting[t], f)
	}
	return s.settle(ctx)
}

// pausedUntil is until when a thread stands still, or 0.
func (s *Stepper) pausedUntil(t *thread) time.Duration {
	for _, task := range s.clock.Pending() {
		if task.Process == t.spec.Name && task.Paused > 0 {
			return task.Paused
		}
	}
	return 0
}

// hasScripts tells whether a node has any of the lock's scripts in its cache.
func (s *Stepper) hasScripts(ctx context.Context, n *node) (bool, error) {
	has, err := n.HasScripts(ctx, s.r.threads[0].redis.taps[0].journal.Digests())
	if err != nil {
		return false, fmt.Errorf("run: %w", err)
	}
	return has, nil
}

// refusal refuses a fault that would change nothing, or returns nil. Scripts
// tells of the node that it happens to, if any.
func (s *Stepper) refusal(f scenario.Fault, scripts bool) *Refusal {
	switch {
	case s.over:
		return &Refusal{Reason: IsOver}
	case ofRedis(f):
		return s.refusalOfRedis(f, scripts)
	default:
		return s.refusalOfThread(s.r.thread(f.Thread), f)
	}
}

func (s *Stepper) refusalOfRedis(f scenario.Fault, scripts bool) *Refusal {
	n := s.node(f)
	out, isOut := n.outages[f.Thread]
	is, why := false, Reason("")
	switch f.Do {
	case fault.Evict:
		is, why = !n.Key(s.r.key).Exists(), NoKey
	case fault.Restart:
		is, why = !scripts && f.For == 0 && !s.forgets(n, f), NothingYet
	case fault.FailOver:
		is, why = !scripts && !s.lags(n, s.lacks(n, f)), NothingYet
	case fault.ScriptFlush:
		is, why = !scripts, NoScripts
	case fault.ClockJump:
		is, why = !n.HasExpiry(), NoExpiry
	case fault.TwoMasters:
		is, why = n.old != nil && n.old.threads[f.Thread], IsSplit
	case fault.Down:
		is, why = isOut && out.answer == fault.ErrorReply{} && f.For == 0, IsDown
	case fault.AnswerError:
		is, why = isOut && out.answer.Code == f.Error && f.For == 0, Answers
	case fault.Up:
		is, why = !isOut, IsUp
	}
	if is {
		return &Refusal{Reason: why}
	}
	return nil
}

// lags tells whether a replica that lacks so many writes would differ from the
// node. Clients that wait for messages listen at the node.
func (s *Stepper) lags(n *node, behind int) bool {
	return behind > 0 && n.HasWrites() || len(s.mail.boxes) > 0
}

// forgets tells whether a restart of the node may lose anything.
func (s *Stepper) forgets(n *node, f scenario.Fault) bool {
	switch {
	case f.Keep:
		return false
	case f.Lose > 0:
		return n.HasWrites()
	default:
		return !n.Empty()
	}
}

// losesNothing refuses a fault that is about the loss of data where there are
// none. That Redis forgets its scripts with them shows in no command, but of a
// late copy: who wants to see it has a fault for that alone.
func (s *Stepper) losesNothing(f scenario.Fault) *Refusal {
	if s.r.network.carries() {
		return nil
	}
	n := s.node(f)
	if f.Do == fault.Restart && f.For == 0 && !f.Keep && !s.forgets(n, f) || f.Do == fault.Restart && f.Keep && n.Empty() || f.Do == fault.FailOver && !s.lags(n, s.lacks(n, f)) {
		return &Refusal{Reason: NoData}
	}
	return nil
}

func (s *Stepper) refusalOfThread(t *thread, f scenario.Fault) *Refusal {
	refuse := func(why Reason, at time.Duration) *Refusal { return &Refusal{Reason: why, Thread: t.spec.Name, At: at} }
	switch {
	case !t.alive():
		return refuse(HasEnded, 0)
	case t.stalls.Load() && f.Do != fault.Crash && f.Do != fault.Pause && f.At != fault.AtRenew:
		return refuse(Hangs, 0)
	case f.Do == fault.Pause && s.pausedUntil(t) >= s.clock.Now()+f.For:
		return refuse(IsPaused, s.pausedUntil(t))
	case f.At == fault.AtRenew && t.r.sc.Lock.Watchdog == 0:
		return refuse(NoWatchdog, 0)
	}
	for _, armed := range s.waiting[t] {
		if armed.Do == f.Do && armed.At == f.At {
			return refuse(IsArmed, 0)
		}
	}
	return nil
}

// tooLate refuses a fault whose moment in the thread cannot come any more. Of
// a renewal nobody knows that: it depends on who moves first.
func (t *thread) tooLate(f scenario.Fault) *Refusal {
	if t.round.Load() < int64(t.spec.Repeat) { // all of it comes once more
		return nil
	}
	next := t.coming()
	unlocking := next.Name == lock.CallUnlock && !next.GivesBack
	leaving := unlocking && !t.working // from level to level
	moment := momentOf(f)
	switch {
	case moment == fault.AtLock && unlocking, moment == fault.AtWork && leaving && !t.more:
		return &Refusal{Reason: NotAhead, Thread: t.spec.Name, Place: moment}
	case f.Do == fault.SkipUnlock && leaving && next.Level == 1:
		return &Refusal{Reason: LastUnlock, Thread: t.spec.Name}
	default:
		return nil
	}
}
