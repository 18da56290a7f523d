package invoice

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
)

// Unless does the work unless somebody else is at it.
func Unless(ctx context.Context, client *redis.Client, work func(context.Context) error) error {
	locker, err := lock.New(client, lock.Options{Retries: lock.NoRetry})
	if err != nil {
		return err
	}
	defer locker.Close()
	err = locker.Do(ctx, "invoice:7", work)
	if errors.Is(err, lock.ErrHeld) {
		return nil // somebody else is at it
	}
	return err
}
