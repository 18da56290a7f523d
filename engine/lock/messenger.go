package lock

import (
	"context"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Messenger receives what scripts publish. It is safe for concurrent use.
type Messenger interface {
	// Listen calls receive, one call at a time, with every message on channel,
	// from the moment it returns until stop is called. Messages can be lost,
	// for example along with a connection. Once stop returns, receive will not
	// be called again.
	Listen(ctx context.Context, channel string, receive func(message string)) (stop func(), err error)
}

// PubSub returns the Messenger of a go-redis client.
func PubSub(client redis.UniversalClient) Messenger { return pubSub{client} }

type pubSub struct{ client redis.UniversalClient }

// behind returns the client of a Messenger made by PubSub, or nil.
func behind(m Messenger) Redis {
	p, _ := m.(pubSub)
	return p.client
}

// spreads reports whether a client distributes its keys over several servers.
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
