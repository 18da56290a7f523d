package locktest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/store"
	"relock/engine/store/storetest"
)

// The checks of other locks' tests, as far as this package promises the same. The cases
// were read and rewritten: go-redsync/redsync 5560bd2, bsm/redislock 76760bd,
// redis/rueidis/rueidislock 06788f3, and of redisson/redisson RedissonLockTest 0813b9c
// and RedissonFairLockTest 08bbdc4.
//
// Without a row, because the promise is another one:
//
//	redsync     SetNXOnExtendAcquiresLockWhenKeyIsExpired: what was lost is not taken again behind its owner's back
//	redsync     MutexLockUnlockSplit: only the Hold that was given can be unlocked, not by anybody who knows its value
//	redsync     error and script tests: of its own types
//	redislock   Obtain_metadata: a lock holds its owner and nothing else
//	redislock   Lock_Refresh, Refresh_retry_success: a lease is renewed by the watchdog, never set to another length
//	redislock   Lock_ObtainMulti: one call is about one key
//	redislock   retry strategies: Options has an interval with jitter
//	rueidislock NewLocker_WithClientBuilder: the caller makes the client
//	rueidislock ExtendByClientSideCaching: a lease that somebody else cuts short is not watched for, only renewed in its time
//	rueidislock ForceWithContext…: the lock is not stolen in one step; see ForceUnlock below
//	rueidislock RetryErrLockerClosed: drives its insides
//	Redisson    testLockUninterruptibly: goroutines have no interrupts
//	Redisson    testInCluster: there is no cluster here
//	Redisson    testUnlockFail: an owner has no way to unlock another's Hold
//	Redisson    fair lock: …TimeoutDrift, and what drives its scripts alone: its queue keeps deadlines that add up
//
// In a bubble no more than some thirty goroutines use a client at once: one that
// waits for a connection takes a timer from go-redis' pool, which all tests share.
//
// Two differ on purpose: rueidislock's Close ends what is held, here it stays
// until Unlock; and its cancel releases, here Unlock does.
var peerCases = []struct {
	peer, name string
	on         []lock.Protocol
	timed      bool // it needs time to pass: on miniredis alone, with a clock that nobody waits for
	test       func(t *testing.T, p place)
}{
	{"redsync", "Redsync", allLocks, false, func(t *testing.T, p place) {
		owner := lock.NewOwner()
		h := p.take(t, p.locker(t, lock.Options{}), owner)
		p.isOf(t, owner, 1)
		leave(t, h)
	}},
	{"redsync", "Mutex", allLocks, false, func(t *testing.T, p place) {
		var tasks sync.WaitGroup
		for range 8 {
			l := p.locker(t, lock.Options{Interval: time.Millisecond, JitterMax: 5 * time.Millisecond})
			tasks.Go(func() {
				owner := lock.NewOwner()
				h, err := l.Lock(t.Context(), p.key, owner)
				if err != nil {
					t.Error(err)
					return
				}
				p.isOf(t, owner, 1)
				leave(t, h)
			})
		}
		tasks.Wait()
		p.isFree(t)
	}},
	{"redsync", "TryLock", allLocks, true, func(t *testing.T, p place) {
		var tasks sync.WaitGroup
		for range 8 {
			l := p.locker(t, lock.Options{Lease: time.Second})
			tasks.Go(func() {
				owner := lock.NewOwner()
				h, err := l.TryLock(t.Context(), p.key, owner)
				for ; err != nil; h, err = l.TryLock(t.Context(), p.key, owner) {
					is(t, err, lock.ErrHeld)
					time.Sleep(100 * time.Millisecond)
				}
				time.Sleep(1500 * time.Millisecond) // and it is extended
				p.isOf(t, owner, 1)
				leave(t, h)
			})
		}
		tasks.Wait()
	}},
	{"redsync", "MutexAlreadyLocked", allLocks, false, func(t *testing.T, p place) {
		h := p.take(t, p.locker(t, lock.Options{}), lock.NewOwner())
		_, err := p.locker(t, lock.Options{}).TryLock(t.Context(), p.key, lock.NewOwner())
		is(t, err, lock.ErrNotAcquired, lock.ErrHeld)
		leave(t, h)
	}},
	{"redsync", "MutexExtend", allLocks, true, func(t *testing.T, p place) {
		h := p.take(t, p.locker(t, lock.Options{Lease: 8 * time.Second}), lock.NewOwner())
		time.Sleep(7 * time.Second)
		for _, c := range p.nodes {
			if got := c.PTTL(t.Context(), p.key).Val(); got < 4*time.Second {
				t.Errorf("%v left of a lease that should have been renewed", got)
			}
		}
		leave(t, h)
	}},
	{"redsync", "MutexExtendExpired", allLocks, true, func(t *testing.T, p place) {
		h := p.take(t, p.locker(t, lock.Options{Lease: time.Second}), lock.NewOwner())
		p.erase(t)
		<-h.Context().Done()
		is(t, context.Cause(h.Context()), lock.ErrLost)
		p.isFree(t)
		is(t, h.Unlock(t.Context()), lock.ErrLost)
	}},
	{"redsync", "SetNXOnExtendFailsToAcquireLockWhenKeyIsTaken", allLocks, true, func(t *testing.T, p place) {
		first := p.take(t, p.locker(t, lock.Options{Lease: time.Second}), lock.NewOwner())
		p.erase(t)
		owner := lock.NewOwner()
		second := p.take(t, p.locker(t, lock.Options{Lease: time.Second}), owner)
		<-first.Context().Done()
		is(t, first.Unlock(t.Context()), lock.ErrLost)
		p.isOf(t, owner, 1)
		leave(t, second)
	}},
	{"redsync", "MutexUnlockExpired", allLocks, true, func(t *testing.T, p place) {
		h := p.take(t, p.locker(t, lock.Options{Lease: 500 * time.Millisecond, Renew: lock.NoWatchdog}), lock.NewOwner())
		time.Sleep(time.Second)
		is(t, h.Unlock(t.Context()), lock.ErrLost)
	}},
	{"redsync", "MutexQuorum", []lock.Protocol{lock.Redlock}, false, func(t *testing.T, p place) {
		for mask := range 1 << len(p.nodes) {
			free := 0
			for i, c := range p.nodes {
				if mask>>i&1 == 0 {
					free++
				} else if err := c.Set(t.Context(), p.key, "another's", 0).Err(); err != nil {
					t.Fatal(err)
				}
			}
			h, err := p.locker(t, lock.Options{}).TryLock(t.Context(), p.key, lock.NewOwner())
			if (err == nil) != (free > len(p.nodes)/2) {
				t.Errorf("%d of %d nodes are free: %v", free, len(p.nodes), err)
			}
			if err != nil {
				is(t, err, lock.ErrHeld)
			} else {
				leave(t, h)
			}
			p.erase(t)
		}
	}},
	{"redsync", "Valid", allLocks, false, func(t *testing.T, p place) {
		h := p.take(t, p.locker(t, lock.Options{Lease: time.Hour}), lock.NewOwner())
		if err := h.Context().Err(); err != nil || time.Until(h.Until()) < 50*time.Minute {
			t.Errorf("%v, until %v", err, h.Until())
		}
		_, err := p.locker(t, lock.Options{Retries: 2, Interval: time.Millisecond}).Lock(t.Context(), p.key, lock.NewOwner())
		is(t, err, lock.ErrNotAcquired, lock.ErrHeld)
		leave(t, h)
	}},

	{"redislock", "Client", allLocks, false, func(t *testing.T, p place) {
		l, owner := p.locker(t, lock.Options{Lease: time.Hour}), lock.NewOwner()
		h := p.take(t, l, owner)
		if s := p.isOf(t, owner, 1); s.Lease < 59*time.Minute || s.Lease > time.Hour {
			t.Errorf("the lease is %v", s.Lease)
		}
		_, err := l.TryLock(t.Context(), p.key, lock.NewOwner())
		is(t, err, lock.ErrHeld)
		leave(t, h)
		leave(t, p.take(t, l, lock.NewOwner()))
	}},
	{"redislock", "Obtain_custom_token", reentrantLocks, false, func(t *testing.T, p place) {
		l := p.locker(t, lock.Options{})
		outer := p.take(t, l, "foo")
		if outer.Owner() != "foo" {
			t.Errorf("the owner is %q", outer.Owner())
		}
		_, err := l.TryLock(t.Context(), p.key, lock.NewOwner())
		is(t, err, lock.ErrHeld)
		inner := p.take(t, l, "foo")
		leave(t, inner)
		p.isOf(t, "foo", 1) // else than there: the inner one frees nothing
		leave(t, outer)
	}},
	{"redislock", "Obtain_retry_success", allLocks, true, func(t *testing.T, p place) {
		p.take(t, p.locker(t, lock.Options{Lease: 20 * time.Millisecond, Renew: lock.NoWatchdog}), lock.NewOwner())
		h, err := p.locker(t, lock.Options{Retries: 3, Interval: 20 * time.Millisecond}).Lock(t.Context(), p.key, lock.NewOwner())
		if err != nil {
			t.Fatal(err)
		}
		leave(t, h)
	}},
	{"redislock", "Obtain_retry_failure", allLocks, true, func(t *testing.T, p place) {
		p.take(t, p.locker(t, lock.Options{Lease: 50 * time.Millisecond, Renew: lock.NoWatchdog}), lock.NewOwner())
		_, err := p.locker(t, lock.Options{Retries: 2, Interval: 5 * time.Millisecond}).Lock(t.Context(), p.key, lock.NewOwner())
		is(t, err, lock.ErrNotAcquired, lock.ErrHeld)
	}},
	{"redislock", "Obtain_retry_context_deadline", allLocks, true, func(t *testing.T, p place) {
		h := p.take(t, p.locker(t, lock.Options{Lease: time.Hour}), lock.NewOwner())
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := p.locker(t, lock.Options{Interval: 5 * time.Millisecond}).Lock(ctx, p.key, lock.NewOwner())
		is(t, err, lock.ErrNotAcquired, context.DeadlineExceeded)
		leave(t, h)
	}},
	{"redislock", "Obtain_concurrent", reentrantLocks, false, func(t *testing.T, p place) { // Redlock's votes may be split, and then nobody has it
		l := p.locker(t, lock.Options{})
		var tasks sync.WaitGroup
		var acquired atomic.Int64
		for range 100 {
			tasks.Go(func() {
				switch _, err := l.TryLock(t.Context(), p.key, lock.NewOwner()); {
				case err == nil:
					acquired.Add(1)
				case !errors.Is(err, lock.ErrHeld):
					t.Error(err)
				}
			})
		}
		tasks.Wait()
		if n := acquired.Load(); n != 1 {
			t.Errorf("%d have it", n)
		}
	}},
	{"redislock", "Lock_Refresh_retry_failure", allLocks, true, func(t *testing.T, p place) { // what is lost is not asked for again
		h := p.take(t, p.locker(t, lock.Options{Lease: 9 * time.Second, Renew: time.Second}), lock.NewOwner())
		p.erase(t)
		began := time.Now()
		<-h.Context().Done()
		is(t, context.Cause(h.Context()), lock.ErrLost)
		if took := time.Since(began); took > time.Second {
			t.Errorf("heard after %v, and a renewal is due each second", took)
		}
	}},
	{"redislock", "Lock_Refresh_retry_transient_error", allLocks, true, func(t *testing.T, p place) {
		l, cut := p.flaky(t, lock.Options{Lease: 3 * time.Second})
		h := p.take(t, l, lock.NewOwner())
		cut.fails.Store(int64(2 * len(p.nodes))) // the first renewal, and the one after it
		time.Sleep(10 * time.Second)
		if err := h.Context().Err(); err != nil || cut.fails.Load() > 0 {
			t.Errorf("%v, and %d failures are left", context.Cause(h.Context()), cut.fails.Load())
		}
		leave(t, h)
	}},
	{"redislock", "Lock_Refresh_retry_transient_error_exhausted", allLocks, true, func(t *testing.T, p place) {
		l, cut := p.flaky(t, lock.Options{Lease: 3 * time.Second})
		h := p.take(t, l, lock.NewOwner())
		cut.fails.Store(1 << 40)
		began := time.Now()
		<-h.Context().Done()
		is(t, context.Cause(h.Context()), lock.ErrLost)
		if took := time.Since(began); took >= 3*time.Second {
			t.Errorf("heard after %v, and the lease is 3s", took)
		}
		cut.fails.Store(0)
	}},
	{"redislock", "Lock_Refresh_expired", allLocks, true, func(t *testing.T, p place) {
		h := p.take(t, p.locker(t, lock.Options{Lease: 5 * time.Millisecond, Renew: lock.NoWatchdog}), lock.NewOwner())
		time.Sleep(10 * time.Millisecond)
		is(t, h.Context().Err(), context.Canceled)
		is(t, context.Cause(h.Context()), lock.ErrLost)
	}},
	{"redislock", "Lock_Release_expired", allLocks, false, func(t *testing.T, p place) {
		h := p.take(t, p.locker(t, lock.Options{Renew: lock.NoWatchdog}), lock.NewOwner())
		p.erase(t)
		is(t, h.Unlock(t.Context()), lock.ErrLost, lock.ErrNotHeld)
	}},
	{"redislock", "Lock_Release_not_own", allLocks, false, func(t *testing.T, p place) {
		h := p.take(t, p.locker(t, lock.Options{}), lock.NewOwner())
		for _, c := range p.nodes {
			if err := c.Set(t.Context(), p.key, "ABCD", 0).Err(); err != nil {
				t.Fatal(err)
			}
		}
		is(t, h.Unlock(t.Context()), lock.ErrLost)
		for _, c := range p.nodes {
			if got := c.Get(t.Context(), p.key).Val(); got != "ABCD" {
				t.Errorf("the other's value is %q now", got)
			}
		}
	}},
	{"redislock", "Lock_Release_not_held", allLocks, false, func(t *testing.T, p place) {
		l := p.locker(t, lock.Options{})
		h := p.take(t, l, lock.NewOwner())
		none, err := l.TryLock(t.Context(), p.key, lock.NewOwner())
		is(t, err, lock.ErrHeld)
		if none != nil {
			t.Error("a hold comes with the error")
		}
		is(t, none.Unlock(t.Context()), lock.ErrNotHeld)
		leave(t, h)
	}},

	{"rueidislock", "NewLocker", allLocks, false, func(t *testing.T, p place) {
		if _, err := lock.New(p.nodes[0], lock.Options{Protocol: p.protocol, Lease: -1}); !errors.Is(err, lock.ErrOptions) {
			t.Errorf("bad options: %v", err)
		}
		owner := lock.NewOwner()
		h := p.take(t, p.bare(t, lock.Options{}), owner)
		if s := p.isOf(t, owner, 1); s.Lease > lock.DefaultLease || s.Lease < lock.DefaultLease-5*time.Second {
			t.Errorf("the default lease is %v", s.Lease)
		}
		leave(t, h)
	}},
	{"rueidislock", "WithContext_MultipleLocker", allLocks, false, func(t *testing.T, p place) {
		lockers, rounds := 10, fewer(10)
		var tasks sync.WaitGroup
		var total counter // what the lock protects
		for range lockers {
			l := p.locker(t, lock.Options{Interval: time.Millisecond, JitterMax: 3 * time.Millisecond})
			tasks.Go(func() {
				for range rounds {
					h, err := l.Lock(t.Context(), p.key, lock.NewOwner())
					if err != nil {
						t.Error(err)
						return
					}
					total.add()
					leave(t, h)
				}
			})
		}
		tasks.Wait()
		if total := total.Load(); total != int64(lockers*rounds) {
			t.Errorf("%d, want %d", total, lockers*rounds)
		}
	}},
	{"rueidislock", "WithContext_UnlockByClientSideCaching", allLocks, true, func(t *testing.T, p place) { // its deletion is heard of
		h := p.take(t, p.locker(t, lock.Options{Lease: 3 * time.Second}), lock.NewOwner())
		p.erase(t)
		began := time.Now()
		<-h.Context().Done()
		is(t, h.Context().Err(), context.Canceled)
		if took := time.Since(began); took > time.Second { // there at once; here at the next renewal
			t.Errorf("heard after %v", took)
		}
	}},
	{"rueidislock", "WithContext_UnlockByOtherForceWithContext", allLocks, true, func(t *testing.T, p place) { // as near as ForceUnlock comes
		h := p.take(t, p.locker(t, lock.Options{Lease: 3 * time.Second}), lock.NewOwner())
		other := p.locker(t, lock.Options{Lease: 3 * time.Second})
		if err := other.ForceUnlock(t.Context(), p.key); err != nil {
			t.Fatal(err)
		}
		owner := lock.NewOwner()
		second := p.take(t, other, owner)
		<-h.Context().Done()
		is(t, context.Cause(h.Context()), lock.ErrLost)
		is(t, h.Unlock(t.Context()), lock.ErrLost)
		p.isOf(t, owner, 1)
		leave(t, second)
	}},
	{"rueidislock", "WithContext_AutoExtendConcurrent", allLocks, true, func(t *testing.T, p place) {
		first := p.take(t, p.locker(t, lock.Options{Lease: time.Second}), lock.NewOwner())
		var left sync.WaitGroup
		left.Go(func() {
			time.Sleep(4 * time.Second)
			if err := first.Context().Err(); err != nil {
				t.Error(context.Cause(first.Context()))
			}
			leave(t, first)
		})
		second, err := p.locker(t, lock.Options{Lease: time.Second}).Lock(t.Context(), p.key, lock.NewOwner())
		if err != nil {
			t.Fatal(err)
		}
		left.Wait()
		is(t, context.Cause(first.Context()), lock.ErrReleased)
		if err := second.Context().Err(); err != nil {
			t.Error(context.Cause(second.Context()))
		}
		leave(t, second)
	}},
	{"rueidislock", "WithContext_AutoExtend", allLocks, true, func(t *testing.T, p place) {
		h := p.take(t, p.locker(t, lock.Options{Lease: 2 * time.Second}), lock.NewOwner())
		time.Sleep(20 * time.Second)
		if err := h.Context().Err(); err != nil {
			t.Error(context.Cause(h.Context()))
		}
		leave(t, h)
	}},
	{"rueidislock", "WithContext_DeadContext", allLocks, false, func(t *testing.T, p place) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := p.locker(t, lock.Options{}).Lock(ctx, p.key, lock.NewOwner())
		is(t, err, lock.ErrNotAcquired, context.Canceled)
		p.isFree(t)
	}},
	{"rueidislock", "WithContext_CancelContext", allLocks, true, func(t *testing.T, p place) {
		l := p.locker(t, lock.Options{Lease: time.Second})
		h := p.take(t, l, lock.NewOwner())
		ctx, cancel := context.WithCancel(t.Context())
		var tasks sync.WaitGroup
		for range fewer(30) {
			tasks.Go(func() {
				_, err := l.Lock(ctx, p.key, lock.NewOwner())
				is(t, err, lock.ErrNotAcquired, context.Canceled)
			})
		}
		time.Sleep(3 * time.Second)
		cancel()
		tasks.Wait()
		leave(t, h)
	}},
	{"rueidislock", "WithContext_ShorterTimeoutContext", allLocks, true, func(t *testing.T, p place) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		h, err := p.locker(t, lock.Options{Lease: 5 * time.Second}).Lock(ctx, p.key, lock.NewOwner())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		is(t, h.Context().Err(), context.DeadlineExceeded)
		leave(t, h) // there it is released by then
	}},
	{"rueidislock", "TryWithContext", allLocks, false, func(t *testing.T, p place) {
		l := p.locker(t, lock.Options{})
		h := p.take(t, l, lock.NewOwner())
		_, err := l.TryLock(h.Context(), p.key, lock.NewOwner())
		is(t, err, lock.ErrHeld)
		leave(t, h)
	}},
	{"rueidislock", "TryWithContext_MultipleLocker", allLocks, true, func(t *testing.T, p place) {
		lockers, rounds := 10, fewer(20)
		var tasks sync.WaitGroup
		var total counter
		for i := range lockers {
			l := p.locker(t, lock.Options{})
			tasks.Go(func() {
				for n := 0; n < rounds; {
					h, err := l.TryLock(t.Context(), p.key, lock.NewOwner())
					if err != nil {
						is(t, err, lock.ErrHeld)
						time.Sleep(time.Duration(i+1) * time.Millisecond)
						continue
					}
					total.add()
					n++
					leave(t, h)
				}
			})
		}
		tasks.Wait()
		if total := total.Load(); total != int64(lockers*rounds) {
			t.Errorf("%d, want %d", total, lockers*rounds)
		}
	}},
	{"rueidislock", "WithContext_MissingPeers", allLocks, false, func(t *testing.T, p place) { // a release and 100 that give up at once
		l := p.locker(t, lock.Options{})
		for range fewer(5) {
			h, err := l.Lock(t.Context(), p.key, lock.NewOwner()) // what the last round gives back is on its way
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var tasks sync.WaitGroup
			for range 100 {
				tasks.Go(func() {
					if got, err := l.Lock(ctx, p.key, lock.NewOwner()); err == nil {
						leave(t, got)
					} else {
						is(t, err, lock.ErrNotAcquired, context.Canceled)
					}
				})
			}
			cancel()
			leave(t, h)
			tasks.Wait()
		}
		h, err := l.Lock(t.Context(), p.key, lock.NewOwner())
		if err != nil {
			t.Fatal(err)
		}
		leave(t, h)
	}},
	{"rueidislock", "WithContext_Cleanup", toldLocks, true, func(t *testing.T, p place) { // who gave up is in no line any more
		l := p.locker(t, lock.Options{})
		h := p.take(t, l, lock.NewOwner())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := l.Lock(ctx, p.key, lock.NewOwner())
		is(t, err, context.DeadlineExceeded)
		synctest.Wait()
		if s, err := l.Inspect(t.Context(), p.key); err != nil || s.Waiting != 0 {
			t.Errorf("%d wait, %v", s.Waiting, err)
		}
		leave(t, h)
	}},
	{"rueidislock", "Close", allLocks, false, func(t *testing.T, p place) {
		asked := make(chan struct{}, 1000)
		l := p.locker(t, lock.Options{Observer: lock.Observer{Attempted: func(_ context.Context, a lock.Attempt) {
			if a.Result == lock.Refused {
				asked <- struct{}{}
			}
		}}})
		h := p.take(t, l, lock.NewOwner())
		var tasks sync.WaitGroup
		for range 10 {
			tasks.Go(func() {
				_, err := l.Lock(t.Context(), p.key, lock.NewOwner())
				is(t, err, lock.ErrNotAcquired, lock.ErrClosed)
			})
		}
		for range 10 {
			<-asked
		}
		l.Close()
		tasks.Wait()
		_, err := l.Lock(t.Context(), p.key, lock.NewOwner())
		is(t, err, lock.ErrClosed)
		leave(t, h)
	}},
	{"rueidislock", "Flush", allLocks, true, func(t *testing.T, p place) {
		l := p.locker(t, lock.Options{Lease: 3 * time.Second})
		h := p.take(t, l, lock.NewOwner())
		for _, c := range p.nodes {
			if err := c.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		<-h.Context().Done()
		is(t, context.Cause(h.Context()), lock.ErrLost)
		is(t, h.Unlock(t.Context()), lock.ErrLost)
		leave(t, p.take(t, l, lock.NewOwner()))
	}},

	{"Redisson", "testSubscriptionsPerConnection", toldLocks, false, func(t *testing.T, p place) {
		var tasks sync.WaitGroup
		var lockers []*lock.Locker
		for range 4 {
			l := p.locker(t, lock.Options{})
			lockers = append(lockers, l)
			for range 8 {
				tasks.Go(func() {
					for i := range 5 {
						h, err := l.Lock(t.Context(), fmt.Sprint(p.key, i), lock.NewOwner())
						if err != nil {
							t.Error(err)
							return
						}
						leave(t, h)
					}
				})
			}
		}
		tasks.Wait()
		for _, l := range lockers {
			l.Close()
		}
		waitFor(t, "somebody still listens", func() bool { return len(p.nodes[0].PubSubChannels(t.Context(), "*").Val()) == 0 })
	}},
	{"Redisson", "testTryLockWait", allLocks, true, func(t *testing.T, p place) {
		p.take(t, p.locker(t, lock.Options{Lease: 30 * time.Second, Renew: lock.NoWatchdog}), lock.NewOwner())
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		_, err := p.locker(t, lock.Options{}).Lock(ctx, p.key, lock.NewOwner())
		is(t, err, context.DeadlineExceeded)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it waited for %v", took)
		}
	}},
	{"Redisson", "testForceUnlock", allLocks, false, func(t *testing.T, p place) {
		l := p.locker(t, lock.Options{})
		p.take(t, l, lock.NewOwner())
		if err := l.ForceUnlock(t.Context(), p.key); err != nil {
			t.Fatal(err)
		}
		p.isFree(t)
	}},
	{"Redisson", "testExpire", allLocks, true, func(t *testing.T, p place) {
		h := p.take(t, p.locker(t, lock.Options{Lease: 2 * time.Second, Renew: lock.NoWatchdog}), lock.NewOwner())
		began := time.Now()
		second, err := p.locker(t, lock.Options{Interval: 10 * time.Millisecond, JitterMax: 5 * time.Millisecond}).Lock(t.Context(), p.key, lock.NewOwner())
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 2*time.Second || took > 2020*time.Millisecond {
			t.Errorf("it waited for %v", took)
		}
		leave(t, second)
		is(t, h.Unlock(t.Context()), lock.ErrLost)
	}},
	{"Redisson", "testRemainTimeToLive", allLocks, true, func(t *testing.T, p place) {
		l := p.locker(t, lock.Options{Lease: time.Minute})
		owner := lock.NewOwner()
		h, err := l.TryLock(t.Context(), p.key, owner, lock.WithLease(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if s := p.isOf(t, owner, 1); s.Lease != time.Hour {
			t.Errorf("%v left of an hour", s.Lease)
		}
		leave(t, h)
		p.isFree(t)
		h = p.take(t, l, owner)
		if s := p.isOf(t, owner, 1); s.Lease != time.Minute {
			t.Errorf("%v left of a minute", s.Lease)
		}
		leave(t, h)
	}},
	{"Redisson", "testAutoExpire", allLocks, true, func(t *testing.T, p place) { // the holder's process is gone
		l, cut := p.flaky(t, lock.Options{Lease: 10 * time.Second})
		p.take(t, l, lock.NewOwner())
		time.Sleep(15 * time.Second)
		cut.fails.Store(1 << 40)
		time.Sleep(10 * time.Second)
		p.isFree(t)
	}},
	{"Redisson", "testGetHoldCount", reentrantLocks, false, func(t *testing.T, p place) {
		l, owner := p.locker(t, lock.Options{}), lock.NewOwner()
		p.isFree(t)
		for _, depth := range []int{1, 2, 3} {
			var holds []*lock.Hold
			for level := 1; level <= depth; level++ {
				holds = append(holds, p.take(t, l, owner))
				p.isOf(t, owner, level)
			}
			for _, h := range slices.Backward(holds) {
				p.isOf(t, owner, h.Level())
				leave(t, h)
			}
			p.isFree(t)
		}
	}},
	{"Redisson", "testIsLocked, testIsHeldByCurrentThread, …OtherThread", allLocks, false, func(t *testing.T, p place) {
		p.isFree(t)
		owner := lock.NewOwner()
		h := p.take(t, p.locker(t, lock.Options{}), owner)
		p.isOf(t, owner, 1) // asked through another Locker
		leave(t, h)
		p.isFree(t)
	}},
	{"Redisson", "testLockUnlock", allLocks, false, func(t *testing.T, p place) {
		l, owner := p.locker(t, lock.Options{}), lock.NewOwner()
		for range 2 {
			leave(t, p.take(t, l, owner))
			p.isFree(t)
		}
	}},
	{"Redisson", "testReentrancy", reentrantLocks, true, func(t *testing.T, p place) {
		l, owner := p.locker(t, lock.Options{Lease: time.Second}), lock.NewOwner()
		outer := p.take(t, l, owner)
		leave(t, p.take(t, l, owner))
		time.Sleep(5 * time.Second) // and it is renewed still
		_, err := l.TryLock(t.Context(), p.key, lock.NewOwner())
		is(t, err, lock.ErrHeld)
		leave(t, outer)
	}},
	{"Redisson", "testConcurrency_SingleInstance", allLocks, false, func(t *testing.T, p place) { concurrency(t, p, 1, 15, 1) }},
	{"Redisson", "testConcurrency_MultiInstance", allLocks, false, func(t *testing.T, p place) { concurrency(t, p, 20, 20, 1) }},
	{"Redisson", "testConcurrencyLoop_MultiInstance", allLocks, true, func(t *testing.T, p place) { concurrency(t, p, 16, 16, fewer(10)) }},

	{"Redisson", "fair: testLeaseTimeout", []lock.Protocol{lock.ReentrantFair}, true, func(t *testing.T, p place) { // nobody unlocks
		var tasks sync.WaitGroup
		var mu sync.Mutex
		var order []int
		l := p.locker(t, lock.Options{Lease: time.Second, Renew: lock.NoWatchdog})
		for i := range 8 {
			tasks.Go(func() {
				if _, err := l.Lock(t.Context(), p.key, lock.NewOwner()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
			})
			time.Sleep(100 * time.Millisecond)
		}
		tasks.Wait()
		if !slices.IsSorted(order) || len(order) != 8 {
			t.Errorf("served in the order %v", order)
		}
	}},
	{"Redisson", "fair: testMultipleLocks", []lock.Protocol{lock.ReentrantFair}, true, func(t *testing.T, p place) { concurrency(t, p, 1, 30, 3) }},
}

// fewer is a third of n with -short.
func fewer(n int) int {
	if testing.Short() {
		return max(n/3, 2)
	}
	return n
}

// concurrency has goroutines of several Lockers count under the lock.
func concurrency(t *testing.T, p place, lockers, goroutines, rounds int) {
	t.Helper()
	var tasks sync.WaitGroup
	var all []*lock.Locker
	for range lockers {
		all = append(all, p.locker(t, lock.Options{Interval: time.Millisecond, JitterMax: 20 * time.Millisecond}))
	}
	var total counter
	for i := range goroutines {
		tasks.Go(func() {
			for range rounds {
				h, err := all[i%lockers].Lock(t.Context(), p.key, lock.NewOwner())
				if err != nil {
					t.Error(err)
					return
				}
				total.add()
				leave(t, h)
			}
		})
	}
	tasks.Wait()
	if total := total.Load(); total != int64(goroutines*rounds) {
		t.Errorf("%d, want %d", total, goroutines*rounds)
	}
}

// counter loses what is added by two at once. Each of its steps is atomic, so
// that the race detector, which does not see the lock, has nothing to say.
type counter struct{ atomic.Int64 }

func (c *counter) add() {
	n := c.Load()
	runtime.Gosched()
	c.Store(n + 1)
}

var (
	reentrantLocks = []lock.Protocol{lock.Sequenced, lock.Reentrant, lock.ReentrantNotify, lock.ReentrantFair, lock.Fenced}
	allLocks       = append(slices.Clip(reentrantLocks), lock.Redlock)
	toldLocks      = []lock.Protocol{lock.ReentrantNotify, lock.ReentrantFair}
)

// place is where a case is run.
type place struct {
	protocol lock.Protocol
	nodes    []redis.UniversalClient // one, or several for Redlock
	key      string
}

// locker is one more client of the lock, closed with the test.
func (p place) locker(t *testing.T, o lock.Options) *lock.Locker {
	t.Helper()
	if o.Lease == 0 {
		o.Lease = time.Minute
	}
	return p.bare(t, o)
}

// bare is a Locker with these options alone.
func (p place) bare(t *testing.T, o lock.Options) *lock.Locker {
	t.Helper()
	return p.through(t, o, func(c redis.UniversalClient) lock.Redis { return c })
}

func (p place) through(t *testing.T, o lock.Options, client func(redis.UniversalClient) lock.Redis) *lock.Locker {
	t.Helper()
	o.Protocol, o.Messenger = p.protocol, lock.PubSub(p.nodes[0])
	for _, c := range p.nodes[1:] {
		o.Nodes = append(o.Nodes, client(c))
	}
	l, err := lock.New(client(p.nodes[0]), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// cutter fails as many commands as it is told to.
type cutter struct{ fails atomic.Int64 }

// cutClient is a client behind it.
type cutClient struct {
	redis.UniversalClient

	by *cutter
}

var errCut = errors.New("cut")

func (c cutClient) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	for n := c.by.fails.Load(); n > 0; n = c.by.fails.Load() {
		if c.by.fails.CompareAndSwap(n, n-1) {
			cmd := redis.NewCmd(ctx)
			cmd.SetErr(errCut)
			return cmd
		}
	}
	return c.UniversalClient.EvalSha(ctx, sha, keys, args...)
}

// flaky is a Locker whose scripts can be made to fail.
func (p place) flaky(t *testing.T, o lock.Options) (*lock.Locker, *cutter) {
	t.Helper()
	cut := &cutter{}
	return p.through(t, o, func(c redis.UniversalClient) lock.Redis { return cutClient{c, cut} }), cut
}

func (p place) take(t *testing.T, l *lock.Locker, owner lock.Owner) *lock.Hold {
	t.Helper()
	h, err := l.TryLock(t.Context(), p.key, owner)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// erase deletes the lock behind its holder's back, as the end of its lease
// would.
func (p place) erase(t *testing.T) {
	t.Helper()
	for _, c := range p.nodes {
		if err := c.Del(t.Context(), p.key).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// isOf checks who holds the lock, as a Locker that has nothing to do with it
// sees it.
func (p place) isOf(t *testing.T, owner lock.Owner, count int) lock.State {
	t.Helper()
	s, err := p.bare(t, lock.Options{}).Inspect(t.Context(), p.key)
	if err != nil || s.Owner != string(owner) || s.Count != count {
		t.Errorf("%+v, %v: want %d of %q", s, err, count, owner)
	}
	return s
}

func (p place) isFree(t *testing.T) {
	t.Helper()
	p.isOf(t, "", 0)
}

func leave(t *testing.T, h *lock.Hold) {
	t.Helper()
	if err := h.Unlock(context.Background()); err != nil {
		t.Error(err)
	}
}

func is(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("error %q is no %q", err, target)
		}
	}
}

func TestPeers(t *testing.T) {
	real := map[int][]redis.UniversalClient{} // by how many nodes
	for _, n := range []int{1, 4} {
		for range n {
			real[n] = append(real[n], storetest.Redis(t))
		}
	}
	for _, c := range peerCases {
		for _, protocol := range c.on {
			nodes := 1
			if protocol == lock.Redlock {
				nodes = 4 // as in redsync's own tests
			}
			name := fmt.Sprintf("%s/%s/%s", c.peer, c.name, protocol.Name)
			embedded := func(t *testing.T) {
				p := place{protocol: protocol, key: "peers"}
				for range nodes {
					e := store.NewEmbedded(time.Time{})
					t.Cleanup(func() { _ = e.Close() })
					p.nodes = append(p.nodes, e.Client())
				}
				if c.timed {
					t.Cleanup(func() { time.Sleep(2 * time.Minute) }) // for what is still on its way
				}
				c.test(t, p)
			}
			if c.timed {
				t.Run(name, func(t *testing.T) { synctest.Test(t, embedded) })
				continue
			}
			t.Run(name+"/miniredis", embedded)
			t.Run(name+"/redis", func(t *testing.T) { c.test(t, place{protocol, real[nodes], "peers:" + name}) })
		}
	}
}

// Redisson's testSinglePubSub: who has one connection for commands can wait
// for several locks.
func TestPeersOneConnection(t *testing.T) {
	for _, protocol := range toldLocks {
		t.Run(protocol.Name, func(t *testing.T) {
			direct := storetest.Redis(t)
			o := *direct.Options()
			o.PoolSize, o.MaxRetries = 1, -1
			client := redis.NewClient(&o)
			t.Cleanup(func() { _ = client.Close() })
			p := place{protocol: protocol, nodes: []redis.UniversalClient{client}}
			l := p.locker(t, lock.Options{})
			var tasks sync.WaitGroup
			for i := range 8 {
				tasks.Go(func() {
					h, err := l.Lock(t.Context(), fmt.Sprint("Lock", i%2), lock.NewOwner())
					if err != nil {
						t.Error(err)
						return
					}
					leave(t, h)
				})
			}
			tasks.Wait()
		})
	}
}

// Redisson's testRedisFailed: a Redis that is gone is an error, soon, and no
// refusal.
func TestPeersRedisFailed(t *testing.T) {
	for _, protocol := range allLocks {
		t.Run(protocol.Name, func(t *testing.T) {
			p := place{protocol: protocol, key: "peers"}
			var servers []*storetest.Server
			nodes := 1
			if protocol == lock.Redlock {
				nodes = 3
			}
			for range nodes {
				s := storetest.Start(t)
				servers = append(servers, s)
				c := storetest.Client(s.Addr)
				t.Cleanup(func() { _ = c.Close() })
				p.nodes = append(p.nodes, c)
			}
			l := p.locker(t, lock.Options{Lease: 500 * time.Millisecond})
			leave(t, p.take(t, l, lock.NewOwner()))
			for _, s := range servers {
				s.Kill()
			}
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			_, err := l.Lock(ctx, p.key, lock.NewOwner())
			is(t, err, lock.ErrNotAcquired)
			if errors.Is(err, lock.ErrHeld) {
				t.Errorf("%v, and nobody holds it", err)
			}
		})
	}
}
