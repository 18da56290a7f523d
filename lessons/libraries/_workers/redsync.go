// go mod init worker && go get github.com/go-redsync/redsync/v4 && go build -o worker . && playground lab -- ./worker
package main

import (
	"context"
	"os"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func main() {
	ctx, c := context.Background(), redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_HOST") + ":" + os.Getenv("REDIS_PORT"), MaxRetries: -1})
	locks := redsync.New(goredis.NewPool(c))
	for c.Echo(ctx, "relock:round").Err() == nil {
		m := locks.NewMutex("invoice:7", redsync.WithExpiry(2*time.Second), redsync.WithTries(3), redsync.WithRetryDelay(time.Millisecond))
		if m.Lock() == nil {
			c.Echo(ctx, "relock:enter")
			c.Echo(ctx, "relock:leave")
			m.Unlock()
		}
	}
}
