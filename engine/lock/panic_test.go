package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
)

// An Observer panics. The panic gets to the caller, and no lock, place in line or hold
// stays behind: neither in Redis nor in the Locker.
func TestAPanicOfTheObserverLeavesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		for _, p := range counted() {
			for _, of := range []struct {
				at     lock.Result
				always bool // also while it is given back
			}{
				{lock.Acquired, false},
				{lock.Acquired, true},
				{lock.Reentered, false},
				{lock.Reentered, true},
				{lock.Refused, false},
				{lock.Released, false},
				{lock.Decremented, false},
			} {
				for _, by := range []string{"its caller", "its caller, who may leave", "a task"} { // each call goes on
					loadAll(t, c, p)
					armed := false
					var client lock.Redis = c
					if by == "a task" {
						client = &network{UniversalClient: c}
					}
					l := locker(t, client, lock.Options{Protocol: p, Interval: time.Millisecond, Retries: 500, Messenger: lock.PubSub(c), Observer: observer(func(a lock.Attempt) {
						if armed && (a.Result == of.at || of.always) {
							armed = of.always
							panic("of the observer")
						}
					})})
					ctx, cancel := context.WithCancel(t.Context())
					if by == "its caller" {
						ctx = context.WithoutCancel(ctx)
					}
					owner := lock.NewOwner()
					enter := func(owner lock.Owner) *lock.Hold {
						h, err := l.Lock(ctx, key, owner)
						if err != nil {
							t.Fatal(err)
						}
						return h
					}
					panics := func(f func()) {
						t.Helper()
						defer func() {
							armed = false
							if r := recover(); r != "of the observer" {
								t.Errorf("%s, %s: panicked with %v", p.Name, of.at, r)
							}
						}()
						armed = true
						f()
					}
					var outer *lock.Hold
					switch of.at {
					case lock.Acquired:
						panics(func() { enter(owner) })
					case lock.Refused:
						outer = enter(owner)
						panics(func() { enter(lock.NewOwner()) })
					case lock.Reentered:
						outer = enter(owner)
						panics(func() { enter(owner) })
					case lock.Released:
						h := enter(owner)
						panics(func() { _ = h.Unlock(ctx) })
					case lock.Decremented:
						outer = enter(owner)
						h := enter(owner)
						panics(func() { _ = h.Unlock(ctx) })
					}
					if outer != nil {
						wantCount(t, c, owner, 1)
						unlock(t, outer)
					}
					nothingLeft(t, c, p)
					h := enter(owner)
					if h.Level() != 1 {
						t.Errorf("%s, %s: the next one is level %d", p.Name, of.at, h.Level())
					}
					unlock(t, h)
					cancel()
					l.Close()
				}
			}
		}
	})
}
