package lock_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
	"relock/engine/lock"
	"relock/engine/store"
)

// inBubble runs a test on miniredis under a clock that jumps from one event
// to the next, so that its times are exact.
func inBubble(t *testing.T, test func(t *testing.T, c redis.UniversalClient)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := store.NewEmbedded(time.Time{})
		load(t, e.Client())
		test(t, e.Client())
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

// embeddedInBubble is a client of a miniredis that ends with the test.
func embeddedInBubble(t *testing.T) redis.UniversalClient {
	t.Helper()
	e := store.NewEmbedded(time.Time{})
	load(t, e.Client())
	t.Cleanup(func() { _ = e.Close() })
	return e.Client()
}

// The lease of these tests, and how long its holder may rely on it: a
// hundredth of it and two milliseconds less.
const (
	lease    = 300 * time.Millisecond
	reliable = 295 * time.Millisecond
)

func counting(n *atomic.Int64, what lock.Result) lock.Observer {
	return observer(func(a lock.Attempt) {
		if a.Result == what {
			n.Add(1)
		}
	})
}

func TestWatchdogKeepsTheLockAndStopsWithIt(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		var renewals atomic.Int64
		l := locker(t, c, lock.Options{Lease: lease, Observer: counting(&renewals, lock.Renewed)})
		owner := lock.NewOwner()
		for round := 1; round <= 2; round++ { // each acquisition has its own watchdog
			renewals.Store(0)
			outer := acquire(t, l, owner)
			inner := acquire(t, l, owner)
			time.Sleep(950 * time.Millisecond)
			wantCount(t, c, owner, 2)
			if n := renewals.Load(); n != 9 { // at 100, 200, … 900
				t.Errorf("round %d: %d renewals in 950 ms, want 9: one for the owner, not one a level", round, n)
			}
			unlock(t, inner)
			time.Sleep(300 * time.Millisecond)
			if n := renewals.Load(); n != 12 {
				t.Errorf("round %d: %d renewals after the inner unlock, want 12", round, n)
			}
			unlock(t, outer)
			time.Sleep(time.Second)
			if renewals.Load() != 12 {
				t.Errorf("round %d: the watchdog went on after the last unlock", round)
			}
			if err := context.Cause(outer.Context()); !errors.Is(err, lock.ErrReleased) {
				t.Errorf("round %d: the context ended with %v", round, err)
			}
		}
	})
}

// ends waits for the context's end and tells when it came.
func ends(t *testing.T, h *lock.Hold, since time.Time) (time.Duration, error) {
	t.Helper()
	select {
	case <-h.Context().Done():
	case <-time.After(time.Minute):
		t.Fatal("the context does not end")
	}
	return time.Since(since), context.Cause(h.Context())
}

func TestHolderHearsOfATheftAtTheNextRenewal(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		l := locker(t, c, lock.Options{Lease: lease})
		began := time.Now()
		h := acquire(t, l, lock.NewOwner())
		time.Sleep(150 * time.Millisecond)
		thief := lock.NewOwner()
		c.Del(t.Context(), key)
		c.HSet(t.Context(), key, string(thief), 1)
		c.PExpire(t.Context(), key, time.Second)
		at, cause := ends(t, h, began)
		if at != 200*time.Millisecond || !errors.Is(cause, lock.ErrLost) {
			t.Errorf("the context ended at %v with %v, want 200ms and ErrLost", at, cause)
		}
		time.Sleep(500 * time.Millisecond)
		if got := c.PTTL(t.Context(), key).Val(); got != 450*time.Millisecond {
			t.Errorf("the thief's lease is %v, want 450ms: nobody else renews it", got)
		}
		wantIs(t, h.Unlock(t.Context()), lock.ErrLost)
		wantCount(t, c, thief, 1)
	})
}

func TestContextEndsBeforeTheLeaseCan(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		l := locker(t, c, lock.Options{Lease: lease, Renew: lock.NoWatchdog})
		began := time.Now()
		owner := lock.NewOwner()
		h := acquire(t, l, owner)
		at, cause := ends(t, h, began)
		if at != reliable || !errors.Is(cause, lock.ErrLost) {
			t.Errorf("the context ended at %v with %v, want %v and ErrLost", at, cause, reliable)
		}
		wantCount(t, c, owner, 1) // the lease itself still runs
		unlock(t, h)
	})
}

