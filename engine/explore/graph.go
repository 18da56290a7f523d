package explore

import (
	"slices"
	"time"

	"relock/engine/scenario"
)

// Graph is a Space to be drawn: which states there are, how decisions lead from
// one to another, and what share of all schedules goes there.
type Graph struct {
	States []State // by ID
	Ways   []Way   // by From
	Order  []int   // the states, each before those to which it leads
	Cut    bool    // there are schedules that were not seen: shares are of those that were
}

// State is a state of a Graph.
type State struct {
	At     time.Duration // since the run began
	Share  float64       // of all schedules, those that come by, 0 to 1
	Broken float64       // of all schedules, those that come by and break a rule, before or after
	Fate   Fate
}

// Way is a decision of a Graph.
type Way struct {
	From, To int // states; To is -1 where the run ends
	Share    float64
	Broken   float64
	Breaks   bool // it breaks a rule at once
	Fate     Fate
}

// Graph returns the space as a graph. The search must have ended. Decisions that
// were not tried are left out.
func (s *Space) Graph() Graph {
	nodes := s.search.nodes
	order := childrenFirst(nodes)
	g := Graph{States: make([]State, len(nodes)), Cut: s.ending != Exhausted}
	share := func(c counts, id, of int32) float64 { // of the schedules that go on from one, those from the other
		part, _ := c.at(id).Float64()
		all, _ := s.all.at(of).Float64()
		if all == 0 {
			return 0
		}
		return part / all
	}
	whole := make([]float64, len(nodes))                                // of all schedules, those that come by without having broken a rule
	clean, broken := make([]bool, len(nodes)), make([]bool, len(nodes)) // some come by that have broken nothing, and that have
	if len(nodes) > 0 {
		g.States[root].Share, whole[root], clean[root] = 1, 1, true
	}
	for _, id := range slices.Backward(order) {
		g.Order = append(g.Order, int(id))
		state := &g.States[id]
		state.At = nodes[id].at
		state.Broken = max(0, state.Share-whole[id]*share(s.clean, id, id))
		state.Fate = fate(clean[id], broken[id], s.from(id))
		for _, e := range nodes[id].edges {
			if e.to == untried {
				continue
			}
			part := share(s.all, e.to, id)
			w := Way{From: int(id), To: int(e.to), Share: state.Share * part, Breaks: e.broken != 0}
			w.Fate = fate(clean[id] && !w.Breaks, broken[id] || w.Breaks, s.by(e))
			w.Broken = w.Share
			if !w.Breaks {
				w.Broken = max(0, w.Share-whole[id]*share(s.clean, e.to, id))
			}
			if e.to >= 0 {
				g.States[e.to].Share += w.Share
				clean[e.to] = clean[e.to] || clean[id] && !w.Breaks
				broken[e.to] = broken[e.to] || broken[id] || w.Breaks
				if !w.Breaks {
					whole[e.to] += whole[id] * part
				}
			}
			g.Ways = append(g.Ways, w)
		}
	}
	slices.SortStableFunc(g.Ways, func(a, b Way) int { return a.From - b.From })
	return g
}

// Stand is where a run is after some of its moves.
type Stand struct {
	At  time.Duration
	Can bool // somebody can move
}

// None stands for no state.
const None = -1

// Follow returns the states of a run that was at stands[0] and, after its nth move, at
// stands[n]: None before the search begins, while a wait is not over, and once the run
// has ended or left the bounds.
func (s *Space) Follow(moves []scenario.Move, stands []Stand) []int {
	ids, _ := s.along(moves, stands)
	return ids
}

// Named returns a run's moves with the names that threads have at the Places by
// which Follow goes: the run's own, or those of others that are configured alike.
func (s *Space) Named(moves []scenario.Move, stands []Stand) []scenario.Move {
	_, named := s.along(moves, stands)
	return named
}

// along is Follow and Named.
func (s *Space) along(moves []scenario.Move, stands []Stand) (ids []int, named []scenario.Move) {
	ids, named = slices.Repeat([]int{None}, len(moves)+1), slices.Clone(moves)
	from := s.search.b.From
	if len(s.search.nodes) == 0 || len(moves) < len(from) || !slices.EqualFunc(moves[:len(from)], from, scenario.Move.Equal) {
		return ids, named
	}
	on := root
	var as naming // the nodes' threads of those of the run
	for i := len(from); ; i++ {
		var ok bool
		if on, ok = s.until(on, stands[i], &as); !ok {
			return ids, named
		}
		n := &s.search.nodes[on]
		stood := n.at == stands[i].At || n.at > stands[i].At && !stands[i].Can
		if stood {
			ids[i] = int(on)
		}
		if i == len(moves) {
			return ids, named
		}
		named[i] = as.move(s.search.sc, moves[i])
		if moves[i].Until > 0 {
			continue
		}
		if !stood || moves[i].Fault != nil && n.at > stands[i].At {
			return ids, named
		}
		taken := slices.IndexFunc(n.edges, func(e edge) bool { return s.is(named[i], e) })
		if taken < 0 || n.edges[taken].to < 0 {
			return ids, named
		}
		on, as = n.edges[taken].to, as.then(s.search.namings.all[n.edges[taken].as])
	}
}

// until goes on from a node while nobody moves, up to where the run is. It stays before a
// delay that is not over. As is which threads of the node those of the run are.
func (s *Space) until(on int32, stand Stand, as *naming) (int32, bool) {
	for s.search.nodes[on].at < stand.At {
		to, become := untried, own
		for _, e := range s.search.nodes[on].edges {
			if e.option == delay {
				to, become = e.to, e.as
			}
		}
		switch {
		case to < 0:
			return on, false
		case s.search.nodes[to].at > stand.At && stand.Can:
			return on, true
		}
		on, *as = to, as.then(s.search.namings.all[become])
	}
	return on, true
}

// Way returns a cheapest sequence of moves from the scenario's start to a state. It is
// nil for a state that does not exist.
func (s *Space) Way(id int) []scenario.Move {
	if id < 0 || id >= len(s.search.nodes) {
		return nil
	}
	nodes := s.search.nodes
	moves := slices.Clone(s.search.b.From)
	if moves == nil {
		moves = []scenario.Move{}
	}
	at := s.search.began // after the moves
	path := s.search.trail(int32(id))
	for i, n := range path[:len(path)-1] {
		next := path[i+1]
		switch o := nodes[next].via; {
		case o == delay:
			moves = append(moves, scenario.Move{Until: nodes[next].at})
			at = nodes[next].at
			continue
		case o.isFault():
			if at < nodes[n].at {
				moves = append(moves, scenario.Move{Until: nodes[n].at}) // nobody could move before
			}
			f := s.search.faults[o&^faultFlag]
			moves = append(moves, scenario.Move{Fault: &f})
		default:
			moves = append(moves, scenario.Move{Choice: int(o)})
		}
		at = nodes[n].at
	}
	return moves
}

// trail is the nodes on the way on which a node was found, and the node itself.
func (s *search) trail(id int32) []int32 {
	list := []int32{id}
	for id != root {
		id = s.nodes[id].parent
		list = append(list, id)
	}
	slices.Reverse(list)
	return list
}
