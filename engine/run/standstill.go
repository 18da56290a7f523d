package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"relock/engine/lock"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// standstill follows a run's events, and counts how often each thread was
// refused the lock since anything last changed. A refused attempt only looks: the next
// one sees what it saw. So once everybody who could move has been refused, and nothing
// happens by itself, nothing will change any more.
type standstill struct {
	key     trace.KeyState
	nodes   []trace.KeyState
	locks   []trace.LockState
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
	same := sameKey(s.key, e.Key) && slices.EqualFunc(s.nodes, e.Nodes, sameKey) &&
		slices.EqualFunc(s.locks, e.Locks, func(a, b trace.LockState) bool { return sameKey(a.Key, b.Key) })
	s.key, s.nodes, s.locks = e.Key, e.Nodes, e.Locks
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
// them has been refused since the last change; else nil. The caller has to know whether
// anything more will happen, except for waiters that get messages: how they are refused
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

// givesWayAfter is how often each thread begins again before nobody waits for an end: where
// nothing is drawn they may give way to one another for ever.
const givesWayAfter = 4

// GiveWay reports whether every thread that goes on gives back its locks and begins again
// without a bound, and each has done so several times since any had all of its own.
func (s *Stepper) GiveWay() bool {
	some := false
	for _, t := range s.r.threads {
		switch {
		case !t.alive() || t.stalls.Load():
		case !t.spec.Retry.GiveBack || !t.endless() || t.begun < givesWayAfter:
			return false
		default:
			some = true
		}
	}
	return some
}

// ErrLimit is returned by Execute when a run grew beyond MaxEvents.
var ErrLimit = phrase.New("the run reached its limit of %d events", MaxEvents)

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
