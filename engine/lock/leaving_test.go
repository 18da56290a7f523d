package lock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
)

// stalled is a hook that loses scripts of a client of go-redis, which then looks
// at nothing but the deadline.
type stalled struct {
	calls atomic.Int64
	loses func(call int64) bool
}

func (s *stalled) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *stalled) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *stalled) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "evalsha" || !s.loses(s.calls.Add(1)) {
			return next(ctx, cmd)
		}
		if deadline, ok := ctx.Deadline(); ok {
			time.Sleep(time.Until(deadline)) // by a clock that jumps
		}
		cmd.SetErr(context.DeadlineExceeded)
		return cmd.Err()
	}
}

// The owner's commands after its acquisition get no answer: an inner Lock, or a renewal.
// Unlock does not wait for it.
func TestUnlockCutsShortWhatGetsNoAnswer(t *testing.T) {
	clients := map[string]func(c redis.UniversalClient, lost func(int64) bool) redis.UniversalClient{
		"any client": func(c redis.UniversalClient, lost func(int64) bool) redis.UniversalClient {
			return &network{UniversalClient: c, hangs: lost}
		},
		"go-redis": func(c redis.UniversalClient, lost func(int64) bool) redis.UniversalClient {
			c.AddHook(&stalled{loses: lost})
			return c
		},
	}
	inner := func(of func(t *testing.T) context.Context) func(*testing.T, *lock.Locker, *lock.Hold) {
		return func(t *testing.T, l *lock.Locker, h *lock.Hold) {
			_, err := l.Lock(of(t), key, h.Owner())
			wantIs(t, err, lock.ErrNotAcquired, lock.ErrReleased)
		}
	}
	for what, under := range map[string]func(t *testing.T, l *lock.Locker, h *lock.Hold){
		"inner Lock without an end": inner(func(*testing.T) context.Context { return context.Background() }),
		"inner Lock with one":       inner(func(t *testing.T) context.Context { return t.Context() }),
		"inner Lock given up": func(t *testing.T, l *lock.Locker, h *lock.Hold) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := l.Lock(ctx, key, h.Owner())
			wantIs(t, err, lock.ErrNotAcquired, context.DeadlineExceeded)
		},
		"renewal": func(*testing.T, *lock.Locker, *lock.Hold) { time.Sleep(11 * time.Second) },
	} {
		for name, client := range clients {
			t.Run(what+", "+name, func(t *testing.T) {
				inBubble(t, func(t *testing.T, c redis.UniversalClient) {
					var leaves atomic.Bool
					lost := func(call int64) bool { return call > 1 && !leaves.Load() }
					l := locker(t, client(c, lost), lock.Options{Lease: 30 * time.Second, Limit: 20 * time.Second})
					h := acquire(t, l, lock.NewOwner())
					left := make(chan struct{})
					go func() {
						under(t, l, h)
						close(left)
					}()
					time.Sleep(12 * time.Second)
					leaves.Store(true)
					began := time.Now()
					unlock(t, h)
					if took := time.Since(began); took != 0 {
						t.Errorf("Unlock took %v", took)
					}
					<-left
					wantCount(t, c, h.Owner(), 0)
					unlock(t, acquire(t, l, h.Owner())) // and the owner can go on
					time.Sleep(time.Minute)             // what hangs gives up
				})
			})
		}
	}
}

// However long Limit is, an acquisition without an answer is given back.
func TestAcquisitionIsGivenBackAtAnyLimit(t *testing.T) {
	for _, limit := range []time.Duration{99, 100, 101} {
		inBubble(t, func(t *testing.T, c redis.UniversalClient) {
			l := locker(t, c, lock.Options{Limit: limit * time.Millisecond, Retries: lock.NoRetry})
			first := &stalled{loses: func(call int64) bool { return call == 1 }}
			c.AddHook(first)
			_, err := l.Lock(context.Background(), key, lock.NewOwner())
			wantIs(t, err, lock.ErrNotAcquired, lock.ErrUnknown)
			if first.calls.Load() != 2 {
				t.Errorf("limit %v ms: %d calls, want the acquisition and its release", int(limit), first.calls.Load())
			}
		})
	}
}

// An Unlock that fails because of an inner level cuts nothing short.
func TestUnlockOfAnOuterLevelCutsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		n := &network{UniversalClient: c}
		l := locker(t, n, lock.Options{})
		outer := acquire(t, l, lock.NewOwner())
		inner := acquire(t, l, outer.Owner())
		n.hold = func() { time.Sleep(time.Second) }
		got := make(chan error)
		go func() {
			h, err := l.Lock(t.Context(), key, outer.Owner())
			n.hold = nil
			if err == nil {
				err = h.Unlock(t.Context())
			}
			got <- err
		}()
		time.Sleep(time.Second / 2)
		wantIs(t, outer.Unlock(t.Context()), lock.ErrInnerHeld)
		if err := <-got; err != nil {
			t.Error(err)
		}
		unlock(t, inner)
		unlock(t, outer)
	})
}

