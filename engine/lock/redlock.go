package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// redlock takes a mutex on a majority of independent nodes. A grant counts
// only if there is time left on it, less what clocks may drift: a hundredth
// of the lease and two milliseconds. What was not granted by a majority is
// given back where it was granted. No node is waited for longer than a
// twentieth of the lease, so that one that hangs costs little. It is not
// reentrant. Source: redis.io, "Distributed Locks with Redis"; the arithmetic
// as in go-redsync/redsync.
//
// A release reaches the nodes that are up. One that does not answer is asked
// again, at most twice and an interval apart; what it holds after that, its
// lease ends. Until then it is one node less for everybody.
func redlock() protocol {
	return protocol{
		lock: func(ctx context.Context, at steps) (reply, error) {
			sent := at.clock.Now()
			v := at.ask(ctx, at.nodes, func(ctx context.Context, node steps) (bool, error) {
				set, err := node.text(ctx, "SET", node.key, node.owner, "NX", "PX", node.lease.Milliseconds())
				return set == "OK", err
			})
			if ctx.Err() != nil {
				return reply{}, v.failed(ctx)
			}
			tooLate := at.clock.Now().Sub(sent) >= at.lease-drift(at.lease)
			switch {
			case v.yes >= at.quorum() && !tooLate:
				return taken(true), nil
			case v.yes >= at.quorum(): // whoever asked gives it back
				return reply{}, fmt.Errorf("%w: the majority took longer than the lease: %w", ErrNotAcquired, ErrLost)
			}
			entered := v.granted // and perhaps those that did not answer
			if at.level == 1 {
				entered = append(entered, v.silent...)
			}
			at.ask(ctx, entered, deleteOwn)
			if v.yes+v.no >= at.quorum() {
				return taken(false), nil
			}
			return reply{}, v.failed(ctx)
		},
		unlock: func(ctx context.Context, at steps) (reply, error) {
			v := at.ask(ctx, at.nodes, deleteOwn)
			for again := min(at.retries, 2); again > 0 && len(v.silent) > 0 && v.yes+v.no >= at.quorum(); again-- {
				if at.clock.Sleep(ctx, at.interval) != nil || ctx.Err() != nil {
					break
				}
				v = v.and(at.ask(ctx, v.silent, deleteOwn))
			}
			return v.reply(ctx, at)
		},
		renew: func(ctx context.Context, at steps) (reply, error) {
			return at.ask(ctx, at.nodes, func(ctx context.Context, node steps) (bool, error) {
				r, err := mutexRenewScript.run(ctx, node.client, lockKey(node), ownerAndLease(node)...)
				return r.code == codeGranted, err
			}).reply(ctx, at)
		},
		scripts: []Script{mutexUnlockScript, mutexRenewScript},
		first:   map[string]string{CallLock: "SET"},
		most:    map[string]int{CallLock: 2}, // and what was not granted is given back
	}
}

// drift is how much of a lease clocks may disagree about.
func drift(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }

// nodeLimit is how long one node is waited for.
func nodeLimit(lease time.Duration) time.Duration { return max(lease/20, time.Millisecond) }

func (at steps) quorum() int { return len(at.nodes)/2 + 1 }

func deleteOwn(ctx context.Context, node steps) (bool, error) {
	r, err := mutexUnlockScript.run(ctx, node.client, lockKey(node), ownerOnly(node)...)
	return r.code == codeGranted, err
}

// vote is what the nodes have answered.
type vote struct {
	yes, no int
	granted []Redis // that said yes
	silent  []Redis // that did not answer
	errs    []error // of those, one each
}

// and is v with the answers of its silent nodes to a further question.
func (v vote) and(further vote) vote {
	further.yes += v.yes
	further.no += v.no
	further.granted = append(v.granted, further.granted...)
	return further
}

// reply is what the nodes' answers mean to who holds the lock: an error while
// those that are missing could still make a majority.
func (v vote) reply(ctx context.Context, at steps) (reply, error) {
	switch {
	case v.yes >= at.quorum():
		return reply{code: codeGranted}, nil
	case v.no > len(at.nodes)-at.quorum():
		return reply{code: codeNotHeld}, nil
	default:
		return reply{}, v.failed(ctx)
	}
}

func (v vote) failed(ctx context.Context) error {
	return &nodesError{yes: v.yes, no: v.no, errs: append(v.errs[:len(v.errs):len(v.errs)], context.Cause(ctx))}
}

// nodesError is why there is no majority either way.
type nodesError struct {
	yes, no int
	errs    []error // of the nodes, and the context's, which may be nil
}

// Error tells how many nodes answered, and what the others failed with.
func (e *nodesError) Error() string {
	return fmt.Sprintf("lock: no majority: %d nodes said yes, %d no, the rest: %v", e.yes, e.no, errors.Join(e.errs...))
}

// Unwrap is the nodes' errors.
func (e *nodesError) Unwrap() []error {
	return []error{errors.Join(e.errs...)}
}

// ask puts a question to nodes, at once or in turn.
func (at steps) ask(ctx context.Context, nodes []Redis, question func(context.Context, steps) (bool, error)) vote {
	type answer struct {
		yes bool
		err error
	}
	answers := make([]answer, len(nodes))
	put := func(i int) {
		ctx, cancel := at.clock.WithDeadline(ctx, at.clock.Now().Add(nodeLimit(at.lease)))
		defer cancel()
		one := at
		one.client = nodes[i]
		answers[i].yes, answers[i].err = question(ctx, one)
	}
	var asking sync.WaitGroup
	for i := range nodes {
		switch {
		case !at.inTurn:
			asking.Go(func() { put(i) })
		case ctx.Err() == nil:
			put(i)
		default:
			answers[i].err = context.Cause(ctx)
		}
	}
	asking.Wait()
	var v vote
	for i, a := range answers {
		switch {
		case a.err != nil:
			v.silent = append(v.silent, nodes[i])
			v.errs = append(v.errs, a.err)
		case a.yes:
			v.yes++
			v.granted = append(v.granted, nodes[i])
		default:
			v.no++
		}
	}
	return v
}
