package lock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
)

// line is a client's line to Redis: what goes over it, and what happens to that.
type line struct {
	sends

	down  atomic.Bool
	holds atomic.Pointer[chan struct{}] // the answers to the next several at once wait for it
	early atomic.Bool                   // and so do the commands
}

func (n *line) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	next = n.sends.ProcessHook(next)
	return func(ctx context.Context, cmd redis.Cmder) error {
		if n.down.Load() {
			cmd.SetErr(errNetwork)
			return errNetwork
		}
		return next(ctx, cmd)
	}
}

func (n *line) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	next = n.sends.ProcessPipelineHook(next)
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if n.down.Load() {
			for _, cmd := range cmds {
				cmd.SetErr(errNetwork)
			}
			return errNetwork
		}
		held := n.holds.Swap(nil)
		if held != nil && n.early.Load() {
			<-*held
		}
		err := next(ctx, cmds)
		if held != nil {
			<-*held
		}
		return err
	}
}

// buffered is a connection that takes all that it is given, as one of the system does. A
// pipe takes only what is read at once, while Redis' answers wait for a reader.
type buffered struct {
	net.Conn

	out chan []byte
	end sync.Once
}

func (b *buffered) Write(p []byte) (int, error) {
	b.out <- slices.Clone(p)
	return len(p), nil
}

func (b *buffered) Close() error {
	b.end.Do(func() { close(b.out) })
	return b.Conn.Close()
}

// onBuffers returns a client of the same server, on such connections.
func onBuffers(c redis.UniversalClient) *redis.Client {
	o := *c.(*redis.Client).Options()
	dial := o.Dialer
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		b := &buffered{Conn: conn, out: make(chan []byte, 1000)}
		go func() {
			for p := range b.out {
				_, _ = conn.Write(p)
			}
		}()
		return b, nil
	}
	return redis.NewClient(&o)
}

// many has a Locker take so many locks, one after the other.
func many(t *testing.T, l *lock.Locker, n int, pause time.Duration) []*lock.Hold {
	t.Helper()
	holds := make([]*lock.Hold, n)
	for i := range holds {
		h, err := l.TryLock(t.Context(), fmt.Sprintf("k%d", i), lock.NewOwner())
		if err != nil {
			t.Fatal(err)
		}
		holds[i] = h
		time.Sleep(pause)
	}
	return holds
}

// among has test look at holds of one Locker that are renewed together, on the virtual
// clock.
func among(t *testing.T, o lock.Options, n int, pause time.Duration, test func(t *testing.T, c redis.UniversalClient, over *line, holds []*lock.Hold)) {
	t.Helper()
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		loadAll(t, c, o.Protocol)
		over := &line{}
		lines := onBuffers(c)
		lines.AddHook(over)
		defer func() { _ = lines.Close() }()
		o.Messenger = lock.PubSub(c)
		l := locker(t, lines, o)
		defer l.Close()
		holds := many(t, l, n, pause)
		test(t, c, over, holds)
		for _, h := range holds {
			_ = h.Unlock(t.Context())
		}
		synctest.Wait()
	})
}

// Holds of one Locker are renewed together: in a twentieth of the round trips, none too late
// and none more than a sixteenth of the time too early.
func TestRenewalsGoTogether(t *testing.T) {
	for _, p := range counted() {
		const lease, renew, n = 30 * time.Second, 10 * time.Second, 200
		var mu sync.Mutex
		last := map[string]time.Time{}
		renewals := 0
		o := lock.Options{Protocol: p, Lease: lease, Renew: renew, Observer: observer(func(a lock.Attempt) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case a.Result == lock.Acquired:
			case a.Result != lock.Renewed:
				return
			case a.Began.Sub(last[a.Key]) > renew, a.Began.Sub(last[a.Key]) < renew-renew/16:
				t.Errorf("%s: %s was renewed after %v", p.Name, a.Key, a.Began.Sub(last[a.Key]))
				renewals++
			default:
				renewals++
			}
			last[a.Key] = a.Began
		})}
		among(t, o, n, 20*time.Millisecond, func(t *testing.T, c redis.UniversalClient, over *line, holds []*lock.Hold) {
			time.Sleep(renew / 2) // all have been taken, and none is renewed yet
			commands, trips := over.commands.Load(), over.trips.Load()
			time.Sleep(6 * renew)
			commands, trips = over.commands.Load()-commands, over.trips.Load()-trips
			mu.Lock()
			defer mu.Unlock()
			if renewals != 6*n || commands < 6*n {
				t.Errorf("%s: %d renewals, %d commands, want %d", p.Name, renewals, commands, 6*n)
			}
			if trips*20 > commands {
				t.Errorf("%s: %d renewals in %d round trips", p.Name, renewals, trips)
			}
			for _, h := range holds {
				if err := h.Context().Err(); err != nil {
					t.Errorf("%s: %s: %v", p.Name, h, context.Cause(h.Context()))
				}
				if left := c.PTTL(t.Context(), h.Key()).Val(); left <= lease-renew {
					t.Errorf("%s: %s has %v left", p.Name, h, left)
				}
			}
		})
	}
}

