//go:build ignore

package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"relock/lessons/course/review/rounds"
)

// shown
// Import reads a supplier's price list, page by page, on one server at a time.
func Import(ctx context.Context, rdb *redis.Client, server, list string) error {
	key := "lock:" + list
	got, err := rdb.SetNX(ctx, key, server, 10*time.Second).Result()
	if err != nil || !got {
		return cmp.Or(err, errBusy)
	}
	defer func() { deleteIfOwn.Run(ctx, rdb, []string{key}, server) }()
	for _, page := range pages(list) {
		if err := store(rdb, page); err != nil {
			return err
		}
		// at fault: renew
		rdb.PExpire(ctx, key, 30*time.Second) // the next page may be a long one
		// end
	}
	return nil
}

// folded

var errBusy = errors.New("another server imports it")

// deleteIfOwn deletes a key if it has a value, in one step.
var deleteIfOwn = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0`)

// renewIfOwn sets the lease of a key if it has a value, in one step.
var renewIfOwn = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0`)

var errLost = errors.New("another server has the lock")

func pages(string) []string { return []string{"one"} }

func store(rdb *redis.Client, _ string) error {
	rounds.Inside(rdb, func() {})
	return nil
}

func main() {
	rounds.Do(func(ctx context.Context, rdb *redis.Client, thread string) { _ = Import(ctx, rdb, thread, "prices:7") })
}
