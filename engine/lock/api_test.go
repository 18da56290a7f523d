package lock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock/clocktest"
	"relock/engine/lock"
	"relock/engine/store/storetest"
)

// With no options at all Lock waits until its context ends, some fifty to
// seventy-five milliseconds between attempts, and keeps what it has.
func TestZeroOptions(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		var attempts, renewals atomic.Int64
		l, err := lock.New(c, lock.Options{Observer: observer(func(a lock.Attempt) {
			switch a.Result {
			case lock.Refused:
				attempts.Add(1)
			case lock.Renewed:
				renewals.Add(1)
			}
		})})
		if err != nil {
			t.Fatal(err)
		}
		h := acquire(t, l, lock.NewOwner())
		if got := c.PTTL(t.Context(), key).Val(); got != lock.DefaultLease {
			t.Errorf("the lease is %v", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		began := time.Now()
		_, err = l.Lock(ctx, key, lock.NewOwner())
		wantIs(t, err, lock.ErrNotAcquired, context.DeadlineExceeded)
		if took := time.Since(began); took != 2*time.Minute {
			t.Errorf("Lock gave up after %v", took)
		}
		if a, r := attempts.Load(), renewals.Load(); a < 1600 || a > 2400 || r < 11 || r > 12 {
			t.Errorf("%d attempts and %d renewals in two minutes", a, r)
		}
		unlock(t, h)
	})
}

func TestDo(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		l := locker(t, c, lock.Options{})
		boom := errors.New("boom")
		var levels []string
		count := func(ctx context.Context) {
			levels = append(levels, c.HGet(ctx, key, string(lock.HoldOf(ctx).Owner())).Val())
		}
		err := l.Do(t.Context(), key, func(ctx context.Context) error {
			count(ctx)
			if err := l.Do(ctx, key, func(ctx context.Context) error { count(ctx); return boom }); !errors.Is(err, boom) {
				t.Errorf("the inner Do: %v", err)
			}
			_, err := l.TryLock(ctx, key, lock.NewOwner())
			wantIs(t, err, lock.ErrHeld)
			return nil
		})
		if err != nil || fmt.Sprint(levels) != "[1 2]" {
			t.Errorf("levels %v, %v", levels, err)
		}
		func() {
			defer func() { _ = recover() }()
			_ = l.Do(t.Context(), key, func(context.Context) error { panic("in the middle") })
		}()
		wantCount(t, c, "", 0)
		err = l.Do(t.Context(), key, func(ctx context.Context) error {
			c.Del(ctx, key)
			return boom
		})
		wantIs(t, err, boom, lock.ErrLost)
	})
}

func TestLeaseOfACall(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		l := locker(t, c, lock.Options{Lease: time.Minute})
		owner := lock.NewOwner()
		h, err := l.TryLock(t.Context(), key, owner, lock.WithLease(3*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.PTTL(t.Context(), key).Val(); got != 3*time.Second {
			t.Errorf("the lease is %v, want 3s", got)
		}
		if left := time.Until(h.Until()); left <= 2900*time.Millisecond || left >= 3*time.Second {
			t.Errorf("it is relied on for %v", left)
		}
		time.Sleep(30 * time.Second) // renewed every second
		inner, err := l.TryLock(t.Context(), key, owner, lock.WithLease(time.Hour))
		if err != nil || h.Context().Err() != nil {
			t.Fatal(err, context.Cause(h.Context()))
		}
		if got := c.PTTL(t.Context(), key).Val(); got > 3*time.Second {
			t.Errorf("the re-entry made the lease %v", got)
		}
		unlock(t, inner)
		unlock(t, h)
		_, err = l.TryLock(t.Context(), key, owner, lock.WithLease(1500*time.Microsecond))
		wantIs(t, err, lock.ErrNotAcquired, lock.ErrOptions)
		unlock(t, acquire(t, l, owner))
	})
}

