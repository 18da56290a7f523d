package lock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/store"
	"relock/engine/store/storetest"
)

// onEach runs a test for each protocol in one Redis, a real one.
func onEach(t *testing.T, test func(t *testing.T, c redis.UniversalClient, l *lock.Locker)) {
	t.Helper()
	for _, p := range []lock.Protocol{lock.Sequenced, lock.Fenced, lock.ReentrantNotify, lock.ReentrantFair, lock.Reentrant} {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			c := storetest.Redis(t)
			l := locker(t, c, lock.Options{Protocol: p, Interval: 2 * time.Millisecond})
			t.Cleanup(l.Close)
			test(t, c, l)
		})
	}
}

// inside counts who is inside at once, and keeps the most.
type inside struct{ now, most atomic.Int32 }

// visit is inside until every other goroutine has had its chance to be there, too.
func (i *inside) visit(c redis.UniversalClient) {
	n := i.now.Add(1)
	for most := i.most.Load(); n > most && !i.most.CompareAndSwap(most, n); most = i.most.Load() {
	}
	for range 20 { // round trips in which another could come
		c.Ping(context.Background())
	}
	i.now.Add(-1)
}

// together runs a function so many times at once, and returns the errors.
func together(n int, f func() error) []error {
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { errs[i] = f() })
	}
	group.Wait()
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// Goroutines under one lock exclude each other at another, and at the same.
func TestGoroutinesUnderALock(t *testing.T) {
	onEach(t, func(t *testing.T, c redis.UniversalClient, l *lock.Locker) {
		for _, other := range []string{"customer:7", key} {
			var in inside
			err := l.Do(t.Context(), key, func(ctx context.Context) error {
				return errors.Join(together(3, func() error {
					return l.Do(ctx, other, func(ctx context.Context) error {
						if level := lock.HoldOf(ctx).Level(); (level == 2) != (other == key) {
							t.Errorf("%s is at level %d", other, level)
						}
						in.visit(c)
						return nil
					})
				})...)
			})
			if err != nil || in.most.Load() != 1 {
				t.Errorf("%s: %d inside at once, %v", other, in.most.Load(), err)
			}
			if n := c.Exists(t.Context(), key, other).Val(); n != 0 {
				t.Errorf("%d keys are left of %s and %s", n, key, other)
			}
		}
	})
}

// A call that outlives the function is a separate owner, and waits for it.
func TestBackgroundJobsWait(t *testing.T) {
	onEach(t, func(t *testing.T, c redis.UniversalClient, l *lock.Locker) {
		var in inside
		var jobs sync.WaitGroup
		var errs [2]error
		err := l.Do(t.Context(), key, func(ctx context.Context) error {
			for i := range errs {
				jobs.Go(func() {
					errs[i] = l.Do(context.WithoutCancel(ctx), key, func(context.Context) error { in.visit(c); return nil })
				})
			}
			in.visit(c)
			return nil
		})
		jobs.Wait()
		if err := errors.Join(err, errs[0], errs[1]); err != nil || in.most.Load() != 1 {
			t.Errorf("%d inside at once, %v", in.most.Load(), err)
		}
	})
}

// A level that can never be left is not renewed: its lease ends, and others get in.
func TestALevelThatIsLeftBehindEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		l := locker(t, c, lock.Options{Lease: lease})
		in, done := make(chan struct{}), make(chan error, 1)
		err := l.Do(t.Context(), key, func(ctx context.Context) error {
			go func() {
				done <- l.Do(ctx, key, func(inner context.Context) error {
					close(in)
					<-inner.Done()
					return context.Cause(inner)
				})
			}()
			<-in
			return nil
		})
		wantIs(t, err, lock.ErrInnerHeld)
		left := time.Now()
		wantIs(t, <-done, lock.ErrLost)
		if took := time.Since(left); took > lease {
			t.Errorf("the inner level is renewed for %v", took)
		}
		time.Sleep(lease)
		if h, err := l.TryLock(t.Context(), key, lock.NewOwner()); err != nil {
			t.Errorf("another is not let in: %v", err)
		} else {
			unlock(t, h)
		}
	})
}

