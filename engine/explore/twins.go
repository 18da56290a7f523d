package explore

import (
	"cmp"
	"fmt"
	"slices"

	"relock/engine/scenario"
	"relock/engine/trace"
)

// Threads that are configured alike (relock/engine/run.Twins) are searched once: two positions
// that differ by their names alone are one state. It is known by the names under
// which it was found first; an edge that leads there under others says which are
// which. A choice needs no names: the nth of those that can move is the same.
// Source: scalarsets, Ip and Dill, "Better verification through symmetry" (1996).

// naming exchanges threads, by their places in the scenario: by which name each
// goes, or which it becomes. Nil leaves to each its own.
type naming []int8

// then returns what a naming and another after it come to.
func (n naming) then(o naming) naming {
	switch {
	case n == nil:
		return o
	case o == nil:
		return n
	}
	p := make(naming, len(n))
	for i, to := range n {
		p[i] = o[to]
	}
	return p
}

// isOwn reports whether it leaves to each thread its own name.
func (n naming) isOwn() bool {
	for i, to := range n {
		if int(to) != i {
			return false
		}
	}
	return true
}

// inverse returns what undoes a naming.
func (n naming) inverse() naming {
	if n == nil {
		return nil
	}
	p := make(naming, len(n))
	for i, to := range n {
		p[to] = int8(i)
	}
	return p
}

// move returns a move with the names that its threads have under a naming.
func (n naming) move(sc *scenario.Scenario, m scenario.Move) scenario.Move {
	if n == nil || m.Fault == nil || m.Fault.Thread == "" {
		return m
	}
	at := slices.IndexFunc(sc.Threads, func(t scenario.Thread) bool { return t.Name == m.Fault.Thread })
	if at < 0 {
		return m
	}
	f := *m.Fault
	f.Thread = sc.Threads[n[at]].Name
	return scenario.Move{Fault: &f}
}

// namings keeps each naming that a search meets once. It only grows while the
// search goes on.
type namings struct {
	all []naming
	ids map[string]int32
}

// own is the number of the naming that leaves to each thread its own name.
const own int32 = 0

func newNamings() namings { return namings{all: []naming{nil}, ids: map[string]int32{}} }

// number returns the number of a naming.
func (n *namings) number(as naming) int32 {
	if as.isOwn() {
		return own
	}
	key := make([]byte, len(as))
	for i, to := range as {
		key[i] = byte(to)
	}
	id, ok := n.ids[string(key)]
	if !ok {
		id = int32(len(n.all))
		n.all = append(n.all, as)
		n.ids[string(key)] = id
	}
	return id
}

// Alike returns the names of threads that are configured alike and searched once,
// each kind for itself. Whatever a Place says about one of them is true of the others in
// its place.
func (s *Space) Alike() [][]string {
	var list [][]string
	for first := range s.search.twins {
		var names []string
		for i, of := range s.search.twins {
			if of == first {
				names = append(names, s.search.sc.Threads[i].Name)
			}
		}
		if len(names) > 1 {
			list = append(list, names)
		}
	}
	return list
}

// alike returns how a schedule ends, no matter which of the threads that are alike
// ended how: two schedules with the same answer differ by names alone.
func (s *search) alike(results []trace.Result) []trace.Result {
	if s.twins == nil {
		return results
	}
	list := make([]trace.Result, 0, len(results))
	for first := range s.twins {
		begin := len(list)
		for i, of := range s.twins {
			if of == first {
				list = append(list, results[i])
			}
		}
		slices.Sort(list[begin:])
	}
	return list
}

// way returns the edges of a way to a node with the fewest moves: of several, the
// one whose first edge comes first, and so on. It ends under the names with which
// the node was found, so that it is the way that would be found if twins were
// searched each for itself. The ways are those of shortest.
func (s *Space) way(to int32, shortest ways) []edgeRef {
	var path []edgeRef
	if s.search.twins != nil {
		l := lifting{s: s.search, to: to, ways: shortest, leads: s.leads(to, shortest), seen: map[string]bool{}}
		if l.reaches(root, nil) {
			return l.path
		}
	}
	for id := to; id != root; id = path[0].node {
		path = append([]edgeRef{shortest.parents[id]}, path...)
	}
	return path
}

// next reports whether an edge of a node is one of a way with the fewest moves.
func (w ways) next(id int32, e edge) bool { return w.take(e) && w.depths[e.to] == w.depths[id]+1 }

// leads returns, for each node, whether a way with the fewest moves leads from it
// to another.
func (s *Space) leads(to int32, shortest ways) []bool {
	nodes := s.search.nodes
	leads := make([]bool, len(nodes))
	leads[to] = true
	for _, id := range childrenFirst(nodes) {
		leads[id] = leads[id] || slices.ContainsFunc(nodes[id].edges, func(e edge) bool {
			return shortest.next(id, e) && leads[e.to]
		})
	}
	return leads
}

// mostLifted is how many states a lifting may come by, under each name counted as
// one: more than any that ends soon.
const mostLifted = 100_000

// lifting looks for a way among states whose twins keep their names.
type lifting struct {
	s     *search
	to    int32
	ways  ways
	leads []bool
	seen  map[string]bool // by node and naming: it is not to be found from there
	path  []edgeRef
}

// reaches reports whether the way goes on from a node, some of whose threads were
// exchanged, and adds its edges to the path.
func (l *lifting) reaches(id int32, as naming) bool {
	if id == l.to {
		return as.isOwn()
	}
	key := fmt.Sprint(id, as)
	if l.seen[key] || len(l.seen) == mostLifted {
		return false
	}
	for _, i := range l.s.inOrder(id, as) {
		e := l.s.nodes[id].edges[i]
		if !l.ways.next(id, e) || !l.leads[e.to] {
			continue
		}
		l.path = append(l.path, edgeRef{id, i})
		if l.reaches(e.to, as.then(l.s.namings.all[e.as])) {
			return true
		}
		l.path = l.path[:len(l.path)-1]
	}
	l.seen[key] = true
	return false
}

// inOrder returns a node's edges in the order that they have where some of its
// threads were exchanged: as is which of the node's they are.
func (s *search) inOrder(id int32, as naming) []int32 {
	edges := s.nodes[id].edges
	order, places := make([]int32, len(edges)), make([]int, len(edges))
	back := as.inverse()
	for i, e := range edges {
		order[i], places[i] = int32(i), i
		if !e.option.isFault() {
			continue
		}
		m := back.move(s.sc, scenario.Move{Fault: &s.faults[e.option&^faultFlag]})
		places[i] = len(edges) + slices.Index(s.faults, *m.Fault)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(places[a], places[b]) })
	return order
}
