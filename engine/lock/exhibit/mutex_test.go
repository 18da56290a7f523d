package exhibit_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/lock/exhibit"
	"relock/engine/store"
)

const (
	key   = "EXAMPLE_LOCK"
	lease = 200 * time.Millisecond
)

// article is a Locker with the settings of the article.
func article(t *testing.T, c lock.Redis, p lock.Protocol, o lock.Observer) *exhibit.Locker {
	t.Helper()
	l, err := exhibit.New(c, lock.Options{
		Protocol: p, Lease: lease, Renew: lease / 2, Retries: 5, Interval: 50 * time.Millisecond, JitterMax: 0, Observer: o,
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func embedded(t *testing.T) redis.UniversalClient {
	t.Helper()
	e := store.NewEmbedded(time.Time{})
	t.Cleanup(func() { _ = e.Close() })
	return e.Client()
}

// The article tries six times, and pauses after each retry: also after the last
// one, when nothing is tried any more.
func TestWhenTheArticleRetries(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		p     lock.Protocol
		tries []time.Duration
	}{
		{exhibit.MutexBlind, []time.Duration{0, 0, 50 * ms, 100 * ms, 150 * ms, 200 * ms}},
		{exhibit.MutexGetDel, []time.Duration{0, 50 * ms, 100 * ms, 150 * ms, 200 * ms, 250 * ms}},
	} {
		t.Run(c.p.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := embedded(t)
				client.Set(t.Context(), key, "another's", time.Hour)
				began := time.Now()
				var tries, pauses []time.Duration
				l := article(t, client, c.p, lock.Observer{
					Attempted: func(_ context.Context, a lock.Attempt) {
						if a.Result == lock.Refused {
							tries = append(tries, time.Since(began))
						}
					},
					Waiting: func(_ context.Context, w lock.Wait) { pauses = append(pauses, w.For) },
				})
				_, err := l.Lock(t.Context(), key, lock.NewOwner())
				if !errors.Is(err, lock.ErrHeld) {
					t.Error(err)
				}
				if !slices.Equal(tries, c.tries) {
					t.Errorf("tried at %v, want %v", tries, c.tries)
				}
				if took := time.Since(began); took != 250*ms || len(pauses) != 5 {
					t.Errorf("gave up after %v and the pauses %v, want 250ms and five of 50ms", took, pauses)
				}
			})
		})
	}
}

// The last pause ends with the caller's context.
func TestTheArticlesLastPauseCanBeCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := embedded(t)
		client.Set(t.Context(), key, "another's", time.Hour)
		l := article(t, client, exhibit.MutexBlind, lock.Observer{})
		ctx, cancel := context.WithTimeout(t.Context(), 220*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := l.Lock(ctx, key, lock.NewOwner())
		if took := time.Since(began); took != 220*time.Millisecond || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// The article's watchdog renews as soon as the lock is taken, and then every
// half of the lease, whosever key is there, and whatever Redis answers.
func TestTheArticlesWatchdogIsBlind(t *testing.T) {
	const ms = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		client := embedded(t)
		began := time.Now()
		var mu sync.Mutex
		var renewals []string
		at := map[string][]time.Duration{}
		l := article(t, client, exhibit.MutexBlind, lock.Observer{Attempted: func(_ context.Context, a lock.Attempt) {
			if a.Name == lock.CallRenew {
				mu.Lock()
				defer mu.Unlock()
				renewals = append(renewals, string(a.Result))
				at["renew"] = append(at["renew"], time.Since(began))
			}
		}})
		h, err := l.Lock(t.Context(), key, lock.NewOwner())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * ms)
		client.Set(t.Context(), key, "another's", time.Hour)
		time.Sleep(70 * ms) // renewed at 100 ms
		if left := client.PTTL(t.Context(), key).Val(); left > lease || left <= 0 {
			t.Errorf("another's hour is still %v", left)
		}
		client.Del(t.Context(), key)
		time.Sleep(100 * ms) // no key at 200 ms
		client.Set(t.Context(), key, "another's", time.Hour)
		time.Sleep(100 * ms) // again at 300 ms
		mu.Lock()
		want := []string{string(lock.Renewed), string(lock.Renewed), string(lock.NotHeld), string(lock.Renewed)}
		if !slices.Equal(renewals, want) || !slices.Equal(at["renew"], []time.Duration{0, 100 * ms, 200 * ms, 300 * ms}) {
			t.Errorf("%v at %v, want %v every 100ms", renewals, at["renew"], want)
		}
		mu.Unlock()
		if err := h.Unlock(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
			t.Error(err)
		}
		if client.Get(t.Context(), key).Val() != "another's" {
			t.Error("the release deleted another's key")
		}
		time.Sleep(time.Second)
		mu.Lock()
		defer mu.Unlock()
		if len(renewals) != len(want) {
			t.Errorf("renewed after the release: %v", at["renew"])
		}
	})
}

