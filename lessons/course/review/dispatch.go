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
// Dispatch sends a parcel, one request at a time; the carrier refuses one that it has.
func Dispatch(ctx context.Context, rdb *redis.Client, call, parcel string) error {
	key := "lock:" + parcel
	defer release(ctx, rdb, key, call)
	for range 2 {
		got, err := rdb.SetNX(ctx, key, call, 30*time.Second).Result()
		if err != nil {
			got = rdb.Get(ctx, key).Val() == call
		}
		if got {
			return send(rdb, parcel)
		}
		time.Sleep(backoff)
	}
	return errBusy
}

// folded

const backoff = time.Millisecond

var errBusy = errors.New("another courier sends it")

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

func send(rdb *redis.Client, _ string) (err error) {
	rounds.Inside(rdb, func() { err = rounds.DeedOnce(rdb) })
	return err
}

func main() {
	rounds.Do(func(ctx context.Context, rdb *redis.Client, thread string) {
		_ = Dispatch(ctx, rdb, thread, "parcel:7")
	})
}
