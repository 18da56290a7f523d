// playground lab -- ./worker        (in this module: go build -o worker worker.go)
package main

import (
	"context"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
	"relock/engine/lock"
)

func main() {
	ctx, c := context.Background(), redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_HOST") + ":" + os.Getenv("REDIS_PORT"), ContextTimeoutEnabled: true})
	locks, err := lock.New(c, lock.Options{Lease: 2 * time.Second, Retries: 2, Interval: time.Millisecond})
	for err == nil && c.Echo(ctx, "relock:round").Err() == nil {
		locks.Do(ctx, "invoice:7", func(context.Context) error {
			c.Echo(ctx, "relock:enter")
			c.Echo(ctx, "relock:leave")
			return nil
		})
	}
}
