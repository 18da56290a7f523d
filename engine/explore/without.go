package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"relock/engine/outside/ownlock"
	"relock/engine/pause"
	"relock/engine/recall"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Pair is how a schedule ends, and how the same moves end without a fault.
type Pair struct {
	With, Without Ended

	path []edgeRef
}

// Ended is how a run ends.
type Ended struct {
	Results []trace.Result // by thread, in the scenario's order; "" for one that never ends
	At      time.Duration  // since the run began: when all threads have ended, or the run
}

// Yardstick is a scenario without the faults, to measure what these did. It
// remembers what it has played. It is not safe for concurrent use.
type Yardstick struct {
	sc     *scenario.Scenario
	memory *recall.Memory
	ended  map[string]Ended // by what was decided
}

// NewYardstick returns the yardstick that sc is, without its schedule. Close it.
// It fails with ownlock.ErrNoBox.
func NewYardstick(ctx context.Context, sc *scenario.Scenario) (*Yardstick, error) {
	memory, err := ownlock.NewMemory(ctx, sc)
	if err != nil {
		return nil, fmt.Errorf("explore: %w", err)
	}
	return &Yardstick{sc.WithSchedule(nil), memory, map[string]Ended{}}, nil
}

// Close forgets what was played. It fails with Redis' error.
func (y *Yardstick) Close() error {
	if err := y.memory.Close(); err != nil {
		return fmt.Errorf("explore: %w", err)
	}
	return nil
}

// Without plays schedules of a space, at most so many, and each a second time
// without the fault: faults by hand are left out, the same moves are held back for
// as long, and the same come first where several can be made; all others are made
// in order. It reports whether these were all schedules within the bounds. It
// fails with the error of a run, or with ctx's cause.
func (s *Space) Without(ctx context.Context, y *Yardstick, most int, each func(Pair)) (all bool, err error) {
	with := &worker{s: s.search, memory: y.memory}
	all = s.ending == Exhausted && len(s.search.b.From) == 0
	for path := range s.paths {
		if most--; most < 0 {
			return false, nil
		}
		if err := pause.Here(ctx); err != nil {
			return false, fmt.Errorf("explore: %w", err)
		}
		p := Pair{path: slices.Clone(path)}
		var chosen decisions
		if p.With, chosen, err = with.play(ctx, path); err == nil {
			p.Without, err = y.play(ctx, chosen)
		}
		if errors.Is(err, run.ErrLimit) {
			all = false
			continue
		}
		if err != nil {
			return false, err
		}
		each(p)
	}
	return all, nil
}

// Schedule returns the moves of a pair's schedule. It fails with the error of a
// run.
func (s *Space) Schedule(ctx context.Context, p Pair) ([]scenario.Move, error) {
	return s.whole(ctx, p.path)
}

// paths yields the ways from the start to the ends of runs. Each is valid until
// the next one.
func (s *Space) paths(yield func([]edgeRef) bool) {
	if len(s.search.nodes) == 0 {
		return
	}
	path := []edgeRef{{root, -1}}
	for len(path) > 0 {
		last := &path[len(path)-1]
		edges := s.search.nodes[last.node].edges
		if last.edge++; int(last.edge) == len(edges) {
			path = path[:len(path)-1]
			continue
		}
		switch to := edges[last.edge].to; {
		case to == end && !yield(path):
			return
		case to >= 0:
			path = append(path, edgeRef{to, -1})
		}
	}
}

// doing is what a task is about to do, and for the how manyth time.
type doing struct {
	thread              string
	background, network bool
	next                run.Next
	call                string
	level, node, nth    int
}

// decisions are what was decided in a run where more than one thing could be, but
// for faults.
type decisions struct {
	held   map[doing][]time.Duration // by what could have been done first: nobody moved for so long
	before map[[2]doing]bool         // the first was done, though the second was ready for longer
}

// diary counts what has been done in a run.
type diary map[doing]int

