package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock/clocktest"
	"relock/engine/lock"
	"relock/engine/store/storetest"
)

// refusal is a state in which Redis answers, and does not do what it is told.
type refusal struct {
	code       string // that its answers begin with
	begin, end func(ctx context.Context, s *storetest.Server, c redis.UniversalClient) error
}

func do(args ...any) func(context.Context, *storetest.Server, redis.UniversalClient) error {
	return func(ctx context.Context, _ *storetest.Server, c redis.UniversalClient) error {
		return c.Do(ctx, args...).Err()
	}
}

// refusals are the passing ones that a single server can be brought to.
func refusals() []refusal {
	master := do("REPLICAOF", "NO", "ONE")
	return []refusal{
		{
			"BUSY",
			func(_ context.Context, s *storetest.Server, c redis.UniversalClient) error {
				slow := storetest.Client(s.Addr)
				go func() { // until it is killed
					_ = slow.Eval(context.Background(), "while true do end", nil).Err()
					_ = slow.Close()
				}()
				return untilRefused(c, "BUSY")
			},
			do("SCRIPT", "KILL"),
		},
		{"READONLY", do("REPLICAOF", "127.0.0.1", "1"), master},
		{
			"MASTERDOWN",
			func(ctx context.Context, _ *storetest.Server, c redis.UniversalClient) error {
				return errors.Join(c.ConfigSet(ctx, "replica-serve-stale-data", "no").Err(), c.Do(ctx, "REPLICAOF", "127.0.0.1", "1").Err())
			},
			master,
		},
		{"NOREPLICAS", do("CONFIG", "SET", "min-replicas-to-write", "1"), do("CONFIG", "SET", "min-replicas-to-write", "0")},
		{
			"LOADING",
			func(ctx context.Context, s *storetest.Server, c redis.UniversalClient) error {
				// Each key takes a millisecond to load, until the end.
				err := errors.Join(
					c.Eval(ctx, "for i = 1, 20000 do redis.call('SET', 'filling:' .. i, 'x') end", nil).Err(), c.Do(ctx, "SAVE").Err())
				if err != nil && !errors.Is(err, redis.Nil) {
					return err
				}
				s.Kill()
				if err := s.Launch(); err != nil {
					return err
				}
				return untilRefused(c, "LOADING")
			},
			do("CONFIG", "SET", "key-load-delay", "0"),
		},
	}
}

// untilRefused returns once Redis refuses a command with a code.
func untilRefused(c redis.UniversalClient, code string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		if err := c.Get(ctx, "nothing").Err(); err != nil && strings.HasPrefix(err.Error(), code) {
			return nil
		}
	}
	return fmt.Errorf("never refused with %s", code)
}

// refusing starts a Redis for a test of refusals.
func refusing(t testing.TB) (*storetest.Server, redis.UniversalClient) {
	s := storetest.Start(t, "--busy-reply-threshold", "1", "--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024")
	return s, connect(t, s.Addr, redis.Options{MaxRetries: -1})
}

