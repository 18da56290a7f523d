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
// Publish adds what one more till has sold today to its shop's total.
func Publish(ctx context.Context, rdb *redis.Client, owner, shop string) error {
	key, last := "lock:"+shop, "number:"+shop
	got, err := rdb.SetNX(ctx, key, owner, 30*time.Second).Result()
	if err != nil || !got {
		return errors.Join(err, errBusy)
	}
	defer deleteIfOwn.Run(ctx, rdb, []string{key}, owner)
	// mended: drawn
	number, err := rdb.Incr(ctx, last).Result()
	if err != nil {
		return err
	}
	total, err := add(ctx, rdb, shop)
	if err != nil {
		return err
	}
	// end
	return setIfEqual.Run(ctx, rdb, []string{last, "total:" + shop}, number, total).Err()
}

// folded

var errBusy = errors.New("another server publishes it")

// deleteIfOwn deletes a key if it equals the argument, in one step.
var deleteIfOwn = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0`)

// setIfEqual sets the second key to the second argument if the first key equals the first, or fails.
var setIfEqual = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('SET', KEYS[2], ARGV[2])
  return 1
end
return redis.error_reply('another has a newer number')`)

// add reads the total, and adds what the till has sold.
func add(ctx context.Context, rdb *redis.Client, shop string) (int64, error) {
	total, err := rdb.Get(ctx, "total:"+shop).Int64()
	if errors.Is(err, redis.Nil) {
		err = nil // the shop is new
	}
	return total + 7, err
}

func main() {
	rounds.Do(func(ctx context.Context, rdb *redis.Client, thread string) { _ = Publish(ctx, rdb, thread, "7") })
}
