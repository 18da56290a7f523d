package lock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/store/storetest"
)

// Three servers lead by one key for longer than a watchdog renews: one at a time,
// all but a moment, and the key is free when they have been told to end.
func TestALeaderStepsDownAndComesBack(t *testing.T) {
	for _, p := range counted() {
		t.Run(p.Name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, c redis.UniversalClient) {
				loadAll(t, c, p)
				const servers, terms, age = 3, 4, 2 * time.Second
				ctx, cancel := context.WithTimeout(t.Context(), terms*(age+lease))
				defer cancel()
				var inside, began atomic.Int32
				var led atomic.Int64
				var group sync.WaitGroup
				for range servers {
					l := locker(t, c, lock.Options{Protocol: p, Lease: lease, MaxAge: age, Messenger: lock.PubSub(c)})
					defer l.Close()
					group.Go(func() {
						err := l.Lead(ctx, key, func(ctx context.Context) error {
							if inside.Add(1) > 1 {
								t.Error("two leaders")
							}
							defer inside.Add(-1)
							began.Add(1)
							since := time.Now()
							<-ctx.Done()
							led.Add(int64(time.Since(since)))
							return ctx.Err()
						})
						if !errors.Is(err, context.DeadlineExceeded) {
							t.Error("it ended with", err)
						}
					})
				}
				group.Wait()
				if n := began.Load(); n < terms || n > terms+1 {
					t.Errorf("%d terms, want %d", n, terms)
				}
				if all := time.Duration(led.Load()); all < terms*age {
					t.Errorf("somebody led for %v of %v", all, terms*(age+lease))
				}
				time.Sleep(time.Second) // for what is still said to Redis
				nothingLeft(t, c, p)
			})
		})
	}
}

// A leader that is turned out comes back, one that no try would help does not, and one
// whose work is done or fails says so.
func TestWhatEndsALeader(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		l := locker(t, c, lock.Options{Lease: lease})
		terms := 0
		err := l.Lead(t.Context(), key, func(ctx context.Context) error {
			if terms++; terms == 3 {
				return nil
			}
			if err := l.ForceUnlock(ctx, key); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if err != nil || terms != 3 {
			t.Errorf("%d terms, %v", terms, err)
		}
		broken := errors.New("no paper")
		if err := l.Lead(t.Context(), key, func(context.Context) error { return broken }); !errors.Is(err, broken) {
			t.Error("its work failed with", err)
		}
		wantCount(t, c, "", 0)

		never := func(context.Context) error { t.Error("it leads"); return nil }
		wantIs(t, l.Lead(t.Context(), "", never), lock.ErrKey)
		c.Set(t.Context(), key, "text", 0)
		wantIs(t, l.Lead(t.Context(), key, never), lock.ErrWrongType)
		c.Del(t.Context(), key)
		err = l.Do(t.Context(), key, func(ctx context.Context) error {
			return locker(t, c, lock.Options{Lease: lease}).Lead(ctx, key, never)
		})
		wantIs(t, err, lock.ErrSelf)
		l.Close()
		wantIs(t, l.Lead(t.Context(), key, never), lock.ErrClosed)
	})
}

// A would-be leader's pauses grow while another leads. After a term of its own they are
// short again.
func TestALeaderThatWasTurnedOutAsksSoon(t *testing.T) {
	const interval = 50 * time.Millisecond
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		other := locker(t, c, lock.Options{})
		h := acquire(t, other, lock.NewOwner())
		var refused []time.Time
		l := locker(t, c, lock.Options{Lease: lease, Retries: lock.NoRetry, Interval: interval, Observer: observer(func(a lock.Attempt) {
			if a.Result == lock.Refused {
				refused = append(refused, time.Now())
			}
		})})
		time.AfterFunc(2*time.Second, func() { unlock(t, h) })
		terms := 0
		err := l.Lead(t.Context(), key, func(ctx context.Context) error {
			if terms++; terms == 2 {
				return nil
			}
			if n := len(refused); n < 3 || refused[n-1].Sub(refused[n-2]) != 5*interval {
				t.Errorf("it asked at %v", refused)
			}
			refused = nil
			if err := other.ForceUnlock(ctx, key); err != nil {
				t.Error(err)
			}
			h := acquire(t, other, lock.NewOwner())
			time.AfterFunc(time.Second, func() { unlock(t, h) })
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if err != nil {
			t.Error(err)
		}
		if len(refused) < 2 || refused[1].Sub(refused[0]) != interval {
			t.Errorf("after its term it asked at %v", refused)
		}
	})
}