func TestContextEndsInAPartition(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		n := &network{UniversalClient: c}
		n.loseRequest = func(call int64) bool { return call > 3 } // the acquisition and two renewals arrive
		l := locker(t, n, lock.Options{Lease: lease})
		began := time.Now()
		h := acquire(t, l, lock.NewOwner())
		at, cause := ends(t, h, began)
		if want := 200*time.Millisecond + reliable; at != want || !errors.Is(cause, lock.ErrLost) {
			t.Errorf("the context ended at %v with %v, want %v (after the last good renewal) and ErrLost", at, cause, want)
		}
		wantIs(t, h.Unlock(t.Context()), lock.ErrUnknown)
	})
}

func TestTransientErrorsDoNotLoseTheLock(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		n := &network{UniversalClient: c}
		n.loseReply = func(call int64) bool { return call == 3 || call == 4 }
		l := locker(t, n, lock.Options{Lease: lease})
		h := acquire(t, l, lock.NewOwner())
		time.Sleep(2 * time.Second)
		if err := h.Context().Err(); err != nil {
			t.Error(context.Cause(h.Context()))
		}
		unlock(t, h)
	})
}

func TestWatchdogGivesUpAtTheMaximumAge(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		l := locker(t, c, lock.Options{Lease: lease, MaxAge: time.Second})
		began := time.Now()
		owner := lock.NewOwner()
		h := acquire(t, l, owner)
		at, cause := ends(t, h, began)
		// The last renewal is at 900 ms; at 1 s the hold is too old.
		if want := 900*time.Millisecond + reliable; at != want || !errors.Is(cause, lock.ErrMaxAge) || !errors.Is(cause, lock.ErrLost) {
			t.Errorf("the context ended at %v with %v, want %v and ErrMaxAge", at, cause, want)
		}
		time.Sleep(lease)
		wantCount(t, c, owner, 0)
		wantIs(t, h.Unlock(t.Context()), lock.ErrLost)
	})
}

// leaseDeaf is the system's clock, but for the timers by which clients count their leases:
// those are too late.
type leaseDeaf struct{ clock.System }

func (c leaseDeaf) AfterFunc(d time.Duration, doing string, f func()) clock.Timer {
	if doing == lock.OwnLease {
		d += time.Hour
	}
	return c.System.AfterFunc(d, doing, f)
}

// A caller that asks before a timer fires hears the same reason.
func TestTheMaximumAgeIsTheReasonWithoutATimer(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		l := locker(t, c, lock.Options{Lease: lease, MaxAge: time.Second, Clock: leaseDeaf{}})
		h := acquire(t, l, lock.NewOwner())
		time.Sleep(900*time.Millisecond + reliable)
		wantIs(t, context.Cause(h.Context()), lock.ErrMaxAge)
		unlock(t, h)
		time.Sleep(2 * time.Hour) // the timer comes
	})
}

// Redis' clock is set back, and the key would live for an hour: the next renewal gives it
// the lease that was asked for.
func TestRenewalMendsALeaseThatIsTooLong(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		for _, p := range numbered() {
			loadAll(t, c, p)
			renewed := make(chan struct{}, 10_000)
			l := locker(t, c, lock.Options{Protocol: p, Lease: time.Minute, Renew: 5 * time.Millisecond, Observer: observer(func(a lock.Attempt) {
				if a.Result == lock.Renewed {
					renewed <- struct{}{}
				}
			})})
			owner := lock.NewOwner()
			outer := acquire(t, l, owner)
			inner := acquire(t, l, owner)
			for level := 2; level >= 1; level-- {
				c.PExpire(t.Context(), key, time.Hour)
				for range len(renewed) + 2 { // the first may have been on its way
					<-renewed
				}
				if left := c.PTTL(t.Context(), key).Val(); left > time.Minute {
					t.Errorf("%s: at level %d the key lives for %v, want a minute at most", p.Name, level, left)
				}
				unlock(t, []*lock.Hold{outer, inner}[level-1])
			}
			l.Close()
		}
	})
}

