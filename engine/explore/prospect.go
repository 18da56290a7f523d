package explore

import "math/big"

// Prospect is what becomes of the schedules that go on from somewhere, within the
// bounds. A search that was cut short knows only some of them: Every and None hold
// where it knows all.
type Prospect struct {
	All      *big.Int // that were seen to the end
	Broken   *big.Int // of them, those that break a rule from there on
	Complete bool     // there are no others
}

// Every reports whether each schedule breaks a rule from there on.
func (p Prospect) Every() bool { return p.Complete && p.Broken.Cmp(p.All) == 0 }

// None reports whether no schedule breaks a rule from there on.
func (p Prospect) None() bool { return p.Complete && p.Broken.Sign() == 0 }

// complete returns, for each node, whether nothing below it is untried. Order has
// each node after all to which it leads.
func complete(nodes []node, order []int32) []bool {
	all := make([]bool, len(nodes))
	for _, id := range order {
		all[id] = true
		for _, e := range nodes[id].edges {
			all[id] = all[id] && (e.to == end || e.to >= 0 && all[e.to])
		}
	}
	return all
}

// from is the prospect of a node, of the end, or of what was not tried.
func (s *Space) from(id int32) Prospect {
	p := Prospect{All: s.all.at(id), Complete: id == end || id >= 0 && s.complete[id]}
	p.Broken = new(big.Int)
	if id >= 0 {
		p.Broken.Sub(p.All, s.clean.at(id))
	}
	return p
}

// by is the prospect of an edge: what it breaks at once counts, too.
func (s *Space) by(e edge) Prospect {
	p := s.from(e.to)
	if e.broken != 0 {
		p.Broken = p.All
	}
	return p
}

// certain returns the cost below which every option was tried: what was found to
// cost less is the smallest there is.
func (s *Space) certain() int {
	lowest := s.search.b.Delays + s.search.b.MaxFaults + 1
	nodes := s.search.nodes
	for id := range nodes {
		for _, e := range nodes[id].edges {
			if e.to == untried {
				lowest = min(lowest, s.search.spent(&nodes[id], e.option))
			}
		}
	}
	return lowest
}

// Fate is what is known to become of the schedules that come by a state or a way.
type Fate string

// The fates.
const (
	Open    Fate = "open"    // some break a rule, before or after
	Sound   Fate = "sound"   // none breaks one
	Broken  Fate = "broken"  // all break one: on every way there that was seen, or from there on
	Untried Fate = "untried" // none that was seen breaks one, and there are others
)

// fate is the fate of a place that schedules reach which have broken nothing, or have.
func fate(clean, broken bool, p Prospect) Fate {
	switch {
	case !clean:
		return Broken
	case !broken && p.None():
		return Sound
	case p.Every():
		return Broken
	case broken || p.Broken.Sign() > 0:
		return Open
	default:
		return Untried
	}
}

// With is the fate of two places together.
func (f Fate) With(o Fate) Fate {
	switch {
	case f == o:
		return f
	case f == Open || f == Broken || o == Open || o == Broken:
		return Open
	default:
		return Untried
	}
}
