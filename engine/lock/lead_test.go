package lock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
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

// A leader that is turned out comes back, one that Redis refuses for good does not, and one
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
		n := &network{UniversalClient: c, says: func(call int64, _ []string) answer {
			if call < 5 {
				return "LOADING Redis is loading the dataset in memory"
			}
			return "NOPERM this user has no permissions"
		}}
		wantIs(t, locker(t, n, lock.Options{Lease: lease, Retries: lock.NoRetry}).Lead(t.Context(), key, never), lock.ErrRefused)
		if calls := n.calls.Load(); calls != 5 {
			t.Errorf("it asked %d times", calls)
		}
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
