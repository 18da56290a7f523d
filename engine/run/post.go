package run

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/fault"
	"relock/engine/lock"
)

// postLimit is how long a message that Redis says it has handed over may take
// to arrive within this process: longer than any machine is too busy for.
const postLimit = time.Hour

// post is the Messenger of a run on the virtual clock: real subscriptions,
// read when Redis says that a message was published, so that it arrives in
// the same moment each time.
type post struct {
	s     *Stepper
	boxes map[string]box // by channel
}

type box struct {
	sub     *redis.PubSub
	receive func(string)
}

// Listen implements lock.Messenger.
func (p *post) Listen(ctx context.Context, channel string, receive func(string)) (func(), error) {
	sub := p.s.nodes[0].Client().Subscribe(ctx, channel)
	if _, err := sub.Receive(ctx); err != nil {
		_ = sub.Close()
		return nil, fmt.Errorf("run: listen: %w", err)
	}
	p.boxes[channel] = box{sub, receive}
	return func() {
		delete(p.boxes, channel)
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
func (p *post) deliver(rec []sent) {
	for _, one := range rec {
		for _, e := range one.rec.Entries {
			receivers, _ := e.Reply.(int64)
			if len(e.Args) < 3 || e.Args[0] != "PUBLISH" || receivers == 0 {
				continue
			}
			b, ok := p.boxes[e.Args[1]]
			if !ok {
				continue
			}
			ctx, cancel := context.WithTimeout(context.Background(), postLimit)
			if m, err := b.sub.ReceiveMessage(ctx); err == nil {
				b.receive(m.Payload)
			}
			cancel()
		}
	}
}

// losing is a Messenger whose messages to t can be lost.
type losing struct {
	lock.Messenger

	t *thread
}

// Listen implements lock.Messenger.
func (l losing) Listen(ctx context.Context, channel string, receive func(string)) (func(), error) {
	heard := func(message string) {
		if !l.t.take(fault.AtLock, 1, fault.LoseMessage) {
			l.t.handed.Store(strings.HasPrefix(message, "grant "))
			receive(message)
		}
	}
	if guard := l.t.r.guard; guard != nil {
		return l.Messenger.Listen(ctx, channel, func(message string) { guard(func() { heard(message) }) }) //nolint:wrapcheck // its own words
	}
	return l.Messenger.Listen(ctx, channel, heard) //nolint:wrapcheck // its own words
}
