package lock_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/store"
	"relock/engine/store/storetest"
)

func TestMain(m *testing.M) {
	if addr := os.Getenv(stoppedEnv); addr != "" {
		stopped(addr)
		return
	}
	code := m.Run()
	if code == 0 {
		code = leaks()
	}
	os.Exit(code)
}

// leaks looks for goroutines that have no end, and returns the exit code. An abandoned
// attempt gives back what it may have been granted for up to Options.Limit, a lease, so a
// goroutine may outlive its test by that long.
func leaks() int {
	var err error
	for end := time.Now().Add(lock.DefaultLease); time.Now().Before(end); {
		if err = goleak.Find(); err == nil {
			return 0
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

const key = "k"

// onBoth runs a test on miniredis and on a real Redis.
func onBoth(t *testing.T, test func(t *testing.T, c redis.UniversalClient)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) {
		e := store.NewEmbedded(time.Time{})
		t.Cleanup(func() { _ = e.Close() })
		test(t, e.Client())
	})
	t.Run("redis", func(t *testing.T) { test(t, storetest.Redis(t)) })
}

func locker(t testing.TB, c lock.Redis, o lock.Options) *lock.Locker {
	t.Helper()
	if o.Lease == 0 {
		o.Lease = time.Minute
	}
	l, err := lock.New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func acquire(t testing.TB, l *lock.Locker, owner lock.Owner) *lock.Hold {
	t.Helper()
	h, err := l.TryLock(t.Context(), key, owner)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func unlock(t testing.TB, h *lock.Hold) {
	t.Helper()
	if err := h.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// wantCount checks the hash: owner's hold count, 0 for no key at all.
func wantCount(t testing.TB, c redis.UniversalClient, owner lock.Owner, want int) {
	t.Helper()
	got, err := c.HGetAll(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	if want == 0 && len(got) == 0 {
		return
	}
	maps.DeleteFunc(got, func(field, _ string) bool { return field[0] == '#' }) // numbers of calls
	if len(got) != 1 || got[string(owner)] != fmt.Sprint(want) {
		t.Errorf("hash = %v, want %s: %d", got, owner, want)
	}
}

func wantIs(t testing.TB, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("error %q is no %q", err, target)
		}
	}
}

func TestReentryCountsUpAndDown(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		a, b := lock.NewOwner(), lock.NewOwner()
		l := locker(t, c, lock.Options{})
		var holds []*lock.Hold
		for level := 1; level <= 3; level++ {
			h := acquire(t, l, a)
			if h.Level() != level || h.Owner() != a || h.Key() != key {
				t.Errorf("hold is level %d of %s by %s", h.Level(), h.Key(), h.Owner())
			}
			holds = append(holds, h)
			wantCount(t, c, a, level)
			_, err := l.TryLock(t.Context(), key, b)
			wantIs(t, err, lock.ErrNotAcquired, lock.ErrHeld)
		}
		for level := 3; level >= 1; level-- {
			unlock(t, holds[level-1])
			wantCount(t, c, a, level-1)
		}
		unlock(t, acquire(t, l, b))
		wantCount(t, c, b, 0)
	})
}

func TestReentryDoesNotTouchTheLease(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		a := lock.NewOwner()
		l := locker(t, c, lock.Options{Renew: lock.NoWatchdog})
		outer := acquire(t, l, a)
		if got := c.PTTL(t.Context(), key).Val(); got <= 59*time.Second || got > time.Minute {
			t.Errorf("lease after the acquisition: %v, want a minute", got)
		}
		if err := c.PExpire(t.Context(), key, 20*time.Second).Err(); err != nil {
			t.Fatal(err)
		}
		inner := acquire(t, l, a)
		if got := c.PTTL(t.Context(), key).Val(); got > 20*time.Second {
			t.Errorf("lease after the re-entry: %v, want it untouched", got)
		}
		unlock(t, inner)
		unlock(t, outer)
	})
}

func TestUnlockOfWhatIsNotHeldChangesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		a := lock.NewOwner()
		l := locker(t, c, lock.Options{})
		outer := acquire(t, l, a)
		inner := acquire(t, l, a)
		wantIs(t, outer.Unlock(t.Context()), lock.ErrInnerHeld)
		wantCount(t, c, a, 2)
		unlock(t, inner)
		wantIs(t, inner.Unlock(t.Context()), lock.ErrNotHeld)
		wantCount(t, c, a, 1)
		unlock(t, outer)
		wantIs(t, outer.Unlock(t.Context()), lock.ErrNotHeld)
		again := acquire(t, l, a)
		wantIs(t, outer.Unlock(t.Context()), lock.ErrNotHeld)
		wantCount(t, c, a, 1)
		unlock(t, again)
	})
}

func TestLostLockIsToldAndNotTakenAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		a, b := lock.NewOwner(), lock.NewOwner()
		l := locker(t, c, lock.Options{Renew: lock.NoWatchdog})
		outer := acquire(t, l, a)
		if err := c.Del(t.Context(), key).Err(); err != nil {
			t.Fatal(err)
		}
		_, err := l.TryLock(t.Context(), key, a)
		wantIs(t, err, lock.ErrNotAcquired, lock.ErrLost)
		wantCount(t, c, a, 0)
		wantIs(t, context.Cause(outer.Context()), lock.ErrLost)
		others := acquire(t, l, b)
		wantIs(t, outer.Unlock(t.Context()), lock.ErrLost, lock.ErrNotHeld)
		wantCount(t, c, b, 1)
		unlock(t, others)
		unlock(t, acquire(t, l, a)) // a fresh start is allowed
	})
}

func TestLockWaitsForItsTurn(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		a, b := lock.NewOwner(), lock.NewOwner()
		refused := make(chan struct{}, 1000)
		l := locker(t, c, lock.Options{
			Retries: 1000, Interval: time.Millisecond, JitterMax: time.Millisecond,
			Observer: observer(func(at lock.Attempt) {
				if at.Result == lock.Refused {
					refused <- struct{}{}
				}
			}),
		})
		held := acquire(t, l, a)
		got := make(chan error)
		go func() {
			h, err := l.Lock(t.Context(), key, b)
			if err == nil {
				err = h.Unlock(t.Context())
			}
			got <- err
		}()
		<-refused
		<-refused
		unlock(t, held)
		if err := <-got; err != nil {
			t.Error(err)
		}
	})
}

// observer watches attempts.
func observer(attempted func(lock.Attempt)) lock.Observer {
	return lock.Observer{Attempted: func(_ context.Context, a lock.Attempt) { attempted(a) }}
}

func TestRetriesAreCountedBesideTheFirstAttempt(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		a, b := lock.NewOwner(), lock.NewOwner()
		var results []lock.Result
		l := locker(t, c, lock.Options{Retries: 2, Interval: time.Millisecond, Observer: observer(func(at lock.Attempt) {
			results = append(results, at.Result)
		})})
		held := acquire(t, l, a)
		results = nil
		_, err := l.Lock(context.Background(), key, b)
		wantIs(t, err, lock.ErrNotAcquired, lock.ErrHeld)
		want := []lock.Result{lock.Refused, lock.Refused, lock.Refused, lock.Exhausted}
		if fmt.Sprint(results) != fmt.Sprint(want) {
			t.Errorf("attempts %v, want %v", results, want)
		}
		unlock(t, held)
	})
}

func TestContextEndsTheWaiting(t *testing.T) {
	boss := errors.New("the boss called")
	for name, c := range map[string]struct {
		end  func(context.Context) (context.Context, func())
		want []error
	}{
		"cancelled with a cause": {func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(boss) }
		}, []error{lock.ErrNotAcquired, context.Canceled, boss}},
		"deadline": {func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			t.Cleanup(cancel)
			return ctx, func() {}
		}, []error{lock.ErrNotAcquired, context.DeadlineExceeded}},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, client redis.UniversalClient) {
				refused := make(chan struct{}, 10)
				l := locker(t, client, lock.Options{Retries: 10, Interval: time.Hour, Observer: observer(func(at lock.Attempt) {
					if at.Result == lock.Refused {
						refused <- struct{}{}
					}
				})})
				held := acquire(t, l, lock.NewOwner())
				ctx, end := c.end(t.Context())
				got := make(chan error)
				go func() {
					_, err := l.Lock(ctx, key, lock.NewOwner())
					got <- err
				}()
				<-refused
				end()
				wantIs(t, <-got, c.want...)
				unlock(t, held)
			})
		})
	}
}

func TestWrongTypeIsReportedAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		if err := c.Set(t.Context(), key, "text", 0).Err(); err != nil {
			t.Fatal(err)
		}
		attempts := 0
		l := locker(t, c, lock.Options{Retries: 5, Interval: time.Hour, Observer: observer(func(lock.Attempt) { attempts++ })})
		_, err := l.Lock(context.Background(), key, lock.NewOwner())
		var re redis.Error
		if !errors.As(err, &re) || attempts != 1 {
			t.Errorf("%d attempts: %v; want Redis' error at the first", attempts, err)
		}
		if got := c.Get(t.Context(), key).Val(); got != "text" {
			t.Errorf("the key is now %q", got)
		}
	})
}

