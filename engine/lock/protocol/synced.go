package protocol

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

// ErrUnsynced fails a call that Redis carried out but too few of its replicas
// acknowledged in time: a replica that takes over may not know of it.
var ErrUnsynced = errors.New("too few replicas have acknowledged it in time")

// WAIT is the command by which a client waits for replicas.
const WAIT = "WAIT"

// Synced returns p with its locks and renewals followed by WAIT: they are trusted
// once so many replicas, at least one, have acknowledged them, and fail with
// ErrUnsynced if that takes longer than within, whole milliseconds. A lock in
// several Redises, or in none, it returns as it is. Both go over one connection of a
// redis.Client, because on another one WAIT waits for nothing; any other client must keep
// to one by itself. Within must be shorter than the client waits for a reply. Source:
// redis.io, WAIT; Redisson does so in each of its batches.
func (p *Protocol) Synced(replicas int, within time.Duration) *Protocol {
	if !p.CanSync() {
		return p
	}
	q := *p
	q.Replicas = replicas
	q.Most, q.Plain = map[string]int{}, map[string]string{}
	maps.Copy(q.Plain, p.Plain)
	for _, call := range []string{CallLock, CallUnlock, CallRenew, CallLeave} {
		q.Most[call] = p.Commands(call, 1)
	}
	synced := func(call string, step Step) Step {
		if step == nil {
			return nil
		}
		q.Most[call]++
		q.Plain[call] = strings.TrimPrefix(fmt.Sprintf("%s\nWAIT(%d, %d)", p.Plain[call], replicas, within.Milliseconds()), "\n")
		return func(ctx context.Context, r Request) (Reply, error) {
			done := r.pin()
			defer done()
			reply, err := step(ctx, r)
			if err != nil || reply.Code != Granted {
				return reply, err
			}
			n, err := r.Int(ctx, WAIT, replicas, within.Milliseconds())
			switch {
			case Answered(err): // WAIT was refused; the call before it was carried out
				return Reply{}, fmt.Errorf("%w: %v", ErrUnsynced, err) //nolint:errorlint // that Redis answered is no answer to the call
			case err != nil:
				return Reply{}, err
			case n < int64(replicas):
				return Reply{}, ErrUnsynced
			default:
				return reply, nil
			}
		}
	}
	q.RenewAll = nil
	q.Lock, q.Renew = synced(CallLock, p.Lock), synced(CallRenew, p.Renew)
	return &q
}

// CanSync reports whether locks and renewals can wait for replicas: where the lock
// is in one Redis.
func (p *Protocol) CanSync() bool { return p.AsksRedis() && p.Nodes == 0 }

// Pinner is a client with several connections that can keep to one of them.
type Pinner interface {
	// Pin returns a client that keeps to one connection until done is called.
	Pin() (c Redis, done func())
}

// pin has the request keep to one connection until done is called.
func (r *Request) pin() (done func()) {
	c, ok := r.Client.(Pinner)
	if !ok {
		return func() {}
	}
	r.Client, done = c.Pin()
	return done
}
