package lock_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/store"
)

// nodes are five independent Redises, the first down of which do not answer.
func nodes(t *testing.T, down int, slow time.Duration) []*network {
	t.Helper()
	var list []*network
	for i := range 5 {
		e := store.NewEmbedded(time.Time{})
		t.Cleanup(func() { _ = e.Close() })
		n := &network{UniversalClient: e.Client(), hold: func() { time.Sleep(slow) }}
		if i < down {
			n.loseRequest = func(int64) bool { return true }
		}
		list = append(list, n)
	}
	return list
}

func (n *network) Do(ctx context.Context, args ...any) *redis.Cmd {
	return n.pass(ctx, nil, func() *redis.Cmd { return n.UniversalClient.Do(ctx, args...) })
}

func quorum(t *testing.T, list []*network, more ...lock.Options) *lock.Locker {
	t.Helper()
	o := lock.Options{}
	for _, one := range more {
		o = one
	}
	o.Lease = 300 * time.Millisecond
	if o.Protocol == nil {
		o.Protocol = lock.Redlock
	}
	if o.Retries == 0 {
		o.Retries = lock.NoRetry // times are exact
	}
	for _, n := range list[1:] {
		o.Nodes = append(o.Nodes, n)
	}
	t.Cleanup(func() { time.Sleep(2 * o.Lease) }) // for what is still on its way, while nobody waits for it
	return locker(t, list[0], o)
}

// held is on how many nodes the lock is, when what needs no time has arrived.
func held(t *testing.T, list []*network) int {
	t.Helper()
	synctest.Wait()
	n := 0
	for _, one := range list {
		n += int(one.UniversalClient.Exists(t.Context(), key).Val())
	}
	return n
}

func TestRedlockNeedsAMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for down, want := range []int{5, 4, 3, 0, 0, 0} {
			list := nodes(t, down, 0)
			h, err := quorum(t, list).TryLock(context.Background(), key, lock.NewOwner())
			if got := held(t, list); got != want {
				t.Errorf("%d nodes down: held on %d, want %d", down, got, want)
			}
			if want == 0 {
				wantIs(t, err, lock.ErrNotAcquired)
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			unlock(t, h)
			if got := held(t, list); got != 0 {
				t.Errorf("%d nodes down: still held on %d", down, got)
			}
		}
	})
}

func TestRedlockIsRenewedByAMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := nodes(t, 2, 0)
		var gone atomic.Bool
		list[2].loseRequest = func(int64) bool { return gone.Load() }
		h := acquire(t, quorum(t, list), lock.NewOwner())
		time.Sleep(700 * time.Millisecond) // longer than two leases
		if err := h.Context().Err(); err != nil {
			t.Error(context.Cause(h.Context()))
		}
		gone.Store(true) // no majority any more
		select {
		case <-h.Context().Done():
			wantIs(t, context.Cause(h.Context()), lock.ErrLost)
		case <-time.After(5 * time.Second):
			t.Error("the holder does not hear that it has no majority")
		}
		if err := h.Unlock(context.Background()); !errors.Is(err, lock.ErrUnknown) {
			t.Errorf("unlock without a majority that answers: %v", err)
		}
	})
}

// A majority that took longer than the lease is none.
func TestRedlockCountsTheTimeItTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := nodes(t, 0, 310*time.Millisecond)
		_, err := quorum(t, list).TryLock(context.Background(), key, lock.NewOwner())
		wantIs(t, err, lock.ErrNotAcquired)
		if errors.Is(err, lock.ErrHeld) {
			t.Errorf("%v, but nobody else holds it", err)
		}
		if got := held(t, list); got != 0 {
			t.Errorf("still held on %d nodes", got)
		}
	})
}

// A caller refused by its own nodes takes nothing away from itself.
func TestRedlockRefusedTwiceKeepsTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := nodes(t, 0, 0)
		l, owner := quorum(t, list), lock.NewOwner()
		h := acquire(t, l, owner)
		if _, err := l.TryLock(context.Background(), key, owner); !errors.Is(err, lock.ErrHeld) {
			t.Errorf("a second time: %v", err)
		}
		if got := held(t, list); got != 5 {
			t.Errorf("held on %d nodes after a refused re-entry, want 5", got)
		}
		unlock(t, h)
	})
}