// A call that would wait for itself hears so at once.
func TestWaitingForOneselfIsAnError(t *testing.T) {
	t.Parallel()
	s := storetest.Start(t)
	client := func() redis.UniversalClient {
		c := redis.NewClient(&redis.Options{Addr: s.Addr})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	c := client()
	l, other, apart := locker(t, c, lock.Options{}), locker(t, c, lock.Options{}), locker(t, client(), lock.Options{})
	e := store.NewEmbedded(time.Time{})
	t.Cleanup(func() { _ = e.Close() })
	elsewhere := locker(t, e.Client(), lock.Options{})
	nothing := func(context.Context) error { return nil }
	err := l.Do(t.Context(), key, func(ctx context.Context) error {
		_, err := l.Lock(ctx, key, lock.NewOwner())
		wantIs(t, err, lock.ErrNotAcquired, lock.ErrSelf, lock.ErrHeld)
		_, err = other.Lock(ctx, key, lock.HoldOf(ctx).Owner())
		wantIs(t, err, lock.ErrSelf)
		wantIs(t, other.Do(ctx, key, nothing), lock.ErrSelf)
		wantIs(t, apart.Do(ctx, key, nothing), lock.ErrSelf)
		h, err := l.Lock(ctx, key, lock.HoldOf(ctx).Owner())
		if err != nil {
			t.Fatal(err)
		}
		wantIs(t, l.Do(ctx, key, nothing), lock.ErrSelf) // its level is not the innermost
		unlock(t, h)
		_, err = l.TryLock(context.WithoutCancel(ctx), key, lock.NewOwner())
		if wantIs(t, err, lock.ErrHeld); errors.Is(err, lock.ErrSelf) {
			t.Error("what outlives the hold does not wait for itself:", err)
		}
		return errors.Join(l.Do(ctx, "another", nothing), elsewhere.Do(ctx, key, nothing))
	})
	if err != nil {
		t.Error(err)
	}
}

// A wait that is bounded does not bound the work.
func TestWaitBrieflyWorkLong(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		l := locker(t, c, lock.Options{Lease: lease, Interval: 10 * time.Millisecond})
		const wait = 50 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := l.Do(ctx, key, func(held context.Context) error {
			time.Sleep(20 * wait)
			began := time.Now()
			_, err := l.Lock(ctx, key, lock.NewOwner(), lock.WithWait(wait))
			wantIs(t, err, lock.ErrNotAcquired, lock.ErrHeld, context.DeadlineExceeded)
			if took := time.Since(began); took < wait || took > 2*wait {
				t.Errorf("it waited for %v", took)
			}
			if _, has := held.Deadline(); !has || context.Cause(held) != nil {
				t.Errorf("after the wait the hold's context has ended: %v", context.Cause(held))
			}
			return nil
		}, lock.WithWait(wait))
		if err != nil {
			t.Error(err)
		}
		for _, bad := range []time.Duration{0, -1} {
			_, err := l.Lock(ctx, key, lock.NewOwner(), lock.WithWait(bad))
			wantIs(t, err, lock.ErrNotAcquired, lock.ErrOptions)
		}
	})
}

