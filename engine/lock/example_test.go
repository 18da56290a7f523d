package lock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
)

// client is a client of a Redis in this process, for the examples.
func client() (c *redis.Client, end func()) {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	c = redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
	return c, func() { _ = c.Close(); server.Close() }
}

func Example() {
	c, end := client()
	defer end()
	ctx := context.Background()

	locker, err := lock.New(c, lock.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer locker.Close()
	owner := lock.NewOwner()
	hold, err := locker.Lock(ctx, "invoice:7", owner)
	if err != nil {
		fmt.Println(err)
		return
	}
	inner, err := locker.Lock(ctx, "invoice:7", owner) // a function that locks calls one that locks
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("level", inner.Level(), "of", inner.Key())
	fmt.Println(inner.Unlock(ctx), hold.Unlock(ctx))
	// Output:
	// level 2 of invoice:7
	// <nil> <nil>
}

func ExampleLocker_Do() {
	c, end := client()
	defer end()
	locker, _ := lock.New(c, lock.Options{Lease: 10 * time.Second})
	defer locker.Close()

	err := locker.Do(context.Background(), "invoice:7", func(ctx context.Context) error {
		fmt.Println("paid")
		return locker.Do(ctx, "invoice:7", func(context.Context) error { // the same owner
			return errors.New("the printer is out of paper")
		})
	})
	fmt.Println(err)
	// Output:
	// paid
	// the printer is out of paper
}

func ExampleLocker_TryLock() {
	c, end := client()
	defer end()
	ctx := context.Background()
	locker, _ := lock.New(c, lock.Options{})
	defer locker.Close()

	nightly, _ := locker.TryLock(ctx, "report", lock.NewOwner())
	_, err := locker.TryLock(ctx, "report", lock.NewOwner())
	fmt.Println("somebody makes the report:", errors.Is(err, lock.ErrHeld))
	_ = nightly.Unlock(ctx)
	// Output:
	// somebody makes the report: true
}

// A request waits for a while, and its work may take longer than that.
func ExampleWithWait() {
	c, end := client()
	defer end()
	locker, _ := lock.New(c, lock.Options{})
	defer locker.Close()

	const wait = 300 * time.Millisecond
	err := locker.Do(context.Background(), "invoice:7", func(ctx context.Context) error {
		time.Sleep(2 * wait) // the work
		return ctx.Err()
	}, lock.WithWait(wait))
	fmt.Println(err)

	busy, _ := locker.TryLock(context.Background(), "invoice:7", lock.NewOwner())
	err = locker.Do(context.Background(), "invoice:7", nil, lock.WithWait(wait), lock.WithLabel("pod-1"))
	fmt.Println(err)
	_ = busy.Unlock(context.Background())
	// Output:
	// <nil>
	// lock: not acquired: "invoice:7" for pod-1: lock: held by another owner: context deadline exceeded
}

// Of several servers one leads, until it is told to end or loses the lease.
func ExampleLocker_Lead() {
	c, end := client()
	defer end()
	locker, _ := lock.New(c, lock.Options{})
	defer locker.Close()

	ctx, stop := context.WithCancel(context.Background())
	err := locker.Lead(ctx, "scheduler", func(ctx context.Context) error {
		fmt.Println("leads")
		stop() // in a program a signal: signal.NotifyContext
		<-ctx.Done()
		return nil
	})
	fmt.Println(err)
	// Output:
	// leads
	// context canceled
}

// Only one instance of a program runs: Do keeps the hold for as long as it does.
func Example_onlyOneInstance() {
	c, end := client()
	defer end()
	locker, _ := lock.New(c, lock.Options{MaxAge: 365 * 24 * time.Hour})
	defer locker.Close()

	program := func(run func(ctx context.Context) error) error {
		err := locker.Do(context.Background(), "my-program", run, lock.WithWait(100*time.Millisecond))
		if errors.Is(err, lock.ErrHeld) {
			return errors.New("another instance runs")
		}
		return err
	}
	err := program(func(context.Context) error { // until the program is to end, or the context does
		fmt.Println("the first runs")
		fmt.Println("the second:", program(nil))
		return nil
	})
	fmt.Println("the first:", err)
	// Output:
	// the first runs
	// the second: another instance runs
	// the first: <nil>
}

func ExampleHold_Token() {
	c, end := client()
	defer end()
	ctx := context.Background()
	locker, _ := lock.New(c, lock.Options{Protocol: lock.Fenced})
	defer locker.Close()

	var newest int64 // what the resource itself keeps
	write := func(token int64, what string) {
		if token < newest {
			fmt.Println("refused:", what)
			return
		}
		newest = token
		fmt.Println("written:", what)
	}
	slow, _ := locker.Lock(ctx, "file", lock.NewOwner())
	_ = locker.ForceUnlock(ctx, "file") // or its lease ends while it stands still
	fast, _ := locker.Lock(ctx, "file", lock.NewOwner())
	write(fast.Token(), "of the new owner")
	write(slow.Token(), "of the one before")
	// Output:
	// written: of the new owner
	// refused: of the one before
}

// Inside Do the token is that of the hold that ctx carries. The row checks it in
// one step with the write.
func ExampleHoldOf() {
	c, end := client()
	defer end()
	locker, _ := lock.New(c, lock.Options{Protocol: lock.Fenced})
	defer locker.Close()

	exec := func(_ context.Context, _ string, _ string, token, _ int64) (rows int, err error) { // (*sql.DB).ExecContext
		return 1, nil
	}
	err := locker.Do(context.Background(), "invoice:7", func(ctx context.Context) error {
		token := lock.HoldOf(ctx).Token()
		rows, err := exec(ctx, "UPDATE invoice SET state = $1, token = $2 WHERE id = $3 AND token <= $2", "paid", token, 7)
		if err == nil && rows == 0 {
			err = lock.ErrLost // the row has seen a larger token
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// <nil>
}

// Metrics and traces need only the Observer: it hears the key, the owner, the context of
// the call, and how long each attempt took.
func ExampleObserver() {
	c, end := client()
	defer end()
	type requestID struct{}
	attempts := map[lock.Result]int{} // a counter with a label each
	locker, _ := lock.New(c, lock.Options{
		Retries: lock.NoRetry,
		Observer: lock.Observer{
			Attempted: func(ctx context.Context, a lock.Attempt) {
				attempts[a.Result]++
				// A tracer: start a span at a.Began under ctx, end it a.Took later.
				fmt.Printf("%v: %s of %s, level %d: %s\n", ctx.Value(requestID{}), a.Name, a.Key, a.Level, a.Result)
			},
			Lost: func(_ context.Context, l lock.Loss) { fmt.Println("lost", l.Key, l.Err) },
		},
	})
	defer locker.Close()

	ctx := context.WithValue(context.Background(), requestID{}, "request 7")
	hold, _ := locker.Lock(ctx, "invoice:7", lock.NewOwner())
	_, _ = locker.Lock(ctx, "invoice:7", lock.NewOwner())
	_ = hold.Unlock(ctx)
	fmt.Println(attempts)
	// Output:
	// request 7: lock of invoice:7, level 1: acquired
	// request 7: lock of invoice:7, level 1: refused
	// request 7: lock of invoice:7, level 1: exhausted
	// request 7: unlock of invoice:7, level 1: released
	// map[acquired:1 exhausted:1 refused:1 released:1]
}

func ExampleLocker_Inspect() {
	c, end := client()
	defer end()
	ctx := context.Background()
	locker, _ := lock.New(c, lock.Options{})
	defer locker.Close()

	_, _ = locker.Lock(ctx, "invoice:7", "worker-3", lock.WithLease(5*time.Second))
	state, _ := locker.Inspect(ctx, "invoice:7")
	fmt.Println(state.Owner, state.Count, state.Lease > 0)
	fmt.Println(locker.ForceUnlock(ctx, "invoice:7"))
	state, _ = locker.Inspect(ctx, "invoice:7")
	fmt.Println(state == lock.State{})
	// Output:
	// worker-3 1 true
	// <nil>
	// true
}
