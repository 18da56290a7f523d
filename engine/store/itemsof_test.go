package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
	"relock/engine/store"
)

// What a Redis is asked for its keys is what the embedded one has of each type, in the same
// order; a key of another type is left out.
func TestItemsOfARedisAreThoseOfTheEmbedded(t *testing.T) {
	e := store.NewEmbedded(clock.Epoch)
	t.Cleanup(func() { _ = e.Close() })
	c, ctx := e.Client(), t.Context()
	c.Set(ctx, "text", "v", 0)
	c.HSet(ctx, "hash", "f", "1", "g", "2")
	c.RPush(ctx, "list", "b", "a")
	c.SAdd(ctx, "set", "b", "a")
	c.ZAdd(ctx, "scored", redis.Z{Score: 1, Member: "b"}, redis.Z{Score: 2, Member: "a"})
	want, err := e.Contents()
	if err != nil || len(want) != 5 {
		t.Fatalf("%v, %v", want, err)
	}
	c.XAdd(ctx, &redis.XAddArgs{Stream: "stream", Values: []string{"a", "b"}})
	got, err := store.ItemsOf(ctx, c, []string{"hash", "list", "nothing", "scored", "set", "stream", "text"})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
}
