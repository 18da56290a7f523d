package lock

import (
	"context"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Messenger receives what scripts publish. It is safe for concurrent use.
type Messenger interface {
	// Listen calls receive, one call at a time, with every message on channel
	// from when it returns until stop is called. Messages can be lost, with a
	// connection for instance. Stop returns when receive will not be called
	// again.
	Listen(ctx context.Context, channel string, receive func(message string)) (stop func(), err error)
}

// PubSub is the Messenger of a go-redis client.
func PubSub(client redis.UniversalClient) Messenger { return pubSub{client} }

type pubSub struct{ client redis.UniversalClient }

// onCluster tells whether messages go through a cluster.
func onCluster(m Messenger) bool {
	p, ok := m.(pubSub)
	if !ok {
		return false
	}
	_, cluster := p.client.(*redis.ClusterClient)
	return cluster
}

func (p pubSub) Listen(ctx context.Context, channel string, receive func(string)) (func(), error) {
	sub := p.client.Subscribe(ctx, channel)
	if _, err := sub.Receive(ctx); err != nil {
		_ = sub.Close()
		return nil, fmt.Errorf("lock: listen: %w", err)
	}
	var reading sync.WaitGroup
	messages := sub.Channel()
	reading.Go(func() {
		for m := range messages {
			receive(m.Payload)
		}
	})
	return func() {
		_ = sub.Close()
		reading.Wait()
	}, nil
}
