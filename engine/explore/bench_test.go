package explore_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"relock/engine/explore"
	"relock/engine/run"
	"relock/engine/scenario"
)

// BenchmarkSearch searches two-threads on one worker and on two, and plays as the
// naive search does, a new run on a miniredis for each state: "×naive" is how
// many times the states per second.
func BenchmarkSearch(b *testing.B) {
	sc := load(b, "two-threads")
	naive := naively(b, sc, 10)
	for _, c := range []struct {
		name   string
		bounds explore.Bounds
		cores  int
	}{
		{"2delays/1core", explore.Bounds{Delays: 2}, 1},
		{"3delays/1core", explore.Bounds{Delays: 3}, 1},
		{"3delays/2cores", explore.Bounds{Delays: 3}, 2},
	} {
		b.Run(c.name, func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.cores))
			states := 0
			for b.Loop() {
				space, err := explore.Search(b.Context(), sc, c.bounds, explore.Options{Workers: c.cores})
				if err != nil {
					b.Fatal(err)
				}
				states += space.States()
			}
			rate := float64(states) / b.Elapsed().Seconds()
			b.ReportMetric(rate, "states/s")
			b.ReportMetric(rate/naive, "×naive")
		})
	}
}

// BenchmarkMemory reports what a search holds at its end, and what it took at
// most, by state.
func BenchmarkMemory(b *testing.B) {
	sc := load(b, "two-threads")
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		most := uint64(0)
		space, err := explore.Search(b.Context(), sc, explore.Bounds{Delays: 3}, explore.Options{Workers: 1, Progress: func(s *explore.Space) {
			if s.States()%16 == 0 {
				runtime.GC()
				runtime.ReadMemStats(&after)
				most = max(most, after.HeapAlloc-before.HeapAlloc)
			}
		}})
		if err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(space.States()), "B/state-held")
		b.ReportMetric(float64(most)/float64(space.States()), "B/state-most")
		runtime.KeepAlive(space)
	}
}

// naively returns how many states a second the naive search sees on one core: for
// each, a run from the start on a miniredis of its own. The states are those of
// some schedules from beginning to end, so that they are as deep as most.
func naively(b *testing.B, sc *scenario.Scenario, schedules int) float64 {
	b.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	random := rand.New(rand.NewPCG(1, 2))
	began := time.Now()
	states := 0
	for range schedules {
		delays := 3
		for moves, over := []scenario.Move(nil), false; !over; states++ {
			var ready int
			var next time.Duration
			ready, next, over = stand(b, sc, moves)
			m := scenario.Move{Choice: random.IntN(max(ready, 1))}
			if delays > 0 && next > 0 && random.IntN(8) == 0 {
				m = scenario.Move{Until: next}
				delays--
			}
			moves = append(moves, m)
		}
	}
	return float64(states) / time.Since(began).Seconds()
}

// stand plays moves in a new run, and returns what can come next.
func stand(b *testing.B, sc *scenario.Scenario, moves []scenario.Move) (ready int, next time.Duration, over bool) {
	b.Helper()
	ctx := context.Background()
	r, err := run.New(sc, run.Options{})
	if err != nil {
		b.Fatal(err)
	}
	s, err := r.Begin(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close(nil)
	for _, m := range moves {
		if _, err := s.Decide(ctx); err != nil {
			b.Fatal(err)
		}
		if err := s.Apply(ctx, m); err != nil {
			b.Fatal(err)
		}
	}
	if ready, err = s.Decide(ctx); err != nil {
		b.Fatal(err)
	}
	next, _ = s.NextEvent()
	return ready, next, s.Over()
}
