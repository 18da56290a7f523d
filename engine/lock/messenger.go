package lock

import (
	"context"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock/protocol"
)

// Messenger receives what scripts publish. It is safe for concurrent use.
type Messenger interface {
	// Listen calls receive, one call at a time, with every message on channel,
	// from the moment it returns until stop is called. Messages can be lost, for example
	// along with a connection: once that is back, Listen calls receive with Missed. Once
	// stop returns, receive will not be called again. It fails with an error that is
	// ErrRefused if the user has no right to listen on the channel or to publish on it.
	Listen(ctx context.Context, channel string, receive func(message string)) (stop func(), err error)
}

// Missed is what a Messenger delivers when messages may have been lost before: all
// waiters then ask.
const Missed = "missed"

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
	_, err := sub.Receive(ctx)
	if err == nil {
		// Others will publish here from within scripts, where a refusal comes
		// too late: the waiters would not hear of it.
		if err = p.client.Publish(ctx, channel, "").Err(); !protocol.Answered(err) {
			err = nil
		}
	}
	if err != nil {
		_ = sub.Close()
		return nil, fmt.Errorf("lock: listen on %q: %w", channel, protocol.Classify(err))
	}
	var reading sync.WaitGroup
	messages := sub.ChannelWithSubscriptions()
	reading.Go(func() {
		for m := range messages {
			switch m := m.(type) {
			case *redis.Message:
				receive(m.Payload)
			case *redis.Subscription: // on a new connection
				receive(Missed)
			}
		}
	})
	return func() {
		_ = sub.Close()
		reading.Wait()
	}, nil
}