func TestInspectAndForceUnlock(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		for _, proto := range counted() {
			t.Run(proto.Name, func(t *testing.T) {
				l := locker(t, c, lock.Options{Protocol: proto, Messenger: lock.PubSub(c), Interval: 5 * time.Millisecond})
				t.Cleanup(l.Close)
				if s, err := l.Inspect(t.Context(), key); err != nil || s != (lock.State{}) {
					t.Errorf("a free lock is %+v, %v", s, err)
				}
				wantIs(t, l.ForceUnlock(t.Context(), key), lock.ErrNotHeld)
				owner := lock.NewOwner()
				h := acquire(t, l, owner)
				acquire(t, l, owner)
				got := make(chan error)
				go func() {
					h, err := l.Lock(context.Background(), key, lock.NewOwner())
					if err == nil {
						err = h.Unlock(context.Background())
					}
					got <- err
				}()
				waiting := 0
				if proto.Leave != nil {
					inLine(t, c, proto, 1)
					waiting = 1
				}
				s, err := l.Inspect(t.Context(), key)
				if err != nil || s.Owner != string(owner) || s.Count != 2 || s.Lease <= 0 || s.Lease > time.Minute || s.Waiting != waiting {
					t.Errorf("state %+v, %v", s, err)
				}
				if err := l.ForceUnlock(t.Context(), key); err != nil {
					t.Fatal(err)
				}
				if err := <-got; err != nil { // the next gets in, at once where it is told
					t.Error(err)
				}
				wantIs(t, h.Unlock(t.Context()), lock.ErrInnerHeld)
				if err := c.Set(t.Context(), key, "x", 0).Err(); err != nil {
					t.Fatal(err)
				}
				c.Del(t.Context(), proto.Keys(key)...)
				c.SAdd(t.Context(), key, "x")
				_, err = l.Inspect(t.Context(), key)
				wantIs(t, err, lock.ErrWrongType)
				c.Del(t.Context(), key)
			})
		}
	})
}

func TestCloseEndsWaitersAndRefusesLaterCalls(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		for _, proto := range counted() {
			t.Run(proto.Name, func(t *testing.T) {
				refused := make(chan struct{}, 100)
				l := locker(t, c, lock.Options{
					Protocol: proto, Messenger: lock.PubSub(c), Interval: time.Hour,
					Observer: observer(func(a lock.Attempt) {
						if a.Result == lock.Refused {
							refused <- struct{}{}
						}
					}),
				})
				h := acquire(t, l, lock.NewOwner())
				got := make(chan error)
				go func() {
					_, err := l.Lock(context.Background(), key, lock.NewOwner())
					got <- err
				}()
				<-refused
				l.Close()
				wantIs(t, <-got, lock.ErrNotAcquired, lock.ErrClosed)
				_, err := l.TryLock(t.Context(), key, lock.NewOwner())
				wantIs(t, err, lock.ErrNotAcquired, lock.ErrClosed)
				if err := h.Context().Err(); err != nil {
					t.Errorf("the hold ended: %v", err)
				}
				unlock(t, h)
				l.Close()
				for c.Exists(t.Context(), keysOf(proto)...).Val() != 0 { // the waiter leaves its line behind Lock
					if t.Context().Err() != nil {
						t.Fatal("the waiter stays in line")
					}
					runtime.Gosched()
				}
			})
		}
	})
}

func TestUnlockOfNilAndOfAnOverwrittenKey(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		var none *lock.Hold
		wantIs(t, none.Unlock(t.Context()), lock.ErrNotHeld)
		for _, proto := range counted() {
			l := locker(t, c, lock.Options{Protocol: proto, Messenger: lock.PubSub(c)})
			h := acquire(t, l, lock.NewOwner())
			if err := c.Set(t.Context(), key, "another program's", 0).Err(); err != nil {
				t.Fatal(err)
			}
			wantIs(t, h.Unlock(t.Context()), lock.ErrLost, lock.ErrWrongType)
			wantIs(t, context.Cause(h.Context()), lock.ErrLost)
			_, err := l.TryLock(t.Context(), key, lock.NewOwner())
			wantIs(t, err, lock.ErrNotAcquired, lock.ErrWrongType)
			l.Close()
			c.Del(t.Context(), key)
		}
	})
}

func TestKeyOverwrittenIsNoticedAtTheNextRenewal(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		l := locker(t, c, lock.Options{Lease: lease})
		h := acquire(t, l, lock.NewOwner())
		c.Set(t.Context(), key, "another program's", 0)
		began := time.Now()
		took, cause := ends(t, h, began)
		if took != lease/3 || !errors.Is(cause, lock.ErrLost) {
			t.Errorf("noticed after %v: %v", took, cause)
		}
		_ = h.Unlock(t.Context())
	})
}

// An owner lost a hold and never unlocked it. It is told once, and then it can
// begin again; what it forgot can do nothing to the new hold.
func TestForgottenLostHold(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		for _, proto := range counted() {
			l := locker(t, c, lock.Options{Protocol: proto, Messenger: lock.PubSub(c)})
			owner := lock.NewOwner()
			forgotten := acquire(t, l, owner)
			c.Del(t.Context(), key)
			_, err := l.TryLock(t.Context(), key, owner)
			wantIs(t, err, lock.ErrNotAcquired, lock.ErrLost)
			h := acquire(t, l, owner)
			if h.Level() != 1 {
				t.Errorf("%s: it is level %d", proto.Name, h.Level())
			}
			wantIs(t, forgotten.Unlock(t.Context()), lock.ErrLost)
			wantCount(t, c, owner, 1)
			if err := h.Context().Err(); err != nil {
				t.Errorf("%s: %v", proto.Name, context.Cause(h.Context()))
			}
			unlock(t, h)
			l.Close()
		}
	})
}

