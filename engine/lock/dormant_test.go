package lock_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
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

// A hold that was dropped without an Unlock is not renewed any more, whether or not its
// context was asked for, and who waits for that context hears of it. One that somebody
// has is renewed, if only its context or one that derives from it is left.
func TestAHoldThatNobodyHasIsNotRenewed(t *testing.T) {
	type mark struct{}
	for _, p := range counted() {
		for _, of := range []struct {
			name  string
			has   func(h *lock.Hold) any
			stays bool
		}{
			{"nothing", func(*lock.Hold) any { return nil }, false},
			{"its end", func(h *lock.Hold) any { return h.Context().Done() }, false},
			{"the hold", func(h *lock.Hold) any { return h }, true},
			{"its context", func(h *lock.Hold) any { return h.Context() }, true},
			{"a derived context", func(h *lock.Hold) any { return context.WithValue(h.Context(), mark{}, 1) }, true},
		} {
			inBubble(t, func(t *testing.T, c redis.UniversalClient) {
				var losses []lock.Loss
				l := locker(t, c, lock.Options{Protocol: p, Lease: lease, Observer: lock.Observer{Lost: func(ctx context.Context, loss lock.Loss) {
					if ctx == nil || ctx.Err() != nil {
						t.Error("its context:", ctx)
					}
					losses = append(losses, loss)
				}}})
				defer l.Close()
				owner := lock.NewOwner()
				has := of.has(labelled(t, l, owner, "pod-1"))
				defer func() {
					synctest.Wait()
					want := []lock.Loss{{Key: key, Owner: owner, Label: "pod-1", Levels: 1, Err: lock.ErrLost}}
					if of.stays {
						want = nil
					}
					if !slices.Equal(losses, want) {
						t.Errorf("%s, %s is left: the Observer heard of %v, want %v", p.Name, of.name, losses, want)
					}
				}()
				for range 40 {
					time.Sleep(lease / 10)
					runtime.GC()
				}
				if stays := c.Exists(t.Context(), key).Val() == 1; stays != of.stays {
					t.Errorf("%s, %s is left: the key stays: %v, want %v", p.Name, of.name, stays, of.stays)
				}
				if done, ok := has.(<-chan struct{}); ok {
					select {
					case <-done:
					default:
						t.Errorf("%s: who waits for the end of the context does not hear of it", p.Name)
					}
				}
				if h, ok := has.(*lock.Hold); ok {
					inner := acquire(t, l, owner) // the Locker knows it
					if inner.Level() != 2 {
						t.Errorf("%s: level %d, want 2", p.Name, inner.Level())
					}
					time.Sleep(2 * lease)
					unlock(t, inner)
					time.Sleep(2 * lease)
					unlock(t, h)
					return
				}
				runtime.KeepAlive(has)
				if !of.stays {
					time.Sleep(lease)
					return
				}
				if err := l.ForceUnlock(t.Context(), key); err != nil {
					t.Error(err)
				}
				time.Sleep(lease)
				runtime.GC()
				time.Sleep(lease)
				of.stays = false // it is lost now, and told of once
			})
		}
	}
}

// The same on the wall clock: neither the Locker nor a timer has the hold.
func TestADroppedHoldIsForgotten(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		for _, p := range counted() {
			loadAll(t, c, p)
			renewed := make(chan struct{}, 10_000)
			l := locker(t, c, lock.Options{Protocol: p, Renew: 5 * time.Millisecond, Observer: observer(func(a lock.Attempt) {
				if a.Result == lock.Renewed {
					renewed <- struct{}{}
				}
			})})
			dropped := weak.Make(acquire(t, l, lock.NewOwner()))
			<-renewed
			for n := 0; dropped.Value() != nil; n++ {
				if n == 1000 {
					t.Fatalf("%s: somebody has a hold that was dropped", p.Name)
				}
				runtime.GC()
			}
			if err := l.ForceUnlock(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			l.Close()
		}
	})
}

// labelled is acquire with a label.
func labelled(t testing.TB, l *lock.Locker, owner lock.Owner, label string) *lock.Hold {
	t.Helper()
	h, err := l.TryLock(t.Context(), key, owner, lock.WithLabel(label))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A hold that the context given to Lock leads to is dropped like any other.
func TestADroppedHoldOfItsOwnContext(t *testing.T) {
	type request struct{ hold *lock.Hold }
	type mark struct{}
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		lost := 0
		l := locker(t, c, lock.Options{Lease: lease, Observer: lock.Observer{Lost: func(context.Context, lock.Loss) { lost++ }}})
		func() {
			r := &request{}
			var err error
			if r.hold, err = l.Lock(context.WithValue(t.Context(), mark{}, r), key, lock.NewOwner()); err != nil {
				t.Fatal(err)
			}
		}()
		for range 40 {
			time.Sleep(lease / 10)
			runtime.GC()
		}
		synctest.Wait()
		if lost != 1 {
			t.Errorf("the Observer heard of it %d times", lost)
		}
	})
}