// Redis does not answer at first. The would-be leader is still there when it does.
func TestALeaderOutlivesAnOutage(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		const outage = 5 * time.Second
		began := time.Now()
		n := &network{UniversalClient: c, loseRequest: func(int64) bool { return time.Since(began) < outage }}
		l := locker(t, n, lock.Options{Lease: lease, Retries: lock.NoRetry})
		var led time.Duration
		err := l.Lead(t.Context(), key, func(context.Context) error {
			led = time.Since(began)
			return nil
		})
		if err != nil || led < outage || led > outage+time.Second {
			t.Errorf("it led after %v: %v", led, err)
		}
	})
}

// Whatever time mends does not end a would-be leader: its pauses grow, and the Observer
// hears of each, with the reason.
func TestALeaderOutlivesRefusals(t *testing.T) {
	said := []answer{"LOADING Redis is loading", "OOM command not allowed", "NOAUTH Authentication required.", "WRONGPASS invalid password", "NOPERM no permissions", "ERR unknown command"}
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		n := &network{UniversalClient: c, says: func(call int64, _ []string) answer {
			if int(call) > len(said) {
				return ""
			}
			return said[call-1]
		}}
		var waits []lock.Wait
		l := locker(t, n, lock.Options{Lease: lease, Retries: lock.NoRetry, Observer: lock.Observer{Waiting: func(_ context.Context, w lock.Wait) {
			waits = append(waits, w)
		}}})
		if err := l.Lead(t.Context(), key, func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		if len(waits) != len(said) {
			t.Fatalf("%d pauses, want %d", len(waits), len(said))
		}
		for i, w := range waits {
			if w.Key != key || w.Owner == "" || !errors.Is(w.Err, lock.ErrRefused) || !strings.Contains(w.Err.Error(), string(said[i])) {
				t.Errorf("pause %d: %+v", i, w)
			}
		}
		if !slices.IsSortedFunc(waits, func(a, b lock.Wait) int { return int(a.For - b.For) }) || waits[0].For >= waits[len(waits)-1].For {
			t.Errorf("the pauses do not grow: %v", waits)
		}
	})
}

// The same on a real Redis: full, with another password or other rights, and restarted.
func TestALeaderComesBack(t *testing.T) {
	acl := func(rules ...any) func(context.Context, *storetest.Server, redis.UniversalClient) error {
		return func(ctx context.Context, s *storetest.Server, c redis.UniversalClient) error {
			return errors.Join(do(append([]any{"ACL", "SETUSER", "app"}, rules...)...)(ctx, s, c), do("CLIENT", "KILL", "USER", "app")(ctx, s, c))
		}
	}
	for _, p := range []lock.Protocol{lock.Sequenced, lock.ReentrantNotify} {
		for _, r := range []refusal{
			{"OOM", do("CONFIG", "SET", "maxmemory", "1"), do("CONFIG", "SET", "maxmemory", "0")},
			{"WRONGPASS", acl("resetpass", ">other"), acl("resetpass", ">secret")},
			{"NOPERM", acl("-evalsha", "-subscribe"), acl("+evalsha", "+subscribe")},
			{"refused", func(_ context.Context, s *storetest.Server, _ redis.UniversalClient) error { s.Kill(); return nil }, nil},
		} {
			t.Run(p.Name+"/"+r.code, func(t *testing.T) {
				t.Parallel()
				s := storetest.Start(t)
				operator := connect(t, s.Addr, redis.Options{})
				user := func() {
					if err := operator.Do(t.Context(), "ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all").Err(); err != nil {
						t.Fatal(err)
					}
				}
				user()
				c := connect(t, s.Addr, redis.Options{MaxRetries: -1, Username: "app", Password: "secret"})
				told := make(chan error, 10_000)
				l := locker(t, c, lock.Options{Protocol: p, Interval: 5 * time.Millisecond, Observer: lock.Observer{
					Waiting: func(_ context.Context, w lock.Wait) { told <- w.Err },
				}})
				t.Cleanup(l.Close)
				if err := r.begin(t.Context(), s, operator); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() { done <- l.Lead(t.Context(), key, func(context.Context) error { return nil }) }()
				for n := 0; n < 3; {
					select {
					case err := <-told:
						if err != nil && strings.Contains(err.Error(), r.code) {
							n++
						}
					case err := <-done:
						t.Fatalf("after %d tries it ended with %v", n, err)
					}
				}
				if r.end == nil {
					if err := s.Restart(t.Context()); err != nil {
						t.Fatal(err)
					}
					user()
				} else if err := r.end(t.Context(), s, operator); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		}
	}
}
