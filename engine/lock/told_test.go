package lock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
)

// telling says when a message has been received.
type telling struct {
	lock.Messenger

	received chan struct{}
}

func (m telling) Listen(ctx context.Context, channel string, receive func(string)) (func(), error) {
	return m.Messenger.Listen(ctx, channel, func(text string) {
		receive(text)
		m.received <- struct{}{}
	})
}

// A message may come between Redis' answer that the lock is held and the sleep
// that it is to end.
func TestAMessageBeforeTheSleepIsHeard(t *testing.T) {
	told(t, func(t *testing.T, c redis.UniversalClient, p lock.Protocol) {
		held := acquire(t, listening(t, c, lock.Options{Protocol: p, Lease: 5 * time.Minute}), lock.NewOwner())
		received := make(chan struct{}, 10)
		var once sync.Once
		waiter := locker(t, c, lock.Options{
			Protocol: p, Lease: 5 * time.Minute, Retries: 10, Interval: 3 * time.Minute,
			Messenger: telling{lock.PubSub(c), received},
			Observer: lock.Observer{Waiting: func(context.Context, lock.Wait) {
				once.Do(func() {
					unlock(t, held)
					<-received
				})
			}},
		})
		t.Cleanup(waiter.Close)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		h, err := waiter.Lock(ctx, key, lock.NewOwner())
		if err != nil {
			t.Fatal("told that it was its turn, the waiter slept on: ", err)
		}
		unlock(t, h)
	})
}