// Two of five nodes hang, and three are a majority. If it asks nodes one after the other,
// each hanging one costs a twentieth of the lease; if it asks all at once, they cost only
// the time it gives them.
func TestRedlockDoesNotWaitForNodesThatHang(t *testing.T) {
	for _, c := range []struct {
		name   string
		o      lock.Options
		within time.Duration
	}{
		{"at once", lock.Options{Protocol: protocol.Redlock}, time.Millisecond},
		{"in turn", lock.Options{Protocol: protocol.RedlockInTurn}, 2 * lease / 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list := nodes(t, 0, 0)
				for _, n := range list[:2] {
					n.hangs = func(int64) bool { return true }
				}
				l := quorum(t, list, c.o)
				began := time.Now()
				h := acquire(t, l, lock.NewOwner())
				if took := time.Since(began).Truncate(time.Millisecond); took != c.within {
					t.Errorf("Lock took %v, want %v", took, c.within)
				}
				time.Sleep(2 * lease) // the watchdog does not hang either
				if err := h.Context().Err(); err != nil {
					t.Error(context.Cause(h.Context()))
				}
				began = time.Now()
				unlock(t, h)
				if took := time.Since(began); took > 2*c.within { // and perhaps a renewal in flight
					t.Errorf("Unlock took %v", took)
				}
				if got := held(t, list); got != 0 {
					t.Errorf("still held on %d", got)
				}
			})
		})
	}
}

// A caller refused by a majority gets ErrHeld; one that reaches no majority hears why
// not.
func TestRedlockTellsWhatTheNodesFailedWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for down := range 6 {
			list := nodes(t, 0, 0)
			var gone atomic.Bool // other's renewals go on meanwhile
			for _, n := range list[:down] {
				n.loseRequest = func(int64) bool { return gone.Load() }
			}
			other := acquire(t, quorum(t, list), lock.NewOwner())
			gone.Store(true)
			_, err := quorum(t, list).TryLock(t.Context(), key, lock.NewOwner())
			wantIs(t, err, lock.ErrNotAcquired)
			if answered := 5 - down; errors.Is(err, lock.ErrHeld) != (answered >= 3) || errors.Is(err, errNetwork) == (answered >= 3) {
				t.Errorf("%d nodes answered: %v", answered, err)
			}
			gone.Store(false)
			wantIs(t, errors.Join(other.Unlock(t.Context()), lock.ErrLost), lock.ErrLost) // giving back may outlast its lease
		}
	})
}

// Half of an even number of nodes is enough to refuse: the others cannot make a
// majority, so nobody waits to hear from them.
func TestRedlockRefusedByHalfOfItsNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := nodes(t, 0, 0)[:4]
		for _, n := range list[:2] {
			if err := n.Set(t.Context(), key, "another's", 0).Err(); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range list[2:] {
			n.hold = func() { time.Sleep(50 * time.Millisecond) }
		}
		began := time.Now()
		_, err := quorum(t, list).TryLock(t.Context(), key, lock.NewOwner())
		wantIs(t, err, lock.ErrHeld)
		if took := time.Since(began); took >= 50*time.Millisecond+lease/100 {
			t.Errorf("refused after %v", took)
		}
	})
}

// A majority that does not answer for a moment costs no lock: the renewal is
// tried again until the deadline.
func TestRedlockRenewalThatFailsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := nodes(t, 0, 0)
		for _, n := range list[:3] {
			n.loseRequest = func(call int64) bool { return call == 2 } // the first renewal
		}
		h := acquire(t, quorum(t, list), lock.NewOwner())
		time.Sleep(3 * lease)
		if err := h.Context().Err(); err != nil {
			t.Error(context.Cause(h.Context()))
		}
		unlock(t, h)
	})
}