// "Not held" answers a release that was sent before. It is the first one's
// doing only if that one may have run, and while the lease lasts.
func TestReleaseThatIsToldNotHeld(t *testing.T) {
	for name, row := range map[string]struct {
		first answer        // "": the reply is lost
		later time.Duration // when the second is sent
		want  error
	}{
		"the reply was lost":                        {"", 0, nil},
		"the reply was lost, and the lease is over": {"", time.Minute, lock.ErrLost},
		"refused, and the lock was deleted":         {"LOADING Redis is loading the dataset in memory", 0, lock.ErrLost},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, c redis.UniversalClient) {
				for _, p := range counted() {
					loadAll(t, c, p)
					now := &deafClock{now: time.Now()}
					n := &network{UniversalClient: c}
					l := locker(t, n, lock.Options{
						Protocol: p, Clock: now, Renew: lock.NoWatchdog, Interval: time.Millisecond, Messenger: lock.PubSub(c),
						Observer: lock.Observer{Waiting: func(context.Context, lock.Wait) {
							now.pass(row.later)
							c.Del(t.Context(), key)
						}},
					})
					h := acquire(t, l, lock.NewOwner())
					n.loseReply = func(call int64) bool { return call == 2 }
					n.says = func(call int64, _ []string) answer {
						if call == 2 {
							return row.first
						}
						return ""
					}
					if err := h.Unlock(t.Context()); !errors.Is(err, row.want) {
						t.Errorf("%s: %v, want %v", p.Name, err, row.want)
					}
					l.Close()
				}
			})
		})
	}
}

// A client that is closed asks nobody: Unlock says so at once, and does not go on
// asking until its limit.
func TestUnlockOfAClosedClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := embeddedInBubble(t)
		l := locker(t, client, lock.Options{Renew: lock.NoWatchdog})
		h := acquire(t, l, lock.NewOwner())
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		wantIs(t, h.Unlock(t.Context()), lock.ErrUnknown, redis.ErrClosed)
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// The end of a request ends no release: neither before it nor while Redis does not answer.
func TestAReleaseOutlivesItsContext(t *testing.T) {
	for name, after := range map[string]time.Duration{"before": 0, "meanwhile": 50 * time.Millisecond} {
		for _, p := range counted() {
			t.Run(name+", "+p.Name, func(t *testing.T) {
				inBubble(t, func(t *testing.T, c redis.UniversalClient) {
					loadAll(t, c, p)
					n := &network{UniversalClient: c}
					began := time.Now()
					n.loseRequest = func(call int64) bool { return call > 1 && time.Since(began) < 100*time.Millisecond }
					l := locker(t, n, lock.Options{Protocol: p, Messenger: lock.PubSub(c)})
					defer l.Close()
					h := acquire(t, l, lock.NewOwner())
					ctx, cancel := context.WithTimeout(t.Context(), after)
					defer cancel()
					if err := h.Unlock(ctx); err != nil {
						t.Error(err)
					}
					wantCount(t, c, h.Owner(), 0)
				})
			})
		}
	}
}

// A caller waits for a release that Redis does not answer, or cannot run now, for two
// seconds at most. The rest goes on behind: it releases once Redis is back, and ends.
func TestAReleaseGoesOnBehindItsCaller(t *testing.T) {
	for name, loading := range map[string]bool{"no answer": false, "loading": true} {
		for _, p := range counted() {
			t.Run(name+", "+p.Name, func(t *testing.T) {
				inBubble(t, func(t *testing.T, c redis.UniversalClient) {
					loadAll(t, c, p)
					n := &network{UniversalClient: c, readTimeout: 3 * time.Second}
					var down atomic.Bool
					n.hangs = func(int64) bool { return down.Load() && !loading }
					n.says = func(int64, []string) answer {
						if down.Load() && loading {
							return "LOADING Redis is loading the dataset in memory"
						}
						return ""
					}
					released := make(chan lock.Attempt, 9)
					l := locker(t, n, lock.Options{Protocol: p, Messenger: lock.PubSub(c), Observer: observer(func(a lock.Attempt) {
						if a.Name == lock.CallUnlock && a.Result == lock.Released {
							released <- a
						}
					})})
					defer l.Close()
					h, inner := acquire(t, l, "A"), acquire(t, l, "A")
					unlock(t, inner)
					down.Store(true)
					began := time.Now()
					want := lock.ErrUnknown
					if loading {
						want = lock.ErrRefused
					}
					wantIs(t, h.Unlock(t.Context()), want)
					if took := time.Since(began); took < lock.DefaultReleaseWait || took > lock.DefaultReleaseWait*17/16 {
						t.Errorf("it took %v", took)
					}
					if !h.Until().IsZero() || !errors.Is(context.Cause(h.Context()), lock.ErrReleased) {
						t.Error("the hold goes on:", context.Cause(h.Context()))
					}
					if len(released) > 0 {
						t.Errorf("nothing is released yet, and it says %+v", <-released)
					}
					synctest.Wait() // the release behind has begun
					down.Store(false)
					again, err := l.Lock(t.Context(), key, "A") // which waits for its turn
					if err != nil {
						t.Fatal(err)
					}
					if n := len(released); n != 1 {
						t.Errorf("it was released %d times", n)
					}
					unlock(t, again)
				})
			})
		}
	}
}

