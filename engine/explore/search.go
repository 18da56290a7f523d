package explore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"relock/engine/recall"
	"relock/engine/run"
	"relock/engine/scenario"
)

// Ending says why a search ended.
type Ending string

// The endings.
const (
	Exhausted Ending = "exhausted" // every schedule within the bounds was seen
	Bound     Ending = "bound"     // there are more states than the bounds allow
	Stopped   Ending = "stopped"   // its context ended
)

// option is one decision at a state: a choice, the delay, or a fault.
type option uint16

const delay option = 1 << 15

func struck(fault int) option { return 1<<14 | option(fault) }

func (o option) fault() (int, bool) { return int(o &^ (1 << 14)), o != delay && o&(1<<14) != 0 }

// cost is 1 for what a bound is on.
func (o option) cost() int {
	if o >= 1<<14 {
		return 1
	}
	return 0
}

// state is a position with what is left of the bounds.
type state struct {
	position run.Position
	delays   int8
	faults   int8
}

// node is a state that was found.
type node struct {
	parent int32 // from which it was found first
	via    option
	spent  int8 // delays and faults on any way here
	delays int8 // left
	faults int8
	edges  []edge
	notes  *run.Notes // while options are left to try
	left   int32      // options that were not tried
}

// edge is a decision and where it leads.
type edge struct {
	option option
	broken rules
	to     int32
}

const (
	root    int32 = 0
	end     int32 = -1 // of the run
	untried int32 = -2
)

// rules is a set of check.Names, by their place.
type rules uint16

// item is one option of a node that is to be tried.
type item struct {
	node   int32
	option int32
}

// found is one step of a way that a worker went.
type found struct {
	state   state
	over    bool
	options []option
	broken  rules
	notes   *run.Notes
}

// batch is how many options are tried between two looks at what was found. It
// is the same on any machine, so that the search is.
const batch = 64

// Search searches every schedule of sc within bounds. It reports progress after
// each batch, on the caller's goroutine; nil is allowed. A search that ctx ends
// is Stopped, and no error. It fails like Bounds.Check, or with the error of a
// run.
func Search(ctx context.Context, sc *scenario.Scenario, b Bounds, workers int, progress func(*Space)) (*Space, error) {
	b, err := b.Check(sc)
	if err != nil {
		return nil, err
	}
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	s := &search{ctx: ctx, sc: sc.WithSchedule(nil), b: b, known: map[state]int32{}}
	s.space = &Space{search: s}
	for range workers {
		w := &worker{s: s, memory: recall.NewMemory()}
		defer func() { _ = w.memory.Close() }()
		s.workers = append(s.workers, w)
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	for s.space.Ending == "" {
		if err := s.round(); err != nil {
			return nil, err
		}
		if progress != nil {
			progress(s.space)
		}
	}
	return s.space, nil
}

type search struct {
	ctx     context.Context
	sc      *scenario.Scenario
	b       Bounds
	workers []*worker
	nodes   []node
	known   map[state]int32
	queue   [][]item // by cost
	space   *Space

	repeated int
}

// begin finds the first state.
func (s *search) begin() error {
	chain, err := s.workers[0].first()
	if err != nil {
		return err
	}
	s.queue = make([][]item, s.b.Delays+s.b.MaxFaults+1)
	if len(chain) == 0 || chain[0].over {
		s.space.Ending = Exhausted
		return nil
	}
	s.add(chain[0], -1, 0)
	s.attach(root, 0, chain[1:])
	return nil
}

// add adds a node.
func (s *search) add(f found, parent int32, via option) int32 {
	id := int32(len(s.nodes))
	n := node{parent: parent, via: via, delays: f.state.delays, faults: f.state.faults, left: int32(len(f.options) - 1), notes: f.notes}
	n.spent = int8(s.b.Delays+s.b.MaxFaults) - n.delays - n.faults
	n.edges = make([]edge, len(f.options))
	for i, o := range f.options {
		n.edges[i] = edge{option: o, to: untried}
		if i > 0 {
			cost := int(n.spent) + o.cost()
			s.queue[cost] = append(s.queue[cost], item{id, int32(i)})
		}
	}
	if n.left == 0 {
		n.notes = nil
	}
	s.nodes = append(s.nodes, n)
	s.known[f.state] = id
	return id
}

// attach adds the way that begins with an option of a node, up to the first
// state that is known.
func (s *search) attach(id int32, i int, chain []found) {
	for _, f := range chain {
		e := &s.nodes[id].edges[i]
		e.broken = f.broken
		if f.over {
			e.to = end
			return
		}
		if to, ok := s.known[f.state]; ok {
			e.to = to
			return
		}
		to := s.add(f, id, e.option)
		s.nodes[id].edges[i].to = to
		id, i = to, 0
	}
}

// round tries the next options.
func (s *search) round() error {
	var items []item
	for cost := range s.queue {
		n := min(batch-len(items), len(s.queue[cost]))
		items = append(items, s.queue[cost][:n]...)
		s.queue[cost] = s.queue[cost][n:]
		if len(items) > 0 {
			break // what is dearer waits for what this finds
		}
	}
	if len(items) == 0 {
		s.space.Ending = Exhausted
		return nil
	}
	chains := make([][]found, len(items))
	errs := make([]error, len(items))
	var next atomic.Int32
	var all sync.WaitGroup
	for _, w := range s.workers {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(items) {
					return
				}
				chains[i], errs[i] = w.follow(items[i])
			}
		})
	}
	all.Wait()
	for i, it := range items {
		if errs[i] != nil {
			if s.ctx.Err() != nil {
				s.space.Ending = Stopped
				return nil
			}
			return errs[i]
		}
		before := len(s.nodes)
		s.attach(it.node, int(it.option), chains[i])
		s.repeated += len(chains[i]) - (len(s.nodes) - before)
		n := &s.nodes[it.node]
		if n.left--; n.left == 0 {
			n.notes = nil
		}
	}
	switch {
	case s.ctx.Err() != nil:
		s.space.Ending = Stopped
	case len(s.nodes) >= s.b.MaxStates:
		s.space.Ending = Bound
	}
	return nil
}