// ready returns what can be done, in the order of its choices.
func (d diary) ready(st *run.Stepper) []doing {
	var list []doing
	for _, o := range st.Options() {
		if o.Choice < 0 {
			continue
		}
		one := doing{thread: o.Thread, background: o.Background, network: o.Network, next: o.Next, call: o.Call.Name, level: o.Call.Level, node: o.Node}
		one.nth = d[one]
		for len(list) <= o.Choice {
			list = append(list, doing{})
		}
		list[o.Choice] = one
	}
	return list
}

// note counts what is done.
func (d diary) note(one doing) {
	one.nth = 0
	d[one]++
}

// play goes a way of the search, to the end of the run, and returns what was
// decided.
func (w *worker) play(ctx context.Context, path []edgeRef) (Ended, decisions, error) {
	chosen := decisions{held: map[doing][]time.Duration{}, before: map[[2]doing]bool{}}
	st, err := w.open(ctx, false)
	if err != nil {
		return Ended{}, chosen, err
	}
	defer st.Close(nil)
	done := diary{}
	for _, ref := range path {
		if _, err := st.Decide(ctx); err != nil {
			return Ended{}, chosen, fmt.Errorf("explore: %w", err)
		}
		o := w.s.nodes[ref.node].edges[ref.edge].option
		switch ready := done.ready(st); {
		case o == delay:
			until, _ := st.NextEvent()
			chosen.held[ready[0]] = append(chosen.held[ready[0]], until-st.Now())
		case !o.isFault():
			for _, other := range ready[:o] {
				chosen.before[[2]doing{ready[o], other}] = true
			}
			done.note(ready[o])
		}
		if err := w.s.make(ctx, st, o); err != nil {
			return Ended{}, chosen, err
		}
	}
	e, err := ended(ctx, st)
	return e, chosen, err
}

// ended lets time pass to the end of a run.
func ended(ctx context.Context, st *run.Stepper) (Ended, error) {
	if _, err := st.Decide(ctx); err != nil {
		return Ended{}, fmt.Errorf("explore: %w", err)
	}
	if !st.Over() {
		return Ended{}, fmt.Errorf("%w: it did not end", errUnrepeated)
	}
	var e Ended
	e.Results, e.At = st.Ended()
	return e, nil
}

// play plays a run in which the same is decided, as far as it comes to that.
func (y *Yardstick) play(ctx context.Context, chosen decisions) (Ended, error) {
	name := fmt.Sprint(chosen) // maps are printed in order
	if e, known := y.ended[name]; known {
		return e, nil
	}
	e, err := y.repeat(ctx, chosen)
	if err == nil {
		y.ended[name] = e
	}
	return e, err
}

func (y *Yardstick) repeat(ctx context.Context, chosen decisions) (Ended, error) {
	w := &worker{s: &search{sc: y.sc}, memory: y.memory}
	st, err := w.open(ctx, false)
	if err != nil {
		return Ended{}, err
	}
	defer st.Close(nil)
	done := diary{}
	for {
		n, err := st.Decide(ctx)
		if err != nil {
			return Ended{}, fmt.Errorf("explore: %w", err)
		}
		if n == 0 {
			return ended(ctx, st)
		}
		ready := done.ready(st)
		var m scenario.Move
		if length, ok := chosen.holds(ready); ok {
			m.Until = st.Now() + length
		} else {
			m.Choice = chosen.first(ready)
			done.note(ready[m.Choice])
		}
		if err := st.Apply(ctx, m); err != nil {
			return Ended{}, fmt.Errorf("explore: %w", err)
		}
	}
}

// holds returns for how long to hold one of these back, if at all, and notes that it was.
func (d decisions) holds(ready []doing) (time.Duration, bool) {
	at := slices.IndexFunc(ready, func(one doing) bool { return len(d.held[one]) > 0 })
	if at < 0 {
		return 0, false
	}
	length := d.held[ready[at]][0]
	d.held[ready[at]] = d.held[ready[at]][1:]
	return length, true
}

// first is the one to be done.
func (d decisions) first(ready []doing) int {
	first := 0
	for i := range ready {
		if d.before[[2]doing{ready[i], ready[first]}] {
			first = i
		}
	}
	return first
}
