package bench_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"relock/engine/lock"
)

var (
	rounds = flag.Int("rounds", 100, "Interleaved: slices of each contestant")
	slice  = flag.Duration("slice", 30*time.Millisecond, "Interleaved: length of a slice")
)

// uncontended is a contestant of Interleaved.
type uncontended struct {
	name string
	bare string // the contestant that it is compared with
	open open
}

// baseline is what everybody is compared with who has no bare calls of his own.
const baseline = "bare sequenced"

// uncontendeds are the contestants of Interleaved. Another protocol of ours
// needs two more lines, one of them bare.
func uncontendeds() []uncontended {
	return []uncontended{
		{baseline, baseline, bare(lock.Sequenced)},
		{"bare sequenced again", baseline, bare(lock.Sequenced)},
		{"sequenced", baseline, ours(lock.Sequenced)},
		{"sequenced background", baseline, oursOnBackground(lock.Sequenced)},
		{"sequenced as it comes", baseline, oursAsItComes(lock.Sequenced)},
		{"bare inner level", "bare inner level", bareInside(lock.Sequenced)},
		{"inner level", "bare inner level", oursInside(lock.Sequenced)},
		{"bare reentrant", "bare reentrant", bare(lock.Reentrant)},
		{"reentrant", "bare reentrant", ours(lock.Reentrant)},
		{"bare fenced", "bare fenced", bare(lock.Fenced)},
		{"fenced", "bare fenced", ours(lock.Fenced)},
		{"bare notify", "bare notify", bare(lock.ReentrantNotify)},
		{"notify", "bare notify", ours(lock.ReentrantNotify)},
		{"bare fair", "bare fair", bare(lock.ReentrantFair)},
		{"fair", "bare fair", ours(lock.ReentrantFair)},
		{"redislock", baseline, redislocks},
		{"redsync", baseline, redsyncs},
		{"rueidislock", baseline, rueidislocks},
	}
}

const (
	warmUp    = 5 // pairs at the start of a slice, which are not measured
	patience  = 3 // slices that a contestant may fail in before it is out
	batches   = 5 // of pairs whose allocations are counted; the least counts
	batchSize = 200
)

// contestant is one that runs, and what has come of it.
type contestant struct {
	uncontended

	l      *locker
	took   []time.Duration // of each pair of the slice that runs
	slices []*sample       // one a round, nil where it failed
	failed []error
	allocs float64 // a pair, negative where they could not be counted
	bytes  float64
}

// sample is a slice.
type sample struct {
	pairs               int
	wall, client, redis time.Duration
	median              time.Duration // of its pairs
}

// mean is µs a pair.
func (s *sample) mean() float64 { return micros(s.wall) / float64(s.pairs) }

// out tells whether it is not measured any more.
func (c *contestant) out() bool {
	return len(c.failed) >= patience || len(c.failed) > 0 && errors.Is(c.failed[len(c.failed)-1], errHung)
}

// run measures one slice.
func (c *contestant) run(ctx context.Context, on *server) (*sample, error) {
	for range warmUp {
		if err := c.l.pair(ctx); err != nil {
			return nil, err
		}
	}
	c.took = c.took[:0]
	redis, err := on.cpu(ctx)
	if err != nil {
		return nil, err
	}
	used := cpu()
	began := time.Now()
	last := began
	for last.Sub(began) < *slice {
		if err := c.l.pair(ctx); err != nil {
			return nil, err
		}
		now := time.Now()
		c.took = append(c.took, now.Sub(last))
		last = now
	}
	s := &sample{pairs: len(c.took), wall: last.Sub(began), client: cpu() - used, median: quantile(c.took, 0.5)}
	after, err := on.cpu(ctx)
	s.redis = after - redis
	return s, err
}

// countAllocations counts them while nothing else runs.
func (c *contestant) countAllocations(ctx context.Context) error {
	c.allocs = -1
	for range batches {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range batchSize {
			if err := c.l.pair(ctx); err != nil {
				return err
			}
		}
		runtime.ReadMemStats(&after)
		if n := float64(after.Mallocs-before.Mallocs) / batchSize; c.allocs < 0 || n < c.allocs {
			c.allocs, c.bytes = n, float64(after.TotalAlloc-before.TotalAlloc)/batchSize
		}
	}
	return nil
}

// BenchmarkInterleaved is a lock and its unlock with nobody else there: see
// the package comment.
//
// The garbage collector is left alone: who allocates more sets it off more
// often, and so pays for it in the means and in the processor time. The minimum
// and the medians hardly see it.
func BenchmarkInterleaved(b *testing.B) {
	ctx, cancel := context.WithTimeout(b.Context(), *limit)
	defer cancel()
	on := start(b)
	all := openAll(b, ctx, on)
	done := 0
	for ; done < *rounds && ctx.Err() == nil; done++ {
		for _, i := range rand.Perm(len(all)) {
			c := all[i]
			var s *sample
			if !c.out() {
				var err error
				s, err = within(ctx, callLimit, func(ctx context.Context) (*sample, error) { return c.run(ctx, on) })
				if err != nil && ctx.Err() == nil { // else the benchmark is over
					c.failed = append(c.failed, err)
				}
			}
			c.slices = append(c.slices, s)
		}
	}
	for _, c := range all {
		if !c.out() {
			_, err := within(b.Context(), callLimit, func(ctx context.Context) (any, error) { return nil, c.countAllocations(ctx) })
			if err != nil {
				c.failed, c.allocs = append(c.failed, err), -1
			}
		}
	}
	summarize(b, all, done)
	for _, c := range all {
		c.l.end()
	}
}

