package explore_test

import (
	"context"
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
	naive := naively(b, sc, 300)
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
// each, a run from the start on a miniredis of its own.
func naively(b *testing.B, sc *scenario.Scenario, states int) float64 {
	b.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	ctx := context.Background()
	began := time.Now()
	queue := [][]scenario.Move{nil}
	for range states {
		moves := queue[0]
		queue = queue[1:]
		r, err := run.New(sc, run.Options{})
		if err != nil {
			b.Fatal(err)
		}
		s, err := r.Begin(ctx)
		if err != nil {
			b.Fatal(err)
		}
		for _, m := range moves {
			if err := s.Apply(ctx, m); err != nil {
				b.Fatal(err)
			}
		}
		ready, err := s.Decide(ctx)
		if err != nil {
			b.Fatal(err)
		}
		for i := range ready {
			queue = append(queue, append(moves[:len(moves):len(moves)], scenario.Move{Choice: i}))
		}
		if next, ok := s.NextEvent(); ok && !s.Over() {
			queue = append(queue, append(moves[:len(moves):len(moves)], scenario.Move{Until: next}))
		}
		s.Close(nil)
	}
	return float64(states) / time.Since(began).Seconds()
}
