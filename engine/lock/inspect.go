package lock

import (
	"context"
	"fmt"
	"time"

	"relock/engine/lock/protocol"
)

// State is a lock as Redis has it.
type State = protocol.State

// Inspect looks at the lock of key, whoever holds it, without changing it: what
// an operator asks, and nothing to decide by, as it can be over when it
// arrives. Of Redlock's nodes it tells what a majority agrees on. It fails with
// ErrKey, ErrWrongType, ctx's error and Redis' error.
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

// ForceUnlock takes the lock of key from whoever holds it, and lets the next
// waiter have it. The holder goes on as if it held the lock until its next
// renewal, a third of a lease at most: for an operator who knows that it is
// gone, or when that does no harm. It fails with ErrNotHeld where nobody holds
// the lock, with ErrKey, and with ErrUnknown where Redis did not answer.
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

// operate is a request of nobody's who could hold the lock.
func (l *Locker) operate(key string, client Redis) protocol.Request {
	return protocol.Request{
		Words:  l.p.Keyed(key).Words("", l.o.ID, l.o.Lease),
		Client: client, Nodes: l.nodes, Key: key, Lease: l.o.Lease, Clock: l.o.Clock,
		Retries: min(l.o.Retries, 2), Interval: min(l.o.Interval, time.Second),
	}
}
