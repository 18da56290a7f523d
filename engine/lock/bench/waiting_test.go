package bench_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	turns     = flag.Int("turns", 5, "Handover, Contention, Arrivals: how often each contestant has its turn")
	handovers = flag.Int("handovers", 40, "Handover: how many there are in a turn")
	length    = flag.Duration("length", 4*time.Second, "Contention, Arrivals: length of a turn")
)

const (
	work     = 2 * time.Millisecond // under the lock
	workers  = 8                    // of Contention
	clients  = 32                   // of Arrivals
	arrivals = 200                  // a second
)

// measured is what a contestant came to in one turn, by the figure's unit.
type measured map[string]float64

// turn is one of a contestant's turns.
type turn struct {
	waiter

	addr   string
	number int // from 0; of the same number are one of each contestant
}

// lockers opens so many lockers of one key, and has each of them lock once. Each turn has
// its own key: leftovers of another are in nobody's way.
func (t turn) lockers(ctx context.Context, n int, sent *atomic.Int64) (lockers []*locker, err error) {
	defer func() {
		if err != nil {
			closeAll(lockers)
		}
	}()
	for range n {
		l, err := t.open(wire{t.addr, sent}, fmt.Sprintf("{bench}:%s:%d", t.name, t.number))
		if err != nil {
			return lockers, err
		}
		lockers = append(lockers, l)
		if err := call(ctx, l.pair); err != nil {
			return lockers, fmt.Errorf("the first pair: %w", err)
		}
	}
	return lockers, nil
}

// figure is what the turns of a benchmark are compared by.
type figure struct {
	unit   string
	format string
	more   bool // more of it is better
	ratio  bool // to the best peer of the same turn
}

// outcome is what came of a turn: measured, or an error.
type outcome struct {
	measured

	err error
}

// inTurns has all contestants take their turns again and again, and prints what
// came of it. A contestant that fails in a turn is out of that turn; after two
// such turns, or one in which it hung, it is out of the rest.
func inTurns(b *testing.B, title string, figures []figure, play func(context.Context, []turn) []outcome) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), *limit)
	defer cancel()
	on := start(b)
	var all []waiter
	for _, w := range waiters() {
		if chosen(b, w.name) {
			all = append(all, w)
		}
	}
	results := make([][]measured, len(all)) // one a turn, nil where it failed
	failed := make([][]error, len(all))
	done := 0
	for ; done < *turns && ctx.Err() == nil; done++ {
		var players []turn
		var at []int // in all
		for _, i := range rand.Perm(len(all)) {
			results[i] = append(results[i], nil)
			if len(failed[i]) < 2 && !errors.Is(errors.Join(failed[i]...), errHung) {
				players, at = append(players, turn{all[i], on.addr, done}), append(at, i)
			}
		}
		for p, o := range play(ctx, players) {
			switch {
			case o.err == nil:
				results[at[p]][done] = o.measured
			case ctx.Err() == nil: // else the benchmark is over
				failed[at[p]] = append(failed[at[p]], fmt.Errorf("turn %d: %w", done+1, o.err))
			}
		}
	}
	head := ""
	for _, f := range figures {
		head += "\t" + f.unit
		if f.ratio {
			head += "\t× best peer"
		}
	}
	rows := []string{head}
	for i, w := range all {
		row, reported := w.name, measured{}
		for _, f := range figures {
			var values, ratios []float64
			for n, m := range results[i] {
				if m == nil {
					continue
				}
				values = append(values, m[f.unit])
				if best, ok := bestPeer(all, results, n, f); ok && f.ratio {
					ratios = append(ratios, m[f.unit]/best)
				}
			}
			row += "\t" + spread(values, f.format)
			if f.ratio {
				row += "\t" + spread(ratios, "%.2f")
			}
			if len(values) > 0 {
				reported[f.unit] = quantile(values, 0.5)
			}
			if len(ratios) > 0 {
				reported[f.unit+"-x-peer"] = quantile(ratios, 0.5)
			}
		}
		rows = append(rows, row)
		rows = append(rows, notes(w.name, failed[i])...)
		report(b, w.name, reported)
	}
	table(fmt.Sprintf("%s; min/med/max of %d turns", title, done), rows)
}

// oneByOne is a play in which each contestant has the machine to itself.
func oneByOne(run func(context.Context, turn) (measured, error)) func(context.Context, []turn) []outcome {
	return func(ctx context.Context, players []turn) []outcome {
		outcomes := make([]outcome, len(players))
		for i, t := range players {
			o := &outcomes[i]
			o.measured, o.err = within(ctx, *length+3*callLimit, func(ctx context.Context) (measured, error) { return run(ctx, t) })
		}
		return outcomes
	}
}

