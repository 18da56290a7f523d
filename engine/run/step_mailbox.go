package run

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// postLimit is how long a message that Redis says it has handed over may take
// to arrive within this process: longer than any machine is too busy for.
const postLimit = time.Hour

// mailbox is the Messenger of a run on the virtual clock: real subscriptions,
// read when Redis says that a message was published, so that it arrives in
// the same moment each time.
type mailbox struct {
	redis func() redis.UniversalClient // that is told what is published
	boxes map[string]box               // by channel
}

type box struct {
	sub     *redis.PubSub
	receive func(string)
}

// Listen implements lock.Messenger.
func (m *mailbox) Listen(ctx context.Context, channel string, receive func(string)) (func(), error) {
	sub := m.redis().Subscribe(ctx, channel)
	if _, err := sub.Receive(ctx); err != nil {
		_ = sub.Close()
		return nil, fmt.Errorf("run: listen: %w", err)
	}
	m.boxes[channel] = box{sub, receive}
	return func() {
		delete(m.boxes, channel)
		// Redis confirms that it knows, so that the next PUBLISH counts right.
		ctx, cancel := context.WithTimeout(context.Background(), postLimit)
		defer cancel()
		if sub.Unsubscribe(ctx, channel) == nil {
			_, _ = sub.Receive(ctx)
		}
		_ = sub.Close()
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
			if got, err := b.sub.ReceiveMessage(ctx); err == nil {
				b.receive(got.Payload)
			}
			cancel()
		}
	}
}
