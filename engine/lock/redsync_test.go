package lock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"relock/engine/lock"
	"relock/engine/lock/protocol"
)

// A lock on several nodes is valid from the moment of asking for its lease,
// less what its clocks may drift; a renewal moves that.
func TestUntilIsTheLeaseLessTheDrift(t *testing.T) {
	for _, c := range []struct {
		p     lock.Protocol
		drift time.Duration
	}{
		{protocol.Redsync, lease / 100},
		{protocol.Redlock, lease/100 + 2*time.Millisecond},
		{protocol.RedlockInTurn, lease/100 + 2*time.Millisecond},
	} {
		t.Run(c.p.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex // the watchdog is seen by a goroutine of its own
				var seen []time.Time
				see := func(_ context.Context, a lock.Attempt) {
					mu.Lock()
					defer mu.Unlock()
					seen = append(seen, a.Until)
				}
				l := quorum(t, nodes(t, 0, 7*time.Millisecond), lock.Options{
					Protocol: c.p, Renew: lease / 2, Observer: lock.Observer{Attempted: see},
				})
				began := time.Now()
				h := acquire(t, l, lock.NewOwner())
				if got := h.Until().Sub(began); got != lease-c.drift {
					t.Errorf("until %v after it asked, want %v", got, lease-c.drift)
				}
				time.Sleep(time.Until(began.Add(lease * 3 / 4)))
				if got, want := h.Until().Sub(began), lease/2+lease-c.drift; got != want {
					t.Errorf("after a renewal until %v, want %v", got, want)
				}
				unlock(t, h)
				mu.Lock()
				defer mu.Unlock()
				if len(seen) != 3 || seen[0] != began.Add(lease-c.drift) || seen[1] != began.Add(lease/2+lease-c.drift) || !seen[2].IsZero() {
					t.Errorf("the observer saw %v", seen)
				}
			})
		})
	}
}

// The margin is the drift, and never more than half of the lease.
func TestMarginIsTheDrift(t *testing.T) {
	if got := protocol.Redsync.Margin(8 * time.Second); got != 80*time.Millisecond {
		t.Errorf("redsync's drift is %v", got)
	}
	for _, p := range []lock.Protocol{lock.Sequenced, protocol.Redsync, protocol.Redlock} {
		if got := p.Margin(time.Millisecond); got <= 0 || got > 500*time.Microsecond {
			t.Errorf("%s: %v of 1ms", p.Name, got)
		}
	}
}

// A late grant is on a node as the asker's own value. Redsync takes it back when it is
// refused, and Redlock leaves it to its lease.
func TestRedsyncSweepsWhatCameLate(t *testing.T) {
	for _, c := range []struct {
		p    lock.Protocol
		left int
	}{{protocol.Redsync, 0}, {protocol.Redlock, 3}} {
		t.Run(c.p.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list, owner := nodes(t, 0, 0), lock.NewOwner()
				for _, n := range list[:3] {
					n.UniversalClient.Set(t.Context(), key, string(owner), time.Minute)
				}
				l := quorum(t, list, lock.Options{Protocol: c.p})
				if _, err := l.TryLock(t.Context(), key, owner); !errors.Is(err, lock.ErrHeld) {
					t.Fatal(err)
				}
				if got := held(t, list); got != c.left {
					t.Errorf("held on %d nodes after it was refused, want %d", got, c.left)
				}
			})
		})
	}
}

// Another's value stays, and so does the first level of a caller that asks again.
func TestRedsyncSweepsOnlyItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := nodes(t, 0, 0)
		l, owner := quorum(t, list, lock.Options{Protocol: protocol.Redsync}), lock.NewOwner()
		h := acquire(t, l, owner)
		for _, who := range []lock.Owner{lock.NewOwner(), owner} {
			if _, err := l.TryLock(t.Context(), key, who); !errors.Is(err, lock.ErrHeld) {
				t.Error(err)
			}
		}
		if got := held(t, list); got != 5 {
			t.Errorf("held on %d nodes, want 5", got)
		}
		unlock(t, h)
	})
}

// Redsync asks a node that does not answer a release once, Redlock three times.
func TestRedsyncReleasesOnce(t *testing.T) {
	for _, c := range []struct {
		p     lock.Protocol
		calls int64
	}{{protocol.Redsync, 2}, {protocol.Redlock, 4}} {
		t.Run(c.p.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list := nodes(t, 0, 0)
				h := acquire(t, quorum(t, list, lock.Options{Protocol: c.p, Retries: 5, Interval: 10 * time.Millisecond, Renew: lock.NoWatchdog}), lock.NewOwner())
				var down atomic.Bool
				down.Store(true)
				list[1].loseRequest = func(int64) bool { return down.Load() }
				unlock(t, h)
				time.Sleep(time.Second) // Redlock goes on behind the caller
				if got := list[1].calls.Load(); got != c.calls {
					t.Errorf("the node was asked %d times, want %d", got, c.calls)
				}
			})
		})
	}
}
