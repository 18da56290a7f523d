package lock

import (
	"context"
	"fmt"
	"time"

	"relock/engine/lock/protocol"
)

// State is the state of a lock in Redis.
type State = protocol.State

// Inspect reads the state of the lock of key, no matter who holds it. It is meant for
// operators: the answer may be out of date when it arrives, so do not base
// decisions on it. For Redlock it returns what a majority of nodes agree on. It
// fails with ErrKey, ErrWrongType, ctx's error and Redis' error.
func (l *Locker) Inspect(ctx context.Context, key string) (State, error) {
	if err := l.checkKey(key); err != nil {
		return State{}, err
	}
	nodes := []Redis{l.client}
	if l.p.Nodes > 0 {
		nodes = l.nodes
	}
	votes := map[string]int{}
	var failed error
	for _, node := range nodes {
		s, err := l.p.Inspect(ctx, l.operate(key, node))
		if err != nil {
			failed = err
			continue
		}
		votes[s.Owner]++
		if votes[s.Owner] > len(nodes)/2 {
			return s, nil
		}
	}
	return State{}, failed
}

// ForceUnlock takes the lock of key from its holder, and lets the next
// waiter have it. The holder carries on as if it held the lock until its next
// renewal, at most a third of a lease. It is meant for an operator who knows
// that the holder is gone or can do no harm. It fails with ErrNotHeld if nobody
// holds the lock, with ErrKey, and with ErrUnknown if Redis did not answer.
func (l *Locker) ForceUnlock(ctx context.Context, key string) error {
	if err := l.checkKey(key); err != nil {
		return err
	}
	limited, cancel := l.o.Clock.WithDeadline(ctx, l.o.Clock.Now().Add(l.o.Limit))
	defer cancel()
	c := Call{Name: protocol.CallForce, Attempt: 1}
	if l.tells {
		limited = protocol.WithCall(limited, c)
	}
	r, err := l.p.ForceUnlock(limited, l.operate(key, l.client))
	switch {
	case err != nil && protocol.Answered(err):
		return fmt.Errorf("force-unlock %q: %w", key, err)
	case err != nil:
		return fmt.Errorf("%w: force-unlock %q: %w", ErrUnknown, key, err)
	case r.Code != protocol.Granted:
		return fmt.Errorf("%w: force-unlock %q", ErrNotHeld, key)
	}
	return nil
}

// operate returns a request made for an operator, not for an owner.
func (l *Locker) operate(key string, client Redis) protocol.Request {
	return protocol.Request{
		Words:  l.caller.Words(l.p.Keyed(key), "", l.o.Lease),
		Client: client, Nodes: l.nodes, Key: key, Lease: l.o.Lease, Clock: l.o.Clock,
		Retries: min(l.o.Retries, 2), Interval: min(l.o.Interval, time.Second),
	}
}
