package protocol

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"relock/engine/clock"
	"relock/engine/phrase"
)

var (
	//go:embed mutex-unlock.lua
	mutexUnlockSource string
	//go:embed mutex-renew.lua
	mutexRenewSource string
	//go:embed mutex-renew-or-set.lua
	mutexRenewOrSetSource string

	// MutexUnlock deletes a string that is still the owner's.
	MutexUnlock = NewScript(CallUnlock, "mutex-unlock.lua", mutexUnlockSource, OwnerOnly)
	// MutexRenew renews the lease of a string that is still the owner's.
	MutexRenew = NewScript(CallRenew, "mutex-renew.lua", mutexRenewSource, OwnerAndLease)
	// MutexRenewOrSet is MutexRenew that sets the string again where there is none.
	MutexRenewOrSet = NewScript(CallRenew, "mutex-renew-or-set.lua", mutexRenewOrSetSource, OwnerAndLease)
)

// quorum is a mutex on a majority of independent nodes. A grant counts only if
// some of its lease is left after allowing for clock drift. If no majority
// granted it, those who did take it back. It is not reentrant. Source:
// redis.io, "Distributed Locks with Redis"; the arithmetic as in
// go-redsync/redsync.
//
// A release reaches the nodes that are up. One that does not answer is asked
// again, at most twice, an interval apart; after that its lease frees it, and
// until then everyone has one node less.
//
// Candidates that ask at the same time split the vote, and may do so again and
// again: their retries must be spread wider (by jitter) than an election lasts.
//
// With patient, each call waits for all nodes, each at most a twentieth of the
// lease. Otherwise it ends soon after its answers decide it (see [ballot]): a
// hanging node costs little, and a slow one may take a quarter of the lease. A node that
// hangs is asked by some owners of a Locker only (see [Answering]), until it answers.
// Requests still in flight then carry on, and [Lanes] keep them ahead of
// whatever their owner sends to the node later.
type quorum struct {
	inTurn  bool // ask the nodes one after the other instead of at once
	patient bool // wait for all nodes
	sweeps  bool // without a majority, release on all nodes, not only those that granted or are silent
	once    bool // do not repeat a release that a node did not answer
	resets  bool // a renewal sets the string again on a node that has lost it
	drift   func(lease time.Duration) time.Duration
}

// Redlock asks all nodes at once, and allows for a clock drift of a hundredth
// of the lease plus two milliseconds.
var Redlock = quorum{drift: func(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }}.protocol("redlock",
	"a mutex on a majority of independent nodes, 5 by default")

// RedlockInTurn is Redlock as redis.io describes it: it asks the nodes one
// after the other.
var RedlockInTurn = quorum{drift: func(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }, inTurn: true, patient: true}.protocol("redlock",
	"a mutex on a majority of independent nodes, 5 by default")

// Redsync asks all nodes at once, and allows for a clock drift of a hundredth
// of the lease. A refused caller deletes its value on every node, so a grant
// that arrived late does not linger. Its own defaults are a lease of 8 s and 32
// tries with a random pause of 50 to 250 ms before each but the first; it
// renews only on request. Source: go-redsync/redsync.
var Redsync = redsync.protocol("redsync", "redlock as go-redsync has it: all nodes asked at once, a drift of one hundredth")

var redsync = quorum{patient: true, sweeps: true, once: true, drift: func(lease time.Duration) time.Duration { return lease / 100 }}

// RedsyncReset is Redsync whose renewal sets the value again on a node that has lost it:
// nodes that restart without their data, one between each two renewals, lose nothing.
// Source: go-redsync/redsync, WithSetNXOnExtend (pull request 149).
var RedsyncReset = func() *Protocol {
	q := redsync
	q.resets = true
	return q.protocol("redsync-reset", "redsync whose renewal sets the value again on a node that has lost it")
}()

