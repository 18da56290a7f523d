package explore

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"relock/engine/phrase"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Ending says why a search ended.
type Ending string

// The endings.
const (
	Exhausted Ending = "exhausted" // every schedule within the bounds was seen
	Bound     Ending = "bound"     // there are more states than the bounds allow, or a schedule without an end
	Stopped   Ending = "stopped"   // its context ended
)

// Space is what a search has found: the states, how decisions lead from one to
// another, and what is broken on the way. Of a search that has ended it never
// changes, and is safe for concurrent use.
type Space struct {
	search   *search
	ending   Ending
	cause    error  // of a search that was stopped
	givesWay bool   // ways were cut on which threads give back and begin again, over and over
	soFar    []Rule // by cost, while the search goes on

	all, clean counts // schedules from each node; of them, those that break nothing
	complete   []bool // by node: nothing below it is untried
	sum        *big.Int
	broken     *big.Int
	inside     int      // as mostInside has it
	standing   *big.Int // of them, those by standing still
	rules      []Rule
	ends       []End
}

// Rule is a rule that some schedule breaks.
type Rule struct {
	Name      string
	Schedules *big.Int // that break it; nil while the search goes on
	Delays    int      // of the smallest
	Faults    int
	Least     int // delays and faults of the smallest of all; fewer where a thread stands still only in these

	// ByStandingStill is how many of the schedules break it only after a thread stood
	// still for longer than its lease: no lease protects from that. Nil while the search
	// goes on.
	ByStandingStill *big.Int

	// Schedule is the smallest that breaks it: the fewest delays and faults, then
	// the fewest moves, up to the move that breaks it, from the scenario's start. No
	// thread stands still in it for longer than its lease, unless one does in every such
	// schedule. Nil while the search goes on.
	Schedule []scenario.Move
	// Lost is how many moves of Schedule are made where it becomes inevitable:
	// from there on every schedule within the bounds breaks the rule. -1 if nobody can
	// say, because the search did not see everything.
	Lost int
	// Smallest says that no schedule within the bounds is smaller. Otherwise the
	// search was cut short before it had tried all that could be.
	Smallest bool

	node, edge int32 // of the move that breaks it
	moves      int
	stands     bool // a thread does in Schedule
}

// Stands reports whether a thread stands still in Schedule for longer than its lease:
// then one does in every schedule that breaks the rule.
func (r Rule) Stands() bool { return r.stands }

// Scenario returns what was searched. It is not to be changed.
func (s *Space) Scenario() *scenario.Scenario { return s.search.sc }

// Bounds returns how far the search was to go, with defaults filled in.
func (s *Space) Bounds() Bounds { return s.search.b }

// Ending returns why the search ended, or "" while it goes on.
func (s *Space) Ending() Ending { return s.ending }

// Why says, as a clause, why a search has not seen every schedule. Of one that has
// it says nothing.
func (s *Space) Why() phrase.Wording {
	if says, ok := phrase.Of(s.cause); ok {
		return says
	}
	switch {
	case s.ending == Stopped:
		return phrase.Say("it was stopped")
	case s.ending != Bound:
		return phrase.Wording{}
	case len(s.search.nodes) >= s.search.b.MaxStates:
		return phrase.Say("there are more than %d states", s.search.b.MaxStates)
	case s.givesWay:
		return phrase.Say("in some orders threads give back what they have and start over, with no end in sight")
	default:
		return phrase.Say("some orders never end, or end too late to wait for")
	}
}

// States returns how many states were found.
func (s *Space) States() int { return len(s.search.nodes) }

// Waiting returns how many options are known and still to be tried.
func (s *Space) Waiting() int {
	n := 0
	for _, queue := range s.search.queue {
		n += len(queue)
	}
	return n
}

// Schedules returns how many schedules were seen. It is nil while the search goes
// on.
func (s *Space) Schedules() *big.Int { return s.sum }

