package explore_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"relock/engine/explore"
	"relock/engine/recall"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/trace/facts"
	"relock/lessons"
)

func load(t testing.TB, name string) *scenario.Scenario {
	t.Helper()
	text, err := fs.ReadFile(lessons.Scenarios(), name+".yaml")
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scenario.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return sc.WithSchedule(nil)
}

// enumeration is the naive search: each schedule is played from its start, and
// nothing is merged.
type enumeration struct {
	t         testing.TB
	sc        *scenario.Scenario
	kinds     []string
	schedules int
	broken    int
	standing  int            // broken by standing still
	rules     map[string]int // "rule", and "rule standing" of those by standing still
	runs      int
	stood     []int // of the run under way: after how many events a thread had stood still for longer than its lease

	memory *recall.Memory // nil: each run has a miniredis of its own
}

// enumerate plays every schedule. Redis answers from memory: that this makes no
// difference is for package run to test.
func enumerate(t testing.TB, sc *scenario.Scenario, b explore.Bounds) *enumeration {
	t.Helper()
	e := &enumeration{t: t, sc: sc, kinds: b.Kinds, rules: map[string]int{}, memory: recall.NewMemory()}
	defer func() { _ = e.memory.Close() }()
	e.from(nil, b.Delays, b.MaxFaults)
	return e
}

// told is what told says of a space.
func (e *enumeration) told() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(e.rules)) {
		list = append(list, fmt.Sprint(name, " ", e.rules[name]))
	}
	return fmt.Sprintf("exhausted %d, %d broken, %d by standing still: %s", e.schedules, e.broken, e.standing, strings.Join(list, ", "))
}

// from plays all schedules that begin with these moves: one by the first of what
// comes next, wherever that is open, and then those that leave it.
func (e *enumeration) from(moves []scenario.Move, delays, faults int) {
	s, r := e.play(moves)
	var others [][]scenario.Move
	for next := e.next(s, delays, faults); len(next) > 0; next = e.next(s, delays, faults) {
		for _, other := range next[1:] {
			others = append(others, append(moves[:len(moves):len(moves)], other))
		}
		moves = append(moves[:len(moves):len(moves)], next[0])
		e.apply(s, r, next[0])
	}
	e.count(r)
	s.Close(nil)
	for _, other := range others {
		d, f := delays, faults
		switch last := other[len(other)-1]; {
		case last.Fault != nil:
			f--
		case last.Until > 0:
			d--
		}
		e.from(other, d, f)
	}
}

// play makes moves in a new run.
func (e *enumeration) play(moves []scenario.Move) (*run.Stepper, *run.Run) {
	ctx := context.Background()
	o := run.Options{Memory: e.memory}
	for _, one := range e.sc.Strikes() {
		o.ByHand = append(o.ByHand, one.Fault)
	}
	r, err := run.New(e.sc, o)
	if err != nil {
		e.t.Fatal(err)
	}
	s, err := r.Begin(ctx)
	if err != nil {
		e.t.Fatal(err)
	}
	e.runs++
	e.stood = nil
	for _, m := range moves {
		if _, err := s.Decide(ctx); err != nil {
			e.t.Fatal(err)
		}
		e.apply(s, r, m)
	}
	return s, r
}

// apply makes a move, and notes whether a thread stands still on it for longer than its
// lease: by what it could do, and by the events until then.
func (e *enumeration) apply(s *run.Stepper, r *run.Run, m scenario.Move) {
	events, _ := r.Log().Since(0)
	if m.Until > 0 {
		for _, o := range s.Options() {
			if o.Choice >= 0 && !o.Network && e.leaseEnds(r.Header(), events, o.Thread, s.Now(), m.Until) {
				e.stood = append(e.stood, len(events))
				break
			}
		}
	}
	if err := s.Apply(context.Background(), m); err != nil {
		e.t.Fatal(err)
	}
}

// leaseEnds reports whether a lease of a thread ends after one instant and not after
// another: that of the key that has its owner, or the one that its client counts from when it
// sent the command that was granted.
func (e *enumeration) leaseEnds(h trace.Header, events []trace.Event, thread string, after, by time.Duration) bool {
	within := func(at time.Duration) bool { return after < at && at <= by }
	if len(events) > 0 {
		last := events[len(events)-1]
		for _, key := range append([]trace.KeyState{last.Key}, last.Nodes...) {
			if key.PTTL > 0 && facts.Owners(h.Owners).Hold(key, thread) && within(last.At.Duration().Truncate(time.Millisecond)+time.Duration(key.PTTL)*time.Millisecond) {
				return true
			}
		}
	}
	var sent, until time.Duration
	held := false
	for _, one := range events {
		if one.Thread != thread {
			continue
		}
		switch b := one.Body.(type) {
		case trace.Command:
			if !held {
				sent = one.At.Duration()
			}
		case trace.Fault:
			if b.Do == "delay" {
				sent, held = one.At.Duration(), true
			}
		case trace.Outcome:
			held = false
			switch b.Result {
			case trace.Acquired, trace.Reentered, trace.Renewed:
				until = sent + e.sc.Lock.Lease - e.sc.Lock.Lease/100 - 2*time.Millisecond
				if b.Until > 0 {
					until = b.Until.Duration()
				}
			}
		}
		if one.Belief[thread] == 0 {
			until = 0
		}
	}
	return within(until)
}

// next returns the moves that can come next, none where the run has ended.
func (e *enumeration) next(s *run.Stepper, delays, faults int) []scenario.Move {
	ctx := context.Background()
	ready, err := s.Decide(ctx)
	if err != nil {
		e.t.Fatal(err)
	}
	var list []scenario.Move
	for i := range ready {
		list = append(list, scenario.Move{Choice: i})
	}
	if s.Over() {
		return nil
	}
	if next, ok := s.NextEvent(); ok && delays > 0 {
		list = append(list, scenario.Move{Until: next})
	}
	for _, one := range e.sc.Strikes() {
		if faults > 0 && one.Never == "" && slices.Contains(e.kinds, one.Fault.Do) && s.Refuses(ctx, one.Fault) == nil {
			f := one.Fault
			list = append(list, scenario.Move{Fault: &f})
		}
	}
	return list
}

// count counts a run that has ended.
func (e *enumeration) count(r *run.Run) {
	e.schedules++
	seen := map[string]bool{}
	events, _ := r.Log().Since(0)
	for i, one := range events {
		v, ok := one.Body.(trace.Violation)
		if !ok || seen[v.Rule] {
			continue
		}
		stood := slices.ContainsFunc(e.stood, func(after int) bool { return after <= i })
		if stood {
			e.rules[v.Rule+" standing"]++
		}
		if len(seen) == 0 {
			e.broken++
			if stood {
				e.standing++
			}
		}
		seen[v.Rule] = true
		e.rules[v.Rule]++
	}
}
