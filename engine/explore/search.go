package explore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"relock/engine/outside/ownlock"
	"relock/engine/panics"
	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/recall"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Options say how a search is done. They change nothing of what it finds.
type Options struct {
	// Workers is how many states are searched at once; 0 is one for each
	// processor.
	Workers int
	// Progress is called again and again while the search goes on, on the
	// caller's goroutine. Its argument is valid until it returns. Nil is allowed.
	Progress func(*Space)

	apart bool // twins are searched each for itself, for tests
}

// batch is how many options are tried between two looks at what was found. It
// is the same on any machine, so that the search is.
const batch = 64

// mostNotes is how many nodes keep what the rules knew there, some 2 KB each. At
// others the rules watch the whole way again, which is slower.
const mostNotes = 50_000

// longest is how many decisions a schedule may have: more than any that ends by
// itself.
const longest = 5000

// state is a position and what is left of the bounds.
type state struct {
	position run.Position
	delays   int8
	faults   int8
}

// node is a state that was found.
type node struct {
	parent int32 // the node from which it was found first
	via    option
	depth  int16 // decisions, on that way
	as     int32 // of search.namings: by which name each thread goes in its position, on that way
	delays int8  // left
	faults int8
	at     time.Duration
	edges  []edge
	notes  *run.Notes // while options are left to try
	left   int32      // options that were not tried
}

// edge is an option and where it leads.
type edge struct {
	option option
	alone  threads // that were inside on it while no other was
	broken rules
	stood  bool // a thread stood still on it for longer than its lease
	to     int32
	as     int32 // of search.namings: which threads of to those of the node become
}

// Where edges lead, apart from nodes.
const (
	root    int32 = 0
	end     int32 = -1 // of the run
	untried int32 = -2
)

// option is one decision at a state: a choice, the delay, or a fault.
type option uint16

const (
	delay     option = 1 << 15
	faultFlag option = 1 << 14 // the rest is its place in Bounds.faults
)

func (o option) isFault() bool { return o < delay && o&faultFlag != 0 }

// cost is what an option takes from the bounds.
func (o option) cost() (delays, faults int8) {
	switch {
	case o == delay:
		return 1, 0
	case o.isFault():
		return 0, 1
	default:
		return 0, 0
	}
}

// item is an option of a node to try.
type item struct {
	node   int32
	option int32
}

// found is one step of a way that a worker went.
type found struct {
	state   state
	as      naming // of state.position
	over    bool
	at      time.Duration
	options []option
	alone   threads // that were inside on the way from the one before, while no other was
	broken  rules
	stood   bool // on the way from the one before, a thread stood still for longer than its lease
	notes   *run.Notes
	ended   []trace.Result // of a run that is over, by thread
}

// search is a search under way. The data that workers read does not change during a
// round.
type search struct {
	sc      *scenario.Scenario
	b       Bounds
	faults  []scenario.Fault
	twins   []int // run.Twins
	namings namings
	workers []*worker
	nodes   []node
	known   map[state]int32
	queue   [][]item // by cost
	full    bool
	noted   int           // nodes with notes
	began   time.Duration // at the end of Bounds.From
	before  threads       // that were inside until then, while no other was
	stood   bool          // until then, a thread stood still for longer than its lease
	space   *Space
	book    book
	passed  passed
}