// An error that ends a wait is one line, which names the key.
func TestAnErrorIsOneLine(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		broken := &network{UniversalClient: c, loseRequest: func(int64) bool { return true }}
		l, mute := locker(t, c, lock.Options{Lease: lease}), locker(t, broken, lock.Options{Lease: lease, Limit: ms})
		once := locker(t, c, lock.Options{Lease: lease, Retries: 2})
		majority := locker(t, broken, lock.Options{Lease: lease, Protocol: lock.Redlock, Nodes: []lock.Redis{broken, broken}, Limit: ms})
		silent := locker(t, &network{UniversalClient: c, loseRequest: func(n int64) bool { return n == 1 }, hangs: func(int64) bool { return true }}, lock.Options{Lease: lease})
		h := acquire(t, l, lock.NewOwner())
		other := locker(t, c, lock.Options{Lease: lease})
		for name, row := range map[string]struct {
			of   func() error
			want string
		}{
			"waited":    {func() error { return lockBy(t.Context(), t, l, lock.WithWait(ms)) }, "held by another owner"},
			"tried":     {func() error { return lockBy(t.Context(), t, once) }, "held by another owner in 3 attempts"},
			"itself":    {func() error { return lockBy(h.Context(), t, other) }, "this context holds it already"},
			"no answer": {func() error { _, err := mute.TryLock(t.Context(), key, "A"); return err }, "connection reset"},
			"no answer in time": {func() error {
				_, err := silent.TryLock(t.Context(), key, "A", lock.WithWait(20*ms))
				return err
			}, "connection reset"},
			"no nodes": {func() error { _, err := majority.TryLock(t.Context(), key, "A"); return err }, "no majority"},
			"no wait":  {func() error { return lockBy(t.Context(), t, l, lock.WithWait(-1)) }, "a wait must be positive"},
			"no label": {func() error { return lockBy(t.Context(), t, l, lock.WithLabel("a b")) }, "a label must have no white space"},
			"both of Do": {func() error {
				return l.Do(h.Context(), key, func(ctx context.Context) error {
					_ = lock.HoldOf(ctx).Unlock(ctx)
					return fmt.Errorf("no paper for %q", key)
				})
			}, "left before"},
		} {
			err := row.of()
			if err == nil {
				t.Errorf("%s: no error", name)
				continue
			}
			if text := err.Error(); strings.Contains(text, "\n") || !strings.Contains(text, `"k"`) || strings.Count(text, "not acquired") > 1 || !strings.Contains(text, row.want) {
				t.Errorf("%s: %q", name, text)
			}
		}
		unlock(t, h)
		time.Sleep(time.Minute) // what is still given back
	})
}

// lockBy is Lock for a new owner that is refused.
func lockBy(ctx context.Context, t *testing.T, l *lock.Locker, options ...lock.LockOption) error {
	t.Helper()
	_, err := l.Lock(ctx, key, lock.NewOwner(), options...)
	return err
}

// A label is for people, and no identity.
func TestALabelSaysWhoHasIt(t *testing.T) {
	onEach(t, func(t *testing.T, c redis.UniversalClient, l *lock.Locker) {
		pod := lock.WithLabel("pod-1")
		owner := lock.Owner("A")
		h, err := l.Lock(t.Context(), key, owner, pod)
		if err != nil {
			t.Fatal(err)
		}
		inner, err := l.Lock(t.Context(), key, owner, lock.WithLabel("another"))
		if err != nil || inner.Level() != 2 || inner.Label() != "pod-1" {
			t.Fatal("entered again:", inner, err)
		}
		if is, err := l.Inspect(t.Context(), key); err != nil || is.Owner != "A" || is.Label != "pod-1" || is.Count != 2 {
			t.Errorf("%+v, %v", is, err)
		}
		_, err = l.TryLock(t.Context(), key, "B", pod)
		wantIs(t, err, lock.ErrHeld)
		if !strings.Contains(err.Error(), `"k" for pod-1`) {
			t.Error(err)
		}
		got := make(chan *lock.Hold)
		go func() {
			h, _ := l.Lock(context.WithoutCancel(t.Context()), key, "B", pod)
			got <- h
		}()
		unlock(t, inner)
		unlock(t, h)
		if err := h.Unlock(t.Context()); !strings.Contains(err.Error(), `"k" for pod-1`) {
			t.Error(err)
		}
		if h = <-got; h.Owner() != "B" || h.Label() != "pod-1" {
			t.Error("handed over to", h)
		}
		unlock(t, h)
	})
}

type deeper struct{} // a key of a context

// Under several holds, HoldOf is the innermost: that of the last key, and of one key that
// of the last level.
func TestHoldOfIsTheInnermost(t *testing.T) {
	onEach(t, func(t *testing.T, _ redis.UniversalClient, l *lock.Locker) {
		ctx, owner := t.Context(), lock.NewOwner()
		for _, k := range []string{"outer", "inner", "inner", "outer"} {
			h, err := l.Lock(ctx, k, owner)
			if err != nil {
				t.Fatal(err)
			}
			defer h.Unlock(t.Context())
			ctx = context.WithValue(h.Context(), deeper{}, true)
			if of := lock.HoldOf(ctx); of != h {
				t.Errorf("it is level %d of %q, want level %d of %q", of.Level(), of.Key(), h.Level(), k)
			}
		}
	})
}

