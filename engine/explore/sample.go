package explore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"relock/engine/explore/pct"
	"relock/engine/outside/ownlock"
	"relock/engine/pause"
	"relock/engine/run"
	"relock/engine/scenario"
)

// Sample is what schedules drawn at random came to, where there are too many to
// search. They are not drawn evenly, so that it says nothing of the share of all
// that breaks a rule, and never "never".
type Sample struct {
	Drawn   int      // that came to an end
	Broken  int      // of them, those that break a rule
	Endless int      // that came to none, as far as they were played
	Rules   []string // that were broken in any of these, in the order of check.Names

	// Odds is the n·k^(d-1) of PCT: of n tasks that make k decisions, a break that
	// needs d of them in one order is drawn at least once in so many draws, on
	// average. Here d is one more than the delays and faults of the bounds, and
	// each fault is one of all that may strike.
	Odds float64
}

// Draw plays so many schedules within the bounds, with at most so many moves in
// all, drawn by PCT: each task has a random priority, the highest moves, and at
// random decisions nobody moves, or a fault strikes, and the task that was to move
// falls to the lowest priority. The same arguments draw the same schedules. It fails
// like Search, or with ctx's cause.
// Source: Burckhardt et al., "A randomized scheduler with probabilistic
// guarantees of finding bugs" (ASPLOS 2010).
func Draw(ctx context.Context, sc *scenario.Scenario, b Bounds, draws, moves int) (*Sample, error) {
	b, err := b.Check(sc)
	if err != nil {
		return nil, err
	}
	s := &search{sc: sc.WithSchedule(nil), b: b, faults: b.faults(sc)}
	memory, err := ownlock.NewMemory(ctx, sc)
	if err != nil {
		return nil, fmt.Errorf("explore: %w", err)
	}
	w := &worker{s: s, memory: memory}
	defer func() { _ = w.memory.Close() }()
	sample := &Sample{}
	var all rules
	decisions, tasks := 1, 1
	for i := 0; i < draws && moves > 0; i++ {
		if err := pause.Here(ctx); err != nil {
			return nil, fmt.Errorf("explore: %w", err)
		}
		d := draw{w: w, drawn: pct.New(sc.Seed, uint64(i))}
		if err := d.play(ctx, decisions, min(moves, longest)); err != nil {
			return nil, err
		}
		moves -= d.made
		decisions, tasks = max(decisions, d.made), max(tasks, d.drawn.Tasks())
		switch {
		case !d.ended:
			sample.Endless++
		case d.broken != 0:
			sample.Broken++
			fallthrough
		default:
			sample.Drawn++
		}
		all |= d.broken
	}
	sample.Rules = all.names()
	sample.Odds = float64(tasks) * math.Pow(float64(decisions), float64(b.Delays+b.MaxFaults)) * math.Pow(float64(max(len(s.faults), 1)), float64(b.MaxFaults))
	return sample, nil
}

// draw is one schedule drawn at random.
type draw struct {
	w      *worker
	drawn  *pct.Priorities
	made   int // decisions
	ended  bool
	broken rules
}

// play plays it to the end, with at most so many moves. As many decisions as an earlier
// one had are the range from which those are drawn that cost.
func (d *draw) play(ctx context.Context, decisions, most int) error {
	st, err := d.w.open(ctx, false)
	if err != nil {
		return err
	}
	defer st.Close(nil)
	delays, faults := d.drawn.Places(d.w.s.b.Delays, decisions), d.drawn.Places(d.w.s.b.MaxFaults, decisions)
	for ; d.made < most; d.made++ {
		ready, err := st.Decide(ctx)
		if err != nil && !errors.Is(err, run.ErrLimit) {
			return fmt.Errorf("explore: %w", err)
		}
		if ready == 0 {
			d.ended = err == nil
			break
		}
		if st.GiveWay() {
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

// decide makes one decision.
func (d *draw) decide(ctx context.Context, st *run.Stepper, delays, strikes bool) (option, error) {
	ready := st.Ready()
	first := d.drawn.First(ready)
	if delays || strikes {
		d.drawn.Lower(ready[first], d.made)
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
			return faultFlag | option(faults[d.drawn.Random.IntN(len(faults))]), nil
		}
	}
	return option(first), nil
}
