package explore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"relock/engine/explore/pct"
	"relock/engine/ownlock"
	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/run"
	"relock/engine/scenario"
)

// ErrEndless is the error of Probe if orders never end, or only after more moves than are
// allowed: then nobody can say anything about all of them.
var ErrEndless = phrase.New("some orders never end, or end too late to wait for")

// Estimate is how many schedules there are within the bounds, and what share of
// them breaks a rule, by random probing.
type Estimate struct {
	Probes int
	Orders float64 // about so many there are
	Share  float64 // of them, those that break a rule, 0 to 1
	Low    float64 // where that share lies, with 95 % confidence
	High   float64
}

// How probing goes.
const (
	pilots   = 100 // probes that find out how long schedules are
	expected = 20  // moves of a schedule, before that
)

// Probe estimates by so many probes, of at most so many moves in all. A probe goes
// from the start to the end of a run, chooses each decision at random, and counts
// for as many schedules as its probability is the reciprocal of, so that each
// schedule counts alike on average. Decisions that leave more schedules are chosen
// more often; how many they leave is guessed in several ways, and a probe is drawn
// by one of these and weighed by all. The same arguments make the same estimate.
// It fails with ErrEndless, or like Draw.
//
// Sources: Knuth, "Estimating the efficiency of backtrack programs" (Mathematics
// of Computation 29, 1975), with his importance sampling; for the guesses together
// the balance heuristic, Veach and Guibas (SIGGRAPH 1995); for the interval Wilson's,
// of as many draws as the probes are worth, Kish (1965) and the delta method.
func Probe(ctx context.Context, sc *scenario.Scenario, b Bounds, probes, moves int) (*Estimate, error) {
	b, err := b.Check(sc)
	if err != nil {
		return nil, err
	}
	s := &search{sc: sc.WithSchedule(nil), b: b, faults: b.faults(sc)}
	memory, err := ownlock.NewMemory(ctx, sc)
	if err != nil {
		return nil, fmt.Errorf("explore: %w", err)
	}
	w := &worker{s: s, memory: memory, passed: newBook(sc).empty()}
	defer func() { _ = w.memory.Close() }()
	return newProber(s).estimate(probes, moves, func() (tree, error) {
		if err := pause.Here(ctx); err != nil {
			return nil, fmt.Errorf("explore: %w", err)
		}
		st, err := w.open(ctx, false)
		if err != nil {
			return nil, err
		}
		return &played{ctx: ctx, w: w, st: st, left: state{delays: int8(b.Delays), faults: int8(b.MaxFaults)}}, nil
	})
}

// tree is a run that is probed, at one decision of its way.
type tree interface {
	// options are the decisions that can be made, and what is left of the bounds;
	// none where the run has ended.
	options() (list []option, left state, err error)
	choose(o option) error
	broken() bool // has a rule been, so far
	close()
}

// played is a tree on the real engine.
type played struct {
	ctx  context.Context
	w    *worker
	st   *run.Stepper
	left state
}

func (p *played) options() ([]option, state, error) {
	_, err := p.st.Decide(p.ctx)
	switch {
	case errors.Is(err, run.ErrLimit):
		return nil, p.left, ErrEndless
	case err != nil:
		return nil, p.left, fmt.Errorf("explore: %w", err)
	case p.st.Over():
		return nil, p.left, nil
	case p.st.GiveWay():
		return nil, p.left, ErrEndless
	}
	list, err := p.w.options(p.ctx, p.st, p.left)
	return list, p.left, err
}

func (p *played) choose(o option) error {
	delays, faults := o.cost()
	p.left.delays -= delays
	p.left.faults -= faults
	if err := p.w.s.make(p.ctx, p.st, o); errors.Is(err, run.ErrLimit) {
		return ErrEndless
	} else if err != nil {
		return err
	}
	return nil
}

func (p *played) broken() bool { return len(p.st.Broken()) > 0 }

func (p *played) close() { p.st.Close(nil) }

// prober makes probes.
type prober struct {
	b       Bounds
	faults  int
	random  *rand.Rand
	guesses []guess
	chosen  []float64 // by guess: the probability of the probe under way
	sums    []float64 // by guess: of the options at a decision
}

func newProber(s *search) *prober {
	return &prober{b: s.b, faults: len(s.faults), random: rand.New(rand.NewPCG(s.sc.Seed, math.MaxUint64))}
}

// probe is one of them.
type probe struct {
	weight  float64 // the schedules that it counts for
	broken  bool
	choices int
	moves   int // and delays and faults
}

// estimate makes the pilots and then the probes, on a tree each.
func (p *prober) estimate(probes, moves int, begin func() (tree, error)) (*Estimate, error) {
	several := func(n int) ([]probe, error) {
		list := make([]probe, n)
		for i := range list {
			t, err := begin()
			if err != nil {
				return nil, err
			}
			list[i], err = p.probe(t, moves)
			t.close()
			if err != nil {
				return nil, err
			}
			moves -= list[i].moves
		}
		return list, nil
	}
	p.guess(expected, expected)
	before := moves
	first, err := several(pilots)
	if err != nil {
		return nil, err
	}
	sum, weight, most := 0.0, 0.0, 0
	for _, one := range first {
		sum, weight, most = sum+one.weight*float64(one.choices), weight+one.weight, max(most, one.choices)
	}
	p.guess(int(sum/weight)+1, most)
	if each := (before - moves) / pilots; probes > moves/(2*each) { // a few are longer
		probes = moves / (2 * each)
	}
	if probes < pilots {
		return nil, ErrEndless
	}
	list, err := several(probes)
	if err != nil {
		return nil, err
	}
	return estimated(list), nil
}

