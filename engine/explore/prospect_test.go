package explore_test

import (
	"testing"

	"relock/engine/explore"
	"relock/engine/racetest"
)

// A search that was cut short says of no place that every order from there breaks
// a rule, or that none does, where the whole search says otherwise; it calls no
// order the smallest that is not, and nothing inevitable too early.
func TestWhatACutSearchSays(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct {
		name   string
		b      explore.Bounds
		states []int
	}{
		{"mutex-unsafe", explore.Bounds{Delays: 2}, []int{1, 20, 100, 200}},
		{"lease-expiry", explore.Bounds{Delays: 2}, []int{10, 60, 110}},
		{"value", explore.Bounds{Delays: 3}, []int{40, 130}},
		{"mutex-unsafe", explore.Bounds{Delays: 1, Kinds: []string{"crash", "lose-reply"}, MaxFaults: 1}, []int{60, 200, 400}},
	} {
		full := search(t, c.name, c.b, 1)
		for _, s := range full.Graph().States {
			breaking, holding := s.Broken > 1e-9*s.Share, s.Broken < (1-1e-9)*s.Share
			if want := (map[[2]bool]explore.Fate{{true, true}: explore.Open, {true, false}: explore.Broken, {false, true}: explore.Sound})[[2]bool{breaking, holding}]; s.Fate != want {
				t.Errorf("%s: %+v, want %s", c.name, s, want)
			}
		}
		said, open := 0, 0
		for _, states := range c.states {
			b := c.b
			b.MaxStates = states
			cut := search(t, c.name, b, 1)
			if cut.Ending() != explore.Bound || cut.Why().String() == "" || full.Why().String() != "" {
				t.Fatalf("%s, %d states: %s, %q", c.name, states, cut.Ending(), cut.Why())
			}
			pairs := beside(cut, full)
			for id, whole := range pairs {
				part := cut.Place(id)
				check := func(some, all explore.Prospect) {
					if some.None() && !all.None() || some.Every() && !all.Every() || some.Complete && some.All.Cmp(all.All) != 0 {
						t.Errorf("%s, %d of %d states: %+v is said of a place, and it is %+v", c.name, states, full.States(), some, all)
					}
					if some.Complete {
						said++
					}
					if !some.None() && some.Broken.Sign() == 0 && all.Broken.Sign() > 0 {
						open++
					}
				}
				check(part.Prospect, full.Place(whole).Prospect)
				for i, o := range part.Options {
					check(o.Prospect, full.Place(whole).Options[i].Prospect)
				}
			}
			for _, s := range cut.Graph().States {
				if s.Fate == "" {
					t.Fatalf("%s, %d states: a state without a fate", c.name, states)
				}
			}
			sameWhereCertain(t, cut, full)
		}
		if said == 0 || open == 0 {
			t.Errorf("%s: %d places are complete, and %d seem sound that are not", c.name, said, open)
		}
	}
}

// beside walks two spaces, and returns the places of the whole one by those of
// the part.
func beside(part, whole *explore.Space) map[int]int {
	pairs := map[int]int{0: 0}
	for todo := []int{0}; len(todo) > 0; todo = todo[1:] {
		a, b := part.Place(todo[0]), whole.Place(pairs[todo[0]])
		for i, o := range a.Options {
			if _, known := pairs[o.To]; o.To >= 0 && !known {
				pairs[o.To] = b.Options[i].To
				todo = append(todo, o.To)
			}
		}
	}
	return pairs
}

func sameWhereCertain(t *testing.T, cut, full *explore.Space) {
	t.Helper()
	by := map[string]explore.Rule{}
	for _, r := range full.Rules() {
		if by[r.Name] = r; !r.Smallest {
			t.Errorf("of a whole search: %+v", r)
		}
	}
	for _, r := range cut.Rules() {
		all := by[r.Name]
		smaller := all.Delays+all.Faults < r.Delays+r.Faults || all.Delays+all.Faults == r.Delays+r.Faults && len(all.Schedule) < len(r.Schedule)
		if smaller == r.Smallest && smaller {
			t.Errorf("the smallest of %s has %d moves, but one has %d", r.Name, len(r.Schedule), len(all.Schedule))
		}
		if r.Smallest && r.Lost >= 0 && r.Lost != all.Lost {
			t.Errorf("%s is inevitable after %d moves, not %d", r.Name, all.Lost, r.Lost)
		}
	}
}

// The picture of several states together is true of each of them.
func TestFatesTogether(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct{ a, b, want explore.Fate }{
		{explore.Sound, explore.Sound, explore.Sound},
		{explore.Broken, explore.Broken, explore.Broken},
		{explore.Sound, explore.Broken, explore.Open},
		{explore.Untried, explore.Sound, explore.Untried},
		{explore.Untried, explore.Broken, explore.Open},
		{explore.Open, explore.Untried, explore.Open},
	} {
		if got, back := c.a.With(c.b), c.b.With(c.a); got != c.want || back != c.want {
			t.Errorf("%s and %s are %s and %s, want %s", c.a, c.b, got, back, c.want)
		}
	}
}
