package protocol

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
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

	// MutexUnlock deletes a string that is still the owner's.
	MutexUnlock = NewScript(CallUnlock, "mutex-unlock.lua", mutexUnlockSource)
	// MutexRenew renews the lease of a string that is still the owner's.
	MutexRenew = NewScript(CallRenew, "mutex-renew.lua", mutexRenewSource)
)

// quorum is a mutex on a majority of independent nodes. A grant counts only if
// there is time left on it, less what clocks may drift. What was not granted by
// a majority is given back where it was granted. It is not reentrant. Source:
// redis.io, "Distributed Locks with Redis"; the arithmetic as in
// go-redsync/redsync.
//
// A release reaches the nodes that are up. One that does not answer is asked
// again, at most twice and an interval apart; what it holds after that, its
// lease ends. Until then it is one node less for everybody.
//
// With patient, each call waits for all nodes, a twentieth of the lease at most
// for each. Else it is over soon after its answers decide it (see [ballot]), so
// that a node that hangs costs little, and one that is slow may take a quarter
// of the lease. What is on its way to a node then goes on, and [Lanes] keep it
// before whatever its owner sends there later.
type quorum struct {
	inTurn  bool // the nodes are asked one after the other, else at once
	patient bool // all are waited for
	sweeps  bool // what no majority granted is taken back from all nodes, else from those that granted it or are silent
	once    bool // nodes that do not answer a release are not asked again
	drift   func(lease time.Duration) time.Duration
}

// Redlock asks all nodes at once, and grants clocks a drift of a hundredth of
// the lease and two milliseconds.
var Redlock = quorum{drift: func(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }}.protocol("redlock",
	"a mutex on a majority of independent nodes, 5 unless told")

// RedlockInTurn is Redlock as redis.io describes it: it asks one node after
// the other.
var RedlockInTurn = quorum{drift: func(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }, inTurn: true, patient: true}.protocol("redlock",
	"a mutex on a majority of independent nodes, 5 unless told")

// Redsync asks all nodes at once, and grants clocks a drift of a hundredth of
// the lease. Who is refused gives its value back on every node, and so finds
// none of its own there that came late. Its own settings are a lease of 8 s,
// and 32 tries with a random pause of 50 to 250 ms before each but the first;
// it renews only when told. Source: go-redsync/redsync.
var Redsync = quorum{patient: true, sweeps: true, once: true, drift: func(lease time.Duration) time.Duration { return lease / 100 }}.protocol("redsync",
	"redlock as go-redsync has it: all nodes asked at once, a drift of one hundredth")

func (q quorum) protocol(name string, summary phrase.Text) *Protocol {
	return &Protocol{
		Name: name, Summary: summary, Lock: q.lock, Unlock: q.unlock, Renew: q.renew, Force: q.force,
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
	v, giveBack := q.elect(ctx, r)
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
	giveBack()
	if v.yes+v.no >= r.quorum() {
		return Taken(false), nil
	}
	return Reply{}, v.failed(ctx)
}

// elect asks all nodes for a grant, and returns how to give back what comes of
// that.
func (q quorum) elect(ctx context.Context, r Request) (v vote, giveBack func()) {
	if !q.patient {
		b := newBallot(r)
		return b.elect(ctx), func() { b.giveBack(ctx) }
	}
	v = q.ask(ctx, r, r.Nodes, setOwn)
	return v, func() {
		entered := v.granted // and perhaps those that did not answer
		switch {
		case r.Level > 1: // theirs may be the first level's
		case q.sweeps:
			entered = r.Nodes
		default:
			entered = append(entered, v.silent...)
		}
		q.ask(ctx, r, entered, deleteOwn)
	}
}

// AskingNode is what the tasks are called on the [clock.Clock] that each ask a
// node.
const AskingNode = "node"

// ErrTooLate says that a majority granted the lock, but not before its lease
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
	if !q.patient {
		return newBallot(r).settle(ctx, question(renewOwn).inTime).reply(ctx, r)
	}
	return q.ask(ctx, r, r.Nodes, renewOwn).reply(ctx, r)
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

// nodeLimit is how long one node is waited for where all are.
func nodeLimit(lease time.Duration) time.Duration { return max(lease/20, time.Millisecond) }

// slowLimit is how long one node may take where it is not waited for.
func slowLimit(lease time.Duration) time.Duration { return max(lease/4, time.Millisecond) }

// to is r for one node alone.
func (r Request) to(node Redis) Request {
	r.Client = node
	return r
}

// question is what a node is asked, and whether it says yes.
type question func(ctx context.Context, node Request) (bool, error)

// within puts a question to a node for which there is so much time.
func (q question) within(ctx context.Context, node Request, limit time.Duration) (bool, error) {
	ctx, cancel := node.Clock.WithDeadline(ctx, node.Clock.Now().Add(limit))
	defer cancel()
	return q(ctx, node)
}

// inTime puts a question to a node that may be slow.
func (q question) inTime(ctx context.Context, node Request) (bool, error) {
	return q.within(ctx, node, slowLimit(node.Lease))
}

func setOwn(ctx context.Context, node Request) (bool, error) {
	set, err := node.Text(ctx, "SET", node.Key, node.Owner, "NX", "PX", node.Lease.Milliseconds())
	return set == "OK", err
}

func renewOwn(ctx context.Context, node Request) (bool, error) {
	answer, err := MutexRenew.Run(ctx, node.Client, node.Keys, node.Words.owner, node.Words.lease)
	return answer.Code == Granted, err
}

// deleteOwnAgain is deleteOwn for a node that may have to be asked again. That
// it has nothing to delete then tells nothing: the first time may have done it.
func deleteOwnAgain(ctx context.Context, node Request) (bool, error) {
	deleted, err := question(deleteOwn).inTime(ctx, node)
	first := err
	for again := min(node.Retries, 2); err != nil && again > 0; again-- {
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

// vote is what the nodes have answered.
type vote struct {
	yes, no int
	granted []Redis // that said yes
	silent  []Redis // that did not answer
	errs    []error // of those, one each
}

// and is v with the answers of its silent nodes to the same question. That they
// have nothing to delete then tells nothing: the first time may have done it.
func (v vote) and(further vote) vote {
	further.yes += v.yes
	further.no = v.no
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

// Votes reads from the text of an error how many nodes said yes and no in a
// call that has no majority, and whether it is such an error: of a trace, the
// text is all there is.
func Votes(text string) (yes, no int, ok bool) {
	_, counts, _ := strings.Cut(text, "no majority: ")
	n, _ := fmt.Sscanf(counts, "%d nodes said yes, %d no", &yes, &no)
	return yes, no, n == 2
}

// Unwrap is the nodes' errors.
func (e *nodesError) Unwrap() []error {
	return []error{errors.Join(e.errs...)}
}

// ask puts a question to nodes, at once or in turn.
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