func (q quorum) protocol(name string, summary phrase.Text) *Protocol {
	return &Protocol{
		Name: name, Summary: summary, Lock: q.lock, Unlock: q.unlock, Renew: q.renew, Force: q.force,
		Scripts:  []Script{MutexUnlock, q.renewal()},
		First:    map[string]string{CallLock: "SET"},
		Most:     map[string]int{CallLock: 2}, // the grant, and giving it back
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
	v, giveBack := q.elect(ctx, r)
	if ctx.Err() != nil {
		return Reply{}, v.failed(ctx)
	}
	tooLate := r.Clock.Now().Sub(sent) >= r.Lease-q.drift(r.Lease)
	switch {
	case v.yes >= r.quorum() && !tooLate:
		return Taken(true), nil
	case v.yes >= r.quorum(): // elect's caller gives it back
		return Reply{}, ErrTooLate
	}
	giveBack()
	if v.yes+v.no >= r.quorum() || v.refused(r) {
		return Taken(false), nil
	}
	return Reply{}, v.failed(ctx)
}

// elect asks all nodes for a grant, and returns a function that gives back what
// was granted.
func (q quorum) elect(ctx context.Context, r Request) (v vote, giveBack func()) {
	if !q.patient {
		b := newBallot(r)
		return b.elect(ctx), func() { b.giveBack(ctx) }
	}
	v = q.ask(ctx, r, r.Nodes, setOwn)
	return v, func() {
		entered := v.granted // and perhaps the silent ones
		switch {
		case r.Level > 1: // a silent node may hold the first level's grant
		case q.sweeps:
			entered = r.Nodes
		default:
			entered = append(entered, v.silent...)
		}
		q.ask(ctx, r, entered, deleteOwn)
	}
}

// AskingNode names, on the [clock.Clock], the tasks that each ask one node.
const AskingNode = "node"

// ErrTooLate says that a majority granted the lock, but only after its lease
// was over.
var ErrTooLate = errors.New("lock: the majority took longer than the lease")

func (q quorum) unlock(ctx context.Context, r Request) (Reply, error) {
	if !q.patient {
		return newBallot(r).settle(ctx, deleteOwnAgain).reply(ctx, r)
	}
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
	renew := question(func(ctx context.Context, node Request) (bool, error) {
		answer, err := q.renewal().Run(ctx, node.Client, node.Keys, node.Words.owner, node.Words.lease)
		return answer.Code == Granted, err
	})
	if !q.patient {
		return newBallot(r).settle(ctx, renew.inTime).reply(ctx, r)
	}
	return q.ask(ctx, r, r.Nodes, renew).reply(ctx, r)
}

// renewal is the script that renews on each node.
func (q quorum) renewal() Script {
	if q.resets {
		return MutexRenewOrSet
	}
	return MutexRenew
}

// force deletes the lock on every node, no matter who holds it.
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

// nodeLimit is how long to wait for one node when waiting for all.
func nodeLimit(lease time.Duration) time.Duration { return max(lease/20, time.Millisecond) }

// slowLimit is how long one node may take when nobody waits for it.
func slowLimit(lease time.Duration) time.Duration { return max(lease/4, time.Millisecond) }

// to returns r for one node alone.
func (r Request) to(node Redis) Request {
	r.Client = node
	return r
}

// question asks a node, and returns whether it says yes.
type question func(ctx context.Context, node Request) (bool, error)

// within asks a node, allowing it limit.
func (q question) within(ctx context.Context, node Request, limit time.Duration) (bool, error) {
	ctx, cancel := node.Clock.WithDeadline(ctx, node.Clock.Now().Add(limit))
	defer cancel()
	return q(ctx, node)
}

// inTime asks a node that may be slow.
func (q question) inTime(ctx context.Context, node Request) (bool, error) {
	var all *Answering
	if node.Lanes != nil {
		all = node.Lanes.Answering
	}
	return all.ask(node, func() (bool, error) { return q.within(ctx, node, slowLimit(node.Lease)) })
}

func setOwn(ctx context.Context, node Request) (bool, error) {
	set, err := node.Text(ctx, "SET", node.Key, node.Owner, "NX", "PX", node.Lease.Milliseconds())
	return set == "OK", err
}

// deleteOwnAgain is deleteOwn for a node that we may have to ask again. On a repeat
// "nothing to delete" means nothing: the first request may have done it.
func deleteOwnAgain(ctx context.Context, node Request) (bool, error) {
	deleted, err := question(deleteOwn).inTime(ctx, node)
	first := err
	for again := min(node.Retries, 2); err != nil && !errors.Is(err, errHangs) && again > 0; again-- {
		if node.Clock.Sleep(ctx, min(node.Interval, slowLimit(node.Lease))) != nil {
			break
		}
		deleted, err = question(deleteOwn).inTime(ctx, node)
	}
	if first != nil && !deleted {
		return false, first
	}
	return deleted, nil
}

func (r Request) quorum() int { return len(r.Nodes)/2 + 1 }

func deleteOwn(ctx context.Context, node Request) (bool, error) {
	answer, err := MutexUnlock.Run(ctx, node.Client, node.Keys, node.Words.owner)
	return answer.Code == Granted, err
}

// vote holds the nodes' answers.
type vote struct {
	yes, no int
	granted []Redis // said yes
	silent  []Redis // did not answer
	errs    []error // of the silent ones, one each
}

// and returns v with its silent nodes' answers to the same question, asked
// again. "Nothing to delete" then means nothing: the first request may have
// done it.
func (v vote) and(further vote) vote {
	further.yes += v.yes
	further.no = v.no
	further.granted = append(v.granted, further.granted...)
	return further
}

// reply returns what the answers mean for the owner: an error as long as the
// silent nodes could still make a majority.
func (v vote) reply(ctx context.Context, r Request) (Reply, error) {
	switch {
	case v.yes >= r.quorum():
		return Reply{Code: Granted}, nil
	case v.refused(r):
		return Reply{Code: NotHeld}, nil
	default:
		return Reply{}, v.failed(ctx)
	}
}

// refused reports whether so many nodes said no that the rest cannot make a
// majority. Of an even number of nodes, half is enough.
func (v vote) refused(r Request) bool { return v.no > len(r.Nodes)-r.quorum() }

func (v vote) failed(ctx context.Context) error {
	return &NodesError{Yes: v.yes, No: v.no, errs: append(v.errs[:len(v.errs):len(v.errs)], context.Cause(ctx))}
}

// NodesError says why there is no majority either way.
type NodesError struct {
	Yes, No int     // nodes that said so; the rest did not answer
	errs    []error // of the rest, and the context's, which may be nil
}

// Last is why the last of the nodes did not answer, or what ended the asking.
func (e *NodesError) Last() error {
	for i := len(e.errs) - 1; i >= 0; i-- {
		if e.errs[i] != nil {
			return e.errs[i]
		}
	}
	return nil
}

// Error says how many nodes answered, and how the others failed.
func (e *NodesError) Error() string {
	var rest []string
	for _, err := range e.errs {
		if err != nil && !slices.Contains(rest, err.Error()) {
			rest = append(rest, err.Error())
		}
	}
	return fmt.Sprintf("lock: no majority: %d nodes said yes, %d no, the rest: %s", e.Yes, e.No, strings.Join(rest, "; "))
}

// Unwrap returns the nodes' errors.
func (e *NodesError) Unwrap() []error {
	return []error{errors.Join(e.errs...)}
}

// ask asks nodes, at once or in turn.
func (q quorum) ask(ctx context.Context, r Request, nodes []Redis, question question) vote {
	type answer struct {
		yes bool
		err error
	}
	answers := make([]answer, len(nodes))
	put := func(i int) {
		answers[i].yes, answers[i].err = question.within(ctx, r.to(nodes[i]), nodeLimit(r.Lease))
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
	for _, one := range asking { // its node's limit ends it
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
