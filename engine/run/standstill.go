package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// retries is what the lock engine calls a thread's retries.
func retries(r scenario.Retry) int {
	switch r.Times {
	case 0:
		return lock.NoRetry
	case scenario.Unlimited:
		return 0 // until it has the lock
	default:
		return r.Times
	}
}

// standstill follows a run's events, and counts how often each thread was
// refused the lock since anything last changed. An attempt that is refused only
// looks: the next one sees what it saw. So where everybody has been refused who
// could move, and nothing is to come by itself, nothing will change any more.
type standstill struct {
	key     trace.KeyState
	nodes   []trace.KeyState
	refused map[string]int // by thread
}

// inVainAfter is how many refusals make it certain: the first may have looked
// in part before the last change, but the second began after the first.
const inVainAfter = 2

// follow looks at the next event.
func (s *standstill) follow(e trace.Event) {
	if s.refused == nil {
		s.refused, s.key = map[string]int{}, trace.Absent()
	}
	same := sameKey(s.key, e.Key) && slices.EqualFunc(s.nodes, e.Nodes, sameKey)
	s.key, s.nodes = e.Key, e.Nodes
	switch b := e.Body.(type) {
	case trace.Violation, trace.Wait:
	case trace.Command:
		if !same || b.Call != lock.CallLock {
			clear(s.refused)
		}
	case trace.Outcome:
		if b.Call == lock.CallLock && b.Result == trace.Refused {
			s.refused[e.Thread]++
		} else {
			clear(s.refused)
		}
	default:
		clear(s.refused)
	}
}

// sameKey compares all that a command can find, but for the time that is left.
func sameKey(a, b trace.KeyState) bool {
	return a.Type == b.Type && (a.PTTL == trace.NoExpiry) == (b.PTTL == trace.NoExpiry) && maps.Equal(a.Fields, b.Fields) &&
		(a.Value == nil) == (b.Value == nil) && (a.Value == nil || *a.Value == *b.Value)
}

// endless tells whether a thread asks for the lock until it has it.
func (t *thread) endless() bool { return t.spec.Retry.Times == scenario.Unlimited }

// inVain are the threads that ask without end, if all others hang and each of
// them has been refused since the last change; else nil. Whether anything is to come is
// for the caller to know, but for waiters that are told: how they are refused
// depends on the time.
func (r *Run) inVain(s *standstill) []string {
	if len(s.refused) == 0 || r.sc.Lock.Retry.Wait == scenario.WaitNotify {
		return nil
	}
	var names []string
	for _, t := range r.threads {
		switch {
		case !t.alive() || t.stalls.Load():
		case !t.endless() || s.refused[t.spec.Name] < inVainAfter:
			return nil
		default:
			names = append(names, t.spec.Name)
		}
	}
	return names
}

// inVain is Run.inVain where nothing is to come: no fault, no move of a
// schedule, no expiry, no timer.
func (s *Stepper) inVain() []string {
	names := s.r.inVain(&s.standstill)
	if names == nil || s.ahead > 0 || len(s.faults) > 0 || slices.ContainsFunc(s.nodes, func(n *node) bool { return n.HasExpiry() }) {
		return nil
	}
	for _, task := range slices.Concat(s.ready, s.clock.Pending()) {
		if !task.Business {
			return nil
		}
		if slices.ContainsFunc(s.r.thread(task.Process).armed, func(f scenario.Fault) bool { return momentOf(f) == fault.AtLock }) {
			return nil
		}
	}
	return names
}

// inVain is Run.inVain where nothing is to come: no watchdog that renews, no
// request on its way, no expiry. The caller holds mu.
func (w *wall) inVain() []string {
	renews := w.r.protocol().HasWatchdog() && w.r.sc.Lock.Watchdog > 0
	inRedis := w.r.protocol().Commands(lock.CallLock, 1) > 0
	if renews || w.r.anyDelayed() || !w.order.Idle() || inRedis && (!w.key.Exists() || w.key.PTTL != trace.NoExpiry) {
		return nil
	}
	return w.r.inVain(&w.out.standstill)
}

// anyDelayed tells whether a request is on its way that will arrive.
func (r *Run) anyDelayed() bool {
	return slices.ContainsFunc(r.threads, func(t *thread) bool { return !t.dead.Load() && t.delayed.Load() > 0 })
}

// limit is the ErrLimit of a run, with those who would still have asked.
func (r *Run) limit() error {
	var asking []string
	for _, t := range r.threads {
		if t.alive() && t.endless() && !t.stalls.Load() {
			asking = append(asking, t.spec.Name)
		}
	}
	if len(asking) == 0 {
		return ErrLimit
	}
	return fmt.Errorf("%w, with %s still asking for the lock", ErrLimit, strings.Join(asking, " and "))
}
