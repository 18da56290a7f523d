package explore_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"relock/engine/explore"
	"relock/engine/recall"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
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
	rules     map[string]int
	runs      int

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
	return fmt.Sprintf("exhausted %d, %d broken: %s", e.schedules, e.broken, strings.Join(list, ", "))
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
		if err := s.Apply(context.Background(), next[0]); err != nil {
			e.t.Fatal(err)
		}
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
	for _, m := range moves {
		if _, err := s.Decide(ctx); err != nil {
			e.t.Fatal(err)
		}
		if err := s.Apply(ctx, m); err != nil {
			e.t.Fatal(err)
		}
	}
	return s, r
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
	for _, one := range events {
		if v, ok := one.Body.(trace.Violation); ok {
			seen[v.Rule] = true
		}
	}
	for rule := range seen {
		e.rules[rule]++
	}
	if len(seen) > 0 {
		e.broken++
	}
}