// Search searches every schedule of sc, without its own, within the bounds. The
// same scenario and bounds give the same Space on any number of workers, unless
// ctx ends: then what was found is Stopped, and no error. It fails like
// Bounds.Check, with run.ErrDiverged where Bounds.From does not fit, or with the
// error of a run.
func Search(ctx context.Context, sc *scenario.Scenario, b Bounds, o Options) (*Space, error) {
	b, err := b.Check(sc)
	if err != nil {
		return nil, err
	}
	s := &search{sc: sc.WithSchedule(nil), b: b, faults: b.faults(sc), known: map[state]int32{}, namings: newNamings()}
	if !o.apart {
		s.twins = run.Twins(sc)
	}
	s.space = &Space{search: s}
	s.book = newBook(sc)
	if s.book.fit, err = ownlock.Try(ctx, sc); err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("explore: %w", err)
	}
	s.passed = s.book.empty()
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	for range o.Workers {
		memory, err := ownlock.NewMemory(ctx, sc)
		if err != nil {
			return nil, fmt.Errorf("explore: %w", err)
		}
		w := &worker{s: s, memory: memory, ends: run.Ends{}, passed: s.book.empty()}
		defer func() { _ = w.memory.Close() }()
		s.workers = append(s.workers, w)
	}
	if !s.book.fit.Asks().IsZero() {
		s.space.ending, s.space.cause = Stopped, errMisused
	} else {
		err = s.begin(ctx)
	}
	for err == nil && s.space.ending == "" {
		if err = s.round(ctx); err == nil && o.Progress != nil {
			o.Progress(s.space)
		}
	}
	switch {
	case err != nil && ctx.Err() != nil:
		s.space.ending, s.space.cause = Stopped, context.Cause(ctx)
	case err != nil:
		return nil, err
	}
	s.known, s.queue, s.workers = nil, nil, nil
	return s.space, s.space.conclude(context.WithoutCancel(ctx))
}

// errMisused is why a lock is not searched whose scripts work when they are called otherwise.
var errMisused = phrase.New("its scripts do not work as they are called")

// begin finds the first states.
func (s *search) begin(ctx context.Context) error {
	s.queue = make([][]item, s.b.Delays+s.b.MaxFaults+1)
	chain, err := s.workers[0].first(ctx)
	s.passed.add(s.workers[0].passed)
	s.space.givesWay = s.workers[0].givesWay
	switch {
	case err != nil:
		return err
	case len(chain) == 0: // the run is at its limit where the search begins
		s.space.ending = Bound
		return nil
	}
	s.before, s.stood = chain[0].alone, chain[0].stood
	if chain[0].over {
		s.space.ending = Exhausted
		return nil
	}
	s.add(chain[0], -1, 0)
	s.attach(root, 0, chain[1:])
	s.bound()
	return nil
}

// bound ends a search that has as many states as it may, and knows of others.
func (s *search) bound() {
	if s.full && len(s.nodes) >= s.b.MaxStates {
		s.space.ending = Bound
	}
}

// add adds a node.
func (s *search) add(f found, parent int32, via option) int32 {
	id := int32(len(s.nodes))
	n := node{
		parent: parent, via: via, delays: f.state.delays, faults: f.state.faults, at: f.at,
		edges: make([]edge, len(f.options)), left: int32(len(f.options) - 1), notes: f.notes, as: s.namings.number(f.as),
	}
	if parent >= 0 {
		n.depth = s.nodes[parent].depth + 1
	}
	for i, o := range f.options {
		n.edges[i] = edge{option: o, to: untried}
		if i > 0 {
			cost := s.spent(&n, o)
			s.queue[cost] = append(s.queue[cost], item{id, int32(i)})
		}
	}
	switch {
	case n.left == 0 || s.noted == mostNotes:
		n.notes = nil
	case n.notes != nil:
		s.noted++
	}
	s.nodes = append(s.nodes, n)
	s.known[f.state] = id
	return id
}

// spent is the delays and faults of a way to a node and by an option of it.
func (s *search) spent(n *node, o option) int {
	delays, faults := o.cost()
	return s.b.Delays + s.b.MaxFaults - int(n.delays-delays) - int(n.faults-faults)
}

// attach adds the way that begins with an option of a node, up to the first
// state that is known.
func (s *search) attach(id int32, i int, chain []found) {
	for _, f := range chain {
		e := &s.nodes[id].edges[i]
		e.broken, e.alone, e.stood = f.broken, f.alone, f.stood
		s.space.see(id, i)
		if f.over {
			e.to = end
			s.space.finish(id, i, f)
			return
		}
		to, ok := s.known[f.state]
		if !ok && len(s.nodes) >= s.b.MaxStates {
			s.full = true
			return
		}
		if !ok {
			to = s.add(f, id, e.option)
		}
		e = &s.nodes[id].edges[i]
		e.to = to
		if ok {
			e.as = s.namings.number(f.as.then(s.namings.all[s.nodes[to].as].inverse()))
			return
		}
		id, i = to, 0
	}
	s.full = true // a way without an end
}

