package invoice

import (
	"context"

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
	return locker.Do(ctx, "invoice:7", work)
}