// bestPeer is the best figure of somebody else's library in a turn.
func bestPeer(all []waiter, results [][]measured, turn int, f figure) (best float64, ok bool) {
	for i, w := range all {
		m := results[i][turn]
		if !w.peer || m == nil {
			continue
		}
		if v := m[f.unit]; !ok || f.more == (v > best) {
			best, ok = v, true
		}
	}
	return best, ok
}

// BenchmarkHandover is the time from an unlock to the return of the lock that
// waited for it: two clients, one of which waits, released at a random moment.
// The contestants are all open, and hand over one after the other.
func BenchmarkHandover(b *testing.B) {
	inTurns(b, fmt.Sprintf("Handover, %d a turn", *handovers), []figure{
		{unit: "p50-µs", format: "%.0f", ratio: true},
		{unit: "p90-µs", format: "%.0f", ratio: true},
		{unit: "p99-µs", format: "%.0f", ratio: true},
	}, handOver)
}

// handOver is one turn of Handover.
func handOver(ctx context.Context, players []turn) []outcome {
	outcomes := make([]outcome, len(players))
	lockers := make([][]*locker, len(players))
	took := make([][]float64, len(players)) // µs
	for i, t := range players {
		lockers[i], outcomes[i].err = within(ctx, 2*callLimit, func(ctx context.Context) ([]*locker, error) { return t.lockers(ctx, 2, nil) })
	}
	defer func() {
		for _, l := range lockers {
			closeAll(l)
		}
	}()
	for n := range *handovers {
		for _, i := range rand.Perm(len(players)) {
			if outcomes[i].err != nil {
				continue
			}
			d, err := within(ctx, callLimit, func(ctx context.Context) (time.Duration, error) {
				return handover(ctx, lockers[i][n%2], lockers[i][1-n%2])
			})
			if err != nil {
				outcomes[i].err = fmt.Errorf("handover %d: %w", n+1, err)
			}
			took[i] = append(took[i], micros(d))
		}
	}
	for i, t := range took {
		if outcomes[i].err == nil {
			outcomes[i].measured = measured{"p50-µs": quantile(t, 0.5), "p90-µs": quantile(t, 0.9), "p99-µs": quantile(t, 0.99)}
		}
	}
	return outcomes
}

func closeAll(lockers []*locker) {
	for _, l := range lockers {
		l.end()
	}
}

// call runs f with a context that ends after the limit of one call.
func call(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return f(ctx)
}

func handover(ctx context.Context, holder, next *locker) (time.Duration, error) {
	release, err := holder.lock(ctx)
	if err != nil {
		return 0, fmt.Errorf("lock of the holder: %w", err)
	}
	type got struct {
		at      time.Time
		release unlock
		err     error
	}
	waited := make(chan got, 1)
	go func() {
		release, err := next.lock(ctx)
		waited <- got{time.Now(), release, err}
	}()
	time.Sleep(10*time.Millisecond + time.Duration(rand.Int64N(int64(40*time.Millisecond))))
	began := time.Now()
	if err := release(ctx); err != nil {
		return 0, fmt.Errorf("unlock of the holder: %w", err)
	}
	g := <-waited
	if g.err != nil {
		return 0, fmt.Errorf("lock of the waiter: %w", g.err)
	}
	return g.at.Sub(began), g.release(ctx)
}

// BenchmarkContention is eight workers, each a client of its own, with two
// milliseconds of work under one lock, which they ask for again at once. A
// worker whose call ends with its context counts as one that has waited so
// long, and goes on.
//
// Seven are waiting at any time, whatever the lock: so the mean wait is seven
// by the acquisitions a second. A worker that takes the lock again and again while the
// others wait has many short waits, and a p50 near zero; look at p99 and at Jain's index,
// and at Arrivals for a p50 that means something.
func BenchmarkContention(b *testing.B) {
	inTurns(b, fmt.Sprintf("Contention, %d workers, %v of work, %v a turn", workers, work, *length), []figure{
		{unit: "acquired/s", format: "%.0f", more: true, ratio: true},
		{unit: "p50-wait-ms", format: "%.1f", ratio: true},
		{unit: "p99-wait-ms", format: "%.0f", ratio: true},
		{unit: "longest-wait-ms", format: "%.0f"},
		{unit: "commands/acquired", format: "%.2f"},
		{unit: "jain", format: "%.3f", more: true},
		{unit: "timed-out", format: "%.0f"},
	}, oneByOne(contention))
}

// share is what one worker came to.
type share struct {
	waits    []float64 // ms
	acquired float64
	timedOut float64
	err      error
}

