package run_test

import (
	"slices"
	"testing"
	"time"

	"relock/engine/lock"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons/lessonstest"
)

// What is planned comes true, at each position of each bundled scenario, when nobody acts
// but as the scenario's policy says: the soonest plan is what happens next, at its very
// instant, unless somebody has something to do before that has no plan.
func TestWhatIsPlannedComesTrue(t *testing.T) {
	kept := map[run.Next]int{}
	for n, name := range lessonstest.Names(t) {
		if testing.Short() && n%9 != 0 && name != "long-pause.yaml" { // there a watchdog comes too late
			continue
		}
		sc := lessonstest.Scenario(t, name)
		moves := sc.Schedule
		sc = sc.WithSchedule(nil)
		s, r := begun(t, sc)
		for at := 0; !s.Over(); at++ {
			plans, options, before := s.Plans(), s.Options(), r.Log().Len()
			var then []trace.Event
			switch {
			case at >= len(moves):
				then = stepped(t, s, r)
			case moves[at].Fault != nil || moves[at].Until > 0 || moves[at].Choice > 0: // not what the policy would do
				other, of := begun(t, sc)
				if err := other.Replay(t.Context(), moves[:at], func(scenario.Move) error { return nil }); err != nil {
					t.Fatal(err)
				}
				then = stepped(t, other, of)
				other.Close(nil)
				fallthrough
			default:
				if err := s.Apply(t.Context(), moves[at]); err != nil {
					t.Fatal(err)
				}
				if then == nil {
					then, _ = r.Log().Since(before)
				}
			}
			if len(plans) == 0 || len(then) == 0 {
				continue
			}
			next := slices.DeleteFunc(slices.Clone(plans), func(p run.Plan) bool { return p.At > plans[0].At })
			i := slices.IndexFunc(next, func(p run.Plan) bool { return cameTrue(p, then) })
			if i >= 0 {
				kept[next[i].Next]++
			} else if !unplanned(options, then, next[0].At) {
				t.Errorf("%s, after %d moves: planned is %+v, and then: %q", name, at, next, said(then))
			}
		}
	}
	for _, kind := range []run.Next{run.NextStart, run.NextRetry, run.NextWork, run.NextRenew, ""} {
		if kept[kind] == 0 {
			t.Errorf("no plan of the kind %q has come true", kind)
		}
	}
	t.Logf("come true: %v", kept)
}

func stepped(t *testing.T, s *run.Stepper, r *run.Run) []trace.Event {
	t.Helper()
	before := r.Log().Len()
	if _, err := s.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	events, _ := r.Log().Since(before)
	return events
}

func begun(t *testing.T, sc *scenario.Scenario) (*run.Stepper, *run.Run) {
	t.Helper()
	r, err := run.New(sc, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(nil) })
	return s, r
}

// unplanned tells whether what happened first is something that has no plan: a move of who
// stands at a gate or gives up, what the network carries, a fault of Redis, the end.
func unplanned(options []run.Option, then []trace.Event, before time.Duration) bool {
	first := then[0]
	if _, fault := first.Body.(trace.Fault); fault && first.Thread == "" {
		return true
	}
	if _, end := first.Body.(trace.End); end {
		return first.At <= trace.MillisOf(before)
	}
	return slices.ContainsFunc(options, func(o run.Option) bool {
		return o.Thread == first.Thread && slices.Contains([]run.Next{run.NextCall, run.NextArrive, run.NextCopy, run.NextAsk, run.NextEnd}, o.Next) && o.At <= before
	})
}

// cameTrue tells whether a plan is what happened first. A fault that strikes at a start or
// a call is part of it.
func cameTrue(p run.Plan, then []trace.Event) bool {
	if trace.MillisOf(p.At) != then[0].At || p.Thread != then[0].Thread && p.Next != "" {
		return false
	}
	return slices.ContainsFunc(then, func(e trace.Event) bool {
		var call string
		switch b := e.Body.(type) {
		case trace.Expired:
			return p.Next == ""
		case trace.Work:
			return p.Next == run.NextWork && b.State == trace.WorkEnd && e.Thread == p.Thread
		case trace.Fault:
			return p.Next != "" && p.Next != run.NextWork && e.Thread == p.Thread
		case trace.Command:
			call = b.Call
		case trace.Outcome:
			call = b.Call
		default:
			return false
		}
		return e.Thread == p.Thread && (p.Next == run.NextRenew) == (call == lock.CallRenew) && p.Next != run.NextWork
	})
}

func said(events []trace.Event) (list []string) {
	for _, e := range events {
		list = append(list, e.Thread+" "+string(e.Kind())+" "+e.At.Duration().String())
	}
	return list
}
