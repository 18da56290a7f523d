//go:build ignore

package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"relock/lessons/course/review/rounds"
)

// shown
// Place keeps the first order of those that a browser sends.
func Place(ctx context.Context, locks *redsync.Redsync, rdb *redis.Client, request, order string) error {
	mutex := locks.NewMutex("lock:"+request, redsync.WithExpiry(30*time.Second), retries)
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	defer func() { _, _ = mutex.UnlockContext(ctx) }()
	_, err := rdb.Get(ctx, "order:"+request).Result()
	if err == nil {
		return nil // it is there already
	}
	if !errors.Is(err, redis.Nil) {
		return err
	}
	// mended: insert
	return rdb.MSetNX(ctx, "order:"+request, order).Err()
	// end
}

// folded

// retries asks twice, with the thread's name as its value.
var retries = redsync.OptionFunc(func(m *redsync.Mutex) {
	redsync.WithTries(2).Apply(m)
	redsync.WithRetryDelay(time.Millisecond).Apply(m)
	redsync.WithGenValueFunc(func() (string, error) { return os.Getenv("RELOCK_THREAD"), nil }).Apply(m)
})

func main() {
	rounds.Do(func(ctx context.Context, rdb *redis.Client, thread string) {
		_ = Place(ctx, redsync.New(goredis.NewPool(rdb)), rdb, "7", "from "+thread)
	})
}
