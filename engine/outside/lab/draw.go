package lab

import (
	"context"
	"math/rand/v2"
	"slices"

	"relock/engine/explore/pct"
	"relock/engine/outside/infer"
)

// draw tries orders at random, each of which has a chance: whoever can move may be next, all alike.
func (s *search) draw(ctx context.Context) error {
	const most = 200
	d := &Drawn{Rules: []string{}}
	decisions := 1
	broken := map[string]bool{}
	defer func() { // what was drawn counts, too, where the search is cut short
		for _, name := range infer.Rules() {
			if broken[name] {
				d.Rules = append(d.Rules, name)
			}
		}
		d.Low, d.High = pct.Wilson(float64(d.Broken)/float64(max(d.Orders, 1)), float64(d.Orders))
	}()
	for i := 0; i < min(most, s.o.MaxOrders); i++ {
		order, err := s.random(ctx, rand.New(rand.NewPCG(s.o.Seed, uint64(i))), decisions)
		if err != nil {
			return err
		}
		d.Orders++
		s.found.Drawn = d
		decisions = max(decisions, len(order.Decisions))
		j := s.judge(order)
		s.shows(order, j)
		order.Rules = s.o.counted(j.Rules())
		if len(order.Rules) > 0 {
			d.Broken++
		}
		s.drawn.add(order.Rules)
		for _, name := range order.Rules {
			broken[name] = true
			if !slices.ContainsFunc(s.found.Rules, func(r Rule) bool { return r.Name == name }) {
				s.found.Rules = append(s.found.Rules, Rule{Name: name, Order: order, By: s.by()})
			}
		}
	}
	return nil
}

// random plays one order that r draws: as many faults as may strike, at any of so many decisions.
func (s *search) random(ctx context.Context, r *rand.Rand, decisions int) (*Order, error) {
	strikes := map[int]bool{}
	for range s.o.MaxFaults {
		strikes[r.IntN(decisions)] = true
	}
	return s.round(ctx, func(o *Order, list []choice) (choice, bool) {
		faults := slices.DeleteFunc(slices.Clone(list), func(c choice) bool { return c.d.Do == "" })
		if strikes[len(o.Decisions)] && len(faults) > 0 {
			return faults[r.IntN(len(faults))], false
		}
		free := slices.DeleteFunc(slices.Clone(list), func(c choice) bool { return c.d.Do != "" })
		return free[r.IntN(len(free))], false
	})
}
