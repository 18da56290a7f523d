package lock_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/lock/protocol"
)

// If nothing listens, nothing was sent: nobody gives anything back, and a thousand
// waiters ask seldom.
func TestAnOutageIsNotMultiplied(t *testing.T) {
	for _, p := range []lock.Protocol{lock.Sequenced, lock.ReentrantFair} {
		t.Run(p.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const waiters, span = 1000, 10 * time.Second
				c := redis.NewClient(&redis.Options{
					Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1, PoolSize: waiters, ContextTimeoutEnabled: true,
					Dialer: func(context.Context, string, string) (net.Conn, error) {
						return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
					},
				})
				var asked, other atomic.Int32
				l := locker(t, c, lock.Options{Protocol: p, Observer: lock.Observer{Attempted: func(_ context.Context, a lock.Attempt) {
					if a.Name == protocol.CallLock {
						asked.Add(1)
					} else {
						other.Add(1)
					}
				}}})
				ctx, cancel := context.WithTimeout(t.Context(), span)
				defer cancel()
				var group sync.WaitGroup
				for range waiters {
					group.Go(func() {
						_, err := l.Lock(ctx, key, lock.NewOwner())
						wantIs(t, err, lock.ErrNotAcquired, lock.ErrUnknown, context.DeadlineExceeded)
					})
				}
				group.Wait()
				synctest.Wait()
				if n := float64(asked.Load()) / span.Seconds(); n > 500 || n < 100 {
					t.Errorf("%.0f attempts a second", n)
				}
				if n := other.Load(); n > 0 {
					t.Errorf("%d releases of what was never sent", n)
				}
				l.Close()
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				time.Sleep(2 * time.Second) // the pool's own tries end, a second after each other
			})
		})
	}
}
