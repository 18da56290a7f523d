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

// behind is the client of a Messenger of go-redis, or nil.
func behind(m Messenger) Redis {
	p, _ := m.(pubSub)
	return p.client
}

// spreads tells whether a client spreads its keys over several servers.
func spreads(client Redis) bool {
	_, cluster := client.(*redis.ClusterClient)
	return cluster || isRing(client)
}

func isRing(client Redis) bool {
	_, ring := client.(*redis.Ring)
	return ring
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