func connect(t testing.TB, addr string, o redis.Options) redis.UniversalClient {
	o.Addr, o.DialerRetries, o.ContextTimeoutEnabled = addr, 1, true
	c := redis.NewClient(&o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Every call waits for a refusal that passes, up to its own limit.
func TestPassingRefusalsAreWaitedFor(t *testing.T) {
	for _, r := range refusals() {
		t.Run(r.code, func(t *testing.T) {
			s, c := refusing(t)
			operator := storetest.Client(s.Addr)
			t.Cleanup(func() { _ = operator.Close() })
			protocols := counted()
			if r.code == "LOADING" { // takes a second a call
				protocols = protocols[:1]
			}
			for _, p := range protocols {
				t.Run(p.Name, func(t *testing.T) {
					heard := make(chan lock.Attempt, 1000)
					l := locker(t, c, lock.Options{
						Protocol: p, Interval: 5 * time.Millisecond, Lease: 20 * time.Second, Renew: 20 * time.Millisecond,
						Observer: observer(func(a lock.Attempt) { heard <- a }),
					})
					t.Cleanup(l.Close)
					// refused waits for two refusals of a call, while it goes on.
					refused := func(going context.Context, call string) {
						t.Helper()
						for n := 0; n < 2; {
							var a lock.Attempt
							select {
							case a = <-heard:
							case <-going.Done():
								t.Fatalf("%s was refused %d times: %v", call, n, context.Cause(going))
							}
							if a.Name == call && a.Err != nil && strings.Contains(a.Err.Error(), r.code+" ") {
								n++
								if a.Result != lock.Failed || !errors.Is(a.Err, lock.ErrRefused) {
									t.Errorf("%s: %s, %v", call, a.Result, a.Err)
								}
							}
						}
					}
					begin := func() {
						t.Helper()
						if err := r.begin(t.Context(), s, operator); err != nil {
							t.Fatal(err)
						}
					}
					end := func() {
						t.Helper()
						if err := r.end(t.Context(), s, operator); err != nil {
							t.Fatal(err)
						}
					}
					through := func(call string, f func() error) {
						t.Helper()
						begin()
						going, over := context.WithCancelCause(t.Context())
						done := make(chan error, 1)
						go func() {
							err := f()
							over(fmt.Errorf("it ended with %w", err))
							done <- err
						}()
						refused(going, call)
						end()
						if err := <-done; err != nil {
							t.Errorf("%s: %v", call, err)
						}
					}
					var h *lock.Hold
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					through(lock.CallLock, func() (err error) {
						h, err = l.Lock(ctx, key, lock.NewOwner())
						return err
					})
					if h == nil {
						return
					}
					if r.code != "LOADING" { // it would be a lock of the time before
						begin()
						refused(h.Context(), lock.CallRenew)
						end()
						for a := (lock.Attempt{}); a.Result != lock.Renewed; {
							select {
							case a = <-heard:
							case <-h.Context().Done():
								t.Fatal(context.Cause(h.Context()))
							}
						}
					}
					through(lock.CallUnlock, func() error { return h.Unlock(t.Context()) })
					wantCount(t, operator, "", 0)
				})
			}
		})
	}
}

// A release that is refused until the limit says by whom and with what.
func TestARefusedReleaseNamesWhatRedisSaid(t *testing.T) {
	s, c := refusing(t)
	operator := storetest.Client(s.Addr)
	t.Cleanup(func() { _ = operator.Close() })
	l := locker(t, c, lock.Options{Limit: 200 * time.Millisecond})
	h := acquire(t, l, lock.NewOwner())
	if err := do("REPLICAOF", "127.0.0.1", "1")(t.Context(), s, operator); err != nil {
		t.Fatal(err)
	}
	err := h.Unlock(t.Context())
	wantIs(t, err, lock.ErrRefused)
	if errors.Is(err, lock.ErrLost) || errors.Is(err, lock.ErrUnknown) || !strings.Contains(err.Error(), "READONLY") {
		t.Error(err)
	}
}

// A full Redis has no room for a lock, but a lock that is held stays held, and
// every level can be left.
func TestAFullRedisReleases(t *testing.T) {
	s, c := refusing(t)
	operator := storetest.Client(s.Addr)
	t.Cleanup(func() { _ = operator.Close() })
	for _, p := range counted() {
		t.Run(p.Name, func(t *testing.T) {
			renewed := make(chan struct{}, 1000)
			l := locker(t, c, lock.Options{Protocol: p, Renew: 10 * time.Millisecond, Observer: observer(func(a lock.Attempt) {
				if a.Result == lock.Renewed {
					renewed <- struct{}{}
				}
			})})
			t.Cleanup(l.Close)
			owner := lock.NewOwner()
			outer, inner := acquire(t, l, owner), acquire(t, l, owner)
			full(t, operator, 1)
			t.Cleanup(func() { full(t, operator, 0) })
			for len(renewed) > 0 {
				<-renewed
			}
			<-renewed
			for _, h := range []*lock.Hold{inner, outer} {
				if err := h.Unlock(t.Context()); err != nil {
					t.Errorf("level %d: %v", h.Level(), err)
				}
			}
			wantCount(t, operator, "", 0)
			if p == lock.ReentrantFair {
				return // it takes a waiter out of the line first, and then has room
			}
			_, err := l.Lock(t.Context(), key, owner)
			wantIs(t, err, lock.ErrNotAcquired, lock.ErrRefused)
			if errors.Is(err, lock.ErrHeld) || !strings.Contains(err.Error(), "OOM") {
				t.Error(err)
			}
		})
	}
}

// full gives a Redis so much memory, 0 for no bound.
func full(t testing.TB, c redis.UniversalClient, bytes int) {
	t.Helper()
	if err := c.ConfigSet(context.Background(), "maxmemory", fmt.Sprint(bytes)).Err(); err != nil {
		t.Error(err)
	}
}

// A held lock, a dead Redis and a Redis that says no are three things, also to
// a caller whose context has ended.
func TestErrorsTellHeldFromDeadFromRefused(t *testing.T) {
	s, c := refusing(t)
	dead := connect(t, "127.0.0.1:1", redis.Options{MaxRetries: -1})
	if err := c.Do(t.Context(), "ACL", "SETUSER", "reader", "on", ">secret", "~*", "&*", "+@read").Err(); err != nil {
		t.Fatal(err)
	}
	other := acquire(t, locker(t, c, lock.Options{}), lock.NewOwner())
	reasons := []error{lock.ErrHeld, lock.ErrUnknown, lock.ErrRefused}
	for _, p := range numbered() {
		for _, of := range []struct {
			name string
			on   redis.UniversalClient
			want error
			text string
		}{
			{"held", c, lock.ErrHeld, ""},
			{"dead", dead, lock.ErrUnknown, "refused"},
			{"refused", connect(t, s.Addr, redis.Options{MaxRetries: -1, Username: "reader", Password: "secret"}), lock.ErrRefused, "NOPERM"},
		} {
			t.Run(p.Name+"/"+of.name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				l := locker(t, of.on, lock.Options{Protocol: p, Observer: lock.Observer{ // between two tries, however long they take
					Waiting: func(context.Context, lock.Wait) { cancel() },
				}})
				t.Cleanup(l.Close)
				_, err := l.Lock(ctx, key, lock.NewOwner())
				wantIs(t, err, lock.ErrNotAcquired)
				if !errors.Is(of.want, lock.ErrRefused) {
					wantIs(t, err, context.Canceled)
				}
				for _, reason := range reasons {
					if errors.Is(err, reason) != errors.Is(of.want, reason) {
						t.Errorf("%v: is %v?", err, reason)
					}
				}
				if !strings.Contains(err.Error(), of.text) {
					t.Error(err)
				}
			})
		}
	}
	unlock(t, other)
}

// Unlock takes no longer than its limit, also behind an inner Lock that was
// given up while Redis stood still. It asks all the same, and the lock is
// renewed no longer.
func TestTimedUnlockBehindAnAbandonedInnerLock(t *testing.T) {
	for _, p := range counted() {
		t.Run(p.Name, func(t *testing.T) {
			const limit = 600 * time.Millisecond
			clocktest.Punctual(t, limit, func(t testing.TB) {
				s, c := refusing(t)
				asked := make(chan struct{}, 100)
				l := locker(t, c, lock.Options{Protocol: p, Limit: limit, Lease: 2 * time.Second, Observer: observer(func(a lock.Attempt) {
					if a.Name == lock.CallUnlock && a.Level == 1 && a.Took > limit/4 {
						asked <- struct{}{}
					}
				})})
				t.Cleanup(l.Close)
				owner := lock.NewOwner()
				outer := acquire(t, l, owner)
				if err := s.Stall(); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				_, err := l.Lock(ctx, key, owner)
				wantIs(t, err, lock.ErrNotAcquired, context.DeadlineExceeded)
				began := time.Now()
				wantIs(t, outer.Unlock(t.Context()), lock.ErrUnknown)
				if took := time.Since(began); took > 3*limit/2 {
					t.Errorf("Unlock took %v, with a limit of %v", took, limit)
				}
				if len(asked) == 0 {
					t.Error("Redis was not asked to release, or not until there was no time left")
				}
				if err := s.Resume(); err != nil {
					t.Fatal(err)
				}
				freed, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				h, err := l.Lock(freed, key, lock.NewOwner())
				if err != nil {
					t.Fatal(err)
				}
				unlock(t, h)
			})
		})
	}
}