func TestScriptsSurviveAFlush(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		l := locker(t, c, lock.Options{})
		for range 2 {
			h := acquire(t, l, lock.NewOwner())
			if err := c.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			unlock(t, h)
		}
	})
}

func TestCounterUnderContentionIsExact(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		const workers, rounds = 12, 25
		l := locker(t, c, lock.Options{Retries: 1_000_000, Interval: 200 * time.Microsecond, JitterMax: time.Millisecond})
		counter := 0 // guarded by the lock alone: the race detector watches
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				owner := lock.NewOwner()
				for range rounds {
					h, err := l.Lock(context.Background(), key, owner)
					if err != nil {
						t.Error(err)
						return
					}
					if !mu.TryLock() { // also tells the race detector of the order
						t.Error("two owners inside")
						return
					}
					counter++
					mu.Unlock()
					if err := h.Unlock(context.Background()); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		if counter != workers*rounds {
			t.Errorf("counter = %d, want %d", counter, workers*rounds)
		}
		wantCount(t, c, "", 0)
	})
}

func TestOptionsOutsideTheirRanges(t *testing.T) {
	for name, o := range map[string]lock.Options{
		"lease below 1ms":         {Lease: 500 * time.Microsecond},
		"lease of 1.5ms":          {Lease: 1500 * time.Microsecond},
		"negative renewal":        {Lease: time.Second, Renew: -2},
		"negative retries":        {Lease: time.Second, Retries: -2},
		"negative interval":       {Lease: time.Second, Interval: -1},
		"jitter upside down":      {Lease: time.Second, JitterMin: 2, JitterMax: 1},
		"margin as long as it":    {Lease: time.Second, Margin: time.Second},
		"negative maximum age":    {Lease: time.Second, MaxAge: -1},
		"negative settle limit":   {Lease: time.Second, Limit: -1},
		"a token for less":        {Lease: time.Second, TokenTTL: -1},
		"negative lease outright": {Lease: -time.Second},
	} {
		if _, err := lock.New(nil, o); !errors.Is(err, lock.ErrOptions) {
			t.Errorf("%s: %v, want ErrOptions", name, err)
		}
	}
}

func TestOwners(t *testing.T) {
	seen := map[lock.Owner]bool{}
	for range 1000 {
		o := lock.NewOwner()
		if len(o) != 32 || seen[o] {
			t.Fatalf("owner %q: want 32 digits that are new", o)
		}
		seen[o] = true
	}
}

// network stands between a locker and Redis and loses what it is told to.
type network struct {
	redis.UniversalClient

	calls       atomic.Int64
	loseRequest func(call int64) bool
	loseReply   func(call int64) bool
	hold        func() // called before a reply is handed on
	hangs       func(call int64) bool
	readTimeout time.Duration                          // of a call that hangs; 0: it has none
	says        func(call int64, keys []string) answer // instead of running it; "": it runs
}

var errNetwork = errors.New("connection reset")

// answer is an error that Redis answers with.
type answer string

func (a answer) Error() string { return string(a) }

// RedisError implements [redis.Error].
func (answer) RedisError() {}

func (n *network) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return n.pass(ctx, keys, func() *redis.Cmd { return n.UniversalClient.EvalSha(ctx, sha, keys, args...) })
}

func (n *network) pass(ctx context.Context, keys []string, send func() *redis.Cmd) *redis.Cmd {
	call := n.calls.Add(1)
	broken := redis.NewCmd(ctx)
	broken.SetErr(errNetwork)
	if n.loseRequest != nil && n.loseRequest(call) {
		return broken
	}
	if n.hangs != nil && n.hangs(call) {
		limited := ctx
		if n.readTimeout > 0 {
			var cancel context.CancelFunc
			limited, cancel = context.WithTimeoutCause(ctx, n.readTimeout, os.ErrDeadlineExceeded)
			defer cancel()
		}
		<-limited.Done()
		broken.SetErr(context.Cause(limited))
		return broken
	}
	if n.says != nil {
		if said := n.says(call, keys); said != "" {
			broken.SetErr(said)
			return broken
		}
	}
	cmd := send()
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		return cmd
	}
	if n.hold != nil {
		n.hold()
	}
	if n.loseReply != nil && n.loseReply(call) {
		return broken
	}
	return cmd
}