// An owner that has lost its lock hears of it at its next renewal, no matter who is renewed
// with it, and the others keep theirs. So it is if Redis has forgotten the script.
func TestOneOfManyIsLost(t *testing.T) {
	for _, p := range counted() {
		const renew, n = 10 * time.Second, 100
		among(t, lock.Options{Protocol: p, Lease: 3 * renew, Renew: renew}, n, time.Millisecond, func(t *testing.T, c redis.UniversalClient, _ *line, holds []*lock.Hold) {
			for _, at := range []int{0, n / 2, n - 1} {
				c.Del(t.Context(), holds[at].Key())
			}
			c.HSet(t.Context(), holds[n/2].Key(), "thief", 1)
			c.ScriptFlush(t.Context())
			time.Sleep(renew)
			for i, h := range holds {
				cause := context.Cause(h.Context())
				if lost := i == 0 || i == n/2 || i == n-1; lost != errors.Is(cause, lock.ErrLost) || !lost && cause != nil {
					t.Errorf("%s: hold %d: %v", p.Name, i, cause)
				}
			}
			if got := c.TTL(t.Context(), holds[n/2].Key()).Val(); got != -1 {
				t.Errorf("%s: another's lock lives for %v", p.Name, got)
			}
		})
	}
}

// While Redis does not answer nothing is lost until a lease could be over. Each hold then
// ends at its own time, counted from its last answered renewal.
func TestAnOutageOfMany(t *testing.T) {
	for _, p := range counted() {
		const renew, lease, n = time.Second, 3 * time.Second, 50
		among(t, lock.Options{Protocol: p, Lease: lease, Renew: renew}, n, time.Millisecond, func(t *testing.T, _ redis.UniversalClient, over *line, holds []*lock.Hold) {
			for range 5 {
				over.down.Store(true)
				time.Sleep(lease - renew - 100*time.Millisecond)
				over.down.Store(false)
				time.Sleep(renew / 2) // a pause at most, and all are renewed
			}
			until := map[*lock.Hold]time.Time{}
			for _, h := range holds {
				if h.Context().Err() != nil {
					t.Fatalf("%s: %s: %v", p.Name, h, context.Cause(h.Context()))
				}
				until[h] = h.Until()
			}
			over.down.Store(true)
			var all sync.WaitGroup
			for _, h := range holds {
				all.Go(func() {
					<-h.Context().Done()
					if at := time.Now(); !at.Equal(until[h]) || !errors.Is(context.Cause(h.Context()), lock.ErrLost) {
						t.Errorf("%s: %s ended %v after its lease: %v", p.Name, h, at.Sub(until[h]), context.Cause(h.Context()))
					}
				})
			}
			all.Wait()
			over.down.Store(false)
		})
	}
}

// An owner that unlocks while its renewal is under way with others waits for nobody, its
// lock is gone, and nobody reports that renewal any more, whether Redis had it before the
// unlock or after. The others are renewed.
func TestUnlockDuringARound(t *testing.T) {
	const renew, n = 10 * time.Second, 20
	for _, p := range counted() {
		for _, after := range []bool{false, true} {
			var said []lock.Result
			var mu sync.Mutex
			o := lock.Options{Protocol: p, Lease: 3 * renew, Renew: renew, Observer: observer(func(a lock.Attempt) {
				mu.Lock()
				defer mu.Unlock()
				if a.Key == "k0" {
					said = append(said, a.Result)
				}
			})}
			among(t, o, n, time.Millisecond, func(t *testing.T, c redis.UniversalClient, over *line, holds []*lock.Hold) {
				held := make(chan struct{})
				over.early.Store(after)
				over.holds.Store(&held)
				time.Sleep(renew)
				began := time.Now()
				before := holds[1].Until()
				unlock(t, holds[0])
				if took := time.Since(began); took != 0 {
					t.Errorf("%s: the unlock took %v", p.Name, took)
				}
				close(held)
				synctest.Wait()
				if cause := context.Cause(holds[0].Context()); !errors.Is(cause, lock.ErrReleased) {
					t.Errorf("%s: %v", p.Name, cause)
				}
				if c.Exists(t.Context(), holds[0].Key()).Val() != 0 {
					t.Errorf("%s: the lock that was unlocked is there", p.Name)
				}
				if !holds[1].Until().After(before) {
					t.Errorf("%s: the others are not renewed", p.Name)
				}
				mu.Lock()
				if want := []lock.Result{lock.Acquired, lock.Released}; !slices.Equal(said, want) {
					t.Errorf("%s: of the lock was said %v, want %v", p.Name, said, want)
				}
				mu.Unlock()
				time.Sleep(2 * renew)
				for _, h := range holds[1:] {
					if h.Context().Err() != nil {
						t.Errorf("%s: %s: %v", p.Name, h, context.Cause(h.Context()))
					}
				}
			})
		}
	}
}

