// go mod init worker && go get github.com/redis/go-redis/v9 && playground learn -ladder .
package main

import (
	"context"
	"os"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	ctx   = context.Background()
	r     = redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_HOST") + ":" + os.Getenv("REDIS_PORT"), MaxRetries: -1, ReadTimeout: -1})
	me    = os.Getenv("RELOCK_THREAD")
	lease = number("LEASE_MS", 2000)
	work  = number("WORK_MS", 0)
)

func number(name string, otherwise int) time.Duration {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		otherwise = n
	}
	return time.Duration(otherwise) * time.Millisecond
}

func take() bool {
	if r.Get(ctx, "invoice:7").Val() != "" {
		return false
	}
	return r.Set(ctx, "invoice:7", "locked", 0).Err() == nil
}

func give() { r.Del(ctx, "invoice:7") }

func change() {
	stock, err := r.Get(ctx, "stock:7").Int()
	if err != nil {
		stock = 10
	}
	time.Sleep(work)
	r.Set(ctx, "stock:7", stock-1, 0)
}

func main() {
	for r.Echo(ctx, "relock:round").Err() == nil {
		if take() { // one try is enough: the lab tries every order
			r.Echo(ctx, "relock:enter")
			change()
			r.Echo(ctx, "relock:leave")
			give()
		}
	}
}