// guess is one way to guess how many schedules go on from somewhere.
type guess struct {
	choices int           // of a schedule
	ties    float64       // so many times more schedules go on from a delay or a fault
	sizes   [][][]float64 // by the choices, delays and faults that are left
}

// guess guesses by the choices of an average schedule and of the longest one.
func (p *prober) guess(mean, longest int) {
	p.guesses = nil
	for _, choices := range []int{mean, longest} {
		sizes := p.sizes(choices)
		for _, ties := range []float64{1, 4, 16} {
			p.guesses = append(p.guesses, guess{choices, ties, sizes})
		}
	}
	p.chosen, p.sums = make([]float64, len(p.guesses)), make([]float64, len(p.guesses))
}

// sizes counts the schedules with up to so many choices and all delays and faults,
// if nobody ever had a choice.
func (p *prober) sizes(choices int) [][][]float64 {
	all := make([][][]float64, choices+1)
	for k := range all {
		all[k] = make([][]float64, p.b.Delays+1)
		for d := range all[k] {
			all[k][d] = make([]float64, p.b.MaxFaults+1)
			for f := range all[k][d] {
				n := 1.0
				if k > 0 {
					n = all[k-1][d][f]
				}
				if k > 0 && d > 0 {
					n += all[k][d-1][f]
				}
				if k > 0 && f > 0 {
					n += float64(p.faults) * all[k][d][f-1]
				}
				all[k][d][f] = n
			}
		}
	}
	return all
}

// least is the part of all choices that are guessed to be left at least, however
// many were made.
const least = 8

// after guesses how many schedules go on with an option, where so many choices
// were made.
func (g guess) after(o option, left state, made int) float64 {
	k := min(max(g.choices-made, 1+g.choices/least), g.choices)
	delays, faults := o.cost()
	if delays+faults == 0 {
		return g.sizes[k-1][left.delays][left.faults]
	}
	return g.ties * g.sizes[k][left.delays-delays][left.faults-faults]
}

// probe makes one, of at most so many moves.
func (p *prober) probe(t tree, moves int) (probe, error) {
	var one probe
	for i := range p.chosen {
		p.chosen[i] = 1
	}
	by := p.random.IntN(len(p.guesses))
	for ; ; one.moves++ {
		list, left, err := t.options()
		one.broken = t.broken() || one.broken
		switch {
		case err != nil:
			return one, err
		case len(list) == 0:
			sum := 0.0
			for _, chosen := range p.chosen {
				sum += chosen
			}
			one.weight = float64(len(p.chosen)) / sum
			return one, nil
		case one.moves == moves || one.moves == longest:
			return one, ErrEndless
		}
		i := p.draw(by, list, left, one.choices)
		if delays, faults := list[i].cost(); delays+faults == 0 {
			one.choices++
		}
		if err := t.choose(list[i]); err != nil {
			return one, err
		}
	}
}

// draw draws one of the options by a guess, and notes how probable it is by each.
func (p *prober) draw(by int, list []option, left state, made int) int {
	for n, g := range p.guesses {
		p.sums[n] = 0
		for _, o := range list {
			p.sums[n] += g.after(o, left, made)
		}
	}
	drawn := len(list) - 1
	at := p.random.Float64() * p.sums[by]
	for i, o := range list[:drawn] {
		if at -= p.guesses[by].after(o, left, made); at < 0 {
			drawn = i
			break
		}
	}
	for n, g := range p.guesses {
		p.chosen[n] *= g.after(list[drawn], left, made) / p.sums[n]
	}
	return drawn
}

// caution makes the interval wider than its approximations ask for: then it holds
// what it says in every scenario of the test.
const caution = 1.1

// estimated is what probes come to.
func estimated(list []probe) *Estimate {
	all, squares, broken := 0.0, 0.0, 0.0
	for _, one := range list {
		all += one.weight
		squares += one.weight * one.weight
		if one.broken {
			broken += one.weight
		}
	}
	e := &Estimate{Probes: len(list), Orders: all / float64(len(list)), Share: broken / all}
	spread := 0.0
	for _, one := range list {
		off := -e.Share
		if one.broken {
			off++
		}
		spread += (one.weight * off) * (one.weight * off)
	}
	worth := all * all / squares
	if spread > 0 {
		worth = min(worth, e.Share*(1-e.Share)*all*all/spread)
	}
	e.Low, e.High = pct.Wilson(e.Share, worth/caution)
	switch broken {
	case 0:
		e.Low = 0
	case all:
		e.High = 1
	}
	return e
}
