package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/lock/protocol"
)

// spoken is a Messenger whose messages a test makes up.
type spoken struct {
	say  func(message string)
	open int // inboxes
}

func (s *spoken) Listen(_ context.Context, _ string, receive func(string)) (func(), error) {
	s.say = receive
	s.open++
	return func() { s.open-- }, nil
}

// A waiter believes a grant only if it is meant for the call that waits, made
// since that asked, and not over: and then for a third of the lease, until it
// has renewed.
func TestGrantThatIsBelieved(t *testing.T) {
	for name, row := range map[string]struct {
		kind     string
		at       time.Duration // after Redis' clock
		number   int64         // after that of the waiting call
		believed bool
	}{
		"for this call":             {"grant", time.Millisecond, 0, true},
		"for an earlier call":       {"grant", time.Millisecond, -1, false},
		"made before it asked":      {"grant", -time.Minute, 0, false},
		"made just before it asked": {"grant", -time.Second, 0, false},
		"a wake-up, and no grant":   {"wake", time.Millisecond, 0, false},
		"for a call that will come": {"grant", time.Millisecond, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, c redis.UniversalClient) {
				p := lock.ReentrantFair
				loadAll(t, c, p)
				held := acquire(t, listening(t, c, lock.Options{Protocol: p}), lock.NewOwner())
				sent := &postman{UniversalClient: c}
				inbox := &spoken{}
				owner := lock.NewOwner()
				said := false
				patience := 10 * time.Millisecond
				if row.believed {
					patience = time.Minute // it does not wait so long
				}
				l := locker(t, sent, lock.Options{
					Protocol: p, Retries: 1, Interval: patience, Messenger: inbox,
					Observer: lock.Observer{Waiting: func(context.Context, lock.Wait) {
						if said {
							return
						}
						said = true
						number, _ := sent.sent[0].args[4].(int64)
						at := c.Time(t.Context()).Val().Add(row.at).UnixMilli()
						inbox.say(fmt.Sprintf("%s %s %d %d %s", row.kind, owner, at, number+row.number, key))
					}},
				})
				began := time.Now()
				h, err := l.Lock(t.Context(), key, owner)
				if row.believed != (err == nil) || err != nil && !errors.Is(err, lock.ErrHeld) {
					t.Errorf("Lock: %v", err)
				}
				if h != nil {
					if until := h.Until().Sub(began); until > protocol.Grant(time.Minute) {
						t.Errorf("it is relied on for %v, want a third of a minute less its margin", until)
					}
					wantIs(t, h.Unlock(t.Context()), lock.ErrLost) // the message was made up
				}
				l.Close()
				unlock(t, held)
			})
		})
	}
}

// A waiter that Redis refuses for good leaves the line that it stands in.
func TestWaiterThatIsRefusedLeavesTheLine(t *testing.T) {
	told(t, func(t *testing.T, c redis.UniversalClient, p lock.Protocol) {
		loadAll(t, c, p)
		held := acquire(t, listening(t, c, lock.Options{Protocol: p}), lock.NewOwner())
		n := &network{UniversalClient: c, says: func(call int64, _ []string) answer {
			if call == 2 {
				return "NOPERM this user has no permissions"
			}
			return ""
		}}
		l := locker(t, n, lock.Options{
			Protocol: p, Retries: 100, Interval: time.Millisecond, Lease: 500 * time.Millisecond, Messenger: lock.PubSub(c),
			Observer: observer(func(a lock.Attempt) {
				if n.calls.Load() == 1 {
					inLine(t, c, p, 1)
				}
			}),
		})
		t.Cleanup(l.Close)
		_, err := l.Lock(context.Background(), key, lock.NewOwner())
		wantIs(t, err, lock.ErrNotAcquired, lock.ErrRefused)
		inLine(t, c, p, 0)
		unlock(t, held)
	})
}

func TestClosedLockerOpensNoInbox(t *testing.T) {
	told(t, func(t *testing.T, c redis.UniversalClient, p lock.Protocol) {
		inbox := &spoken{}
		l := locker(t, c, lock.Options{Protocol: p, Messenger: inbox})
		unlock(t, acquire(t, l, lock.NewOwner()))
		l.Close()
		_, err := l.TryLock(t.Context(), key, lock.NewOwner())
		wantIs(t, err, lock.ErrNotAcquired, lock.ErrClosed)
		if inbox.open != 0 {
			t.Error("an inbox was opened")
		}
	})
}
