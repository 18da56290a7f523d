//go:build ignore

package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"relock/lessons/course/review/rounds"
)

// shown
// Approve approves a loan, one server at a time; again does no harm.
func Approve(ctx context.Context, rdb *redis.Client, call, loan string) error {
	key := "lock:" + loan
	// at fault: asked
	got, err := rdb.SetNX(ctx, key, call, 30*time.Second).Result()
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	defer release(ctx, rdb, key, call)
	// end
	if err := check(rdb, loan); err != nil {
		return err
	}
	return sign(ctx, loan)
}

// folded

var errBusy = errors.New("another server approves it")

// deleteIfOwn deletes a key if it has a value, in one step.
var deleteIfOwn = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0`)

// release deletes a key if it has a value; twice does no harm.
func release(ctx context.Context, rdb *redis.Client, key, call string) {
	if deleteIfOwn.Run(ctx, rdb, []string{key}, call).Err() != nil {
		deleteIfOwn.Run(ctx, rdb, []string{key}, call)
	}
}

func check(rdb *redis.Client, _ string) error {
	rounds.Inside(rdb, func() {})
	return nil
}

func sign(context.Context, string) error { return nil }

func main() {
	rounds.Do(func(ctx context.Context, rdb *redis.Client, thread string) { _ = Approve(ctx, rdb, thread, "loan:7") })
}
