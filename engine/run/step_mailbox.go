package run

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/recall"
	"relock/engine/store"
)

// postLimit is how long a message that Redis says it has handed over may take
// to arrive within this process: longer than any machine is too busy for.
const postLimit = time.Hour

// mailbox is the Messenger of a run on the virtual clock: real subscriptions,
// read when Redis says that a message was published, so that it arrives in
// the same moment each time.
type mailbox struct {
	subscribe func(ctx context.Context, channel string) (subscription, error) // at the Redis that gets the published messages
	boxes     map[string]box                                                  // by channel
}

type box struct {
	sub     subscription
	receive func(string)
}

// subscription is one client that listens at one channel.
type subscription interface {
	// next returns the message that Redis says it has handed over as payload.
	next(ctx context.Context, payload string) (string, error)
	// end returns when Redis knows that nobody listens here any more, so that the
	// next PUBLISH counts right.
	end(ctx context.Context)
}

// Listen implements lock.Messenger.
func (m *mailbox) Listen(ctx context.Context, channel string, receive func(string)) (func(), error) {
	sub, err := m.subscribe(ctx, channel)
	if err != nil {
		return nil, fmt.Errorf("run: listen: %w", err)
	}
	m.boxes[channel] = box{sub, receive}
	return func() {
		delete(m.boxes, channel)
		ctx, cancel := context.WithTimeout(context.Background(), postLimit)
		defer cancel()
		sub.end(ctx)
	}, nil
}

// deliver hands over what a script has published.
func (m *mailbox) deliver(rec []sent) {
	for _, one := range rec {
		for _, e := range one.rec.Entries {
			receivers, _ := e.Reply.(int64)
			if len(e.Args) < 3 || e.Args[0] != "PUBLISH" || receivers == 0 {
				continue
			}
			b, ok := m.boxes[e.Args[1]]
			if !ok {
				continue
			}
			ctx, cancel := context.WithTimeout(context.Background(), postLimit)
			if got, err := b.sub.next(ctx, e.Args[2]); err == nil {
				b.receive(got)
			}
			cancel()
		}
	}
}

// embedded is a miniredis to listen at.
type embedded struct{ *store.Embedded }

func (e embedded) subscribe(ctx context.Context, channel string) (subscription, error) {
	sub := e.Client().Subscribe(ctx, channel)
	if _, err := sub.Receive(ctx); err != nil {
		_ = sub.Close()
		return nil, err
	}
	return pubsub{sub, channel}, nil
}

type pubsub struct {
	*redis.PubSub

	channel string
}

func (p pubsub) next(ctx context.Context, _ string) (string, error) {
	got, err := p.ReceiveMessage(ctx)
	if err != nil {
		return "", err
	}
	return got.Payload, nil
}

func (p pubsub) end(ctx context.Context) {
	if p.Unsubscribe(ctx, p.channel) == nil {
		_, _ = p.Receive(ctx)
	}
	_ = p.Close()
}

// recalled is a Redis of a memory to listen at.
type recalled struct{ *recall.Redis }

func (r recalled) subscribe(_ context.Context, channel string) (subscription, error) {
	return ear{r.Listen(channel)}, nil
}

type ear struct{ leave func() }

func (ear) next(_ context.Context, payload string) (string, error) { return payload, nil }

func (e ear) end(context.Context) { e.leave() }