// Broken returns how many of the schedules break a rule. It is nil while the
// search goes on.
func (s *Space) Broken() *big.Int { return s.broken }

// ByStandingStill returns how many of the broken schedules break their first rule
// only after a thread stood still for longer than its lease: it could move, or its
// watchdog could, a delay kept it from moving, and meanwhile its lease ended. No
// lease protects from that. It is nil while the search goes on.
func (s *Space) ByStandingStill() *big.Int { return s.standing }

// Rules returns the broken rules, the cheapest first, or those known so far while the
// search goes on. Those that are broken only by standing still come last.
func (s *Space) Rules() []Rule {
	if s.ending == "" {
		return s.soFar
	}
	return s.rules
}

// see notes what an edge breaks, if nothing as cheap was seen.
func (s *Space) see(id int32, i int) {
	n := &s.search.nodes[id]
	e := n.edges[i]
	for _, name := range e.broken.names() {
		s.soFar = better(s.soFar, s.search.rule(name, id, int32(i), int(n.depth)+1))
	}
}

// rule is a rule that an edge breaks, after so many moves.
func (s *search) rule(name string, id, i int32, moves int) Rule {
	n := &s.nodes[id]
	delays, faults := n.edges[i].option.cost()
	return Rule{
		Name: name, Delays: s.b.Delays - int(n.delays-delays), Faults: s.b.MaxFaults - int(n.faults-faults),
		Least: s.b.Delays + s.b.MaxFaults - int(n.delays-delays) - int(n.faults-faults),
		Lost:  -1, node: id, edge: i, moves: moves,
	}
}

