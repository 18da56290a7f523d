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
	"relock/engine/lock/exhibit"
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
	strikes   []scenario.Strike
	schedules int
	broken    int
	standing  int            // broken by standing still
	rules     map[string]int // "rule", and "rule standing" of those by standing still
	runs      int
	owners    facts.Owners
	stood     []int // of the run under way: after how many events a thread had stood still for longer than its lease

	memory *recall.Memory // nil: each run has a miniredis of its own
}

// enumerate plays every schedule. Redis answers from memory: that this makes no
// difference is for package run to test.
func enumerate(t testing.TB, sc *scenario.Scenario, b explore.Bounds) *enumeration {
	t.Helper()
	e := &enumeration{t: t, sc: sc, kinds: b.Kinds, strikes: sc.Strikes(), rules: map[string]int{}, memory: recall.NewMemory()}
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
	for _, one := range e.strikes {
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
	if e.runs++; e.owners == nil { // they are the same in each run
		e.owners = r.Header().Owners
	}
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
// lease: by what it could do, by the events until then, and by how late it is afterwards,
// since a run may end on a wait.
func (e *enumeration) apply(s *run.Stepper, r *run.Run, m scenario.Move) {
	events, _ := r.Log().Since(0)
	var ends []time.Duration
	after := s.Now()
	if m.Until > 0 {
		for _, o := range s.Options() {
			if o.Choice >= 0 && !o.Network {
				ends = append(ends, e.leaseEnds(events, o.Thread)...)
			}
		}
	}
	if err := s.Apply(context.Background(), m); err != nil {
		e.t.Fatal(err)
	}
	if slices.ContainsFunc(ends, func(at time.Duration) bool { return after < at && at <= s.Now() }) {
		e.stood = append(e.stood, len(events))
	}
}

// leaseEnds returns when leases of a thread end: that of a key that has its owner, and the
// one that its client counts. Clients of articles count none.
func (e *enumeration) leaseEnds(events []trace.Event, thread string) []time.Duration {
	var ends []time.Duration
	if len(events) > 0 {
		last := events[len(events)-1]
		for _, key := range append([]trace.KeyState{last.Key}, last.Nodes...) {
			if key.PTTL > 0 && e.owners.Hold(key, thread) {
				ends = append(ends, last.At.Duration().Truncate(time.Millisecond)+time.Duration(key.PTTL)*time.Millisecond)
			}
		}
	}
	if _, article := exhibit.HabitsOf(e.sc.Lock.Implementation()); !article {
		ends = append(ends, e.counted(events, thread))
	}
	return ends
}

// counted returns when the lease ends that a thread's client counts, or 0. It counts from when
// it sent the command that was granted at level 1, or the renewal, until it hears that the
// lock is lost or its unlock of level 1 returns, whether or not the thread has ended.
func (e *enumeration) counted(events []trace.Event, thread string) (until time.Duration) {
	var sent time.Duration
	held, failed := false, false
	for _, one := range events {
		if one.Thread != thread {
			continue
		}
		if _, again := one.Body.(trace.Wait); failed && !again {
			until = 0
		}
		failed = false
		switch b := one.Body.(type) {
		case trace.Command:
			if !held && !b.Late {
				sent = one.At.Duration()
			}
		case trace.Fault:
			if b.Do == "delay" {
				sent, held = one.At.Duration(), true
			}
		case trace.Outcome:
			held = false
			unlock := b.Call == "unlock" && b.Level == 1 && !b.GivesBack
			switch {
			case b.Result == trace.Acquired, b.Result == trace.Renewed && one.At.Duration() < until:
				until = sent + e.sc.Lock.Lease - e.sc.Lock.Lease/100 - 2*time.Millisecond
				if b.Until > 0 {
					until = b.Until.Duration()
				}
			case b.Result == trace.Lost, unlock && b.Result != trace.Failed:
				until = 0
			case unlock:
				failed = b.Cause.Kind != trace.InnerHeld
			}
		}
	}
	return until
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
	for _, one := range e.strikes {
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