// next takes the options to try next: the cheapest, which may be the only ones
// of that cost that there will be.
func (s *search) next() []item {
	for cost, queue := range s.queue {
		if n := min(batch, len(queue)); n > 0 {
			s.queue[cost] = queue[n:]
			return queue[:n]
		}
	}
	return nil
}

// round tries the next options.
func (s *search) round(ctx context.Context) error {
	items := s.next()
	if len(items) == 0 {
		s.space.ending = Exhausted
		if s.full {
			s.space.ending = Bound
		}
		return nil
	}
	if err := pause.Here(ctx); err != nil {
		return fmt.Errorf("explore: %w", err)
	}
	chains := make([][]found, len(items))
	errs := make([]error, len(items))
	var taken atomic.Int32
	var all sync.WaitGroup
	for _, w := range s.workers {
		all.Go(func() {
			for i := int(taken.Add(1)) - 1; i < len(items); i = int(taken.Add(1)) - 1 {
				errs[i] = panics.Catch(func() (err error) { // nobody could catch it beyond this goroutine
					chains[i], err = w.follow(ctx, items[i])
					return err
				})
			}
		})
	}
	all.Wait()
	for _, w := range s.workers {
		s.passed.add(w.passed)
		s.space.givesWay = s.space.givesWay || w.givesWay
	}
	for i, it := range items {
		if errs[i] != nil {
			return errs[i]
		}
		s.attach(it.node, int(it.option), chains[i])
		n := &s.nodes[it.node]
		if n.left--; n.left == 0 && n.notes != nil {
			n.notes = nil
			s.noted--
		}
		if s.bound(); s.space.ending != "" {
			return nil
		}
	}
	return nil
}

// path is the options that lead to a node, the way it was found first.
func (s *search) path(id int32) []option {
	list := make([]option, s.nodes[id].depth)
	for i := len(list) - 1; i >= 0; i-- {
		list[i] = s.nodes[id].via
		id = s.nodes[id].parent
	}
	return list
}

// worker plays schedules, one after another.
type worker struct {
	s      *search
	memory *recall.Memory
	ends   run.Ends   // met so far
	log    *trace.Log // of the run under way: what was not muted
	seen   int        // events of log
	passed passed

	givesWay bool // a way was cut where threads begin again and again
}

// open begins a run and takes it to where the search is.
func (w *worker) open(ctx context.Context, muted bool) (*run.Stepper, error) {
	r, err := run.New(w.s.sc, run.Options{Memory: w.memory, Ends: w.ends, ByHand: w.s.faults, Twins: w.s.twins})
	if err != nil {
		return nil, fmt.Errorf("explore: %w", err)
	}
	st, err := r.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("explore: %w", err)
	}
	w.log, w.seen = r.Log(), 0
	if muted {
		st.Mute()
	}
	if err := st.Replay(ctx, w.s.b.From, func(scenario.Move) error { return nil }); err != nil {
		st.Close(err)
		return nil, fmt.Errorf("explore: %w", err)
	}
	return st, nil
}

// first goes the first way from the start.
func (w *worker) first(ctx context.Context) ([]found, error) {
	st, err := w.open(ctx, false)
	if err != nil {
		return nil, err
	}
	defer st.Close(nil)
	w.s.began = st.Now()
	return w.walk(ctx, st, 0, state{delays: int8(w.s.b.Delays), faults: int8(w.s.b.MaxFaults)})
}

