package invoice

import (
	"context"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
)

// Queued does the work in the order in which they asked.
func Queued(ctx context.Context, client *redis.Client, work func(context.Context) error) error {
	locker, err := lock.New(client, lock.Options{Protocol: lock.ReentrantFair})
	if err != nil {
		return err
	}
	defer locker.Close() // keep one for the whole program: it listens
	return locker.Do(ctx, "invoice:7", work)
}