// compare orders by cost and then by moves. Those in which no thread stands still for
// longer than its lease come first.
func (r Rule) compare(o Rule) int {
	if r.stands != o.stands {
		if o.stands {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(r.Delays+r.Faults, o.Delays+o.Faults), cmp.Compare(r.moves, o.moves))
}

// better returns the list, in its order, with r in it unless the rule is there
// and r is not cheaper.
func better(list []Rule, r Rule) []Rule {
	for i, old := range list {
		if old.Name == r.Name {
			if r.compare(old) >= 0 {
				return list
			}
			list = append(list[:i:i], list[i+1:]...)
			break
		}
	}
	at := 0
	for at < len(list) && list[at].compare(r) <= 0 {
		at++
	}
	return append(list[:at:at], append([]Rule{r}, list[at:]...)...)
}

// conclude counts, and finds the smallest schedule that breaks each rule.
func (s *Space) conclude(ctx context.Context) error {
	nodes := s.search.nodes
	order := childrenFirst(nodes)
	var seen rules
	for i := range nodes {
		nodes[i].notes = nil
		for _, e := range nodes[i].edges {
			seen |= e.broken
		}
	}
	s.inside = s.mostInside(order)
	s.all, s.clean, s.complete = count(nodes, order, 0), count(nodes, order, seen), complete(nodes, order)
	s.sum, s.broken, s.standing = new(big.Int), new(big.Int), new(big.Int)
	if len(nodes) == 0 {
		if s.ending == Exhausted { // the run has ended where the search begins
			s.sum.SetInt64(1)
		}
		return nil
	}
	s.sum = s.all.at(root)
	s.broken.Sub(s.sum, s.clean.at(root))
	standing := func(broken *big.Int, some rules) *big.Int {
		if s.search.stood {
			return broken
		}
		return new(big.Int).Sub(broken, moving(nodes, order, some, s.all).at(root))
	}
	s.standing = standing(s.broken, seen)
	ways := map[bool]ways{false: s.shortest(false), true: s.shortest(true)} // by whether a thread may stand still
	least := map[string]int{}
	for id := range nodes {
		for i, e := range nodes[id].edges {
			for _, name := range e.broken.names() {
				r := s.search.rule(name, int32(id), int32(i), int(ways[true].depths[id])+1)
				if cost, ok := least[name]; !ok || r.Least < cost {
					least[name] = r.Least
				}
				if r.stands = s.search.stood || e.stood || !ways[false].lead(int32(id)); !r.stands {
					r.moves = int(ways[false].depths[id]) + 1
				}
				s.rules = better(s.rules, r)
			}
		}
	}
	certain := s.certain()
	for i := range s.rules {
		r := &s.rules[i]
		r.Least = least[r.Name]
		r.Smallest = r.Delays+r.Faults < certain
		path := append(s.way(r.node, ways[r.stands]), edgeRef{r.node, r.edge})
		some := set([]string{r.Name})
		clean := count(nodes, order, some)
		r.Schedules = new(big.Int).Sub(s.sum, clean.at(root))
		r.ByStandingStill = standing(r.Schedules, some)
		var made []int
		var err error
		if r.Schedule, made, err = s.prove(ctx, r.Name, path); err != nil {
			return err
		}
		r.Lost = len(r.Schedule)
		for n := len(path) - 1; n >= 0 && clean.none(path[n].node); n-- {
			r.Lost = made[n]
			if !s.complete[path[n].node] {
				r.Lost = -1 // what was not tried may avoid it
				break
			}
		}
	}
	return nil
}

// edgeRef is an edge by its node and place.
type edgeRef struct{ node, edge int32 }

// ways are, for each node, the last edge of a way to it with the fewest moves, and how
// many these are.
type ways struct {
	parents []edgeRef
	depths  []int32 // 0 where no way leads, but of the root
	stands  bool    // a thread may stand still on them for longer than its lease
}

// lead reports whether a way leads to a node.
func (w ways) lead(id int32) bool { return id == root || w.depths[id] > 0 }

// take reports whether a way can take an edge to another node.
func (w ways) take(e edge) bool { return e.to >= 0 && (w.stands || !e.stood) }

// shortest returns the ways to all nodes, or those on which no thread stands still.
// All ways to a node cost the same.
func (s *Space) shortest(stands bool) ways {
	nodes := s.search.nodes
	w := ways{make([]edgeRef, len(nodes)), make([]int32, len(nodes)), stands}
	for queue := []int32{root}; len(queue) > 0; queue = queue[1:] {
		id := queue[0]
		for i, e := range nodes[id].edges {
			if w.take(e) && !w.lead(e.to) {
				w.parents[e.to], w.depths[e.to] = edgeRef{id, int32(i)}, w.depths[id]+1
				queue = append(queue, e.to)
			}
		}
	}
	return w
}

// prove plays a way on a miniredis, from the scenario's start, and returns it as
// a schedule, as follow does. It fails where the rule is not broken at its last
// move.
func (s *Space) prove(ctx context.Context, rule string, path []edgeRef) (schedule []scenario.Move, made []int, err error) {
	r, st, err := s.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer st.Close(nil)
	schedule, made, err = s.follow(ctx, st, path)
	if err != nil {
		return nil, nil, err
	}
	events, _ := r.Log().Since(0)
	if !breaks(events, rule) {
		return nil, nil, fmt.Errorf("%w: %s was not broken", errUnrepeated, rule)
	}
	return schedule, made, nil
}

// follow makes the moves of a way, after those before the search, and returns
// them all, and how many are made before each decision of the way. If time has passed
// before a fault strikes, a separate move says so: by hand, it would strike at once.
func (s *Space) follow(ctx context.Context, st *run.Stepper, path []edgeRef) (schedule []scenario.Move, made []int, err error) {
	schedule = append([]scenario.Move{}, s.search.b.From...)
	if err := st.Replay(ctx, schedule, func(scenario.Move) error { return nil }); err != nil {
		return nil, nil, fmt.Errorf("explore: %w", err)
	}
	var as naming // the nodes' threads of those of the run
	for _, ref := range path {
		made = append(made, len(schedule))
		before := st.Now()
		if _, err := st.Decide(ctx); err != nil {
			return nil, nil, fmt.Errorf("explore: %w", err)
		}
		e := s.search.nodes[ref.node].edges[ref.edge]
		m, err := s.search.move(st, e.option)
		if err != nil {
			return nil, nil, err
		}
		m = as.inverse().move(s.search.sc, m)
		as = as.then(s.search.namings.all[e.as])
		if m.Fault != nil && st.Now() > before {
			schedule = append(schedule, scenario.Move{Until: st.Now()})
		}
		if err := st.Apply(ctx, m); err != nil {
			return nil, nil, fmt.Errorf("explore: %w", err)
		}
		schedule = append(schedule, m)
	}
	if _, err := st.Decide(ctx); err != nil { // what time alone does
		return nil, nil, fmt.Errorf("explore: %w", err)
	}
	return schedule, made, nil
}

func (s *Space) begin(ctx context.Context) (*run.Run, *run.Stepper, error) {
	r, err := run.New(s.search.sc, run.Options{})
	if err != nil {
		return nil, nil, fmt.Errorf("explore: %w", err)
	}
	st, err := r.Begin(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("explore: %w", err)
	}
	return r, st, nil
}

func breaks(events []trace.Event, rule string) bool {
	return slices.ContainsFunc(events, func(e trace.Event) bool {
		v, ok := e.Body.(trace.Violation)
		return ok && v.Rule == rule
	})
}

// Play plays a rule's smallest schedule on a miniredis, and returns the trace up
// to where the rule is broken.
func (s *Space) Play(ctx context.Context, rule Rule) (trace.Header, []trace.Event, error) {
	r, st, err := s.begin(ctx)
	if err != nil {
		return trace.Header{}, nil, err
	}
	defer st.Close(nil)
	if err := st.Replay(ctx, rule.Schedule, func(scenario.Move) error { return nil }); err != nil {
		return trace.Header{}, nil, fmt.Errorf("explore: %w", err)
	}
	if _, err := st.Decide(ctx); err != nil {
		return trace.Header{}, nil, fmt.Errorf("explore: %w", err)
	}
	events, _ := r.Log().Since(0)
	return r.Header(), slices.Clone(events), nil
}

// Place is a state of a Space, as somebody sees it who walks from one to another.
type Place struct {
	Prospect

	ID      int
	At      time.Duration // since the run began
	Options []Option
}

// Option is one decision at a Place.
type Option struct {
	Prospect // of the schedules that go on with it

	Choice int             // who moves, or -1
	Delay  bool            // nobody moves
	Fault  *scenario.Fault // what strikes, or nil
	Rules  []string        // that it breaks at once
	To     int             // the Place to which it leads, or -1: the run ends, or -2: it was not tried
}

// Place returns a state by its ID, 0 being where the search begins. It is nil for
// one that does not exist. The search must have ended.
func (s *Space) Place(id int) *Place {
	if id < 0 || id >= len(s.search.nodes) {
		return nil
	}
	n := &s.search.nodes[id]
	p := &Place{Prospect: s.from(int32(id)), ID: id, At: n.at}
	for _, e := range n.edges {
		o := Option{Prospect: s.by(e), Choice: -1, Delay: e.option == delay, Rules: e.broken.names(), To: int(e.to)}
		switch {
		case o.Delay:
		case e.option.isFault():
			o.Fault = &s.search.faults[e.option&^faultFlag]
		default:
			o.Choice = int(e.option)
		}
		p.Options = append(p.Options, o)
	}
	return p
}

// is reports whether an edge of a node stands for a move, which is no wait. Threads have
// the names that they have there.
func (s *Space) is(m scenario.Move, e edge) bool {
	if m.Fault != nil {
		return e.option.isFault() && *m.Fault == s.search.faults[e.option&^faultFlag]
	}
	return e.option == option(m.Choice)
}
