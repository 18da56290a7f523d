package locktest

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/store/storetest"
)

// poll counts what the nodes answer to the attempts on one lock, and what the
// attempts come to.
type poll struct {
	holders  atomic.Int64 // who have a majority
	acquired atomic.Int64

	mu                    sync.Mutex
	held, split, noAnswer int
	keptByLosers          time.Duration // in all, a node at a time
}

// voter is one worker, and its view of one node.
type voter struct {
	lock.Redis

	of      *candidate
	granted map[string]time.Time // by owner, guarded by of.mu
}

// candidate is one worker of the poll. It observes its own Locker.
type candidate struct {
	*poll

	began   time.Time
	free    bool  // when the attempt began
	already int64 // acquisitions before it
	won     string
}

// Do is the request for a grant.
func (v *voter) Do(ctx context.Context, args ...any) *redis.Cmd {
	cmd := v.Redis.Do(ctx, args...)
	if cmd.Val() == "OK" {
		v.of.mu.Lock()
		defer v.of.mu.Unlock()
		v.granted[fmt.Sprint(args[2])] = time.Now()
	}
	return cmd
}

// EvalSha is the release of what was granted.
func (v *voter) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	cmd := v.Redis.EvalSha(ctx, sha, keys, args...)
	owner := fmt.Sprint(args[0])
	v.of.mu.Lock()
	defer v.of.mu.Unlock()
	if at := v.granted[owner]; !at.IsZero() && v.of.won != owner && cmd.Err() == nil {
		v.of.keptByLosers += time.Since(at)
	}
	delete(v.granted, owner)
	return cmd
}

func (c *candidate) begin() {
	c.began = time.Now()
	c.free, c.already = c.holders.Load() == 0, c.acquired.Load()
}

// attempted is told of each attempt when it is over.
func (c *candidate) attempted(_ context.Context, a lock.Attempt) {
	if a.Name != lock.CallLock {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case a.Result == lock.Acquired:
		c.holders.Add(1)
		c.acquired.Add(1)
		c.won = string(a.Owner)
	case a.Result == lock.Failed:
		c.noAnswer++
	case c.free && c.holders.Load() == 0 && c.acquired.Load() == c.already:
		c.split++
	default:
		c.held++
	}
}

// waiting is told of a pause, behind which the next attempt begins.
func (c *candidate) waiting(_ context.Context, w lock.Wait) {
	time.AfterFunc(w.For, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.begin()
	})
}

var jitterFlag = flag.Duration("jitter", jitter, "")

// BenchmarkRedlock is one acquisition by any of 15 workers that all want one
// lock, 2 ms of work each: what their attempts come to, and how long they
// wait. In each row some of the nodes are out of reach for some of the workers.
func BenchmarkRedlock(b *testing.B) {
	const contenders, lease = 15, time.Second
	for _, c := range []struct {
		name         string
		nodes        int
		parted, from int // so many workers do not reach the last so many nodes
		spinning     int // goroutines that only burn CPU
	}{
		{"3-nodes", 3, 0, 0, 0},
		{"5-nodes", 5, 0, 0, 0},
		{"3-nodes/5-workers-reach-2", 3, 5, 1, 0},
		{"3-nodes/all-reach-2", 3, 15, 1, 0},
		{"3-nodes/5-workers-reach-1", 3, 5, 2, 0},
		{"5-nodes/5-workers-reach-3", 5, 5, 2, 0},
		{"5-nodes/5-workers-reach-2", 5, 5, 3, 0},
		{"3-nodes/busy", 3, 0, 0, 8},
		{"5-nodes/busy", 5, 0, 0, 8},
	} {
		b.Run(c.name, func(b *testing.B) {
			ctx, cancel := context.WithCancel(context.Background())
			var tasks sync.WaitGroup
			p := &poll{}
			var open []func()
			var addrs, far []string
			for range c.nodes {
				s := storetest.Start(b)
				proxy, err := Listen(s.Addr, nil)
				if err != nil {
					b.Fatal(err)
				}
				proxy.Partition()
				open = append(open, proxy.Close)
				addrs, far = append(addrs, s.Addr), append(far, proxy.Addr())
			}
			var mu sync.Mutex
			var waits []time.Duration
			counts := make([]int, contenders)
			for n := range contenders {
				w := &candidate{poll: p}
				var nodes []lock.Redis
				for i, addr := range addrs {
					if n < c.parted && i >= c.nodes-c.from {
						addr = far[i]
					}
					client := storetest.Client(addr)
					open = append(open, func() { _ = client.Close() })
					nodes = append(nodes, &voter{client, w, map[string]time.Time{}})
				}
				l, err := lock.New(nodes[0], lock.Options{
					Protocol: lock.Redlock, Nodes: nodes[1:], Lease: lease, Interval: interval, JitterMax: *jitterFlag,
					Observer: lock.Observer{Attempted: w.attempted, Waiting: w.waiting},
				})
				if err != nil {
					b.Fatal(err)
				}
				tasks.Go(func() {
					for ctx.Err() == nil {
						began := time.Now()
						w.mu.Lock()
						w.begin()
						w.mu.Unlock()
						h, err := l.Lock(ctx, keyName(0), lock.NewOwner())
						mu.Lock()
						waits = append(waits, time.Since(began))
						mu.Unlock()
						if err != nil {
							continue
						}
						counts[n]++
						sleep(ctx, 2*time.Millisecond)
						p.holders.Add(-1)
						_ = h.Unlock(context.Background())
						sleep(ctx, 5*time.Millisecond)
					}
				})
			}
			for range c.spinning {
				tasks.Go(func() {
					for ctx.Err() == nil {
					}
				})
			}
			b.ResetTimer()
			began := time.Now()
			for p.acquired.Load() < int64(b.N) && time.Since(began) < 20*time.Second {
				sleep(ctx, time.Millisecond)
			}
			took, acquired := time.Since(began), p.acquired.Load()
			b.StopTimer()
			cancel()
			tasks.Wait()
			for _, end := range slices.Backward(open) {
				end()
			}
			slices.Sort(waits)
			p.mu.Lock()
			defer p.mu.Unlock()
			of := func(n int) float64 { return float64(n) / float64(max(acquired, 1)) }
			b.ReportMetric(float64(acquired)/took.Seconds(), "acquired/s")
			b.ReportMetric(of(p.held), "held/op")
			b.ReportMetric(of(p.split), "split/op")
			b.ReportMetric(of(p.noAnswer), "unanswered/op")
			b.ReportMetric(100*p.keptByLosers.Seconds()/took.Seconds()/float64(c.nodes), "%-kept-by-losers")
			b.ReportMetric(float64(waits[len(waits)/2].Milliseconds()), "p50-ms")
			b.ReportMetric(float64(waits[len(waits)-1].Milliseconds()), "max-ms")
			b.Log(fmt.Sprint(counts))
		})
	}
}
