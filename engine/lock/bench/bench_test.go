// Package bench_test measures relock/engine/lock against its peers, on one
// Redis and in one run. It is a module of its own, so that nobody who uses the
// lock downloads them.
package bench_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"relock/engine/lock"
	"relock/engine/store/storetest"
)

const (
	key   = "{bench}:lock"
	lease = 8 * time.Second
)

// unlock gives back what a locker's lock has taken.
type unlock func() error

// locker is one client of a library, with a connection of its own.
type locker struct {
	lock     func() (unlock, error)
	close    func()
	commands *atomic.Int64 // sent to Redis; nil where they cannot be counted
}

// contender is a library, set up as it is for a lock that is waited for.
type contender struct {
	name string
	open func(tb testing.TB, addr string) locker
}

func contenders() []contender {
	return []contender{
		{"relock-reentrant", ours(lock.Reentrant)},
		{"relock-notify", ours(lock.ReentrantNotify)},
		{"relock-fair", ours(lock.ReentrantFair)},
		{"redsync", redsyncs},
		{"redislock", redislocks},
		{"rueidislock", rueidislocks},
	}
}

// counter counts the commands of a go-redis client.
type counter struct{ n *atomic.Int64 }

func (c counter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

func (c counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.n.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}

func counted(addr string) (*redis.Client, *atomic.Int64) {
	c, n := storetest.Client(addr), &atomic.Int64{}
	c.AddHook(counter{n})
	return c, n
}

func ours(p lock.Protocol) func(testing.TB, string) locker {
	return func(tb testing.TB, addr string) locker {
		c, n := counted(addr)
		l, err := lock.New(c, lock.Options{
			Protocol: p, Messenger: lock.PubSub(c), Lease: lease, Retries: 1 << 20, Interval: 50 * time.Millisecond,
		})
		if err != nil {
			tb.Fatal(err)
		}
		owner := lock.NewOwner()
		ctx := context.Background()
		return locker{
			lock: func() (unlock, error) {
				h, err := l.Lock(ctx, key, owner)
				if err != nil {
					return nil, err
				}
				return func() error { return h.Unlock(ctx) }, nil
			},
			close: func() {
				l.Close()
				_ = c.Close()
			},
			commands: n,
		}
	}
}

func redsyncs(_ testing.TB, addr string) locker {
	c, n := counted(addr)
	rs := redsync.New(goredis.NewPool(c))
	return locker{
		lock: func() (unlock, error) {
			m := rs.NewMutex(key, redsync.WithExpiry(lease), redsync.WithTries(1<<20))
			if err := m.Lock(); err != nil {
				return nil, err
			}
			return func() error {
				_, err := m.Unlock()
				return err
			}, nil
		},
		close: func() { _ = c.Close() }, commands: n,
	}
}

func redislocks(_ testing.TB, addr string) locker {
	c, n := counted(addr)
	l := redislock.New(c)
	ctx := context.Background()
	return locker{
		lock: func() (unlock, error) {
			waiting, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			h, err := l.Obtain(waiting, key, lease, &redislock.Options{RetryStrategy: redislock.LinearBackoff(50 * time.Millisecond)})
			if err != nil {
				return nil, err
			}
			return func() error { return h.Release(ctx) }, nil
		},
		close: func() { _ = c.Close() }, commands: n,
	}
}

func rueidislocks(tb testing.TB, addr string) locker {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{addr}}, KeyMajority: 1, NoLoopTracking: true, KeyValidity: lease,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return locker{
		lock: func() (unlock, error) {
			_, cancel, err := l.WithContext(context.Background(), key)
			if err != nil {
				return nil, err
			}
			return func() error {
				cancel()
				return nil
			}, nil
		},
		close: l.Close,
	}
}

