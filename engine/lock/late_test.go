package lock_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/lock/protocol"
)

// counted are the protocols that keep hold counts in a hash.
func counted() []lock.Protocol { return append(numbered(), lock.Reentrant) }

func numbered() []lock.Protocol {
	return []lock.Protocol{lock.Sequenced, lock.ReentrantNotify, lock.ReentrantFair, lock.Fenced}
}

// postman keeps every command that it hands on, and can deliver one again.
type postman struct {
	redis.UniversalClient

	sent   []sent
	silent int                   // how many of the next commands are kept back, and not answered
	loses  func(call int64) bool // the same, by the number of the call
	calls  int64
}

type sent struct {
	sha  string
	keys []string
	args []any
}

func (p *postman) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	p.sent = append(p.sent, sent{sha, slices.Clone(keys), slices.Clone(args)})
	p.calls++
	if p.silent > 0 || p.loses != nil && p.loses(p.calls) {
		p.silent = max(p.silent-1, 0)
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(errNetwork)
		return cmd
	}
	return p.UniversalClient.EvalSha(ctx, sha, keys, args...)
}

// again delivers the command that was the nth to be sent, from 0.
func (p *postman) again(t *testing.T, n int) {
	t.Helper()
	one := p.sent[n]
	if err := p.UniversalClient.EvalSha(t.Context(), one.sha, one.keys, one.args...).Err(); err != nil {
		t.Fatal(err)
	}
}

// number returns the number of the release that was the nth to be sent, from 0.
func (p *postman) number(t *testing.T, n int) int64 {
	t.Helper()
	number, ok := p.sent[n].args[3].(int64)
	if !ok {
		t.Fatalf("call %d is no release: %v", n, p.sent[n].args)
	}
	return number
}

// onNumbered runs a test for every protocol whose calls have numbers, each on
// an empty Redis.
func onNumbered(t *testing.T, test func(t *testing.T, p *postman, l *lock.Locker)) {
	t.Helper()
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		for _, proto := range numbered() {
			t.Run(proto.Name, func(t *testing.T) {
				if err := c.FlushAll(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				loadAll(t, c, proto)
				p := &postman{UniversalClient: c}
				l := locker(t, p, lock.Options{
					Protocol: proto, Lease: time.Minute, Renew: lock.NoWatchdog, Retries: 2, Interval: time.Millisecond, Messenger: lock.PubSub(c),
					ID: "ID",
				})
				t.Cleanup(l.Close)
				test(t, p, l)
			})
		}
	})
}

// A copy of an earlier call arrives when its owner has gone on. It changes
// nothing: not the count, not whose the lock is, and it makes no lock.
func TestLateCopyChangesNothing(t *testing.T) {
	onNumbered(t, func(t *testing.T, p *postman, l *lock.Locker) {
		owner := lock.NewOwner()
		levels := func(n int) []*lock.Hold {
			var holds []*lock.Hold
			for range n {
				holds = append(holds, acquire(t, l, owner))
			}
			return holds
		}
		leave := func(holds []*lock.Hold) {
			t.Helper()
			for _, h := range slices.Backward(holds) {
				unlock(t, h)
			}
		}
		t.Run("unlock of level 1, entered again", func(t *testing.T) {
			p.sent = nil
			leave(levels(1)) // 0 lock, 1 unlock
			holds := levels(1)
			p.again(t, 1)
			wantCount(t, p, owner, 1)
			leave(holds)
		})
		t.Run("unlock of level 2, entered again", func(t *testing.T) {
			p.sent = nil
			holds := levels(2) // 0, 1
			leave(holds[1:])   // 2
			holds = append(holds[:1], levels(2)...)
			p.again(t, 2)
			wantCount(t, p, owner, 3)
			leave(holds)
		})
		t.Run("lock of level 1, levels 2 and 3 entered", func(t *testing.T) {
			p.sent = nil
			holds := levels(3)
			p.again(t, 0)
			wantCount(t, p, owner, 3)
			leave(holds)
		})
		t.Run("lock of level 2, left since", func(t *testing.T) {
			p.sent = nil
			holds := levels(2)
			leave(holds[1:])
			p.again(t, 1)
			wantCount(t, p, owner, 1)
			leave(holds[:1])
		})
		wantCount(t, p, owner, 0)
	})
}

