package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// redlock takes a mutex on a majority of independent nodes. A grant counts
// only if there is time left on it, less what clocks may drift: a hundredth
// of the lease and two milliseconds. What was not granted by a majority is
// given back where it was granted. It is not reentrant. Source: redis.io, "Distributed
// Locks with Redis"; the arithmetic as in go-redsync/redsync, which asks its
// nodes at once: here they are asked one after the other, so that each is a
// step of its own.
func redlock() protocol {
	return protocol{
		lock: func(ctx context.Context, at steps) (reply, error) {
			sent := at.clock.Now()
			var entered []Redis // what this attempt has, or may have, taken
			granted, err := at.onNodes(ctx, func(node steps) (bool, error) {
				set, err := node.text(ctx, "SET", node.key, node.owner, "NX", "PX", node.lease.Milliseconds())
				if set == "OK" || err != nil && at.level == 1 {
					entered = append(entered, node.client)
				}
				return set == "OK", err
			})
			if err != nil {
				return reply{}, err
			}
			valid := at.lease - at.clock.Now().Sub(sent) - drift(at.lease)
			if granted >= at.quorum() && valid > 0 {
				return taken(true), nil
			}
			at.nodes = entered
			_, err = at.onNodes(ctx, at.deleteOwn(ctx))
			return taken(false), err
		},
		unlock: func(ctx context.Context, at steps) (reply, error) {
			deleted, err := at.onNodes(ctx, at.deleteOwn(ctx))
			return majority(deleted, at), err
		},
		renew: func(ctx context.Context, at steps) (reply, error) {
			extended, err := at.onNodes(ctx, func(node steps) (bool, error) {
				r, err := mutexRenewScript.run(ctx, node.client, lockKey(node), ownerAndLease(node)...)
				return r.code == codeGranted, err
			})
			return majority(extended, at), err
		},
		scripts: []Script{mutexUnlockScript, mutexRenewScript},
		first:   map[string]string{CallLock: "SET"},
		most:    map[string]int{CallLock: 2}, // and what was not granted is given back
	}
}

// drift is how much of a lease clocks may disagree about.
func drift(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }

func (at steps) quorum() int { return len(at.nodes)/2 + 1 }

func majority(n int, at steps) reply {
	if n >= at.quorum() {
		return reply{code: codeGranted}
	}
	return reply{code: codeNotHeld}
}

func (at steps) deleteOwn(ctx context.Context) func(steps) (bool, error) {
	return func(node steps) (bool, error) {
		r, err := mutexUnlockScript.run(ctx, node.client, lockKey(node), ownerOnly(node)...)
		return r.code == codeGranted, err
	}
}

// onNodes asks every node and counts those that agree. A node that does not
// answer has not agreed; only a context that ended is an error.
func (at steps) onNodes(ctx context.Context, ask func(steps) (bool, error)) (int, error) {
	agreed := 0
	for _, node := range at.nodes {
		one := at
		one.client = node
		yes, err := ask(one)
		if ctx.Err() != nil {
			return agreed, fmt.Errorf("lock: ask %d nodes: %w", len(at.nodes), errors.Join(context.Cause(ctx), err))
		}
		if yes && err == nil {
			agreed++
		}
	}
	return agreed, nil
}