func server(tb testing.TB) string {
	tb.Helper()
	o, err := redis.ParseURL(storetest.URL(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return o.Addr
}

func pair(tb testing.TB, l locker) {
	release, err := l.lock()
	if err == nil {
		err = release()
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkUncontended is a lock and its unlock with nobody else there, beside
// two bare round trips.
func BenchmarkUncontended(b *testing.B) {
	addr := server(b)
	b.Run("two-round-trips", func(b *testing.B) {
		c := storetest.Client(addr)
		defer func() { _ = c.Close() }()
		for b.Loop() {
			for range 2 {
				if err := c.Ping(b.Context()).Err(); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("two-scripts", func(b *testing.B) { // ours, without the library around them
		c := storetest.Client(addr)
		defer func() { _ = c.Close() }()
		scripts := lock.Reentrant.Scripts()
		args := [][]any{{"owner", 1, lease.Milliseconds()}, {"owner", 1}}
		for b.Loop() {
			for i, a := range args {
				if err := redis.NewScript(scripts[i].Source).Run(b.Context(), c, []string{key}, a...).Err(); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	for _, one := range contenders() {
		b.Run(one.name, func(b *testing.B) {
			l := one.open(b, addr)
			defer l.close()
			pair(b, l) // connections and scripts
			for b.Loop() {
				pair(b, l)
			}
		})
	}
}

// BenchmarkReentry is one more level and back, beside the same two round trips.
func BenchmarkReentry(b *testing.B) {
	addr := server(b)
	for _, p := range []lock.Protocol{lock.Reentrant, lock.ReentrantFair} {
		b.Run(string(p), func(b *testing.B) {
			l := ours(p)(b, addr)
			defer l.close()
			outer, err := l.lock()
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				pair(b, l)
			}
			if err := outer(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkHandover is the time from an unlock to the return of the lock that
// waited for it: two clients, one of which waits, released at a random moment.
func BenchmarkHandover(b *testing.B) {
	const rounds = 60
	addr := server(b)
	for _, one := range contenders() {
		b.Run(one.name, func(b *testing.B) {
			holder, waiter := one.open(b, addr), one.open(b, addr)
			defer holder.close()
			defer waiter.close()
			pair(b, waiter)
			var took []time.Duration
			for b.Loop() {
				for range rounds {
					took = append(took, handover(b, holder, waiter))
				}
			}
			slices.Sort(took)
			b.ReportMetric(micros(took[len(took)/2]), "p50-µs")
			b.ReportMetric(micros(took[len(took)*99/100]), "p99-µs")
		})
	}
}

func handover(b *testing.B, holder, waiter locker) time.Duration {
	release, err := holder.lock()
	if err != nil {
		b.Fatal(err)
	}
	type got struct {
		at      time.Time
		release unlock
		err     error
	}
	waited := make(chan got, 1)
	go func() {
		release, err := waiter.lock()
		waited <- got{time.Now(), release, err}
	}()
	time.Sleep(10*time.Millisecond + time.Duration(rand.Int64N(int64(40*time.Millisecond))))
	began := time.Now()
	if err := release(); err != nil {
		b.Fatal(err)
	}
	g := <-waited
	if g.err == nil {
		g.err = g.release()
	}
	if g.err != nil {
		b.Fatal(g.err)
	}
	return g.at.Sub(began)
}

// BenchmarkContention is LOCKS.md's test: eight workers, each a client of its
// own, two milliseconds of work under one lock, four seconds.
func BenchmarkContention(b *testing.B) {
	addr := server(b)
	for _, one := range contenders() {
		b.Run(one.name, func(b *testing.B) {
			for b.Loop() {
				contend(b, addr, one)
			}
		})
	}
}

func contend(b *testing.B, addr string, c contender) {
	const workers, work, length = 8, 2 * time.Millisecond, 4 * time.Second
	var wg sync.WaitGroup
	waits := make([][]time.Duration, workers)
	commands, before := int64(0), int64(0)
	lockers := make([]locker, workers)
	for i := range lockers {
		lockers[i] = c.open(b, addr)
		defer lockers[i].close()
		pair(b, lockers[i])
		if n := lockers[i].commands; n != nil {
			before += n.Load()
		}
	}
	end := time.Now().Add(length)
	for i, l := range lockers {
		wg.Go(func() {
			for time.Now().Before(end) {
				asked := time.Now()
				release, err := l.lock()
				if err != nil {
					b.Error(err)
					return
				}
				waits[i] = append(waits[i], time.Since(asked))
				time.Sleep(work)
				if err := release(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	var all []time.Duration
	sum, squares := 0.0, 0.0
	for i, w := range waits {
		all = append(all, w...)
		n := float64(len(w))
		sum += n
		squares += n * n
		if n := lockers[i].commands; n != nil {
			commands += n.Load()
		}
	}
	slices.Sort(all)
	b.ReportMetric(sum/length.Seconds(), "acquired/s")
	if commands > 0 {
		b.ReportMetric(float64(commands-before)/sum, "commands/acquired")
	}
	b.ReportMetric(micros(all[len(all)*99/100])/1000, "p99-wait-ms")
	b.ReportMetric(micros(all[len(all)-1])/1000, "longest-wait-ms")
	b.ReportMetric(sum*sum/(workers*squares), "jain")
	b.ReportMetric(0, "ns/op")
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// TestContenders lets every library take and give back one lock, so that a
// change of theirs is seen before a benchmark is read.
func TestContenders(t *testing.T) {
	addr := server(t)
	for _, one := range contenders() {
		t.Run(one.name, func(t *testing.T) {
			l := one.open(t, addr)
			defer l.close()
			for i := range 3 {
				t.Run(fmt.Sprint(i), func(t *testing.T) { pair(t, l) })
			}
		})
	}
}
