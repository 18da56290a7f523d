// go mod init worker && go get github.com/bsm/redislock && go build -o worker . && playground lab -- ./worker
package main

import (
	"cmp"
	"context"
	"os"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

func main() {
	o, _ := redis.ParseURL(os.Getenv("REDIS_URL") + "?max_retries=" + cmp.Or(os.Getenv("RETRIES"), "-1"))
	ctx, c := context.Background(), redis.NewClient(o)
	for c.Echo(ctx, "relock:round").Err() == nil {
		again := redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 2) // it counts down
		if l, err := redislock.Obtain(ctx, c, "invoice:7", 2*time.Second, &redislock.Options{RetryStrategy: again}); err == nil {
			c.Echo(ctx, "relock:enter")
			c.Echo(ctx, "relock:leave")
			l.Release(ctx)
		}
	}
}
