package stream

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// ears hears what is published for the rooms of this server, by one connection
// for all of them.
type ears struct {
	ctx context.Context
	sub *redis.PubSub

	turn sync.Mutex // of who changes the subscriptions

	mu sync.Mutex
	by map[string][]*ear // by channel
}

// ear hears one channel on behalf of one goroutine.
type ear struct {
	ears    *ears
	channel string
	bell    chan struct{} // of capacity 1

	mu     sync.Mutex
	heard  []string
	missed bool
}

const (
	mostHeard   = 64 // messages that an ear remembers
	unread      = 1024
	soundness   = 2 * time.Second // between two proofs that the connection is alive
	listenLimit = time.Second     // to ask for a channel; it is asked for again
)

func newEars(ctx context.Context, client redis.UniversalClient) *ears {
	return &ears{ctx: ctx, sub: client.Subscribe(ctx), by: map[string][]*ear{}}
}

// hear hands on messages until close.
func (e *ears) hear() {
	for m := range e.sub.ChannelWithSubscriptions(redis.WithChannelSize(unread), redis.WithChannelHealthCheckInterval(soundness)) {
		switch m := m.(type) {
		case *redis.Subscription: // also after the connection was lost
			e.each(m.Channel, (*ear).miss)
		case *redis.Message:
			e.each(m.Channel, func(one *ear) { one.hear(m.Payload) })
		}
	}
}

func (e *ears) close() { _ = e.sub.Close() }

func (e *ears) each(channel string, do func(*ear)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.by[channel] {
		do(one)
	}
}

// ring wakes who listens to a channel, though there is no message.
func (e *ears) ring(channel string) { e.each(channel, (*ear).ring) }

// listen hears a channel until stop. That misses earlier messages, and may miss one that
// is being published just now.
func (e *ears) listen(channel string) *ear {
	one := &ear{ears: e, channel: channel, bell: make(chan struct{}, 1), missed: true}
	e.turn.Lock()
	defer e.turn.Unlock()
	e.mu.Lock()
	first := len(e.by[channel]) == 0
	e.by[channel] = append(e.by[channel], one)
	e.mu.Unlock()
	if first {
		ctx, done := context.WithTimeout(e.ctx, listenLimit)
		defer done()
		_ = e.sub.Subscribe(ctx, channel) // where it fails it comes with the next connection
	}
	return one
}

// stop ends the hearing.
func (one *ear) stop() {
	e := one.ears
	e.turn.Lock()
	defer e.turn.Unlock()
	e.mu.Lock()
	e.by[one.channel] = slices.DeleteFunc(e.by[one.channel], func(other *ear) bool { return other == one })
	last := len(e.by[one.channel]) == 0
	if last {
		delete(e.by, one.channel)
	}
	e.mu.Unlock()
	if last {
		ctx, done := context.WithTimeout(e.ctx, listenLimit)
		defer done()
		_ = e.sub.Unsubscribe(ctx, one.channel) // where it fails the connection is lost, and the channel with it
	}
}

func (one *ear) hear(message string) {
	one.mu.Lock()
	defer one.mu.Unlock()
	if len(one.heard) >= mostHeard {
		one.heard, one.missed = nil, true
	}
	one.heard = append(one.heard, message)
	one.ring()
}

func (one *ear) miss() {
	one.mu.Lock()
	defer one.mu.Unlock()
	one.missed = true
	one.ring()
}

func (one *ear) ring() {
	select {
	case one.bell <- struct{}{}:
	default:
	}
}

// news returns the messages since the last call, and whether any may be lacking.
func (one *ear) news() (heard []string, missed bool) {
	one.mu.Lock()
	defer one.mu.Unlock()
	heard, missed = one.heard, one.missed
	one.heard, one.missed = nil, false
	return heard, missed
}
