package main // go mod init worker && go get github.com/redis/rueidis && go build -o worker . && playground lab -redis URL -- ./worker

import (
	"context"
	"os"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

func main() {
	ctx, o := context.Background(), rueidis.ClientOption{InitAddress: []string{os.Getenv("REDIS_HOST") + ":" + os.Getenv("REDIS_PORT")}, DisableCache: true, DisableRetry: true}
	c, _ := rueidis.NewClient(o) // of its own, so that a mark is not lost with the lock's connection
	locks, _ := rueidislock.NewLocker(rueidislock.LockerOption{ClientOption: o, KeyMajority: 1, KeyValidity: 2 * time.Second})
	echo := func(text string) bool { return c.Do(ctx, c.B().Echo().Message(text).Build()).Error() == nil }
	for echo("relock:round") {
		for tries := 1; tries <= 3; tries++ {
			if _, release, err := locks.TryWithContext(ctx, "invoice:7"); err == nil && echo("relock:enter") && echo("relock:leave") {
				release()
				tries = 3
			}
		}
	}
}
