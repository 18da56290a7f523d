package lock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
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
	return n.pass(ctx, func() *redis.Cmd { return n.UniversalClient.Do(ctx, args...) })
}

func quorum(t *testing.T, list []*network) *lock.Locker {
	t.Helper()
	o := lock.Options{Protocol: lock.Redlock, Lease: 300 * time.Millisecond}
	for _, n := range list[1:] {
		o.Nodes = append(o.Nodes, n)
	}
	return locker(t, list[0], o)
}

func held(t *testing.T, list []*network) int {
	t.Helper()
	n := 0
	for _, one := range list {
		n += int(one.UniversalClient.Exists(t.Context(), key).Val())
	}
	return n
}

func TestRedlockNeedsAMajority(t *testing.T) {
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
}

func TestRedlockIsRenewedByAMajority(t *testing.T) {
	list := nodes(t, 2, 0)
	var gone atomic.Bool
	list[2].loseRequest = func(int64) bool { return gone.Load() }
	h := acquire(t, quorum(t, list), lock.NewOwner())
	time.Sleep(700 * time.Millisecond) // longer than two leases; the nodes keep the wall's time
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
	if err := h.Unlock(context.Background()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("unlock without a majority: %v", err)
	}
}

// A majority that took longer than the lease is none.
func TestRedlockCountsTheTimeItTook(t *testing.T) {
	list := nodes(t, 0, 80*time.Millisecond)
	_, err := quorum(t, list).TryLock(context.Background(), key, lock.NewOwner())
	wantIs(t, err, lock.ErrNotAcquired)
	if got := held(t, list); got != 0 {
		t.Errorf("still held on %d nodes", got)
	}
}

// Who is refused by its own nodes takes nothing away from itself.
func TestRedlockRefusedTwiceKeepsTheFirst(t *testing.T) {
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
}
