package lock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
)

const ms = time.Millisecond

// busy returns a client of a Redis that cannot run the calls from and to such
// numbers, and when each call was sent.
func busy(c redis.UniversalClient, ranges ...[2]int64) (n *network, sent func() []time.Duration) {
	began := time.Now()
	var at []time.Duration
	return &network{UniversalClient: c, says: func(call int64, _ []string) answer {
		at = append(at, time.Since(began))
		if slices.ContainsFunc(ranges, func(r [2]int64) bool { return r[0] <= call && call <= r[1] }) {
			return "BUSY Redis is busy running a script"
		}
		return ""
	}}, func() []time.Duration { return at }
}

// A Redis that cannot run anything is asked again, with pauses that grow from
// Interval, and after an answer begin again with it.
func TestPausesGrowWhileRedisRefuses(t *testing.T) {
	grown := []time.Duration{10 * ms, 20 * ms, 40 * ms, 80 * ms, 160 * ms, 250 * ms, 250 * ms}
	t.Run("Lock and Unlock", func(t *testing.T) {
		inBubble(t, func(t *testing.T, c redis.UniversalClient) {
			n, sent := busy(c, [2]int64{1, 7}, [2]int64{9, 10}, [2]int64{12, 18})
			l := locker(t, n, lock.Options{Interval: 10 * ms, Lease: time.Hour})
			other := acquire(t, locker(t, c, lock.Options{}), lock.NewOwner())
			time.AfterFunc(815*ms, func() { unlock(t, other) }) // after the eighth call, and before the ninth
			h, err := l.Lock(t.Context(), key, lock.NewOwner())
			if err != nil {
				t.Fatal(err)
			}
			unlock(t, h)
			want := slices.Concat(grown, []time.Duration{10 * ms, 10 * ms, 20 * ms, 0}, grown)
			if got := between(sent()); !slices.Equal(got, want) {
				t.Errorf("pauses %v, want %v", got, want)
			}
		})
	})
	t.Run("renewal", func(t *testing.T) {
		inBubble(t, func(t *testing.T, c redis.UniversalClient) {
			n, sent := busy(c, [2]int64{3, 8}, [2]int64{10, 11})
			l := locker(t, n, lock.Options{Interval: 10 * ms, Lease: 3 * time.Second})
			h := acquire(t, l, lock.NewOwner())
			time.Sleep(5 * time.Second)
			unlock(t, h)
			want := slices.Concat([]time.Duration{time.Second, time.Second}, grown[:6], []time.Duration{time.Second, 10 * ms, 20 * ms, time.Second})
			if got := between(sent()); !slices.Equal(got[:len(want)], want) {
				t.Errorf("pauses %v, want %v", got, want)
			}
		})
	})
}

// between returns the differences of instants.
func between(at []time.Duration) []time.Duration {
	var list []time.Duration
	for i := 1; i < len(at); i++ {
		list = append(list, at[i]-at[i-1])
	}
	return list
}

// Busy, dead and refused are told apart, whatever ends the wait.
func TestLockTellsWhyItFailed(t *testing.T) {
	why := []error{lock.ErrHeld, lock.ErrUnknown, lock.ErrRefused}
	for name, row := range map[string]struct {
		n    *network
		want error
	}{
		"held":       {&network{}, lock.ErrHeld},
		"unanswered": {&network{loseRequest: func(int64) bool { return true }}, lock.ErrUnknown},
		"hanging":    {&network{hangs: func(int64) bool { return true }}, lock.ErrUnknown},
		"refused":    {&network{says: func(int64, []string) answer { return "LOADING Redis is loading the dataset in memory" }}, lock.ErrRefused},
	} {
		for _, p := range counted() {
			t.Run(name+", "+p.Name, func(t *testing.T) {
				inBubble(t, func(t *testing.T, c redis.UniversalClient) {
					loadAll(t, c, p)
					o := lock.Options{Protocol: p, Interval: 30 * ms, Limit: 100 * ms, Messenger: lock.PubSub(c)}
					other := locker(t, c, o)
					defer other.Close()
					held := acquire(t, other, lock.NewOwner())
					row.n.UniversalClient = c
					for _, retries := range []int{lock.NoRetry, 3, 0} {
						o.Retries = retries
						l := locker(t, row.n, o)
						ctx, cancel := context.WithTimeout(t.Context(), time.Second)
						_, err := l.Lock(ctx, key, lock.NewOwner())
						wantIs(t, err, lock.ErrNotAcquired, row.want)
						if ended := errors.Is(err, context.DeadlineExceeded); retries == 0 && !ended {
							t.Errorf("not the end of the context: %v", err)
						}
						for _, other := range why {
							if !errors.Is(row.want, other) && errors.Is(err, other) {
								t.Errorf("%d retries: %q is %q, too", retries, err, other)
							}
						}
						cancel()
						time.Sleep(time.Minute) // for what is still given back
						l.Close()
					}
					unlock(t, held)
				})
			})
		}
	}
}

// A context that ends while the first attempt has no answer yet: nobody knows what came
// of it, however soon that is.
func TestAContextThatEndsBeforeTheFirstAnswer(t *testing.T) {
	for _, p := range counted() {
		for _, after := range []time.Duration{20 * ms, time.Second} {
			t.Run(fmt.Sprint(p.Name, " ", after), func(t *testing.T) {
				inBubble(t, func(t *testing.T, c redis.UniversalClient) {
					loadAll(t, c, p)
					n := &network{UniversalClient: c, hangs: func(int64) bool { return true }}
					l := locker(t, n, lock.Options{Protocol: p, Limit: time.Minute, Messenger: lock.PubSub(c)})
					defer l.Close()
					ctx, cancel := context.WithTimeout(t.Context(), after)
					defer cancel()
					_, err := l.Lock(ctx, key, lock.NewOwner())
					wantIs(t, err, lock.ErrNotAcquired, lock.ErrUnknown, context.DeadlineExceeded)
					time.Sleep(5 * time.Minute) // for what is still given back
				})
			})
		}
	}
}
