package explore

import (
	"math/big"
	"slices"

	"relock/engine/check"
)

// Space is what a search has found.
type Space struct {
	Ending Ending // "" while it goes on

	search *search
}

// States returns how many states were found.
func (s *Space) States() int { return len(s.search.nodes) }

var ruleNames = check.Names()

// set returns the rules of a list.
func set(names []string) rules {
	var all rules
	for _, name := range names {
		all |= 1 << slices.Index(ruleNames, name)
	}
	return all
}

// Schedules returns how many schedules were found, and how many of them break
// a rule, and each.
func (s *Space) Schedules() (all, broken *big.Int, by map[string]*big.Int) {
	var seen rules
	for _, n := range s.search.nodes {
		for _, e := range n.edges {
			seen |= e.broken
		}
	}
	all = s.count(0)[root]
	by = map[string]*big.Int{}
	for i, name := range ruleNames {
		if seen&(1<<i) != 0 {
			by[name] = new(big.Int).Sub(all, s.count(1 << i)[root])
		}
	}
	return all, new(big.Int).Sub(all, s.count(seen)[root]), by
}

// count returns how many schedules from each node break none of the rules.
func (s *Space) count(none rules) []*big.Int {
	nodes := s.search.nodes
	counts := make([]*big.Int, len(nodes))
	one := big.NewInt(1)
	stack := []int32{root}
	for len(stack) > 0 {
		id := stack[len(stack)-1]
		if counts[id] != nil {
			stack = stack[:len(stack)-1]
			continue
		}
		open := false
		for _, e := range nodes[id].edges {
			if e.to >= 0 && counts[e.to] == nil {
				stack = append(stack, e.to)
				open = true
			}
		}
		if open {
			continue
		}
		sum := new(big.Int)
		for _, e := range nodes[id].edges {
			switch {
			case e.to == untried || e.broken&none != 0:
			case e.to == end:
				sum.Add(sum, one)
			default:
				sum.Add(sum, counts[e.to])
			}
		}
		counts[id] = sum
		stack = stack[:len(stack)-1]
	}
	return counts
}
func (s *Space) Repeated() int { return s.search.repeated }
