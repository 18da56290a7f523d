package bench_test

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"net"
	"regexp"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"relock/engine/lock"
)

var only = flag.String("only", "", "measure only the contestants whose names match this `pattern`, and what they are compared with")

// chosen tells whether -only lets a contestant in.
func chosen(tb testing.TB, name string) bool {
	tb.Helper()
	re, err := regexp.Compile(*only)
	if err != nil {
		tb.Fatal("-only: ", err)
	}
	return re.MatchString(name)
}

// unlock gives back what a locker's lock has taken.
type unlock func(context.Context) error

// locker is one client of a library, with connections of its own, for one
// goroutine and one key.
type locker struct {
	// lock waits for the lock until the context ends.
	lock func(context.Context) (unlock, error)
	// pair locks and unlocks, and allocates nothing of its own.
	pair  func(context.Context) error
	close func()
}

// end closes a locker, or leaves it if that takes too long.
func (l *locker) end() {
	_, _ = within(context.Background(), callLimit, func(context.Context) (any, error) {
		l.close()
		return nil, nil
	})
}

// open makes a locker of key.
type open func(w wire, key string) (*locker, error)

// waiter is a library, set up as it is for a lock that is waited for. A peer
// is somebody else's.
type waiter struct {
	name string
	peer bool
	open open
}

// waiters are the contestants of Handover and Contention. Another protocol of
// ours needs one more line.
func waiters() []waiter {
	return []waiter{
		{"fair", false, ours(lock.ReentrantFair)},
		{"notify", false, ours(lock.ReentrantNotify)},
		{"sequenced", false, ours(lock.Sequenced)},
		{"reentrant", false, ours(lock.Reentrant)},
		{"redislock", true, redislocks},
		{"redsync", true, redsyncs},
		{"rueidislock", true, rueidislocks},
	}
}

func ours(p lock.Protocol) open {
	return func(w wire, key string) (*locker, error) { return oursOn(w.client(), p, key) }
}

// oursAsItComes is ours on a go-redis client with go-redis' own defaults, which
// does not look at a context while it waits for a reply.
func oursAsItComes(p lock.Protocol) open {
	return func(w wire, key string) (*locker, error) {
		return oursOn(redis.NewClient(&redis.Options{Addr: w.addr}), p, key)
	}
}

// oursOn is ours on a client that is closed with it.
func oursOn(c *redis.Client, p lock.Protocol, key string) (*locker, error) {
	l, err := lock.New(c, lock.Options{Protocol: p, Lease: lease, Interval: 50 * time.Millisecond})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	owner := lock.NewOwner()
	return &locker{
		lock: func(ctx context.Context) (unlock, error) {
			h, err := l.Lock(ctx, key, owner)
			if err != nil {
				return nil, err
			}
			return h.Unlock, nil
		},
		pair: func(ctx context.Context) error {
			h, err := l.Lock(ctx, key, owner)
			if err != nil {
				return err
			}
			return h.Unlock(ctx)
		},
		close: func() {
			l.Close()
			_ = c.Close()
		},
	}, nil
}

// oursOnBackground is ours, called with a context that cannot end.
func oursOnBackground(p lock.Protocol) open {
	return func(w wire, key string) (*locker, error) {
		l, err := oursOn(w.client(), p, key)
		if err == nil {
			pair := l.pair
			l.pair = func(context.Context) error { return pair(context.Background()) }
		}
		return l, err
	}
}

// oursInside is a further level of ours: the first is held all the time.
func oursInside(p lock.Protocol) open {
	return func(w wire, key string) (*locker, error) {
		l, err := oursOn(w.client(), p, key)
		if err != nil {
			return nil, err
		}
		return l, enter(l)
	}
}

// enter takes the outer level of a locker, which is given back when it closes.
func enter(l *locker) error {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	leave, err := l.lock(ctx)
	if err != nil {
		l.close()
		return err
	}
	end := l.close
	l.close = func() {
		ctx, cancel := context.WithTimeout(context.Background(), callLimit)
		defer cancel()
		_ = leave(ctx)
		end()
	}
	return nil
}

