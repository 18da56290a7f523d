package exhibit_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
	"relock/engine/lock"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
)

// renewals are the results of a watchdog's renewals, in their order.
type renewals struct {
	mu      sync.Mutex
	results []lock.Result
}

func (r *renewals) observer() lock.Observer {
	return lock.Observer{Attempted: func(_ context.Context, a lock.Attempt) {
		if a.Name == lock.CallRenew {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.results = append(r.results, a.Result)
		}
	}}
}

func (r *renewals) list() []lock.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.results)
}

// dead is a Redis that hears no release.
type dead struct{ redis.UniversalClient }

func (d dead) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if call, _ := protocol.CallOf(ctx); call.Name != lock.CallUnlock {
		return d.UniversalClient.EvalSha(ctx, sha, keys, args...)
	}
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(errReset)
	return cmd
}

// A watchdog that nobody stops keeps a key alive whose release was lost; others
// stop with the unlock, and so does this one after its maximum age.
func TestAStrayWatchdogOutlivesItsUnlock(t *testing.T) {
	for _, c := range []struct {
		p      lock.Protocol
		maxAge time.Duration
		want   []lock.Result
	}{
		{exhibit.MutexGetDel, 0, nil},
		{exhibit.MutexTakeBack, 0, []lock.Result{lock.Renewed}},
		{exhibit.MutexStrayWatchdog, 0, []lock.Result{lock.Renewed, lock.Renewed, lock.Renewed, lock.Renewed}},
		{exhibit.MutexStrayWatchdog, 250 * time.Millisecond, []lock.Result{lock.Renewed, lock.Renewed, lock.Renewed, lock.Aged}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var seen renewals
			client := embedded(t)
			l, err := exhibit.New(dead{client}, lock.Options{
				Protocol: c.p, Lease: lease, Renew: lease / 2, Retries: lock.NoRetry, MaxAge: c.maxAge, Observer: seen.observer(),
			})
			if err != nil {
				t.Fatal(err)
			}
			h, err := l.Lock(t.Context(), key, lock.NewOwner())
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(lease / 4) // the first renewal comes at once
			_ = h.Unlock(t.Context())
			time.Sleep(lease/2*3 - lease/4 + time.Millisecond)
			synctest.Wait()
			if results := seen.list(); !slices.Equal(results, c.want) {
				t.Errorf("%s renewed %v, want %v", c.p.Name, results, c.want)
			}
		})
	}
}

// A lease that ends at an instant ends by the client's time of day.
func TestAnInstantIsOfTheClientsClock(t *testing.T) {
	client := embedded(t)
	process := clock.NewDrifting(clock.NewWall(nil).Process(), 0)
	for _, by := range []time.Duration{0, time.Hour, -2 * time.Hour} {
		process.Jump(by)
		l, err := lock.New(client, lock.Options{Protocol: exhibit.MutexPXAT, Lease: time.Minute, Clock: process, Renew: lock.NoWatchdog})
		if err != nil {
			t.Fatal(err)
		}
		h, err := l.Lock(t.Context(), key, lock.NewOwner())
		if err != nil {
			t.Fatal(err)
		}
		left := client.PTTL(t.Context(), key).Val()
		want := map[time.Duration]time.Duration{0: time.Minute, time.Hour: time.Hour + time.Minute, -2 * time.Hour: 0}[by]
		if left > want || left < want-10*time.Second {
			t.Errorf("set by %v: %v are left, want %v", by, left, want)
		}
		_ = h.Unlock(t.Context())
		l.Close()
	}
}