// A thousand go in one round trip at most, and none waits for long for the answers to
// others.
func TestMoreThanGoAtOnce(t *testing.T) {
	const renew, n = 10 * time.Second, 2100
	among(t, lock.Options{Protocol: lock.Sequenced, Lease: 3 * renew, Renew: renew}, n, 0, func(t *testing.T, c redis.UniversalClient, over *line, holds []*lock.Hold) {
		trips := over.trips.Load()
		held := make(chan struct{})
		over.holds.Store(&held)
		time.Sleep(renew + 50*time.Millisecond)
		began := time.Now()
		unlock(t, holds[n-1]) // its turn has not come
		if took := time.Since(began); took != 0 {
			t.Errorf("an unlock took %v", took)
		}
		trips++
		holds = holds[:n-1]
		time.Sleep(time.Second)
		if got := over.trips.Load() - trips; got < 3 || got > 5 { // a connection more begins with one, too
			t.Errorf("%d round trips, want 3", got)
		}
		late := 0
		for _, h := range holds {
			if time.Until(h.Until()) < 2*renew {
				late++
			}
			if left := c.PTTL(t.Context(), h.Key()).Val(); left < 3*renew-2*time.Second {
				t.Fatalf("%s has %v left", h, left)
			}
		}
		if late != 1000 {
			t.Errorf("%d wait for an answer, want 1000", late)
		}
		close(held)
		synctest.Wait()
		for _, h := range holds {
			if time.Until(h.Until()) < 2*renew {
				t.Fatalf("%s is relied on for %v", h, time.Until(h.Until()))
			}
		}
	})
}

// Locks come and go while others are renewed.
func TestRoundsUnderWay(t *testing.T) {
	times := 30
	if testing.Short() {
		times = 10
	}
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		for _, p := range counted() {
			loadAll(t, c, p)
			renewed := make(chan struct{}, 1)
			l := listening(t, c, lock.Options{Protocol: p, Lease: time.Minute, Renew: 2 * time.Millisecond, Observer: observer(func(a lock.Attempt) {
				if a.Result == lock.Renewed {
					select {
					case renewed <- struct{}{}:
					default:
					}
				}
			})})
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					owner := lock.NewOwner()
					for range times {
						h, err := l.Lock(t.Context(), fmt.Sprintf("k%d", i), owner)
						if err != nil {
							t.Error(err)
							return
						}
						<-renewed
						if h.Context().Err() != nil {
							t.Error(context.Cause(h.Context()))
						}
						if err := h.Unlock(t.Context()); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
		}
	})
}

// The answers to a round come when the lease of one of them is over, and not yet that of the
// other: that one is renewed, without another try.
func TestARoundLastsUntilItsLastLease(t *testing.T) {
	const renew, lease, apart = 10 * time.Second, 12 * time.Second, 100 * time.Millisecond
	var mu sync.Mutex
	var of []lock.Attempt
	o := lock.Options{Protocol: lock.Sequenced, Lease: lease, Renew: renew, Margin: time.Second, Observer: observer(func(a lock.Attempt) {
		mu.Lock()
		defer mu.Unlock()
		if a.Key == "k1" && a.Name == lock.CallRenew {
			of = append(of, a)
		}
	})}
	among(t, o, 2, apart, func(t *testing.T, _ redis.UniversalClient, over *line, holds []*lock.Hold) {
		held := make(chan struct{})
		over.holds.Store(&held)
		time.Sleep(time.Until(holds[0].Until()) + apart/2)
		if holds[0].Context().Err() == nil || holds[1].Context().Err() != nil {
			t.Error("not between the ends of the two leases")
		}
		close(held)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(of) != 1 || of[0].Result != lock.Renewed {
			t.Errorf("the other's renewals: %+v", of)
		}
	})
}