// openAll opens the chosen contestants and those that they are compared with.
func openAll(b *testing.B, ctx context.Context, on *server) []*contestant {
	b.Helper()
	wanted := map[string]bool{baseline: true, "bare sequenced again": true}
	for _, u := range uncontendeds() {
		if chosen(b, u.name) {
			wanted[u.name], wanted[u.bare] = true, true
		}
	}
	var all []*contestant
	for _, u := range uncontendeds() {
		if !wanted[u.name] {
			continue
		}
		c := &contestant{uncontended: u, took: make([]time.Duration, 0, 1<<14)}
		var err error
		c.l, err = within(ctx, callLimit, func(context.Context) (*locker, error) {
			return u.open(wire{addr: on.addr}, "{bench}:"+u.name)
		})
		if err != nil {
			b.Fatalf("%s: open: %v", u.name, err)
		}
		all = append(all, c)
	}
	return all
}

// means are µs a pair.
type means struct {
	least, tenth, half float64 // of the slices' means: minimum, p10, p50
	client, redis      float64 // processor time, of all slices together
}

func (c *contestant) means() (m means, measured bool) {
	var walls []float64
	var pairs int
	var client, redis time.Duration
	for _, s := range c.slices {
		if s != nil {
			walls = append(walls, s.mean())
			pairs += s.pairs
			client += s.client
			redis += s.redis
		}
	}
	if len(walls) == 0 {
		return m, false
	}
	return means{
		quantile(walls, 0), quantile(walls, 0.1), quantile(walls, 0.5),
		micros(client) / float64(pairs), micros(redis) / float64(pairs),
	}, true
}

// ratios are a contestant's slices to another's of the same rounds.
func ratios(c, to *contestant, of func(*sample) float64) []float64 {
	var all []float64
	for i, s := range c.slices {
		if t := to.slices[i]; s != nil && t != nil {
			all = append(all, of(s)/of(t))
		}
	}
	return all
}

// summarize prints and reports what was measured in so many rounds.
func summarize(b *testing.B, all []*contestant, done int) {
	b.Helper()
	named := map[string]*contestant{}
	for _, c := range all {
		named[c.name] = c
	}
	rows := []string{
		"\tµs a pair\t\t\t× bare\t\tof each round\tof pairs' medians\tclient CPU\t\tRedis CPU\t\ta pair\t",
		"\tmin\tp10\tp50\tmin\tp10\tp10/p50/p90\tp10/p50/p90\tµs\t× bare\tµs\t× bare\tallocs\tbytes",
	}
	for _, c := range all {
		m, measured := c.means()
		to, comparable := named[c.bare].means()
		if !measured || !comparable {
			rows = append(rows, notes(c.name, c.failed)...)
			continue
		}
		means := ratios(c, named[c.bare], (*sample).mean)
		medians := ratios(c, named[c.bare], func(s *sample) float64 { return micros(s.median) })
		rows = append(rows, fmt.Sprintf("%s\t%.1f\t%.1f\t%.1f\t%.3f\t%.3f\t%s\t%s\t%.1f\t%.2f\t%.1f\t%.2f\t%.1f\t%.0f",
			c.name, m.least, m.tenth, m.half, m.least/to.least, m.tenth/to.tenth, tenths(means), tenths(medians),
			m.client, m.client/to.client, m.redis, m.redis/to.redis, c.allocs, c.bytes))
		rows = append(rows, notes(c.name, c.failed)...)
		report(b, c.name, map[string]float64{
			"min-µs": m.least, "p10-µs": m.tenth, "p50-µs": m.half,
			"min-x-bare": m.least / to.least, "p10-x-bare": m.tenth / to.tenth,
			"p50-round-x-bare": quantile(means, 0.5), "p50-median-x-bare": quantile(medians, 0.5),
			"client-cpu-µs": m.client, "client-cpu-x-bare": m.client / to.client, "redis-cpu-µs": m.redis,
			"allocs/pair": c.allocs, "B/pair": c.bytes,
		})
	}
	table(fmt.Sprintf("Uncontended, %d rounds of slices of %v; CPU is the mean of all slices", done, *slice), rows)
}

// tenths is "p10/p50/p90".
func tenths(values []float64) string {
	if len(values) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f/%.2f/%.2f", quantile(values, 0.1), quantile(values, 0.5), quantile(values, 0.9))
}
