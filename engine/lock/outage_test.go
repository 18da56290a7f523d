package lock_test

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/lock/protocol"
)

// If nothing listens, nothing was sent: nobody gives anything back, and a thousand
// waiters ask seldom.
func TestAnOutageIsNotMultiplied(t *testing.T) {
	for _, p := range []lock.Protocol{lock.Sequenced, lock.ReentrantFair} {
		t.Run(p.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const waiters, span = 1000, 10 * time.Second
				c := redis.NewClient(&redis.Options{
					Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1, PoolSize: waiters, ContextTimeoutEnabled: true,
					Dialer: func(context.Context, string, string) (net.Conn, error) {
						return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
					},
				})
				var asked, other atomic.Int32
				l := locker(t, c, lock.Options{Protocol: p, Observer: lock.Observer{Attempted: func(_ context.Context, a lock.Attempt) {
					if a.Name == protocol.CallLock {
						asked.Add(1)
					} else {
						other.Add(1)
					}
				}}})
				ctx, cancel := context.WithTimeout(t.Context(), span)
				defer cancel()
				var group sync.WaitGroup
				for range waiters {
					group.Go(func() {
						_, err := l.Lock(ctx, key, lock.NewOwner())
						wantIs(t, err, lock.ErrNotAcquired, lock.ErrUnknown, context.DeadlineExceeded)
					})
				}
				group.Wait()
				synctest.Wait()
				if n := float64(asked.Load()) / span.Seconds(); n > 500 || n < 100 {
					t.Errorf("%.0f attempts a second", n)
				}
				if n := other.Load(); n > 0 {
					t.Errorf("%d releases of what was never sent", n)
				}
				l.Close()
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				time.Sleep(2 * time.Second) // the pool's own tries end, a second after each other
			})
		})
	}
}

// away is a hook of a client: when Redis is away every try ends with the error, after a
// while at most.
type away struct {
	is    atomic.Bool
	tries atomic.Int64
	err   error
	after time.Duration
}

func (a *away) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a *away) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !a.is.Load() {
			return next(ctx, cmd)
		}
		cmd.SetErr(a.fails(ctx))
		return cmd.Err()
	}
}

func (a *away) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !a.is.Load() {
			return next(ctx, cmds)
		}
		err := a.fails(ctx)
		for _, cmd := range cmds {
			cmd.SetErr(err)
		}
		return err
	}
}

func (a *away) fails(ctx context.Context) error {
	a.tries.Add(1)
	after := a.after
	if deadline, ok := ctx.Deadline(); ok {
		after = min(after, time.Until(deadline))
	}
	time.Sleep(after)
	return a.err
}