// failing is a Redis that does not answer a PEXPIRE while down is set.
type failing struct {
	redis.UniversalClient

	down atomic.Bool
}

func (f *failing) Do(ctx context.Context, args ...any) *redis.Cmd {
	if f.down.Load() && args[0] == "PEXPIRE" {
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(errors.New("connection refused"))
		return cmd
	}
	return f.UniversalClient.Do(ctx, args...)
}

// It drops errors, too, and is in no hurry after one: with a renewal every half
// of the lease, one that fails loses the lock.
func TestTheArticlesWatchdogDropsErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failing{UniversalClient: embedded(t)}
		var mu sync.Mutex
		var results []lock.Result
		l := article(t, f, exhibit.MutexBlind, lock.Observer{Attempted: func(_ context.Context, a lock.Attempt) {
			if a.Name == lock.CallRenew {
				mu.Lock()
				defer mu.Unlock()
				results = append(results, a.Result)
			}
		}})
		h, err := l.Lock(t.Context(), key, lock.NewOwner())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
		f.down.Store(true)
		time.Sleep(100 * time.Millisecond)
		f.down.Store(false)
		time.Sleep(100 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		if want := []lock.Result{lock.Renewed, lock.Failed, lock.NotHeld}; !slices.Equal(results, want) {
			t.Errorf("%v, want %v", results, want)
		}
		if err := h.Context().Err(); err != nil {
			t.Errorf("somebody told the holder: %v", err)
		}
		if err := h.Unlock(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
			t.Error(err)
		}
	})
}

// between is a Redis that has something done before a DEL.
type between struct {
	redis.UniversalClient

	do func()
}

func (b *between) Do(ctx context.Context, args ...any) *redis.Cmd {
	if args[0] == "DEL" {
		b.do()
	}
	return b.UniversalClient.Do(ctx, args...)
}

// The state that GET found may be over when DEL comes.
func TestBetweenGetAndDelTheLockBecomesAnothers(t *testing.T) {
	client := embedded(t)
	l := article(t, &between{client, func() { client.Set(t.Context(), key, "another's", time.Hour) }}, exhibit.MutexGetDel, lock.Observer{})
	h, err := l.Lock(t.Context(), key, lock.NewOwner())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	if client.Exists(t.Context(), key).Val() != 0 {
		t.Error("another's key is still there: then this lock has no hole")
	}
	client.Set(t.Context(), key, "another's", time.Hour) // GET finds this, and there is no DEL
	l = article(t, &between{client, func() { t.Error("DEL was sent") }}, exhibit.MutexGetDel, lock.Observer{})
	client.Del(t.Context(), key)
	if h, err = l.Lock(t.Context(), key, lock.NewOwner()); err != nil {
		t.Fatal(err)
	}
	client.Set(t.Context(), key, "another's", time.Hour)
	if err := h.Unlock(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
		t.Error(err)
	}
}