// A renewal of an earlier hold arrives when its owner has the lock again, with a longer
// lease. That stays as it is.
func TestLateRenewalShortensNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		for _, p := range numbered() {
			loadAll(t, c, p)
			post := &postman{UniversalClient: c}
			renewed := make(chan struct{}, 10_000)
			const lasting = 1000 * time.Second
			l := locker(t, post, lock.Options{Protocol: p, Lease: lasting, Renew: 5 * time.Second, Messenger: lock.PubSub(c), Observer: observer(func(a lock.Attempt) {
				if a.Result == lock.Renewed {
					renewed <- struct{}{}
				}
			})})
			owner := lock.NewOwner()
			brief, err := l.Lock(t.Context(), key, owner, lock.WithLease(time.Second))
			if err != nil {
				t.Fatal(err)
			}
			<-renewed
			unlock(t, brief)
			h := acquire(t, l, owner)
			post.again(t, 1)
			if left := c.PTTL(t.Context(), key).Val(); left < lasting/2 {
				t.Errorf("%s: a late renewal leaves %v, want %v", p.Name, left, lasting)
			}
			unlock(t, h)
			l.Close()
		}
	})
}

// The plain lock cannot tell a clock that was set back from an owner with two leases.
func TestPlainRenewalNeverShortensALease(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		l := locker(t, c, lock.Options{Protocol: lock.Reentrant, Lease: lease})
		h := acquire(t, l, lock.NewOwner())
		c.PExpire(t.Context(), key, 10*time.Second)
		time.Sleep(time.Second)
		if got := c.PTTL(t.Context(), key).Val(); got != 9*time.Second {
			t.Errorf("after ten renewals the lease is %v, want 9s", got)
		}
		unlock(t, h)
	})
}

// The last unlock must not overtake a renewal: one that Redis ran after it
// would be told "not yours" of a lock that was left in good order.
func TestLastUnlockWaitsForTheRenewalInFlight(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		const slow = 80 * time.Millisecond
		var lines []string
		n := &network{UniversalClient: c}
		n.loseRequest = func(call int64) bool {
			if call == 3 {
				lines = append(lines, "unlock sent")
			}
			return false
		}
		n.hold = func() {
			if n.calls.Load() == 2 { // the first renewal: its reply is slow
				time.Sleep(slow)
				lines = append(lines, "renewal answered")
			}
		}
		l := locker(t, n, lock.Options{Lease: lease})
		h := acquire(t, l, lock.NewOwner())
		time.Sleep(lease/3 + slow/2) // the renewal is on its way
		unlock(t, h)
		if want := []string{"renewal answered", "unlock sent"}; !slices.Equal(lines, want) {
			t.Errorf("%q, want %q", lines, want)
		}
	})
}

// careless is a client that minds no context.
type careless struct{ redis.UniversalClient }

func (c careless) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return c.UniversalClient.EvalSha(context.WithoutCancel(ctx), sha, keys, args...)
}

// A renewal of a hold that was unlocked meanwhile is answered "not yours" when its owner has
// the lock again. That is no word about the new hold.
func TestAnAnswerToAnEarlierHoldDoesNotEndTheNext(t *testing.T) {
	const ms = time.Millisecond
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		n := &network{UniversalClient: careless{c}}
		var began time.Time
		until := func(d time.Duration) { time.Sleep(time.Until(began.Add(d))) }
		late := atomic.Bool{}
		n.loseRequest = func(call int64) bool {
			switch call {
			case 2: // the renewal
				until(250 * ms)
				late.Store(true)
			case 4: // the next acquisition
				until(300 * ms)
			}
			return false
		}
		n.hold = func() {
			if late.CompareAndSwap(true, false) {
				until(400 * ms)
			}
		}
		l := locker(t, n, lock.Options{Lease: lease})
		began = time.Now()
		earlier := acquire(t, l, lock.NewOwner())
		until(120 * ms)
		next := make(chan *lock.Hold)
		time.AfterFunc(ms, func() { next <- acquire(t, l, earlier.Owner()) }) // it waits for its turn
		unlock(t, earlier)
		h := <-next
		until(time.Second)
		if err := h.Context().Err(); err != nil {
			t.Error(context.Cause(h.Context()))
		}
		unlock(t, h)
	})
}

