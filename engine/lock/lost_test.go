package lock_test

import (
	"context"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
)

// A hold whose lease ran out, and that nobody unlocks or has any more, costs
// nothing. One that its owner has is known, and the owner is told.
func TestLostHoldIsKnownAsLongAsSomebodyHasIt(t *testing.T) {
	for _, p := range counted() {
		inBubble(t, func(t *testing.T, c redis.UniversalClient) {
			l := locker(t, c, lock.Options{Protocol: p, Messenger: lock.PubSub(c), Lease: lease, Renew: lock.NoWatchdog})
			defer l.Close()
			kept := acquire(t, l, lock.NewOwner())
			time.Sleep(lease)
			forgotten := weak.Make(acquire(t, l, lock.NewOwner()))
			time.Sleep(lease)
			for n := 0; forgotten.Value() != nil; n++ {
				if n == 10 {
					t.Fatalf("%s: the Locker has a hold that was lost", p.Name)
				}
				runtime.GC()
			}
			_, err := l.TryLock(t.Context(), key, kept.Owner())
			wantIs(t, err, lock.ErrLost)
			wantIs(t, kept.Unlock(t.Context()), lock.ErrLost)
		})
	}
}

// An owner lost its hold, unlocked it and begins again. The acquisition takes
// longer than a renewal's interval, and is renewed all the same.
func TestAcquisitionAfterALossIsRenewed(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		n := &network{UniversalClient: c}
		l := locker(t, n, lock.Options{Lease: lease})
		lost := acquire(t, l, lock.NewOwner())
		c.Del(t.Context(), key)
		time.Sleep(lease)
		wantIs(t, lost.Unlock(t.Context()), lock.ErrLost)
		n.hold = func() {
			n.hold = nil
			time.Sleep(lease / 2)
		}
		h := acquire(t, l, lost.Owner())
		time.Sleep(3 * lease)
		if err := h.Context().Err(); err != nil {
			t.Error(context.Cause(h.Context()))
		}
		unlock(t, h)
		runtime.KeepAlive(lost)
	})
}
