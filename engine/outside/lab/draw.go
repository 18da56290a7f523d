package lab

import (
	"context"
	"fmt"
	"slices"

	"relock/engine/explore/pct"
	"relock/engine/outside/infer"
)

// draw tries orders at random, by PCT.
func (s *search) draw(ctx context.Context) error {
	const most = 200
	d := &Drawn{Rules: []string{}}
	decisions, tasks := 1, 1
	broken := map[string]bool{}
	defer func() { // what was drawn counts, too, where the search is cut short
		for _, name := range infer.Rules() {
			if broken[name] {
				d.Rules = append(d.Rules, name)
			}
		}
		d.Low, d.High = pct.Wilson(float64(d.Broken)/float64(max(d.Orders, 1)), float64(d.Orders))
		d.Odds = float64(tasks)
		for range s.o.MaxFaults {
			d.Odds *= float64(decisions * max(len(s.o.Faults), 1))
		}
	}()
	for i := 0; i < min(most, s.o.MaxOrders); i++ {
		p := pct.New(s.o.Seed, uint64(i))
		order, err := s.random(ctx, p, decisions)
		if err != nil {
			return err
		}
		d.Orders++
		s.found.Drawn = d
		decisions, tasks = max(decisions, len(order.Decisions)), max(tasks, p.Tasks())
		j := s.judge(order)
		s.shows(order, j)
		order.Rules = j.Rules()
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

// random plays one order that p draws.
func (s *search) random(ctx context.Context, p *pct.Priorities, decisions int) (*Order, error) {
	strikes := p.Places(s.o.MaxFaults, decisions)
	// If no fault strikes, priorities change instead: otherwise each thread would run to
	// its end.
	changes := p.Places(2, decisions)
	return s.round(ctx, func(o *Order, list []choice) (choice, bool) {
		n := len(o.Decisions)
		var free, faults []choice
		var tasks []string
		for _, c := range list {
			if c.d.Do == "" {
				free, tasks = append(free, c), append(tasks, fmt.Sprint(c.d.Thread, c.d.Node, " ", c.d.Nth))
			} else {
				faults = append(faults, c)
			}
		}
		at := p.First(tasks)
		c := free[at]
		if slices.Contains(changes, n) || slices.Contains(strikes, n) {
			p.Lower(tasks[at], n)
			c = free[p.First(tasks)]
		}
		if slices.Contains(strikes, n) && len(faults) > 0 {
			c = faults[p.Random.IntN(len(faults))]
		}
		return c, false
	})
}
