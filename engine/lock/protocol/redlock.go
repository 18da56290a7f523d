package protocol

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"time"

	"relock/engine/clock"
)

var (
	//go:embed mutex-unlock.lua
	mutexUnlockSource string
	//go:embed mutex-renew.lua
	mutexRenewSource string

	// MutexUnlock deletes a string that is still the owner's.
	MutexUnlock = NewScript(CallUnlock, "mutex-unlock.lua", mutexUnlockSource)
	// MutexRenew renews the lease of a string that is still the owner's.
	MutexRenew = NewScript(CallRenew, "mutex-renew.lua", mutexRenewSource)
)

// quorum is a mutex on a majority of independent nodes. A grant counts only if
// there is time left on it, less what clocks may drift. What was not granted by
// a majority is given back where it was granted. No node is waited for longer
// than a twentieth of the lease, so that one that hangs costs little. It is not
// reentrant. Source: redis.io, "Distributed Locks with Redis"; the arithmetic
// as in go-redsync/redsync.
//
// A release reaches the nodes that are up. One that does not answer is asked
// again, at most twice and an interval apart; what it holds after that, its
// lease ends. Until then it is one node less for everybody.
type quorum struct {
	inTurn bool // the nodes are asked one after the other, else at once
	sweeps bool // what no majority granted is taken back from all nodes, else from those that granted it or are silent
	once   bool // nodes that do not answer a release are not asked again
	drift  func(lease time.Duration) time.Duration
}

// Redlock asks all nodes at once, and grants clocks a drift of a hundredth of
// the lease and two milliseconds.
var Redlock = quorum{drift: func(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }}.protocol("redlock") //nolint:gochecknoglobals // a constant

// RedlockInTurn is Redlock as redis.io describes it: it asks one node after
// the other.
var RedlockInTurn = quorum{drift: func(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }, inTurn: true}.protocol("redlock") //nolint:gochecknoglobals // a constant

// Redsync asks all nodes at once, and grants clocks a drift of a hundredth of
// the lease. Who is refused gives its value back on every node, and so finds
// none of its own there that came late. Its own settings are a lease of 8 s,
// and 32 tries with a random pause of 50 to 250 ms before each but the first;
// it renews only when told. Source: go-redsync/redsync.
var Redsync = quorum{sweeps: true, once: true, drift: func(lease time.Duration) time.Duration { return lease / 100 }}.protocol("redsync") //nolint:gochecknoglobals // a constant

func (q quorum) protocol(name string) *Protocol {
	return &Protocol{
		Name: name, Lock: q.lock, Unlock: q.unlock, Renew: q.renew, Force: q.force,
		Scripts:  []Script{MutexUnlock, MutexRenew},
		First:    map[string]string{CallLock: "SET"},
		Most:     map[string]int{CallLock: 2}, // and what was not granted is given back
		Plain:    map[string]string{CallLock: q.plain()},
		Drift:    q.drift,
		Nodes:    5,
		Parallel: !q.inTurn,
	}
}

func (q quorum) plain() string {
	each := "for node in nodes do"
	if !q.inTurn {
		each += " -- all at once"
	}
	return each + `
  SET(key, owner, 'NX', 'PX', lease)
end`
}

func (q quorum) lock(ctx context.Context, r Request) (Reply, error) {
	sent := r.Clock.Now()
	v := q.ask(ctx, r, r.Nodes, func(ctx context.Context, node Request) (bool, error) {
		set, err := node.Text(ctx, "SET", node.Key, node.Owner, "NX", "PX", node.Lease.Milliseconds())
		return set == "OK", err
	})
	if ctx.Err() != nil {
		return Reply{}, v.failed(ctx)
	}
	tooLate := r.Clock.Now().Sub(sent) >= r.Lease-q.drift(r.Lease)
	switch {
	case v.yes >= r.quorum() && !tooLate:
		return Taken(true), nil
	case v.yes >= r.quorum(): // whoever asked gives it back
		return Reply{}, ErrTooLate
	}
	entered := v.granted // and perhaps those that did not answer
	switch {
	case r.Level > 1: // theirs may be the first level's
	case q.sweeps:
		entered = r.Nodes
	default:
		entered = append(entered, v.silent...)
	}
	q.ask(ctx, r, entered, deleteOwn)
	if v.yes+v.no >= r.quorum() {
		return Taken(false), nil
	}
	return Reply{}, v.failed(ctx)
}

