// go mod init worker && go get github.com/go-redsync/redsync/v4 && go build -o worker . && playground lab -nodes 3 -- ./worker
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func main() {
	ctx := context.Background()
	var pools []pool.Pool
	var first *redis.Client
	for i := 1; os.Getenv(fmt.Sprint("REDIS_URL_", i)) != ""; i++ {
		o, err := redis.ParseURL(os.Getenv(fmt.Sprint("REDIS_URL_", i)))
		if err != nil {
			panic(err)
		}
		o.MaxRetries = -1
		c := redis.NewClient(o)
		if pools = append(pools, goredis.NewPool(c)); first == nil {
			first = c
		}
	}
	locks := redsync.New(pools...)
	for first.Echo(ctx, "relock:round").Err() == nil {
		// By default a node has a twentieth of the lease to answer, and a command that the gate holds takes longer.
		m := locks.NewMutex("invoice:7", redsync.WithExpiry(2*time.Second), redsync.WithTries(1), redsync.WithTimeoutFactor(0.9))
		if m.Lock() == nil {
			first.Echo(ctx, "relock:enter")
			first.Echo(ctx, "relock:leave")
			m.Unlock()
		}
	}
}
