package run

import (
	"cmp"
	"slices"
	"time"

	"relock/engine/clock"
	"relock/engine/lock"
	"relock/engine/scenario"
)

// Plan is what will be at an instant that is known already, unless somebody acts before:
// a timer is set for it. Who only has to be moved has no plan.
type Plan struct {
	Thread string // whose it is; "" of the key, which Redis drops then
	Next   Next   // NextStart, NextRetry, NextWork or NextRenew; "" of the key
	At     time.Duration
}

// Plans are what will be by itself, the soonest first. Whatever another timer of its
// thread may call off before is none.
func (s *Stepper) Plans() []Plan {
	if s.over {
		return nil
	}
	var list []Plan
	options := s.Options()
	for _, o := range options {
		p := Plan{o.Thread, o.Next, max(o.At, s.clock.Now())}
		lease, deadline := s.timer(o.Thread, lock.OwnLease), s.timer(o.Thread, clock.Deadline)
		switch o.Next {
		case NextStart:
		case NextRetry:
			if deadline <= p.At || s.r.sc.Kind == scenario.KindHeartbeat && o.Call.Attempt > s.r.thread(o.Thread).spec.Repeat {
				continue // it may give up before, or has no round left
			}
		case NextWork:
			renews := slices.ContainsFunc(options, func(r Option) bool { return r.Thread == o.Thread && r.Next == NextRenew && r.At < lease })
			if s.r.thread(o.Thread).stops() && !renews {
				p.At = min(p.At, lease)
			}
		case NextRenew:
			if lease <= p.At {
				continue // it has lost the lock by then
			}
		default:
			continue
		}
		list = append(list, p)
	}
	if at, ok := s.expiry(); ok {
		list = append(list, Plan{At: at})
	}
	slices.SortStableFunc(list, func(a, b Plan) int { return cmp.Compare(a.At, b.At) })
	return list
}

// timer is when the first timer of a name goes off in a thread, or forever.
func (s *Stepper) timer(thread, name string) time.Duration {
	at := forever
	for _, task := range s.clock.Pending() {
		if task.Process == thread && task.Name == name {
			at = min(at, max(task.At, task.Paused))
		}
	}
	return at
}