// take locks, works and unlocks once. The wait is counted from asked on.
func (s *share) take(ctx context.Context, l *locker, asked time.Time) {
	s.err = call(ctx, func(ctx context.Context) error {
		release, err := l.lock(ctx)
		s.waits = append(s.waits, micros(time.Since(asked))/1000)
		if err != nil {
			return err
		}
		s.acquired++
		time.Sleep(work)
		return release(ctx)
	})
	if errors.Is(s.err, context.DeadlineExceeded) && ctx.Err() == nil {
		s.timedOut++
		s.err = nil
	}
}

// total is all shares as one, with the first error, and how often each worker
// had the lock.
func total(shares []share) (all share, counts []float64) {
	for _, s := range shares {
		if all.err == nil {
			all.err = s.err
		}
		all.waits = append(all.waits, s.waits...)
		all.acquired += s.acquired
		all.timedOut += s.timedOut
		counts = append(counts, s.acquired)
	}
	return all, counts
}

func contention(ctx context.Context, t turn) (measured, error) {
	var sent atomic.Int64
	lockers, err := t.lockers(ctx, workers, &sent)
	if err != nil {
		return nil, err
	}
	defer closeAll(lockers)
	shares := make([]share, workers)
	before := sent.Load()
	var running sync.WaitGroup
	end := time.Now().Add(*length)
	for i, l := range lockers {
		running.Go(func() {
			for s := &shares[i]; s.err == nil && time.Now().Before(end); {
				s.take(ctx, l, time.Now())
			}
		})
	}
	running.Wait()
	all, counts := total(shares)
	if all.err != nil {
		return nil, all.err
	}
	return measured{
		"acquired/s":  all.acquired / length.Seconds(),
		"p50-wait-ms": quantile(all.waits, 0.5), "p99-wait-ms": quantile(all.waits, 0.99), "longest-wait-ms": quantile(all.waits, 1),
		"commands/acquired": float64(sent.Load()-before) / all.acquired,
		"jain":              jain(counts),
		"timed-out":         all.timedOut,
	}, nil
}

// BenchmarkArrivals is one lock that is asked for at random moments, so many
// times a second, whether or not those before have had it: the load is the same
// for everybody, about half of what
// the lock can bear, and in one turn comes at the same moments. The wait is counted from
// the arrival on, and so has in it the wait for one of the clients, where all
// are waiting.
func BenchmarkArrivals(b *testing.B) {
	inTurns(b, fmt.Sprintf("Arrivals, %d a second, %v of work, %d clients, %v a turn", arrivals, work, clients, *length), []figure{
		{unit: "acquired/s", format: "%.0f", more: true},
		{unit: "p50-wait-ms", format: "%.2f", ratio: true},
		{unit: "mean-wait-ms", format: "%.2f", ratio: true},
		{unit: "p99-wait-ms", format: "%.0f", ratio: true},
		{unit: "longest-wait-ms", format: "%.0f"},
		{unit: "commands/acquired", format: "%.2f"},
		{unit: "timed-out", format: "%.0f"},
	}, oneByOne(arrive))
}

// arrive is one turn of Arrivals.
func arrive(ctx context.Context, t turn) (measured, error) {
	var sent atomic.Int64
	lockers, err := t.lockers(ctx, clients, &sent)
	if err != nil {
		return nil, err
	}
	defer closeAll(lockers)
	shares := make([]share, clients)
	before := sent.Load()
	came := make(chan time.Time, arrivals*int(length.Seconds()+1)*2)
	var running sync.WaitGroup
	for i, l := range lockers {
		running.Go(func() {
			for s := &shares[i]; s.err == nil; {
				asked, more := <-came
				if !more {
					return
				}
				s.take(ctx, l, asked)
			}
		})
	}
	random := rand.New(rand.NewPCG(uint64(t.number), 0)) // the same arrivals for everybody
	began := time.Now()
	for next := began; next.Sub(began) < *length; {
		time.Sleep(time.Until(next))
		select {
		case came <- next:
		default: // nobody takes them any more
		}
		next = next.Add(time.Duration(random.ExpFloat64() / arrivals * float64(time.Second)))
	}
	close(came)
	running.Wait()
	took := time.Since(began)
	all, _ := total(shares)
	if all.err != nil {
		return nil, all.err
	}
	sum := 0.0
	for _, wait := range all.waits {
		sum += wait
	}
	return measured{
		"acquired/s":  all.acquired / took.Seconds(),
		"p50-wait-ms": quantile(all.waits, 0.5), "p99-wait-ms": quantile(all.waits, 0.99), "longest-wait-ms": quantile(all.waits, 1),
		"mean-wait-ms":      sum / float64(len(all.waits)),
		"commands/acquired": float64(sent.Load()-before) / all.acquired,
		"timed-out":         all.timedOut,
	}, nil
}