func TestKeysAndTheirCompanions(t *testing.T) {
	n := &network{}
	for key, fine := range map[string]bool{
		"k": true, "a:b": true, "{tag}:k": true, "a{tag}b": true, "a{b": true, "中文": true, "a b": true,
		"": false, "a}b": false, "a{}b": false, "{}a": false, "x{}{y}": false,
	} {
		for _, proto := range counted()[:4] {
			l := locker(t, n, lock.Options{Protocol: proto, Messenger: lock.PubSub(nil)})
			if fine {
				continue
			}
			_, err := l.TryLock(t.Context(), key, lock.NewOwner())
			wantIs(t, err, lock.ErrNotAcquired, lock.ErrKey)
			_, err = l.Inspect(t.Context(), key)
			wantIs(t, err, lock.ErrKey)
			wantIs(t, l.ForceUnlock(t.Context(), key), lock.ErrKey)
		}
		if fine {
			slots(t, key)
		}
	}
	if n.calls.Load() != 0 {
		t.Error("something was sent for a bad key")
	}
}

// slots wants all keys of a lock in one slot of a cluster.
func slots(t *testing.T, key string) {
	t.Helper()
	for _, proto := range counted() {
		tag := ""
		for i, k := range proto.Keys(key) {
			got := hashed(k)
			if i > 0 && got != tag {
				t.Errorf("%s of %q is hashed by %q, the key by %q", k, key, got, tag)
			}
			tag = got
		}
	}
}

// hashed is what Redis Cluster hashes of a key (cluster specification, hash
// tags).
func hashed(key string) string {
	for i := range len(key) {
		if key[i] != '{' {
			continue
		}
		for j := i + 1; j < len(key); j++ {
			if key[j] == '}' && j > i+1 {
				return key[i+1 : j]
			}
			if key[j] == '}' {
				return key
			}
		}
		return key
	}
	return key
}

func TestRingIsRefusedWhereMessagesAreLost(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}, HeartbeatFrequency: time.Hour})
	t.Cleanup(func() { _ = ring.Close() })
	for _, proto := range counted() {
		_, err := lock.New(ring, lock.Options{Protocol: proto})
		if refused := errors.Is(err, lock.ErrOptions); refused != (proto.Leave != nil) {
			t.Errorf("%s on a ring: %v", proto.Name, err)
		}
	}
}

// By default a go-redis client looks at no context while it waits, and sends again by
// itself. Unlock keeps to its limit all the same, and sends once.
func TestTimedClientWithDefaultsKeepsToTheLimit(t *testing.T) {
	clocktest.Punctual(t, 2*time.Second, func(t testing.TB) {
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var served sync.WaitGroup
		var asked atomic.Int64
		var open []net.Conn
		var mu sync.Mutex
		served.Go(func() {
			for {
				conn, err := silent.Accept()
				if err != nil {
					return
				}
				asked.Add(1)
				mu.Lock()
				open = append(open, conn)
				mu.Unlock()
			}
		})
		c := redis.NewClient(&redis.Options{Addr: silent.Addr().String()})
		l := locker(t, c, lock.Options{Limit: 50 * time.Millisecond, Retries: lock.NoRetry})
		done := make(chan error)
		go func() {
			_, err := l.TryLock(context.Background(), key, lock.NewOwner())
			done <- err
		}()
		select {
		case err := <-done:
			wantIs(t, err, lock.ErrNotAcquired, context.DeadlineExceeded)
		case <-time.After(2 * time.Second): // go-redis would take five
			t.Error("TryLock does not keep to its limit")
		}
		_ = silent.Close()
		mu.Lock()
		for _, conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		_ = c.Close()
		served.Wait()
	})
}

func TestObserverIsToldEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type traceKey struct{}
		c := embeddedInBubble(t)
		var mu sync.Mutex
		var got []string
		note := func(ctx context.Context, format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprint(ctx.Value(traceKey{}), ": ", fmt.Sprintf(format, args...)))
		}
		l := locker(t, c, lock.Options{Lease: lease, Renew: lock.NoWatchdog, Retries: 1, Interval: 10 * time.Millisecond, Observer: lock.Observer{
			Attempted: func(ctx context.Context, a lock.Attempt) {
				note(ctx, "%s %d of %s by %s: %s after %v, %v since its call, lease %v", a.Name, a.Level, a.Key, a.Owner, a.Result, a.Took, a.Began.Add(a.Took).Sub(a.Since), a.Lease)
			},
			Waiting: func(ctx context.Context, w lock.Wait) { note(ctx, "%s waits %v for %s", w.Owner, w.For, w.Key) },
			Lost: func(ctx context.Context, l lock.Loss) {
				note(ctx, "%s lost %d levels of %s: %v", l.Owner, l.Levels, l.Key, errors.Is(l.Err, lock.ErrLost))
			},
		}})
		ctx := context.WithValue(t.Context(), traceKey{}, "request 7")
		h, err := l.Lock(ctx, key, "a")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = l.Lock(context.WithValue(t.Context(), traceKey{}, "request 8"), key, "b")
		time.Sleep(lease)
		_ = h.Unlock(ctx)
		mu.Lock()
		defer mu.Unlock()
		want := []string{
			"request 7: lock 1 of k by a: acquired after 0s, 0s since its call, lease 300ms",
			"request 8: lock 1 of k by b: refused after 0s, 0s since its call, lease 300ms",
			"request 8: b waits 10ms for k",
			"request 8: lock 1 of k by b: refused after 0s, 10ms since its call, lease 300ms",
			"request 8: lock 1 of k by b: exhausted after 0s, 10ms since its call, lease 0s",
			"request 7: a lost 1 levels of k: true",
			"request 7: unlock 1 of k by a: lost after 0s, 0s since its call, lease 0s",
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("the observer was told\n%q\nwant\n%q", got, want)
		}
	})
}

// A Redis that stands still: a caller that cancels hears of it in a moment, the first
// time and later, and what was asked of Redis leaves no lock behind.
func TestCancelWhileRedisStandsStill(t *testing.T) {
	at := storetest.Start(t)
	o := *storetest.Client(at.Addr).Options()
	o.ReadTimeout = time.Hour // it is the caller who does not wait
	c := redis.NewClient(&o)
	t.Cleanup(func() { _ = c.Close() })
	l := locker(t, c, lock.Options{Lease: 10 * time.Second})
	for range 2 {
		if err := at.Stall(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, err := l.Lock(ctx, key, lock.NewOwner())
		wantIs(t, err, lock.ErrNotAcquired, context.DeadlineExceeded)
		cancel()
		if err := at.Resume(); err != nil {
			t.Fatal(err)
		}
		h, err := l.Lock(t.Context(), key, lock.NewOwner()) // when Redis goes on
		if err != nil {
			t.Fatal(err)
		}
		unlock(t, h)
	}
}

// Redis keeps no token for ever, and as long as it is asked to; but never less long than
// until its clock has got to the token.
func TestTokensExpire(t *testing.T) {
	for _, of := range []struct {
		name string
		o    lock.Options
		last time.Duration // the last token, from Redis' time on; 0: none
		want time.Duration // at most a minute less
	}{
		{"by default", lock.Options{}, 0, lock.DefaultTokenTTL},
		{"as asked for", lock.Options{TokenTTL: 3 * time.Hour}, 0, 3 * time.Hour},
		{"as long as the lease", lock.Options{TokenTTL: time.Millisecond, Lease: 10 * time.Minute}, 0, 10 * time.Minute},
		{"after an earlier one", lock.Options{}, -time.Hour, lock.DefaultTokenTTL},
		{"by a clock that was set back", lock.Options{TokenTTL: 3 * time.Hour}, 20 * time.Hour, 23 * time.Hour},
	} {
		t.Run(of.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, c redis.UniversalClient) {
				of.o.Protocol = lock.Fenced
				l := locker(t, c, of.o)
				tokens := lock.Fenced.Token(key)
				now := c.Time(t.Context()).Val()
				last := now.Add(of.last).UnixMicro()
				if of.last != 0 {
					c.Set(t.Context(), tokens, last, 0)
				}
				h := acquire(t, l, lock.NewOwner())
				if of.last != 0 && h.Token() <= last {
					t.Errorf("token %d comes after %d", h.Token(), last)
				}
				if left := c.PTTL(t.Context(), tokens).Val(); left > of.want+time.Second || left < of.want-time.Minute {
					t.Errorf("the token is kept for %v, want %v", left, of.want)
				}
				unlock(t, h)
				c.PExpire(t.Context(), tokens, 0) // its time is over: Redis' clock goes on
				next := acquire(t, l, lock.NewOwner())
				if of.last <= 0 && next.Token() <= h.Token() {
					t.Errorf("token %d comes after %d", next.Token(), h.Token())
				}
				unlock(t, next)
				if left := c.PTTL(t.Context(), tokens).Val(); left <= 0 {
					t.Errorf("the token stays: %v", left)
				}
				c.Del(t.Context(), tokens)
			})
		})
	}
}