// The reply to the acquisition comes late, but in time: the holder's context
// ends before the lease that was asked for, and not by a beat's grace.
func TestLateGrantIsReliedOnFromWhenItWasSent(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		n := &network{UniversalClient: c}
		n.hold = func() {
			if n.calls.Load() == 1 {
				time.Sleep(250 * time.Millisecond)
			}
		}
		n.loseRequest = func(call int64) bool { return call > 1 } // no renewal arrives
		l := locker(t, n, lock.Options{Lease: lease, Renew: 170 * time.Millisecond})
		began := time.Now()
		h := acquire(t, l, lock.NewOwner())
		at, cause := ends(t, h, began)
		if at != reliable || !errors.Is(cause, lock.ErrLost) {
			t.Errorf("the context ended at %v with %v, want %v and ErrLost", at, cause, reliable)
		}
		wantIs(t, h.Unlock(t.Context()), lock.ErrUnknown)
	})
}

// Nobody waits to tell a Redis that does not answer.
func TestLockReturnsWithItsContextThoughTheFateIsUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		n := &network{UniversalClient: c, loseRequest: func(int64) bool { return true }}
		l := locker(t, n, lock.Options{Lease: 5 * time.Second, Retries: 1000, Interval: 10 * time.Millisecond})
		ctx, cancel := context.WithTimeout(t.Context(), 95*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := l.Lock(ctx, key, lock.NewOwner())
		if took := time.Since(began); took != 95*time.Millisecond {
			t.Errorf("it returned after %v", took)
		}
		wantIs(t, err, lock.ErrNotAcquired, context.DeadlineExceeded)
		time.Sleep(time.Minute) // the settlement ends, too
	})
}

// A client that minds no context answers long after the limit: what it was
// granted is given back after the answer, and not before it.
func TestSettlementWaitsForTheAcquisition(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		const slow = time.Second
		n := &network{UniversalClient: c}
		n.loseRequest = func(call int64) bool {
			if call == 1 {
				time.Sleep(slow) // it reaches Redis late
			}
			return false
		}
		l := locker(t, n, lock.Options{Lease: 10 * time.Second, Limit: slow / 10, Renew: lock.NoWatchdog})
		owner := lock.NewOwner()
		ctx, cancel := context.WithTimeout(t.Context(), slow/20)
		defer cancel()
		_, err := l.Lock(ctx, key, owner)
		wantIs(t, err, lock.ErrNotAcquired, context.DeadlineExceeded)
		time.Sleep(slow / 2)
		if got := n.calls.Load(); got != 1 {
			t.Errorf("%d calls while the first is still on its way", got)
		}
		time.Sleep(slow)
		wantCount(t, c, owner, 0)
		unlock(t, acquire(t, l, owner))
	})
}

// A renewal that takes a while is relied on from when it was sent, not from its answer.
func TestALeaseCountsFromTheSendingOfItsRenewal(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		var slow atomic.Bool
		n := &network{UniversalClient: c, hold: func() {
			if slow.Load() {
				time.Sleep(lease / 10)
			}
		}}
		renewed := make(chan time.Time, 1)
		l := locker(t, n, lock.Options{Lease: lease, Observer: observer(func(a lock.Attempt) {
			if a.Result == lock.Renewed {
				renewed <- a.Began
			}
		})})
		h := acquire(t, l, lock.NewOwner())
		slow.Store(true)
		if sent, until := <-renewed, h.Until(); until.Sub(sent) != reliable {
			t.Errorf("it is relied on for %v from when it was sent, want %v", until.Sub(sent), reliable)
		}
		slow.Store(false)
		unlock(t, h)
	})
}
