package lock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/store/storetest"
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

// prefixed is a hook that gives the keys of scripts and commands a prefix.
type prefixed string

func (p prefixed) DialHook(next redis.DialHook) redis.DialHook { return next }

func (p prefixed) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		switch name := cmd.Name(); name {
		case "eval", "evalsha":
			for i := range args[2].(int) {
				args[3+i] = string(p) + args[3+i].(string)
			}
		case "set", "pttl":
			args[1] = string(p) + args[1].(string)
		}
		return next(ctx, cmd)
	}
}

func (p prefixed) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			_ = p.ProcessHook(func(context.Context, redis.Cmder) error { return nil })(ctx, cmd)
		}
		return next(ctx, cmds)
	}
}

// A client that gives its keys a prefix is served like any other: a message comes to who
// waits, and a lock of another prefix is another lock.
func TestAClientThatPrefixesKeys(t *testing.T) {
	for _, p := range []lock.Protocol{lock.Sequenced, lock.ReentrantNotify, lock.ReentrantFair} {
		s := storetest.Start(t)
		received := make(chan struct{}, 10)
		under := func(prefix string) *lock.Locker {
			c := connect(t, s.Addr, redis.Options{})
			c.AddHook(prefixed(prefix))
			l := locker(t, c, lock.Options{Protocol: p, Lease: 5 * time.Minute, Interval: 3 * time.Minute, Messenger: telling{lock.PubSub(c), received}})
			t.Cleanup(l.Close)
			return l
		}
		a, b := under("a:"), under("b:")
		err := a.Do(t.Context(), key, func(ctx context.Context) error {
			return b.Do(ctx, key, func(ctx context.Context) error {
				wantIs(t, under("a:").Do(ctx, key, func(context.Context) error { return nil }), lock.ErrSelf)
				return nil
			})
		})
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if p.Leave == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		h := acquire(t, a, lock.NewOwner())
		got := make(chan error)
		go func() {
			h, err := a.Lock(ctx, key, lock.NewOwner())
			if err == nil {
				err = h.Unlock(ctx)
			}
			got <- err
		}()
		for state := (lock.State{}); state.Waiting == 0; {
			if state, err = a.Inspect(ctx, key); err != nil {
				t.Fatal(err)
			}
		}
		unlock(t, h)
		if err := <-got; err != nil {
			t.Errorf("%s: told that it was its turn, the waiter slept on: %v", p.Name, err)
		}
		cancel()
	}
}