// A node that is down only for the moment of the release is reached later;
// what one that stays down keeps, its lease ends.
func TestRedlockReleaseReachesNodesThatWereDown(t *testing.T) {
	for _, c := range []struct {
		name  string
		down  int
		calls int64 // that the nodes which are down do not answer
		left  int
		err   error
	}{
		{"a minority, for a moment", 2, 1, 0, nil},
		{"a majority, for a moment", 3, 1, 0, nil},
		{"a minority, for good", 2, 1000, 2, nil},
		{"a majority, for good", 3, 1000, 3, lock.ErrUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list := nodes(t, 0, 0)
				l := quorum(t, list, lock.Options{Retries: 3, Interval: 10 * time.Millisecond, Renew: lock.NoWatchdog, Limit: lease / 2})
				h := acquire(t, l, lock.NewOwner())
				for _, n := range list[:c.down] {
					n.loseRequest = func(call int64) bool { return call > 1 && call <= 1+c.calls }
				}
				if err := h.Unlock(t.Context()); !errors.Is(err, c.err) {
					t.Errorf("unlock: %v, want %v", err, c.err)
				}
				time.Sleep(100 * time.Millisecond) // a node that was down is asked again while nobody waits
				if got := held(t, list); got != c.left {
					t.Errorf("held on %d nodes, want %d", got, c.left)
				}
			})
		})
	}
}

// foreign has others hold the lock on nodes.
func foreign(t *testing.T, list []*network) {
	t.Helper()
	for _, n := range list {
		if err := n.UniversalClient.Set(t.Context(), key, "another's", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// Two nodes are another's, two grant and one hangs: what was granted is given
// back long before it is known what the fifth would have said.
func TestRedlockSplitVotesAreGivenBackSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := nodes(t, 0, 0)
		list[0].hangs = func(int64) bool { return true }
		foreign(t, list[1:3])
		began := time.Now()
		_, err := quorum(t, list).TryLock(t.Context(), key, lock.NewOwner())
		wantIs(t, err, lock.ErrNotAcquired, lock.ErrHeld)
		if took, want := time.Since(began).Truncate(time.Millisecond), 4*time.Millisecond; took > want {
			t.Errorf("it took %v, want %v at most", took, want)
		}
		if got := held(t, list); got != 2 {
			t.Errorf("held on %d nodes, want the 2 of the other", got)
		}
	})
}

// A node is slow to get the acquisition. Nobody waits for it, and the release
// does not overtake it.
func TestRedlockReleaseComesAfterItsAcquisition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := nodes(t, 0, 0)
		list[0].hangs = func(call int64) bool {
			if call == 1 {
				time.Sleep(40 * time.Millisecond)
			}
			return false
		}
		l := quorum(t, list)
		began := time.Now()
		unlock(t, acquire(t, l, lock.NewOwner()))
		if took := time.Since(began); took >= 40*time.Millisecond {
			t.Errorf("Lock and Unlock took %v: the slow node was waited for", took)
		}
		time.Sleep(100 * time.Millisecond)
		if got := held(t, list); got != 0 {
			t.Errorf("still held on %d nodes", got)
		}
	})
}

// The next acquisition by the same owner does not meet the release before it.
func TestRedlockAcquisitionComesAfterTheReleaseBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := nodes(t, 0, 0)
		list[0].hangs = func(call int64) bool {
			if call == 2 { // the release
				time.Sleep(40 * time.Millisecond)
			}
			return false
		}
		l, owner := quorum(t, list, lock.Options{Renew: lock.NoWatchdog}), lock.NewOwner()
		unlock(t, acquire(t, l, owner))
		h := acquire(t, l, owner)
		time.Sleep(100 * time.Millisecond)
		if got := held(t, list); got != 5 {
			t.Errorf("held on %d nodes, want 5", got)
		}
		unlock(t, h)
	})
}