// A call that waits for another under the same hold waits no longer than it says, and that
// does not bound its own work.
func TestADoWaitsForItsTurnAsLongAsItSays(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		l := locker(t, c, lock.Options{})
		err := l.Do(t.Context(), key, func(ctx context.Context) error {
			inside := make(chan struct{})
			var first sync.WaitGroup
			first.Go(func() {
				if err := l.Do(ctx, key, func(ctx context.Context) error {
					close(inside)
					time.Sleep(time.Second)
					return ctx.Err()
				}, lock.WithWait(100*time.Millisecond)); err != nil {
					t.Error(err)
				}
			})
			<-inside
			began := time.Now()
			err := l.Do(ctx, key, func(context.Context) error {
				t.Error("two are at one level")
				return nil
			}, lock.WithWait(100*time.Millisecond))
			wantIs(t, err, lock.ErrNotAcquired, lock.ErrHeld, context.DeadlineExceeded)
			if took := time.Since(began); took != 100*time.Millisecond {
				t.Errorf("it waited for %v", took)
			}
			first.Wait()
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// A Do that waits for another Do of the same hold says so: also the one that waits for
// itself, because it uses the context of its outer hold.
func TestADoThatWaitsForAnotherSaysSo(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		var waits []lock.Wait
		l := locker(t, c, lock.Options{Observer: lock.Observer{Waiting: func(_ context.Context, w lock.Wait) { waits = append(waits, w) }}})
		nothing := func(context.Context) error { t.Error("it is inside"); return nil }
		err := l.Do(t.Context(), key, func(outer context.Context) error {
			return l.Do(outer, key, func(inner context.Context) error {
				if err := l.Do(inner, key, func(context.Context) error { return nil }); err != nil || len(waits) > 0 {
					t.Error("the innermost hold's Do waits:", err)
				}
				limited, cancel := context.WithTimeout(outer, time.Second)
				defer cancel()
				wantIs(t, l.Do(limited, key, nothing), lock.ErrNotAcquired, lock.ErrHeld, context.DeadlineExceeded)
				err := l.Do(outer, key, nothing, lock.WithWait(time.Second))
				wantIs(t, err, lock.ErrNotAcquired, lock.ErrHeld, context.DeadlineExceeded)
				if !strings.Contains(err.Error(), "another Do of this hold is inside") || strings.Contains(err.Error(), "another owner") {
					t.Error(err)
				}
				if len(waits) != 2 || waits[0].For != 0 || waits[1].For != time.Second {
					t.Fatalf("the Observer heard of %+v", waits)
				}
				for _, w := range waits {
					if w.Key != key || w.Owner != lock.HoldOf(outer).Owner() || !strings.Contains(w.Err.Error(), "another Do") {
						t.Errorf("the Observer heard of %+v", w)
					}
				}
				return nil
			})
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// Redlock has one level, so whoever has it waits for itself.
func TestRedlockInRedlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := nodes(t, 0, 0)
		l, other := quorum(t, list), quorum(t, list)
		err := l.Do(t.Context(), key, func(ctx context.Context) error {
			began := time.Now()
			wantIs(t, l.Do(ctx, key, func(context.Context) error { return nil }), lock.ErrNotAcquired, lock.ErrSelf)
			wantIs(t, other.Do(ctx, key, func(context.Context) error { return nil }), lock.ErrSelf)
			for _, l := range []*lock.Locker{l, other} {
				_, err := l.Lock(ctx, key, lock.HoldOf(ctx).Owner())
				wantIs(t, err, lock.ErrSelf)
			}
			if took := time.Since(began); took != 0 {
				t.Errorf("it waited for %v", took)
			}
			return l.Do(ctx, "another", func(context.Context) error { return nil })
		})
		if err != nil {
			t.Error(err)
		}
	})
}
