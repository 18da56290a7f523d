package invoice

import (
	"context"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
)

// Told does the work in turn, and is told when it may.
func Told(ctx context.Context, client redis.UniversalClient, work func(context.Context) error) error {
	locker, err := lock.New(client, lock.Options{Protocol: lock.ReentrantNotify})
	if err != nil {
		return err
	}
	defer locker.Close() // keep one for the whole program: it listens
	return locker.Do(ctx, "invoice:7", work)
}
