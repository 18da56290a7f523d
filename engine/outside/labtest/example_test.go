package labtest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/outside/labtest"
)

// A reply is lost: our lock asks again by the same number, and is let in once.
func ExampleSearch() {
	t := &judge{} // in a test of yours: its *testing.T
	labtest.Search(t, labtest.Options{Faults: []string{labtest.LoseReply}}, func(ctx context.Context, client *redis.Client, marks *labtest.Marks) {
		locks, err := lock.New(client, lock.Options{Lease: 2 * time.Second, Retries: 1, Interval: time.Millisecond})
		if err != nil {
			panic(err)
		}
		_ = locks.Do(ctx, "invoice:7", func(ctx context.Context) error {
			marks.Enter(ctx)
			marks.Leave(ctx)
			return nil
		})
	})
	fmt.Println(t)
	// Output: passed
}

// Nothing goes wrong, and every order is tried.
func ExampleSearch_redsync() {
	t := &judge{} // in a test of yours: its *testing.T
	labtest.Search(t, labtest.Options{}, func(ctx context.Context, client *redis.Client, marks *labtest.Marks) {
		mutex := redsync.New(goredis.NewPool(client)).NewMutex("invoice:7", redsync.WithTries(2), redsync.WithRetryDelay(time.Millisecond))
		if mutex.LockContext(ctx) != nil {
			return
		}
		marks.Enter(ctx)
		marks.Leave(ctx)
		_, _ = mutex.UnlockContext(ctx)
	})
	fmt.Println(t)
	// Output: passed
}

// The lease ends while its owner is inside, and a second one gets in. No lock alone can help that:
// what it protects has to check a fencing token.
func ExampleSearch_redislock() {
	t := &judge{} // in a test of yours: its *testing.T
	labtest.Search(t, labtest.Options{Faults: []string{labtest.LeaseEnds}}, func(ctx context.Context, client *redis.Client, marks *labtest.Marks) {
		held, err := redislock.Obtain(ctx, client, "invoice:7", time.Second, nil)
		if err != nil {
			return
		}
		marks.Enter(ctx)
		marks.Leave(ctx)
		_ = held.Release(ctx)
	})
	fmt.Println(t)
	// Output: failed
}
