package explore

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/lessons"
)

// graphed is a tree in a space that was searched to its end: the same options as
// on the engine, thousands of times faster.
type graphed struct {
	s     *Space
	at    int32
	broke bool
	list  []option
}

func (g *graphed) options() (list []option, left state, err error) {
	if g.at == end {
		return nil, state{}, nil
	}
	n := &g.s.search.nodes[g.at]
	g.list = g.list[:0]
	for _, e := range n.edges {
		g.list = append(g.list, e.option)
	}
	return g.list, state{delays: n.delays, faults: n.faults}, nil
}

func (g *graphed) choose(o option) error {
	edges := g.s.search.nodes[g.at].edges
	e := edges[slices.IndexFunc(edges, func(e edge) bool { return e.option == o })]
	g.at, g.broke = e.to, g.broke || e.broken != 0
	return nil
}

func (g *graphed) broken() bool { return g.broke }

func (g *graphed) close() {}

// The interval holds the exact share as often as it says: of fifty searches or
// more of bundled scenarios, with two delays, three, or a delay and a fault, all of
// whose orders are counted.
func TestIntervalsHoldWhatTheySay(t *testing.T) {
	racetest.Skip(t)
	const (
		seeds, probes = 20, 1000
		states        = 800 // of the larger ones there are enough without
	)
	names, err := fs.Glob(lessons.Scenarios(), "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	least, one := int64(50), 1 // one in so many scenarios
	if testing.Short() {
		least, one = 50/18, 12
	}
	var spaces, held, made atomic.Int64
	t.Run("each", func(t *testing.T) {
		for i, name := range names {
			if i%one > 0 {
				continue
			}
			sc := bundled(t, name)
			for _, b := range []Bounds{{Delays: 2, MaxStates: states}, {Delays: 3, MaxStates: states}, {Delays: 1, MaxFaults: 1, Kinds: []string{"crash", "lose-reply"}, MaxStates: states}} {
				if slices.ContainsFunc(b.Kinds, func(kind string) bool { return !slices.Contains(sc.StrikeKinds(), kind) }) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%d delays, %d faults", strings.TrimSuffix(name, ".yaml"), b.Delays, b.MaxFaults), func(t *testing.T) {
					t.Parallel()
					space, err := Search(t.Context(), sc, b, Options{Workers: 1})
					if err != nil {
						t.Fatal(err)
					}
					if space.Ending() != Exhausted || space.Broken().Sign() == 0 {
						return
					}
					n := holds(t, space, seeds, probes)
					if n < seeds*8/10 { // one in 400 has fewer if 95 % hold it
						t.Errorf("%d of %d intervals hold the share of %s in %s", n, seeds, space.Broken(), space.Schedules())
					}
					spaces.Add(1)
					held.Add(int64(n))
					made.Add(seeds)
				})
			}
		}
	})
	share := float64(held.Load()) / float64(made.Load())
	t.Logf("%d scenarios: %.1f %% of %d intervals hold the exact share", spaces.Load(), share*100, made.Load())
	if spaces.Load() < least || share < 0.95 {
		t.Errorf("%d scenarios, %v", spaces.Load(), share)
	}
}

func bundled(t *testing.T, name string) *scenario.Scenario {
	t.Helper()
	text, err := fs.ReadFile(lessons.Scenarios(), name)
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scenario.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return sc.WithSchedule(nil)
}

// holds returns how many of so many intervals hold the exact share.
func holds(t *testing.T, space *Space, seeds, probes int) int {
	t.Helper()
	all, _ := space.Schedules().Float64()
	broken, _ := space.Broken().Float64()
	n := 0
	for seed := range seeds {
		p := newProber(space.search)
		p.random = rand.New(rand.NewPCG(uint64(seed), 1))
		e, err := p.estimate(probes, 1<<30, func() (tree, error) { return &graphed{s: space}, nil })
		if err != nil {
			t.Fatal(err)
		}
		if e.Low <= broken/all && broken/all <= e.High {
			n++
		}
	}
	return n
}

// Probing on the engine gives the same as probing in the searched space.
func TestProbesAreOfTheEngine(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct {
		name string
		b    Bounds
	}{
		{"mutex-unsafe.yaml", Bounds{Delays: 2}},
		{"two-threads.yaml", Bounds{Delays: 1}},
		{"lease-expiry.yaml", Bounds{Delays: 1, MaxFaults: 1, Kinds: []string{"crash", "pause"}}},
	} {
		sc := bundled(t, c.name)
		space, err := Search(t.Context(), sc, c.b, Options{})
		if err != nil {
			t.Fatal(err)
		}
		const probes, moves = 120, 100_000
		want, err := newProber(space.search).estimate(probes, moves, func() (tree, error) { return &graphed{s: space}, nil })
		if err != nil {
			t.Fatal(err)
		}
		got, err := Probe(t.Context(), sc, c.b, probes, moves)
		if err != nil || *got != *want {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, err, want)
		}
		if all, _ := space.Schedules().Float64(); got.Orders < all*0.7 || got.Orders > all*1.4 {
			t.Errorf("%s: about %v orders, and there are %v", c.name, got.Orders, all)
		}
	}
}