// path is the decisions that lead to a node.
func (s *search) path(id int32) []option {
	var list []option
	for id != root {
		list = append(list, s.nodes[id].via)
		id = s.nodes[id].parent
	}
	slices.Reverse(list)
	return list
}

// worker plays schedules.
type worker struct {
	s      *search
	memory *recall.Memory
}

// open begins a run that stands where the search does.
func (w *worker) open() (*run.Stepper, error) {
	r, err := run.New(w.s.sc, run.Options{Memory: w.memory, ByHand: w.s.byHand()})
	if err != nil {
		return nil, fmt.Errorf("explore: %w", err)
	}
	st, err := r.Begin(w.s.ctx)
	if err != nil {
		return nil, fmt.Errorf("explore: %w", err)
	}
	return st, nil
}

func (s *search) byHand() []string {
	if s.b.MaxFaults == 0 {
		return nil
	}
	return s.b.Faults
}

// first goes the first way from the start.
func (w *worker) first() ([]found, error) {
	st, err := w.open()
	if err != nil {
		return nil, err
	}
	defer st.Close(nil)
	if err := st.Replay(w.s.ctx, w.s.b.From, func(scenario.Move) error { return nil }); err != nil {
		return nil, fmt.Errorf("explore: %w", err)
	}
	return w.walk(st, state{delays: int8(w.s.b.Delays), faults: int8(w.s.b.MaxFaults)})
}

// follow goes the way that begins with an option of a node.
func (w *worker) follow(it item) ([]found, error) {
	n := &w.s.nodes[it.node]
	st, err := w.open()
	if err != nil {
		return nil, err
	}
	defer st.Close(nil)
	if n.notes != nil {
		st.Mute()
	}
	if err := st.Replay(w.s.ctx, w.s.b.From, func(scenario.Move) error { return nil }); err != nil {
		return nil, fmt.Errorf("explore: %w", err)
	}
	for _, o := range w.s.path(it.node) {
		if err := w.make(st, o); err != nil {
			return nil, err
		}
	}
	if _, err := st.Decide(w.s.ctx); err != nil {
		return nil, err
	}
	if n.notes != nil {
		st.Resume(*n.notes)
	} else {
		st.Broken()
	}
	left := state{delays: n.delays, faults: n.faults}
	o := n.edges[it.option].option
	if err := w.make(st, o); err != nil {
		return nil, err
	}
	return w.walk(st, left.after(o))
}

// after is what is left of the bounds after a decision.
func (s state) after(o option) state {
	switch _, isFault := o.fault(); {
	case o == delay:
		s.delays--
	case isFault:
		s.faults--
	}
	return s
}

// make makes one decision.
func (w *worker) make(st *run.Stepper, o option) error {
	if _, err := st.Decide(w.s.ctx); err != nil {
		return err
	}
	m, err := move(st, o)
	if err != nil {
		return err
	}
	return st.Apply(w.s.ctx, m)
}

// errUnrepeated says that a run did not repeat: a mistake of this program.
var errUnrepeated = errors.New("explore: a run took another way when it was made again")

// move is a decision as a move of a schedule.
func move(st *run.Stepper, o option) (scenario.Move, error) {
	if o == delay {
		next, ok := st.NextEvent()
		if !ok {
			return scenario.Move{}, errUnrepeated
		}
		return scenario.Move{Until: next}, nil
	}
	if i, ok := o.fault(); ok {
		f := st.Strikes()[i]
		return scenario.Move{Fault: &f}, nil
	}
	return scenario.Move{Choice: int(o)}, nil
}

// walk goes on from where a run stands, always by the first option, until a
// state that was known before this round, or the end.
func (w *worker) walk(st *run.Stepper, left state) ([]found, error) {
	var chain []found
	for {
		ready, err := st.Decide(w.s.ctx)
		if err != nil {
			return nil, err
		}
		f := found{state: left, over: st.Over(), broken: set(st.Broken())}
		if f.over {
			return append(chain, f), nil
		}
		f.state.position = st.Position()
		if _, ok := w.s.known[f.state]; ok {
			return append(chain, f), nil
		}
		for i := range ready {
			f.options = append(f.options, option(i))
		}
		if _, ok := st.NextEvent(); ok && left.delays > 0 {
			f.options = append(f.options, delay)
		}
		if left.faults > 0 {
			faults, err := st.Faults(w.s.ctx)
			if err != nil {
				return nil, err
			}
			for _, i := range faults {
				f.options = append(f.options, struck(i))
			}
		}
		if len(f.options) > 1 {
			notes := st.Notes()
			f.notes = &notes
		}
		chain = append(chain, f)
		if err := st.Apply(w.s.ctx, scenario.Move{}); err != nil {
			return nil, err
		}
	}
}