// A first acquisition is not answered, sent again and granted, or given up. Its
// copy arrives when everything is over, and must not make a lock of nobody's.
func TestLateFirstAcquisitionMakesNoOrphan(t *testing.T) {
	onNumbered(t, func(t *testing.T, p *postman, l *lock.Locker) {
		for name, silent := range map[string]int{"sent again": 1, "given up": 3} {
			t.Run(name, func(t *testing.T) {
				owner := lock.NewOwner()
				for range 2 { // what is noted the first time is older the second time
					p.sent, p.silent = nil, silent
					h, err := l.Lock(context.Background(), key, owner)
					if silent == 1 {
						if err != nil {
							t.Fatal(err)
						}
						unlock(t, h)
					} else {
						wantIs(t, err, lock.ErrNotAcquired, errNetwork)
					}
					wantCount(t, p, owner, 0)
					p.again(t, 0)
					wantCount(t, p, owner, 0)
				}
				other := acquire(t, l, lock.NewOwner()) // held by another now
				p.again(t, 0)
				wantCount(t, p, other.Owner(), 1)
				unlock(t, other)
				unlock(t, acquire(t, l, owner)) // it may come back itself
				nothingLeft(t, p, lock.Sequenced)
			})
		}
	})
}

// In a waiting room too: a copy of a call that gave up must not stand in line.
func TestLateCopyDoesNotStandInLine(t *testing.T) {
	told(t, func(t *testing.T, c redis.UniversalClient, proto lock.Protocol) {
		loadAll(t, c, proto)
		p := &postman{UniversalClient: c}
		o := lock.Options{Protocol: proto, Lease: time.Minute, Retries: 2, Interval: time.Millisecond}
		l := listening(t, p, o)
		h := acquire(t, l, lock.NewOwner())
		p.sent, p.silent = nil, 3
		_, err := l.Lock(context.Background(), key, lock.NewOwner())
		wantIs(t, err, lock.ErrNotAcquired, errNetwork)
		inLine(t, c, proto, 0)
		p.again(t, 0)
		inLine(t, c, proto, 0)
		unlock(t, h)
		nothingLeft(t, c, proto)
	})
}

// The plain lock keeps nothing that could tell a late copy: it has the hole
// that articles have, and a test that says so.
func TestPlainLockHasTheHoleOfLateCopies(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		loadAll(t, c, lock.Reentrant)
		p := &postman{UniversalClient: c}
		l := locker(t, p, lock.Options{Protocol: lock.Reentrant, Renew: lock.NoWatchdog})
		owner := lock.NewOwner()
		unlock(t, acquire(t, l, owner))
		h := acquire(t, l, owner)
		p.again(t, 1)
		wantCount(t, c, owner, 0)
		wantIs(t, h.Unlock(t.Context()), lock.ErrLost)
	})
}

// An owner comes through a second Locker, whose levels begin at one. It is
// refused: else the second one's unlock would release the first one's levels.
func TestOwnerThroughASecondLockerIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		for _, proto := range numbered() {
			t.Run(proto.Name, func(t *testing.T) {
				o := lock.Options{Protocol: proto, Messenger: lock.PubSub(c), Retries: 2, Interval: time.Millisecond}
				first, second := locker(t, c, o), locker(t, c, o)
				t.Cleanup(first.Close)
				t.Cleanup(second.Close)
				owner := lock.NewOwner()
				outer := acquire(t, first, owner)
				inner := acquire(t, first, owner)
				_, err := second.TryLock(t.Context(), key, owner)
				wantIs(t, err, lock.ErrNotAcquired, lock.ErrHeld)
				_, err = second.Lock(t.Context(), key, owner)
				wantIs(t, err, lock.ErrNotAcquired, lock.ErrHeld)
				wantCount(t, c, owner, 2)
				if err := inner.Context().Err(); err != nil {
					t.Error(err)
				}
				unlock(t, inner)
				unlock(t, outer)
				unlock(t, acquire(t, second, owner)) // now it is free
			})
		}
	})
}

// Another process has the same owner: only Redis can tell.
func TestOwnerInAnotherProcessIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		for _, proto := range counted()[:4] {
			owner := lock.NewOwner()
			keys := proto.Keys(key)
			if err := c.HSet(t.Context(), key, string(owner), 2, "#another", 7).Err(); err != nil {
				t.Fatal(err)
			}
			l := locker(t, c, lock.Options{Protocol: proto, Messenger: lock.PubSub(c)})
			_, err := l.TryLock(t.Context(), key, owner)
			wantIs(t, err, lock.ErrHeld)
			wantCount(t, c, owner, 2)
			l.Close()
			c.Del(t.Context(), keys...)
		}
	})
}

var _ protocol.Redis = (*postman)(nil)
