package lock_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/store/storetest"
)

// A pair of lock and unlock is two scripts. The ratio of the two figures is what the
// library adds to two bare EVALSHAs of the same scripts.
func BenchmarkPair(b *testing.B) {
	c := storetest.Redis(b)
	scripts := lock.Reentrant.Scripts
	for _, s := range scripts {
		if err := c.ScriptLoad(b.Context(), s.Source).Err(); err != nil {
			b.Fatal(err)
		}
	}
	owner := lock.NewOwner()
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := c.EvalSha(b.Context(), scripts[0].SHA, []string{key}, string(owner), 1, 60_000).Err(); err != nil {
				b.Fatal(err)
			}
			if err := c.EvalSha(b.Context(), scripts[1].SHA, []string{key}, string(owner), 1).Err(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("locker", func(b *testing.B) {
		l := locker(b, c, lock.Options{Lease: time.Minute})
		for b.Loop() {
			h, err := l.Lock(b.Context(), key, owner)
			if err != nil {
				b.Fatal(err)
			}
			if err := h.Unlock(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// It counts the commands of ten waiters in a minute while the lock stays held, beside its
// renewals, and measures how long the lock is free once it is unlocked.
func BenchmarkIdleWaiters(b *testing.B) {
	for _, p := range []lock.Protocol{lock.Sequenced, lock.ReentrantNotify, lock.ReentrantFair} {
		b.Run(p.Name, func(b *testing.B) {
			for b.Loop() {
				sent, took := idle(b, storetest.Redis(b), p, func(h *lock.Hold, _ func()) { _ = h.Unlock(context.Background()) })
				b.ReportMetric(float64(sent), "commands")
				b.ReportMetric(float64(took.Microseconds()), "µs-free")
			}
		})
	}
}

// It measures the cost to a process and its Redis of renewing ten thousand locks for three
// seconds, together and each by itself, as through a client that does not say that it has
// one server.
func BenchmarkRenewals(b *testing.B) {
	const n, lease, watch = 10_000, 3 * time.Second, 3 * time.Second
	type unknown struct{ redis.UniversalClient }
	for name, through := range map[string]func(c *redis.Client) lock.Redis{
		"together": func(c *redis.Client) lock.Redis { return c },
		"single":   func(c *redis.Client) lock.Redis { return unknown{c} },
	} {
		b.Run(name, func(b *testing.B) {
			c := storetest.Redis(b)
			load(b, c)
			over := &sends{}
			c.AddHook(over)
			for b.Loop() {
				var renewals, failures atomic.Int64
				l := locker(b, through(c), lock.Options{Lease: lease, MaxAge: time.Hour, Observer: observer(func(a lock.Attempt) {
					switch {
					case a.Result == lock.Renewed:
						renewals.Add(1)
					case a.Name == protocol.CallRenew:
						failures.Add(1)
					}
				})})
				holds := make([]*lock.Hold, n)
				var all sync.WaitGroup
				for part := range 50 { // in about a second, as they come
					all.Go(func() {
						for i := part; i < n; i += 50 {
							h, err := l.TryLock(b.Context(), fmt.Sprintf("{bench}%d", i), lock.NewOwner())
							if err != nil {
								b.Error(err)
								return
							}
							holds[i] = h
							time.Sleep(5 * time.Millisecond)
						}
					})
				}
				all.Wait()
				time.Sleep(lease)
				renewals.Store(0)
				trips, own, its, began := over.trips.Load(), used(b), usedBy(b, c), time.Now()
				most := 0
				for time.Since(began) < watch {
					most = max(most, runtime.NumGoroutine())
					time.Sleep(time.Millisecond)
				}
				took := time.Since(began).Seconds()
				b.ReportMetric(float64(renewals.Load())/took, "renewals/s")
				b.ReportMetric(float64(over.trips.Load()-trips)/took, "trips/s")
				b.ReportMetric((used(b)-own).Seconds()/took*100, "%CPU")
				b.ReportMetric((usedBy(b, c)-its).Seconds()/took*100, "%CPU-Redis")
				b.ReportMetric(float64(most), "goroutines")
				lost := 0
				for _, h := range holds {
					if h.Context().Err() != nil {
						lost++
					}
				}
				b.ReportMetric(float64(lost), "lost")
				b.ReportMetric(float64(failures.Load()), "failed")
				for part := range 50 {
					all.Go(func() {
						for i := part; i < n; i += 50 {
							_ = holds[i].Unlock(b.Context())
						}
					})
				}
				all.Wait()
			}
		})
	}
}

// used returns the processor time of this process.
func used(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// usedBy returns that of a Redis.
func usedBy(b *testing.B, c *redis.Client) (d time.Duration) {
	b.Helper()
	for _, row := range strings.Fields(c.Info(b.Context(), "cpu").Val()) {
		name, value, _ := strings.Cut(row, ":")
		if name == "used_cpu_sys" || name == "used_cpu_user" {
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			d += time.Duration(seconds * float64(time.Second))
		}
	}
	return d
}
