package explore

import (
	"math/big"
	"math/bits"
	"slices"

	"relock/engine/check"
)

// rules is a set of rules, by their place among check.Names.
type rules uint64

var ruleNames = check.Names()

// set returns the rules with these names.
func set(names []string) rules {
	var all rules
	for _, name := range names {
		all |= 1 << slices.Index(ruleNames, name)
	}
	return all
}

// names returns the rules of a set, in the order of check.Names.
func (r rules) names() []string {
	var list []string
	for i, name := range ruleNames {
		if r>>i&1 != 0 {
			list = append(list, name)
		}
	}
	return list
}

// counts has one count for each node: how many schedules go on from it in some
// way. They are machine words unless one outgrows them.
type counts struct {
	small []uint64
	large []*big.Int // where small does not do
}

// at returns the count of a node, or of the end, which is one schedule.
func (c counts) at(id int32) *big.Int {
	switch {
	case id == end:
		return big.NewInt(1)
	case id == untried:
		return new(big.Int)
	case c.large != nil:
		return c.large[id]
	default:
		return new(big.Int).SetUint64(c.small[id])
	}
}

// none reports whether the count of a node is 0.
func (c counts) none(id int32) bool {
	if c.large != nil {
		return c.large[id].Sign() == 0
	}
	return c.small[id] == 0
}

// count counts, from each node, the schedules seen that break none of the rules.
// Order has each node after all to which it leads.
func count(nodes []node, order []int32, none rules) counts {
	small := make([]uint64, len(nodes))
	for _, id := range order {
		var sum, carry uint64
		for _, e := range nodes[id].edges {
			switch {
			case e.to == untried || e.broken&none != 0:
			case e.to == end:
				sum, carry = bits.Add64(sum, 1, 0)
			default:
				sum, carry = bits.Add64(sum, small[e.to], 0)
			}
			if carry != 0 {
				return counts{large: countLarge(nodes, order, none)}
			}
		}
		small[id] = sum
	}
	return counts{small: small}
}

func countLarge(nodes []node, order []int32, none rules) []*big.Int {
	large := make([]*big.Int, len(nodes))
	one := big.NewInt(1)
	for _, id := range order {
		large[id] = new(big.Int)
		for _, e := range nodes[id].edges {
			switch {
			case e.to == untried || e.broken&none != 0:
			case e.to == end:
				large[id].Add(large[id], one)
			default:
				large[id].Add(large[id], large[e.to])
			}
		}
	}
	return large
}

// moving counts, from each node, the schedules seen that break one of the rules
// before any thread has stood still for longer than its lease. Order has each node after all to
// which it leads; all are the schedules from each node.
func moving(nodes []node, order []int32, some rules, all counts) counts {
	if all.large == nil { // there are no more than these
		small := make([]uint64, len(nodes))
		for _, id := range order {
			for _, e := range nodes[id].edges {
				switch {
				case e.stood || e.to == untried:
				case e.broken&some != 0 && e.to == end:
					small[id]++
				case e.broken&some != 0:
					small[id] += all.small[e.to]
				case e.to >= 0:
					small[id] += small[e.to]
				}
			}
		}
		return counts{small: small}
	}
	large := make([]*big.Int, len(nodes))
	for _, id := range order {
		large[id] = new(big.Int)
		for _, e := range nodes[id].edges {
			switch {
			case e.stood || e.to == untried:
			case e.broken&some != 0:
				large[id].Add(large[id], all.at(e.to))
			case e.to >= 0:
				large[id].Add(large[id], large[e.to])
			}
		}
	}
	return counts{large: large}
}

// childrenFirst returns all nodes, each after those to which it leads.
func childrenFirst(nodes []node) []int32 {
	if len(nodes) == 0 {
		return nil
	}
	type place struct{ node, edge int32 }
	order := make([]int32, 0, len(nodes))
	begun := make([]bool, len(nodes))
	stack := []place{{root, 0}}
	begun[root] = true
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		edges := nodes[top.node].edges
		if int(top.edge) == len(edges) {
			order = append(order, top.node)
			stack = stack[:len(stack)-1]
			continue
		}
		to := edges[top.edge].to
		top.edge++
		if to >= 0 && !begun[to] {
			begun[to] = true
			stack = append(stack, place{to, 0})
		}
	}
	return order
}