// A node has run the release and its reply was lost. That it knows of no lock
// when it is asked again is no vote for a loss.
func TestRedlockReleaseThatWasRunTwiceIsNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := nodes(t, 0, 0)
		foreign(t, list[3:])
		if err := list[0].ScriptLoad(t.Context(), protocol.MutexUnlock.Source).Err(); err != nil {
			t.Fatal(err)
		}
		h := acquire(t, quorum(t, list, lock.Options{Retries: 3, Interval: 10 * time.Millisecond, Renew: lock.NoWatchdog}), lock.NewOwner())
		list[0].loseReply = func(call int64) bool { return call == 2 }
		unlock(t, h)
	})
}

// The protocol itself says that a majority that took as long as the lease is none, whoever
// asks.
func TestAMajorityAfterTheLeaseIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := nodes(t, 0, 310*time.Millisecond)
		p := lock.Redlock
		r := protocol.Request{
			Words: protocol.NewCaller("locker", lease).Words(p.Keyed(key), "owner", lease), Key: key, Owner: "owner", Level: 1, Lease: lease, Clock: clock.System{},
		}
		for _, n := range list {
			r.Nodes = append(r.Nodes, n)
		}
		_, err := p.Lock(t.Context(), r)
		wantIs(t, err, protocol.ErrTooLate)
		time.Sleep(2 * lease)
	})
}

// A node that hangs costs a Locker a fixed number of goroutines, however many locks it
// takes meanwhile; and it asks the node again once that answers.
func TestAHangingNodeGathersNoGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := nodes(t, 0, 0)
		var hangs atomic.Bool
		hangs.Store(true)
		list[0].hangs = func(int64) bool { return hangs.Load() }
		l := quorum(t, list)
		before := runtime.NumGoroutine()
		most := 0
		for range 200 {
			h, err := l.TryLock(t.Context(), key, lock.NewOwner())
			if err != nil {
				t.Fatal(err)
			}
			unlock(t, h)
			synctest.Wait() // what does not hang has ended
			most = max(most, runtime.NumGoroutine()-before)
		}
		if most > 100 { // without a bound 240
			t.Errorf("%d goroutines", most)
		}
		time.Sleep(lease) // those that hang have given up
		hangs.Store(false)
		h := acquire(t, l, lock.NewOwner())
		synctest.Wait()
		if n := held(t, list); n != 5 {
			t.Errorf("it is on %d nodes, now that all answer", n)
		}
		unlock(t, h)
	})
}

// So it is at any lease and from the first moment: two goroutines at most for each node and
// second of lease, or 64, at four hundred pairs a second.
func TestAHangingNodeAtAnyLease(t *testing.T) {
	const pairs = 400
	leases, span := []time.Duration{time.Second, 8 * time.Second, 30 * time.Second, 2 * time.Minute}, 5*time.Second
	if testing.Short() { // still more pairs than either bound
		leases, span = []time.Duration{time.Second, 30 * time.Second}, 2*time.Second
	}
	for _, lease := range leases {
		synctest.Test(t, func(t *testing.T) {
			list := nodes(t, 0, 0)
			list[0].hangs = func(int64) bool { return true }
			o := lock.Options{Protocol: lock.Redlock, Lease: lease}
			for _, n := range list[1:] {
				o.Nodes = append(o.Nodes, n)
			}
			l := locker(t, list[0], o)
			before, most := runtime.NumGoroutine(), 0
			for next, end := time.Now(), time.Now().Add(span); next.Before(end); next = next.Add(time.Second / pairs) {
				if time.Until(next) > 0 {
					time.Sleep(time.Until(next))
				}
				h, err := l.TryLock(t.Context(), key, lock.NewOwner())
				if err != nil {
					t.Fatal(err)
				}
				unlock(t, h)
				synctest.Wait() // what does not hang has ended
				most = max(most, runtime.NumGoroutine()-before)
			}
			t.Logf("lease %v: %d goroutines", lease, most)
			if bound := max(2*len(list)*int(lease.Seconds()), 64); most > bound {
				t.Errorf("lease %v: %d goroutines, at most %d", lease, most, bound)
			}
			time.Sleep(2 * lease)
		})
	}
}
