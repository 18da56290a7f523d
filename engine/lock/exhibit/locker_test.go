package exhibit_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/lock/exhibit"
)

// deaf is a Redis that does not answer the next commands.
type deaf struct {
	redis.UniversalClient

	left int // how many
}

func (d *deaf) Do(ctx context.Context, args ...any) *redis.Cmd {
	if d.left > 0 {
		d.left--
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(errors.New("connection refused"))
		return cmd
	}
	return d.UniversalClient.Do(ctx, args...)
}

// attempts is an Observer that keeps the calls' results, and their pauses.
func attempts(results *[]lock.Result, pauses *[]time.Duration) lock.Observer {
	return lock.Observer{
		Attempted: func(_ context.Context, a lock.Attempt) { *results = append(*results, a.Result) },
		Waiting:   func(_ context.Context, w lock.Wait) { *pauses = append(*pauses, w.For) },
	}
}

func newLocker(t *testing.T, c lock.Redis, o lock.Options) *exhibit.Locker {
	t.Helper()
	o.Lease = time.Second
	l, err := exhibit.New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A release without an answer is sent again as often as Lock asks again, five
// times where that is without end, and the pauses do not grow.
func TestReleasesAreRepeatedAsOftenAsLocks(t *testing.T) {
	const pause = 20 * time.Millisecond
	for _, c := range []struct{ retries, again int }{{lock.NoRetry, 0}, {2, 2}, {0, 5}} {
		synctest.Test(t, func(t *testing.T) {
			d := &deaf{UniversalClient: embedded(t)}
			var results []lock.Result
			var pauses []time.Duration
			l := newLocker(t, d, lock.Options{
				Protocol: exhibit.MutexGetDel, Retries: c.retries, Interval: pause, Observer: attempts(&results, &pauses),
			})
			h, err := l.Lock(t.Context(), key, lock.NewOwner())
			if err != nil {
				t.Fatal(err)
			}
			d.left = 100
			err = h.Unlock(t.Context())
			if !errors.Is(err, lock.ErrUnknown) || len(results) != 2+c.again || !slices.Equal(pauses, slices.Repeat([]time.Duration{pause}, c.again)) {
				t.Errorf("retries %d: %v, %v with the pauses %v; want %d more", c.retries, err, results, pauses, c.again)
			}
			if h.Context().Err() == nil || !errors.Is(h.Unlock(t.Context()), lock.ErrNotHeld) {
				t.Error("the level was not left")
			}
		})
	}
}

// If the answer to the last attempt was lost, the locker gives back what it may have been
// granted. Once a later one is refused, it is forgotten.
func TestWhatStaysUnknownIsGivenBack(t *testing.T) {
	for _, c := range []struct {
		silent int
		want   []lock.Result
		err    error
	}{
		{1, []lock.Result{lock.Failed, lock.Refused, lock.Exhausted}, lock.ErrHeld},
		{2, []lock.Result{lock.Failed, lock.Failed, lock.NotHeld}, lock.ErrUnknown},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := &deaf{UniversalClient: embedded(t), left: c.silent}
			d.Set(t.Context(), key, "another's", time.Hour)
			var results []lock.Result
			var pauses []time.Duration
			l := newLocker(t, d, lock.Options{
				Protocol: exhibit.MutexGetDel, Retries: 1, Interval: time.Millisecond, Observer: attempts(&results, &pauses),
			})
			_, err := l.Lock(t.Context(), key, lock.NewOwner())
			if !errors.Is(err, c.err) || !slices.Equal(results, c.want) {
				t.Errorf("%v, %v; want %v, %v", err, results, c.err, c.want)
			}
		})
	}
}

// The holder is not told that its lease ended, and its levels are left from the
// inside out.
func TestItsHolderNeverDoubts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := embedded(t)
		l := newLocker(t, client, lock.Options{Protocol: exhibit.Value, Retries: lock.NoRetry})
		owner := lock.NewOwner()
		outer, err := l.Lock(t.Context(), key, owner)
		if err != nil {
			t.Fatal(err)
		}
		inner, err := l.Lock(t.Context(), key, owner)
		if err != nil || inner.Level() != 2 {
			t.Fatal(inner, err)
		}
		client.Del(t.Context(), key)
		time.Sleep(time.Hour)
		if outer.Context().Err() != nil || inner.Context().Err() != nil {
			t.Error("somebody told the holder")
		}
		if err := outer.Unlock(t.Context()); !errors.Is(err, lock.ErrInnerHeld) {
			t.Error(err)
		}
		for _, h := range []*exhibit.Hold{inner, outer} {
			if err := h.Unlock(t.Context()); !errors.Is(err, lock.ErrNotHeld) || !errors.Is(context.Cause(h.Context()), lock.ErrReleased) {
				t.Error(err, context.Cause(h.Context()))
			}
		}
	})
}

func TestOnlyExhibitsHaveTheirLocker(t *testing.T) {
	for _, o := range []lock.Options{
		{},
		{Protocol: lock.Sequenced},
		{Protocol: exhibit.Mutex},
		{Protocol: exhibit.Value, Lease: time.Microsecond},
		{Protocol: exhibit.Value, Lease: time.Second + 1},
	} {
		if _, err := exhibit.New(nil, o); !errors.Is(err, lock.ErrOptions) {
			t.Errorf("%+v: %v", o.Protocol, err)
		}
	}
}