// The first copy of a release ran, and its reply was lost. The copy that goes on behind is
// answered "not held" while the lease lasts: it was this release that ended the hold. After
// the lease nobody knows.
func TestAReleaseBehindKnowsItsOwn(t *testing.T) {
	for _, at := range []struct {
		back time.Duration
		want lock.Result
	}{
		{time.Second, lock.Released},
		{4 * time.Second, lock.NotHeld},
	} {
		inBubble(t, func(t *testing.T, c redis.UniversalClient) {
			began := time.Now()
			n := &network{UniversalClient: c, loseReply: func(call int64) bool { return call == 2 }}
			n.loseRequest = func(call int64) bool { return call > 2 && time.Since(began) < at.back }
			var last atomic.Pointer[lock.Attempt]
			l := locker(t, n, lock.Options{
				Lease: 3 * time.Second, Limit: time.Minute, ReleaseWait: 100 * time.Millisecond,
				Observer: observer(func(a lock.Attempt) { last.Store(&a) }),
			})
			wantIs(t, acquire(t, l, lock.NewOwner()).Unlock(t.Context()), lock.ErrUnknown)
			time.Sleep(time.Minute)
			if got := last.Load(); got.Name != lock.CallUnlock || got.Result != at.want {
				t.Errorf("Redis is back after %v: the %s is %v, want %v", at.back, got.Name, got.Result, at.want)
			}
		})
	}
}

// stubborn is a client that ignores contexts: while Redis hangs, its own timeout ends a call.
type stubborn struct {
	redis.UniversalClient

	hangs *atomic.Bool
}

const ownTimeout = 5 * time.Second

func (s stubborn) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if s.hangs.Load() {
		time.Sleep(ownTimeout)
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(errNetwork)
		return cmd
	}
	return s.UniversalClient.EvalSha(context.WithoutCancel(ctx), sha, keys, args...)
}

// A Redis that hangs, behind a client that ignores contexts, keeps nobody longer than the
// Locker says, whether or not the caller's context ends.
func TestNobodyWaitsForAStubbornClient(t *testing.T) {
	for _, p := range counted() {
		for _, endless := range []bool{true, false} {
			inBubble(t, func(t *testing.T, c redis.UniversalClient) {
				ctx := t.Context()
				if endless {
					ctx = context.Background()
				}
				loadAll(t, c, p)
				var hangs atomic.Bool
				l := locker(t, stubborn{c, &hangs}, lock.Options{Protocol: p, Messenger: lock.PubSub(c)})
				defer l.Close()
				h := acquire(t, l, lock.NewOwner())
				hangs.Store(true)
				within := func(call string, f func() error) {
					t.Helper()
					began := time.Now()
					wantIs(t, f(), lock.ErrUnknown)
					if took, most := time.Since(began), lock.DefaultReleaseWait*17/16; took > most {
						t.Errorf("%s: %s took %v, at most %v", p.Name, call, took, most)
					}
				}
				within("TryLock", func() error {
					_, err := l.TryLock(ctx, key, lock.NewOwner())
					wantIs(t, err, lock.ErrNotAcquired, context.DeadlineExceeded)
					return err
				})
				within("TryLock of the next level", func() error {
					_, err := l.TryLock(ctx, key, h.Owner())
					return err
				})
				within("Unlock", func() error { return h.Unlock(ctx) })
				hangs.Store(false)
				time.Sleep(2 * ownTimeout)
				unlock(t, acquire(t, l, lock.NewOwner()))
				time.Sleep(time.Minute) // what is still given back
			})
		}
	}
}
