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
// Close adds up a month's books, one server at a time; again does no harm.
func Close(ctx context.Context, rdb *redis.Client, server, month string) error {
	key := "lock:" + month
	// mended: unit
	const lease = 30 // seconds: the slowest close took four
	// end
	for range 3 {
		// mended: unit
		got, err := rdb.SetNX(ctx, key, server, lease*time.Second).Result()
		// end
		if err != nil {
			return err
		}
		if got {
			defer func() { deleteIfOwn.Run(ctx, rdb, []string{key}, server) }()
			return sumUp(rdb, month)
		}
		time.Sleep(backoff)
	}
	return errBusy
}

// folded

const backoff = time.Millisecond

var errBusy = errors.New("another server closes it")

// deleteIfOwn deletes a key if it has a value, in one step.
var deleteIfOwn = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0`)

func sumUp(rdb *redis.Client, _ string) error {
	rounds.Inside(rdb, func() {})
	return nil
}

func main() {
	rounds.Do(func(ctx context.Context, rdb *redis.Client, thread string) { _ = Close(ctx, rdb, thread, "books:05") })
}
