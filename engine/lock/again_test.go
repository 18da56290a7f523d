package lock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/store"
)

// onCounted runs a test for every protocol that counts levels, through a network
// and by a clock of its own, whose timers never go off.
func onCounted(t *testing.T, test func(t *testing.T, n *network, now *deafClock, o lock.Options)) {
	t.Helper()
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		for _, p := range counted() {
			t.Run(p.Name, func(t *testing.T) {
				if err := c.FlushAll(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				loadAll(t, c, p)
				now := &deafClock{now: time.Now()}
				test(t, &network{UniversalClient: c}, now, lock.Options{
					Protocol: p, Lease: time.Minute, Renew: lock.NoWatchdog, Interval: time.Millisecond, Clock: now, Messenger: lock.PubSub(c),
				})
			})
		}
	})
}

// made is a Locker that is closed with the test.
func made(t *testing.T, n *network, o lock.Options) *lock.Locker {
	t.Helper()
	l := locker(t, n, o)
	t.Cleanup(l.Close)
	return l
}

// A first acquisition was granted, its reply was lost, and part of the lease is
// over when it is sent again. The client counts from then, and so must Redis:
// with the token of the first grant, as nobody has had the lock since.
func TestAcquisitionSentAgainBeginsItsLease(t *testing.T) {
	onCounted(t, func(t *testing.T, n *network, now *deafClock, o lock.Options) {
		tokenKey := ""
		if o.Protocol.Token != nil {
			tokenKey = o.Protocol.Token(key)
		}
		n.loseReply = func(call int64) bool { return call == 1 }
		var token string
		o.Observer.Waiting = func(context.Context, lock.Wait) {
			now.pass(50 * time.Second)
			n.PExpire(t.Context(), key, 10*time.Second)
			if tokenKey != "" {
				token = n.Get(t.Context(), tokenKey).Val()
			}
		}
		h, err := made(t, n, o).Lock(t.Context(), key, lock.NewOwner())
		if err != nil {
			t.Fatal(err)
		}
		if left := n.PTTL(t.Context(), key).Val(); left < h.Until().Sub(now.Now()) {
			t.Errorf("the lease lasts %v longer, and is relied on for %v", left, h.Until().Sub(now.Now()))
		}
		if tokenKey != "" && (token == "" || fmt.Sprint(h.Token()) != token) {
			t.Errorf("token %d, want that of the first grant, %s", h.Token(), token)
		}
		unlock(t, h)
	})
}

// The request was on its way for longer than the lease: what Redis granted then
// is given back, because the client counts from when it was sent.
func TestGrantThatComesTooLateIsGivenBack(t *testing.T) {
	onCounted(t, func(t *testing.T, n *network, now *deafClock, o lock.Options) {
		n.loseRequest = func(call int64) bool {
			if call == 1 {
				now.pass(o.Lease)
			}
			return false
		}
		owner := lock.NewOwner()
		_, err := made(t, n, o).TryLock(context.Background(), key, owner)
		wantIs(t, err, lock.ErrNotAcquired, lock.ErrLost)
		wantCount(t, n, owner, 0)
	})
}

// A re-entry is answered when the own lease is over. Redis may know better, but
// the outer levels were told that they are lost.
func TestReentryThatComesTooLateIsGivenBack(t *testing.T) {
	onCounted(t, func(t *testing.T, n *network, now *deafClock, o lock.Options) {
		l := made(t, n, o)
		h := acquire(t, l, lock.NewOwner())
		n.hold = func() {
			n.hold = nil
			now.pass(o.Lease)
		}
		inner, err := l.TryLock(context.Background(), key, h.Owner())
		if inner != nil {
			t.Error("it was handed out")
		}
		wantIs(t, err, lock.ErrNotAcquired, lock.ErrLost)
		wantCount(t, n, h.Owner(), 1)
		wantIs(t, context.Cause(h.Context()), lock.ErrLost)
	})
}

// An inner call gave up before it could hear that all is lost. The next one hears it: none
// begins again at level 1 while the caller around it relies on its hold.
func TestALossThatNobodyHeardIsToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := store.NewEmbedded(time.Time{})
		defer func() { _ = e.Close() }()
		n := &network{UniversalClient: e.Client()}
		load(t, n)
		l := locker(t, n, lock.Options{Lease: time.Minute, Renew: lock.NoWatchdog})
		h := acquire(t, l, lock.NewOwner())
		n.Del(t.Context(), key)
		n.hold = sync.OnceFunc(func() { time.Sleep(200 * time.Millisecond) })
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := l.TryLock(ctx, key, h.Owner())
		wantIs(t, err, context.DeadlineExceeded)
		if errors.Is(err, lock.ErrLost) {
			t.Fatal("it was heard: ", err)
		}
		time.Sleep(time.Second) // for the reply
		_, err = l.TryLock(t.Context(), key, h.Owner())
		wantIs(t, err, lock.ErrLost)
	})
}

// Redis has forgotten levels, as a replica does that was promoted too early.
// A caller that relies on them hears of it from the next call that names a level beyond.
func TestForgottenLevelsAreALoss(t *testing.T) {
	for name, call := range map[string]func(l *lock.Locker, inner *lock.Hold) error{
		"Lock": func(l *lock.Locker, inner *lock.Hold) error {
			_, err := l.TryLock(context.Background(), key, inner.Owner())
			return err
		},
		"Unlock": func(_ *lock.Locker, inner *lock.Hold) error { return inner.Unlock(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			onCounted(t, func(t *testing.T, n *network, _ *deafClock, o lock.Options) {
				l := made(t, n, o)
				h := acquire(t, l, lock.NewOwner())
				acquire(t, l, h.Owner())
				inner := acquire(t, l, h.Owner())
				n.HSet(t.Context(), key, string(h.Owner()), 1)
				wantIs(t, call(l, inner), lock.ErrLost)
				wantIs(t, context.Cause(h.Context()), lock.ErrLost)
			})
		})
	}
}

// Of n nodes, more than half must grant: with an even number, half is none.
func TestRedlockMajorities(t *testing.T) {
	for n := 1; n <= 5; n++ {
		for granting := range n + 1 {
			t.Run(fmt.Sprintf("%d of %d", granting, n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					list := nodes(t, 0, 0)[:n]
					foreign(t, list[granting:])
					_, err := quorum(t, list, lock.Options{Renew: lock.NoWatchdog}).TryLock(t.Context(), key, lock.NewOwner())
					if is := err == nil; is != (2*granting > n) || !is && !errors.Is(err, lock.ErrHeld) {
						t.Errorf("granted by %d of %d: %v", granting, n, err)
					}
				})
			})
		}
	}
}
