package explore

import (
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
	key := make([]byte, len(as))
	exchanged := false
	for i, to := range as {
		key[i] = byte(to)
		exchanged = exchanged || int(to) != i
	}
	if !exchanged {
		return own
	}
	id, ok := n.ids[string(key)]
	if !ok {
		id = int32(len(n.all))
		n.all = append(n.all, as)
		n.ids[string(key)] = id
	}
	return id
}

// alike returns how a schedule ends, whoever of the threads that are alike ended
// how: two of which that is the same differ by names alone.
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