// load has Redis know the scripts, so that every call is one EVALSHA.
func load(t testing.TB, c redis.UniversalClient) {
	t.Helper()
	for _, s := range lock.Sequenced.Scripts {
		if err := c.ScriptLoad(t.Context(), s.Source).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// A call that gives up does not wait for what is left to tell Redis.
func TestTryLockEndsWithItsContextWhileItGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := store.NewEmbedded(time.Time{})
		defer func() { _ = e.Close() }()
		n := &network{
			UniversalClient: e.Client(),
			loseReply:       func(call int64) bool { return call == 1 },
			hangs:           func(call int64) bool { return call > 1 },
		}
		load(t, n)
		l := locker(t, n, lock.Options{Lease: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := l.TryLock(ctx, key, lock.NewOwner())
		wantIs(t, err, lock.ErrNotAcquired, context.DeadlineExceeded)
		if took := time.Since(began); took != 20*time.Millisecond {
			t.Errorf("TryLock returned after %v", took)
		}
		time.Sleep(2 * time.Minute) // for what it still gives back
	})
}

// nested locks depth levels and leaves them again.
func nested(l *lock.Locker, owner lock.Owner, depth int, inside func(level int)) error {
	h, err := l.Lock(context.Background(), key, owner)
	if err != nil {
		return err
	}
	inside(h.Level())
	if h.Level() < depth {
		if err := nested(l, owner, depth, inside); err != nil {
			return errors.Join(err, h.Unlock(context.Background()))
		}
	}
	return h.Unlock(context.Background())
}

// Every place at which one request or one reply can be lost, for depths 1 to
// 3: the count is right at every level, and nothing is left behind.
func TestLostRequestsAndReplies(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		load(t, c)
		for depth := 1; depth <= 3; depth++ {
			for lost := int64(1); lost <= int64(2*depth); lost++ {
				at := func(call int64) bool { return call == lost }
				for what, n := range map[string]*network{
					"request": {UniversalClient: c, loseRequest: at},
					"reply":   {UniversalClient: c, loseReply: at},
				} {
					t.Run(fmt.Sprintf("depth %d, %s %d", depth, what, lost), func(t *testing.T) {
						l := locker(t, n, lock.Options{Renew: lock.NoWatchdog, Retries: 2, Interval: time.Millisecond})
						owner := lock.NewOwner()
						if err := nested(l, owner, depth, func(level int) { wantCount(t, c, owner, level) }); err != nil {
							t.Error(err)
						}
						wantCount(t, c, owner, 0)
						if got := n.calls.Load(); got != int64(2*depth)+1 {
							t.Errorf("%d calls, want one more than %d", got, 2*depth)
						}
					})
				}
			}
		}
	})
}

func TestWhatStaysUnknownIsSaidAndLeavesNoOrphan(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		load(t, c)
		owner := lock.NewOwner()
		broken := true
		n := &network{UniversalClient: c}
		n.loseReply = func(call int64) bool { return broken && call <= 2 }
		l := locker(t, n, lock.Options{Retries: 1, Interval: time.Millisecond, Limit: 300 * time.Millisecond})
		_, err := l.Lock(context.Background(), key, owner) // both replies lost, then given back
		wantIs(t, err, lock.ErrNotAcquired, errNetwork)
		wantCount(t, c, owner, 0)

		broken = false
		h := acquire(t, l, owner)
		n.loseReply = func(int64) bool { return true }
		wantIs(t, h.Unlock(t.Context()), lock.ErrUnknown, errNetwork)
		n.loseReply = nil
		wantCount(t, c, owner, 0)
	})
}

func TestWaiterWhoseContextEndsOnTheWayLeavesNoOrphan(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		load(t, c)
		asked, answer := make(chan struct{}), make(chan struct{})
		n := &network{UniversalClient: c}
		var once sync.Once
		n.hold = func() { once.Do(func() { close(asked); <-answer }) }
		done := make(chan struct{}, 10)
		l := locker(t, n, lock.Options{Observer: observer(func(at lock.Attempt) {
			if at.Name == protocol.CallUnlock {
				done <- struct{}{}
			}
		})})
		owner := lock.NewOwner()
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error)
		go func() {
			_, err := l.Lock(ctx, key, owner)
			got <- err
		}()
		<-asked
		cancel()
		wantIs(t, <-got, lock.ErrNotAcquired, context.Canceled) // at once: the reply is still on its way
		wantCount(t, c, owner, 1)
		close(answer)
		<-done
		wantCount(t, c, owner, 0)
		unlock(t, acquire(t, l, owner)) // and the owner can go on
	})
}
