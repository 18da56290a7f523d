package invoice

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
)

// InTurn does the work while nobody else does, and waits until it may.
func InTurn(ctx context.Context, client *redis.Client, work func(context.Context) error) error {
	locker, err := lock.New(client, lock.Options{})
	if err != nil {
		return err
	}
	defer locker.Close()
	// It waits for five seconds at most, and works until ctx ends, or before the
	// lease can. A Do inside of work, with the ctx of work and the same key, enters level 2.
	return locker.Do(ctx, "invoice:7", work, lock.WithWait(5*time.Second))
}