// AskingNode is what the tasks are called on the [clock.Clock] that each ask a
// node.
const AskingNode = "node"

// ErrTooLate: a majority granted the lock, but not before its lease was over.
var ErrTooLate = errors.New("lock: the majority took longer than the lease")

func (q quorum) unlock(ctx context.Context, r Request) (Reply, error) {
	v := q.ask(ctx, r, r.Nodes, deleteOwn)
	for again := min(r.Retries, 2); !q.once && again > 0 && len(v.silent) > 0 && v.yes+v.no >= r.quorum(); again-- {
		if r.Clock.Sleep(ctx, r.Interval) != nil || ctx.Err() != nil {
			break
		}
		v = v.and(q.ask(ctx, r, v.silent, deleteOwn))
	}
	return v.reply(ctx, r)
}

func (q quorum) renew(ctx context.Context, r Request) (Reply, error) {
	return q.ask(ctx, r, r.Nodes, func(ctx context.Context, node Request) (bool, error) {
		answer, err := MutexRenew.Run(ctx, node.Client, node.Keys, node.Words.owner, node.Words.lease)
		return answer.Code == Granted, err
	}).reply(ctx, r)
}

// force deletes the lock on every node, whosever it is.
func (q quorum) force(ctx context.Context, r Request) (Reply, error) {
	v := q.ask(ctx, r, r.Nodes, func(ctx context.Context, node Request) (bool, error) {
		answer, err := forceScript.Run(ctx, node.Client, node.Keys)
		return answer.Code == Granted, err
	})
	if v.yes > 0 && v.yes+v.no >= r.quorum() {
		return Reply{Code: Granted}, nil
	}
	return v.reply(ctx, r)
}

// nodeLimit is how long one node is waited for.
func nodeLimit(lease time.Duration) time.Duration { return max(lease/20, time.Millisecond) }

func (r Request) quorum() int { return len(r.Nodes)/2 + 1 }

func deleteOwn(ctx context.Context, node Request) (bool, error) {
	answer, err := MutexUnlock.Run(ctx, node.Client, node.Keys, node.Words.owner)
	return answer.Code == Granted, err
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
func (v vote) reply(ctx context.Context, r Request) (Reply, error) {
	switch {
	case v.yes >= r.quorum():
		return Reply{Code: Granted}, nil
	case v.no > len(r.Nodes)-r.quorum():
		return Reply{Code: NotHeld}, nil
	default:
		return Reply{}, v.failed(ctx)
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
func (q quorum) ask(ctx context.Context, r Request, nodes []Redis, question func(context.Context, Request) (bool, error)) vote {
	type answer struct {
		yes bool
		err error
	}
	answers := make([]answer, len(nodes))
	put := func(i int) {
		ctx, cancel := r.Clock.WithDeadline(ctx, r.Clock.Now().Add(nodeLimit(r.Lease)))
		defer cancel()
		node := r
		node.Client = nodes[i]
		answers[i].yes, answers[i].err = question(ctx, node)
	}
	asking := make([]clock.Timer, 0, len(nodes))
	for i := range nodes {
		switch {
		case !q.inTurn && len(r.Nodes) > 1:
			asking = append(asking, r.Clock.AfterFunc(0, AskingNode, func() { put(i) }))
		case ctx.Err() == nil:
			put(i)
		default:
			answers[i].err = context.Cause(ctx)
		}
	}
	for _, one := range asking { // each ends at its node's limit
		_ = one.Wait(context.WithoutCancel(ctx))
	}
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
