package invoice

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
)

// Told does the work in turn, and hears when it may.
func Told(ctx context.Context, client redis.UniversalClient, work func(context.Context) error) error {
	locker, err := lock.New(client, lock.Options{Protocol: lock.ReentrantNotify})
	if err != nil {
		return err
	}
	defer locker.Close() // keep one for the whole program: it listens
	// It waits for five seconds at most, and works until ctx ends.
	return locker.Do(ctx, "invoice:7", work, lock.WithWait(5*time.Second))
}
