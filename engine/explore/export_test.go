package explore

import (
	"fmt"
	"slices"

	"relock/engine/scenario"
)

// Apart returns o for a search in which threads that are configured alike are
// searched each for itself.
func Apart(o Options) Options {
	o.apart = true
	return o
}

// Compare goes by every way of a space that was searched apart, and by the same
// in one that was not, and returns how they differ first. States, options, what
// each breaks and how many schedules go on from there must be the same.
func Compare(apart, once *Space) error {
	type pair struct {
		a, b int32
		as   string
	}
	seen := map[pair]bool{}
	var compare func(a, b int32, as naming) error
	compare = func(a, b int32, as naming) error {
		p := pair{a, b, fmt.Sprint(as)}
		if seen[p] {
			return nil
		}
		seen[p] = true
		m, n := &apart.search.nodes[a], &once.search.nodes[b]
		if m.at != n.at || m.delays != n.delays || m.faults != n.faults || len(m.edges) != len(n.edges) {
			return fmt.Errorf("state %d is %v, %d, %d with %d options; %d is %v, %d, %d with %d",
				a, m.at, m.delays, m.faults, len(m.edges), b, n.at, n.delays, n.faults, len(n.edges))
		}
		if apart.all.at(a).Cmp(once.all.at(b)) != 0 || apart.clean.at(a).Cmp(once.clean.at(b)) != 0 {
			return fmt.Errorf("from state %d %s schedules go on, %s of them clean; from %d %s and %s",
				a, apart.all.at(a), apart.clean.at(a), b, once.all.at(b), once.clean.at(b))
		}
		for _, e := range m.edges {
			same := func(o edge) bool {
				if !e.option.isFault() || !o.option.isFault() {
					return e.option == o.option
				}
				f := as.move(apart.search.sc, faultOf(apart.search, e.option))
				return *f.Fault == once.search.faults[o.option&^faultFlag]
			}
			i := slices.IndexFunc(n.edges, same)
			if i < 0 {
				return fmt.Errorf("state %d has option %d, %d has not", a, e.option, b)
			}
			o := n.edges[i]
			if e.broken != o.broken || min(e.to, 0) != min(o.to, 0) {
				return fmt.Errorf("option %d of state %d breaks %v and leads to %d, that of %d %v and %d", e.option, a, e.broken.names(), e.to, b, o.broken.names(), o.to)
			}
			if e.to < 0 {
				continue
			}
			if err := compare(e.to, o.to, as.then(once.search.namings.all[o.as])); err != nil {
				return err
			}
		}
		return nil
	}
	if len(apart.search.nodes) == 0 {
		return nil
	}
	if err := compare(root, root, nil); err != nil {
		return err
	}
	of := map[int32]bool{}
	for p := range seen {
		of[p.a] = true
	}
	if len(of) != len(apart.search.nodes) {
		return fmt.Errorf("%d of %d states were compared", len(of), len(apart.search.nodes))
	}
	return nil
}

func faultOf(s *search, o option) scenario.Move {
	f := s.faults[o&^faultFlag]
	return scenario.Move{Fault: &f}
}
