package invoice

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
)

// ByMajority does the work while a majority of the servers says so.
func ByMajority(ctx context.Context, first *redis.Client, others []*redis.Client, work func(context.Context) error) error {
	options := lock.Options{Protocol: lock.Redlock}
	for _, client := range others {
		options.Nodes = append(options.Nodes, client)
	}
	locker, err := lock.New(first, options)
	if err != nil {
		return err
	}
	defer locker.Close()
	// It waits for five seconds at most, and works until ctx ends.
	return locker.Do(ctx, "invoice:7", work, lock.WithWait(5*time.Second))
}
