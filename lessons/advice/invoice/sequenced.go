package invoice

import (
	"context"

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
	// The ctx of work ends before the lease can. A Do inside of work, with
	// that ctx and the same key, enters level 2.
	return locker.Do(ctx, "invoice:7", work)
}
