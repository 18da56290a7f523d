package explore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"relock/engine/pause"
	"relock/engine/recall"
	"relock/engine/run"
	"relock/engine/scenario"
)

// Sample is what schedules drawn at random came to, where there are too many to
// search. It is an estimate, and never says "never".
type Sample struct {
	Drawn  int
	Broken int     // of them, those that break a rule
	Low    float64 // the share of such schedules that break a rule, with 95 % confidence
	High   float64
	Rules  []string // that were broken, in the order of check.Names

	// Odds is the n·k^(d-1) of PCT: of n tasks that make k decisions, a break that
	// needs d of them in one order is drawn at least once in so many draws, on
	// average. Here d is one more than the delays and faults of the bounds.
	Odds float64
}

// Draw plays so many schedules within the bounds, drawn by PCT: each task has a
// random priority, the highest moves, and at random decisions nobody does, or a
// fault strikes, and whoever was to move falls to the lowest priority. The same
// arguments draw the same schedules. It fails like Search, or with ctx's cause.
// Source: Burckhardt et al., "A randomized scheduler with probabilistic
// guarantees of finding bugs" (ASPLOS 2010).
func Draw(ctx context.Context, sc *scenario.Scenario, b Bounds, draws int) (*Sample, error) {
	b, err := b.Check(sc)
	if err != nil {
		return nil, err
	}
	s := &search{sc: sc.WithSchedule(nil), b: b, faults: b.faults(sc)}
	w := &worker{s: s, memory: recall.NewMemory()}
	defer func() { _ = w.memory.Close() }()
	sample := &Sample{Drawn: draws}
	var all rules
	decisions, tasks := 1, 1
	for i := range draws {
		if err := pause.Here(ctx); err != nil {
			return nil, fmt.Errorf("explore: %w", err)
		}
		d := draw{w: w, random: rand.New(rand.NewPCG(sc.Seed, uint64(i))), priority: map[string]float64{}}
		if err := d.play(ctx, decisions); err != nil {
			return nil, err
		}
		decisions, tasks = max(decisions, d.made), max(tasks, len(d.priority))
		if d.broken != 0 {
			sample.Broken++
		}
		all |= d.broken
	}
	sample.Rules = all.names()
	sample.Low, sample.High = wilson(sample.Broken, draws)
	sample.Odds = float64(tasks) * math.Pow(float64(decisions), float64(b.Delays+b.MaxFaults))
	return sample, nil
}

// draw is one schedule drawn at random.
type draw struct {
	w        *worker
	random   *rand.Rand
	priority map[string]float64 // by task, drawn when it can first move
	made     int                // decisions
	broken   rules
}

// play plays it to its end. As many decisions as an earlier one had are the range
// from which those are drawn that cost.
func (d *draw) play(ctx context.Context, decisions int) error {
	st, err := d.w.open(ctx, false)
	if err != nil {
		return err
	}
	defer st.Close(nil)
	delays, faults := d.places(d.w.s.b.Delays, decisions), d.places(d.w.s.b.MaxFaults, decisions)
	for ; d.made < longest; d.made++ {
		ready, err := st.Decide(ctx)
		if err != nil && !errors.Is(err, run.ErrLimit) {
			return fmt.Errorf("explore: %w", err)
		}
		if ready == 0 {
			break
		}
		o, err := d.decide(ctx, st, slices.Contains(delays, d.made), slices.Contains(faults, d.made))
		if err != nil {
			return err
		}
		if err := d.w.s.make(ctx, st, o); errors.Is(err, run.ErrLimit) {
			break
		} else if err != nil {
			return err
		}
	}
	d.broken = set(st.Broken())
	return nil
}

// places draws so many decisions.
func (d *draw) places(n, decisions int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = d.random.IntN(decisions)
	}
	return list
}

// decide makes one decision.
func (d *draw) decide(ctx context.Context, st *run.Stepper, delays, strikes bool) (option, error) {
	ready := st.Ready()
	for _, task := range ready {
		if _, ok := d.priority[task]; !ok {
			d.priority[task] = 1 + d.random.Float64()
		}
	}
	first := 0
	for i, task := range ready {
		if d.priority[task] > d.priority[ready[first]] {
			first = i
		}
	}
	if delays || strikes {
		d.priority[ready[first]] = -float64(d.made)
	}
	if _, ok := st.NextEvent(); ok && delays {
		return delay, nil
	}
	if strikes {
		faults, err := st.Faults(ctx)
		if err != nil {
			return 0, fmt.Errorf("explore: %w", err)
		}
		if len(faults) > 0 {
			return faultFlag | option(faults[d.random.IntN(len(faults))]), nil
		}
	}
	return option(first), nil
}

// wilson is the interval in which a share lies with 95 % confidence if n of all
// were hit. Source: E. B. Wilson, "Probable inference" (1927).
func wilson(n, all int) (low, high float64) {
	if all == 0 {
		return 0, 1
	}
	const z = 1.959964
	share, size := float64(n)/float64(all), float64(all)
	middle := (share + z*z/(2*size)) / (1 + z*z/size)
	half := z / (1 + z*z/size) * math.Sqrt(share*(1-share)/size+z*z/(4*size*size))
	return max(middle-half, 0), min(middle+half, 1)
}