func redislocks(w wire, key string) (*locker, error) {
	c := w.client()
	l := redislock.New(c)
	o := &redislock.Options{RetryStrategy: redislock.LinearBackoff(50 * time.Millisecond)}
	return &locker{
		lock: func(ctx context.Context) (unlock, error) {
			h, err := l.Obtain(ctx, key, lease, o)
			if err != nil {
				return nil, err
			}
			return h.Release, nil
		},
		pair: func(ctx context.Context) error {
			h, err := l.Obtain(ctx, key, lease, o)
			if err != nil {
				return err
			}
			return h.Release(ctx)
		},
		close: func() { _ = c.Close() },
	}, nil
}

func redsyncs(w wire, key string) (*locker, error) { return redsyncOn([]wire{w}, key) }

// redsyncOn is redsync with its defaults, but for the number of tries, which
// would end a wait before its context does.
func redsyncOn(nodes []wire, key string) (*locker, error) {
	var clients []*redis.Client
	var pools []redsyncredis.Pool
	for _, w := range nodes {
		c := w.client()
		clients = append(clients, c)
		pools = append(pools, goredis.NewPool(c))
	}
	m := redsync.New(pools...).NewMutex(key, redsync.WithExpiry(lease), redsync.WithTries(1<<20))
	release := func(ctx context.Context) error {
		_, err := m.UnlockContext(ctx)
		return err
	}
	return &locker{
		lock: func(ctx context.Context) (unlock, error) {
			if err := m.LockContext(ctx); err != nil {
				return nil, errors.Join(err, ctx.Err()) // it does not say itself that its context has ended
			}
			return release, nil
		},
		pair: func(ctx context.Context) error {
			if err := m.LockContext(ctx); err != nil {
				return errors.Join(err, ctx.Err())
			}
			return release(ctx)
		},
		close: func() {
			for _, c := range clients {
				_ = c.Close()
			}
		},
	}, nil
}

// quorumOn is a protocol of ours that asks several nodes, with redsync's delays
// between two attempts.
func quorumOn(p lock.Protocol, nodes []wire, key string) (*locker, error) {
	var clients []*redis.Client
	o := lock.Options{Protocol: p, Lease: lease, Interval: 50 * time.Millisecond, JitterMax: 200 * time.Millisecond}
	for _, w := range nodes {
		c := w.client()
		clients = append(clients, c)
		o.Nodes = append(o.Nodes, c)
	}
	o.Nodes = o.Nodes[1:]
	end := func() {
		for _, c := range clients {
			_ = c.Close()
		}
	}
	l, err := lock.New(clients[0], o)
	if err != nil {
		end()
		return nil, err
	}
	owner := lock.NewOwner()
	take := func(ctx context.Context) (unlock, error) {
		h, err := l.Lock(ctx, key, owner)
		if err != nil {
			return nil, err
		}
		return h.Unlock, nil
	}
	return &locker{
		lock: take,
		pair: func(ctx context.Context) error {
			leave, err := take(ctx)
			if err != nil {
				return err
			}
			return leave(ctx)
		},
		close: func() {
			l.Close()
			end()
		},
	}, nil
}

func rueidislocks(w wire, key string) (*locker, error) {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{
			InitAddress: []string{w.addr},
			DialCtxFn: func(ctx context.Context, addr string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return w.dial(ctx, dialer, "tcp", addr)
			},
		},
		KeyMajority: 1, NoLoopTracking: true, KeyValidity: lease,
	})
	if err != nil {
		return nil, err
	}
	return &locker{
		lock: func(ctx context.Context) (unlock, error) {
			_, cancel, err := l.WithContext(ctx, key)
			if err != nil {
				return nil, err
			}
			return func(context.Context) error {
				cancel() // returns when the key has been deleted
				return nil
			}, nil
		},
		pair: func(ctx context.Context) error {
			_, cancel, err := l.WithContext(ctx, key)
			if err == nil {
				cancel()
			}
			return err
		},
		close: l.Close,
	}, nil
}
