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
// Capture charges an invoice; the bank refuses a second charge of it.
func Capture(ctx context.Context, rdb *redis.Client, server, invoice string) error {
	key := "lock:" + invoice
	// at fault: del
	defer func() { rdb.Del(ctx, key) }()
	// end
	for range 2 {
		got, err := rdb.SetNX(ctx, key, server, 30*time.Second).Result()
		if err != nil {
			return err
		}
		if got {
			return charge(rdb, invoice)
		}
		time.Sleep(backoff)
	}
	return errBusy
}

// folded

const backoff = time.Millisecond

var errBusy = errors.New("another server captures it")

// deleteIfOwn deletes a key if it has a value, in one step.
var deleteIfOwn = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0`)

func charge(rdb *redis.Client, _ string) (err error) {
	rounds.Inside(rdb, func() { err = rounds.DeedOnce(rdb) })
	return err
}

func main() {
	rounds.Do(func(ctx context.Context, rdb *redis.Client, thread string) {
		_ = Capture(ctx, rdb, thread, "invoice:7")
	})
}