// A thousand that wait, a thousand that unlock and a thousand that are renewed meet with a
// Redis that cannot be reached: together they try seldom, the goroutines of those that
// unlock end with them, and all goes on as soon as Redis is there again.
func TestAnOutageIsShared(t *testing.T) {
	n := 1000
	if testing.Short() { // each trying for itself is still far over the bounds
		n = 300
	}
	for _, p := range []lock.Protocol{lock.Sequenced, lock.ReentrantFair} {
		inBubble(t, func(t *testing.T, c redis.UniversalClient) {
			loadAll(t, c, p)
			const span = 10 * time.Second
			gone := &away{err: &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}}
			client := onBuffers(c)
			client.AddHook(gone)
			defer func() { _ = client.Close() }()
			var attempts, lost atomic.Int64
			l := locker(t, client, lock.Options{Protocol: p, Lease: lock.DefaultLease, Messenger: lock.PubSub(c), Observer: lock.Observer{
				Attempted: func(context.Context, lock.Attempt) { attempts.Add(1) },
				Lost:      func(context.Context, lock.Loss) { lost.Add(1) },
			}})
			defer l.Close()
			var holds []*lock.Hold
			for i := range 2 * n {
				h, err := l.TryLock(t.Context(), fmt.Sprint("k", i), lock.NewOwner())
				if err != nil {
					t.Fatal(err)
				}
				holds = append(holds, h)
			}
			time.Sleep(lock.DefaultLease/3 - 2*time.Second)
			synctest.Wait()
			before := runtime.NumGoroutine()
			gone.is.Store(true)
			attempts.Store(0)
			var unlocks, locks sync.WaitGroup
			for _, h := range holds[:n] {
				unlocks.Go(func() { wantIs(t, h.Unlock(t.Context()), lock.ErrUnknown) })
			}
			for i := range n {
				locks.Go(func() {
					h, err := l.Lock(t.Context(), fmt.Sprint("w", i), lock.NewOwner())
					if err == nil {
						err = h.Unlock(t.Context())
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
			unlocks.Wait()
			synctest.Wait()
			if more := runtime.NumGoroutine() - before - n; more > 50 {
				t.Errorf("%s: %d goroutines more than wait for a lock", p.Name, more)
			}
			time.Sleep(span - lock.DefaultReleaseWait)
			for what, sum := range map[string]int64{"tries": gone.tries.Load(), "attempts": attempts.Load()} {
				t.Logf("%s: %s a second: %.0f", p.Name, what, float64(sum)/span.Seconds())
				if each := float64(sum) / span.Seconds(); each > 500 {
					t.Errorf("%s: %.0f %s a second", p.Name, each, what)
				}
			}
			gone.is.Store(false)
			time.Sleep(time.Second)
			locks.Wait()
			for i, h := range holds {
				if left := c.PTTL(t.Context(), h.Key()).Val(); i < n && left > 0 || i >= n && left < lock.DefaultLease-2*time.Second {
					t.Fatalf("%s: lock %d has %v left", p.Name, i, left)
				}
			}
			if lost.Load() != 0 {
				t.Errorf("%s: %d were lost", p.Name, lost.Load())
			}
			for _, h := range holds[n:] {
				unlock(t, h)
			}
		})
	}
}

// Once a call has met with a Redis that cannot be reached, others at that instant do not try.
func TestAKnownOutageIsNotTriedByEach(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		loadAll(t, c, lock.Sequenced)
		gone := &away{err: &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}}
		client := onBuffers(c)
		client.AddHook(gone)
		defer func() { _ = client.Close() }()
		l := locker(t, client, lock.Options{Protocol: lock.Sequenced, Lease: lock.DefaultLease})
		defer l.Close()
		gone.is.Store(true)
		ask := func() {
			if _, err := l.TryLock(t.Context(), key, lock.NewOwner()); err == nil {
				t.Error("it got the lock")
			}
		}
		ask()
		met := gone.tries.Load()
		for range 100 {
			ask()
		}
		if more := gone.tries.Load() - met; met == 0 || more > 0 {
			t.Errorf("%d tries, and %d more by a hundred calls", met, more)
		}
	})
}

// Redis stands still, and a thousand that got no answer have given up: what they may have
// got is given back by a few.
func TestWhatWasGivenUpIsGivenBackByFew(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		const n, span, timeout = 1000, 20 * time.Second, 4 * time.Second // n a timeout are over the bound
		stopped := &away{err: context.DeadlineExceeded, after: timeout}
		c.AddHook(stopped)
		var attempts atomic.Int64
		l := locker(t, c, lock.Options{Lease: lock.DefaultLease, Observer: observer(func(a lock.Attempt) {
			if a.Name != lock.CallLock {
				attempts.Add(1)
			}
		})})
		stopped.is.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		before := runtime.NumGoroutine()
		var name atomic.Int64
		errs := together(n, func() error {
			_, err := l.Lock(ctx, fmt.Sprint(key, name.Add(1)), lock.NewOwner())
			return err
		})
		if len(errs) != n {
			t.Errorf("%d of %d got no lock", len(errs), n)
		}
		time.Sleep(2 * timeout) // the acquisitions have ended
		if more := runtime.NumGoroutine() - before; more > 50 {
			t.Errorf("%d goroutines", more)
		}
		attempts.Store(0)
		time.Sleep(span)
		t.Logf("%.0f attempts a second", float64(attempts.Load())/span.Seconds())
		if each := float64(attempts.Load()) / span.Seconds(); each > 200 || each < 1 {
			t.Errorf("%.0f attempts a second", each)
		}
		stopped.is.Store(false)
		time.Sleep(timeout + time.Second)
		if h, err := l.TryLock(t.Context(), key+"1", lock.NewOwner()); err != nil {
			t.Error(err)
		} else {
			unlock(t, h)
		}
		time.Sleep(time.Minute) // what is still given back
	})
}