// follow goes the way that begins with an option of a node.
func (w *worker) follow(ctx context.Context, it item) ([]found, error) {
	n := &w.s.nodes[it.node]
	st, err := w.open(ctx, n.notes != nil)
	if err != nil {
		return nil, err
	}
	defer st.Close(nil)
	for _, o := range w.s.path(it.node) {
		if err := w.s.make(ctx, st, o); err != nil {
			return nil, err
		}
	}
	if _, err := st.Decide(ctx); err != nil {
		return nil, fmt.Errorf("explore: %w", err)
	}
	if n.notes != nil {
		st.Resume(*n.notes)
	}
	st.Broken() // before this decision
	st.StoodStill()
	w.seen = w.log.Len()
	o := n.edges[it.option].option
	if err := w.s.make(ctx, st, o); err != nil {
		return nil, err
	}
	delays, faults := o.cost()
	return w.walk(ctx, st, int(n.depth)+1, state{delays: n.delays - delays, faults: n.faults - faults})
}

// make makes one decision.
func (s *search) make(ctx context.Context, st *run.Stepper, o option) error {
	if _, err := st.Decide(ctx); err != nil {
		return fmt.Errorf("explore: %w", err)
	}
	m, err := s.move(st, o)
	if err != nil {
		return err
	}
	if err := st.Apply(ctx, m); err != nil {
		return fmt.Errorf("explore: %w", err)
	}
	return nil
}

// errUnrepeated says that a run did not repeat: a mistake of this program.
var errUnrepeated = errors.New("explore: a run took another way when its moves were made again")

// move is an option as a move of a schedule, with the names that it has where the
// search found it.
func (s *search) move(st *run.Stepper, o option) (scenario.Move, error) {
	switch {
	case o == delay:
		next, ok := st.NextEvent()
		if !ok {
			return scenario.Move{}, errUnrepeated
		}
		return scenario.Move{Until: next}, nil
	case o.isFault():
		f := s.faults[o&^faultFlag]
		return scenario.Move{Fault: &f}, nil
	default:
		return scenario.Move{Choice: int(o)}, nil
	}
}

// walk goes on from where a run is, always by the first option, to a state that was known
// before this round or to the end of the run.
func (w *worker) walk(ctx context.Context, st *run.Stepper, depth int, left state) ([]found, error) {
	defer func() {
		w.alone() // of what came after the last decision
		events, _ := w.log.Since(0)
		w.s.book.note(&w.passed, events)
	}()
	var chain []found
	room := w.s.b.MaxStates - len(w.s.nodes) // for as many new states
	for ; depth < longest && len(chain) <= room; depth++ {
		if _, err := st.Decide(ctx); errors.Is(err, run.ErrLimit) {
			return chain, nil
		} else if err != nil {
			return nil, fmt.Errorf("explore: %w", err)
		}
		if st.GiveWay() {
			w.givesWay = true
			return chain, nil
		}
		f := found{state: left, over: st.Over(), at: st.Now(), broken: set(st.Broken()), stood: st.StoodStill(), alone: w.alone()}
		if f.over {
			f.ended, f.at = st.Ended()
		} else {
			f.state.position, f.as = st.Position()
		}
		if _, ok := w.s.known[f.state]; f.over || ok {
			return append(chain, f), nil
		}
		var err error
		if f.options, err = w.options(ctx, st, left); err != nil {
			return nil, err
		}
		if len(f.options) > 1 {
			notes := st.Notes()
			f.notes = &notes
		}
		chain = append(chain, f)
		if err := st.Apply(ctx, scenario.Move{}); errors.Is(err, run.ErrLimit) {
			return chain, nil
		} else if err != nil {
			return nil, fmt.Errorf("explore: %w", err)
		}
	}
	return chain, nil
}

// options are the possible decisions where a run is.
func (w *worker) options(ctx context.Context, st *run.Stepper, left state) ([]option, error) {
	ready, err := st.Decide(ctx)
	if err != nil {
		return nil, fmt.Errorf("explore: %w", err)
	}
	list := make([]option, ready, ready+1)
	for i := range list {
		list[i] = option(i)
	}
	if _, ok := st.NextEvent(); ok && left.delays > 0 {
		list = append(list, delay)
	}
	if left.faults == 0 {
		return list, nil
	}
	faults, err := st.Faults(ctx)
	if err != nil {
		return nil, fmt.Errorf("explore: %w", err)
	}
	for _, i := range faults {
		list = append(list, faultFlag|option(i))
	}
	return list, nil
}
