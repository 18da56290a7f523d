package trace

import (
	"math"
	"slices"
)

// Majority returns the state that more than half of the nodes share, with the
// time until too few are left. Without a majority there is no key.
func Majority(nodes []KeyState) KeyState {
	quorum := len(nodes)/2 + 1
	left := map[string][]int64{}
	for _, n := range nodes {
		if n.Value != nil {
			ttl := n.PTTL
			if ttl < 0 {
				ttl = math.MaxInt64
			}
			left[*n.Value] = append(left[*n.Value], ttl)
		}
	}
	for value, ttls := range left {
		if len(ttls) < quorum {
			continue
		}
		slices.Sort(ttls)
		pttl := ttls[len(ttls)-quorum]
		if pttl == math.MaxInt64 {
			pttl = NoExpiry
		}
		return KeyState{Type: TypeString, Value: &value, PTTL: pttl}
	}
	return Absent()
}
