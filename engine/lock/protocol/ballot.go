package protocol

import (
	"context"
	"errors"
	"sync"
	"time"

	"relock/engine/clock"
)

// Lanes are one owner's queues to the nodes of one lock. A request waits in its
// node's lane until those before it are over, so that a release cannot overtake
// the acquisition it releases or meet the next one. The zero value is ready to
// use. Lanes are safe for concurrent use.
type Lanes struct {
	// Answering, if set, is what a Locker's owners know of its nodes together.
	Answering *Answering

	// Enter and Leave, if set, are called when a request enters a lane and when
	// it is over.
	Enter, Leave func()

	mu     sync.Mutex
	last   map[int]clock.Timer // by node
	behind map[int][]func()    // with Answering, by node: what the task that asks it does next
}

// Answering knows which of a Locker's nodes answer. One that hangs is asked by one at once
// for each second of the lease, and no more: each of them waits for a quarter of the lease.
// The zero value is ready to use. It is safe for concurrent use.
type Answering struct {
	mu    sync.Mutex
	nodes map[int]*answering
}

type answering struct {
	asked int       // requests that have no answer yet
	since time.Time // the last answer, or when the first of them was sent
	hangs bool      // the last one got none
}

// Requests may wait for a node that has not answered for longer than a swift one takes:
// mostHanging at most.
const (
	leastHanging = 2
	mostHanging  = 32
	slowAnswer   = 100 * time.Millisecond
)

// errHangs says that a node was not asked.
var errHangs = errors.New("lock: the node does not answer, and was not asked again")

// ask asks a node, unless it hangs.
func (a *Answering) ask(r Request, q func() (bool, error)) (bool, error) {
	if a == nil {
		return q()
	}
	a.mu.Lock()
	if a.nodes == nil {
		a.nodes = map[int]*answering{}
	}
	n := a.nodes[r.node]
	if n == nil {
		n = &answering{}
		a.nodes[r.node] = n
	}
	now := r.Clock.Now()
	most := min(max(int(r.Lease/time.Second), leastHanging), mostHanging)
	if n.asked >= most && now.Sub(n.since) > min(nodeLimit(r.Lease), slowAnswer) {
		a.mu.Unlock()
		return false, errHangs
	}
	if n.asked == 0 && !n.hangs {
		n.since = now
	}
	n.asked++
	a.mu.Unlock()
	yes, err := q()
	a.mu.Lock()
	defer a.mu.Unlock()
	n.asked--
	if n.hangs = err != nil && !Answered(err); !n.hangs {
		n.since = r.Clock.Now()
	}
	return yes, err
}

// follow runs f in a task, after everything ahead of it in a node's lane.
func (l *Lanes) follow(clk clock.Clock, node int, f func()) {
	if l.Enter != nil {
		l.Enter()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Answering != nil { // of many owners: one task for each lane
		if l.behind == nil {
			l.behind = map[int][]func(){}
		}
		queue, asks := l.behind[node]
		l.behind[node] = append(queue, f)
		if !asks {
			clk.AfterFunc(0, AskingNode, func() { l.empty(node) })
		}
		return
	}
	if l.last == nil {
		l.last = map[int]clock.Timer{}
	}
	before := l.last[node]
	l.last[node] = clk.AfterFunc(0, AskingNode, func() {
		if l.Leave != nil {
			defer l.Leave()
		}
		if before != nil {
			_ = before.Wait(context.Background()) // its node's limit ends it
			before = nil                          // otherwise each task would keep all before it alive
		}
		f()
	})
}

// empty does all that is in a node's lane, in order.
func (l *Lanes) empty(node int) {
	for {
		l.mu.Lock()
		queue := l.behind[node]
		if len(queue) == 0 {
			delete(l.behind, node)
			l.mu.Unlock()
			return
		}
		l.behind[node] = queue[1:]
		l.mu.Unlock()
		queue[0]()
		if l.Leave != nil {
			l.Leave()
		}
	}
}

// ballot is a question to all nodes at once, with the answers so far.
type ballot struct {
	r      Request
	lanes  *Lanes
	signal clock.Signal // a node has answered

	mu      sync.Mutex
	lost    bool // grants are no longer wanted
	answers []answer
}

// answer is one node's answer, if it has given one.
type answer struct {
	given, yes bool
	err        error
}

func newBallot(r Request) *ballot {
	lanes := r.Lanes
	if lanes == nil {
		lanes = &Lanes{}
	}
	return &ballot{r: r, lanes: lanes, signal: r.Clock.NewSignal(), answers: make([]answer, len(r.Nodes))}
}

// hold asks all nodes at once, each in its lane, and returns their answers:
// when all are in, when ctx has ended, or soon after enough says that the rest
// cannot change the outcome. Enough also returns the least time to wait for the
// rest; 0 means none. Nodes that have not answered are still being asked when
// hold returns.
func (b *ballot) hold(ctx context.Context, ask func(ctx context.Context, i int, node Request) (bool, error), enough func(vote) (bool, time.Duration)) vote {
	lasting := context.WithoutCancel(ctx)
	for i, node := range b.r.Nodes {
		b.lanes.follow(b.r.Clock, i, func() {
			to := b.r.to(node)
			to.node = i
			yes, err := ask(lasting, i, to)
			b.mu.Lock()
			b.answers[i] = answer{given: true, yes: yes, err: err}
			b.mu.Unlock()
			b.signal.Fire()
		})
	}
	began := b.r.Clock.Now()
	var took time.Duration // until enough said yes, 0 before
	for {
		v, all := b.count()
		so := b.r.Clock.Now().Sub(began)
		wait := b.r.Lease // each node has its own limit
		if is, least := enough(v); is {
			if took == 0 {
				took = max(so, 1)
			}
			wait = 0
			if least > 0 {
				wait = took + max(laggards*took, least) - so
			}
		}
		if all || wait <= 0 {
			return v
		}
		if _, err := b.r.Clock.Await(ctx, wait, b.signal); err != nil {
			v, _ = b.count()
			return v
		}
	}
}

// How long to wait for nodes that cannot change the outcome: a multiple of the
// time the others took. On a busy machine all nodes are late, and a candidate
// that leaves laggards behind splits the next vote. A candidate that some
// refused but that may still win waits for at least a fraction of the lease,
// and no longer: a hanging node must not keep its other votes from those who
// could win.
const (
	laggards    = 4
	leastChance = time.Millisecond
	splitChance = 100 // the divisor of the lease
)

// count returns the answers so far, and whether all are in.
func (b *ballot) count() (v vote, all bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all = true
	for i, a := range b.answers {
		switch {
		case !a.given:
			all = false
		case a.err != nil:
			v.silent = append(v.silent, b.r.Nodes[i])
			v.errs = append(v.errs, a.err)
		case a.yes:
			v.yes++
			v.granted = append(v.granted, b.r.Nodes[i])
		default:
			v.no++
		}
	}
	return v, all
}

// elect asks all nodes for a grant.
func (b *ballot) elect(ctx context.Context) vote {
	quorum, n := b.r.quorum(), len(b.r.Nodes)
	return b.hold(ctx, func(ctx context.Context, _ int, node Request) (bool, error) {
		b.mu.Lock()
		lost := b.lost
		b.mu.Unlock()
		if lost {
			return false, nil
		}
		return question(setOwn).inTime(ctx, node)
	}, func(v vote) (bool, time.Duration) {
		switch {
		case v.yes >= quorum, v.no+len(v.silent) > n-quorum:
			return true, leastChance
		default:
			return v.no > 0 && v.yes+v.no >= quorum, max(b.r.Lease/splitChance, leastChance)
		}
	})
}

// giveBack takes the owner's grant back from the nodes that gave it, may have
// given it, or do so now.
func (b *ballot) giveBack(ctx context.Context) {
	b.mu.Lock()
	b.lost = true
	b.mu.Unlock()
	back := newBallot(b.r)
	back.hold(ctx, func(ctx context.Context, i int, node Request) (bool, error) {
		b.mu.Lock()
		a := b.answers[i]
		b.mu.Unlock()
		// At a deeper level a silent node may hold the first level's grant.
		if a.yes || a.err != nil && b.r.Level == 1 {
			return question(deleteOwn).inTime(ctx, node)
		}
		return false, nil
	}, func(v vote) (bool, time.Duration) { return v.yes+v.no >= b.r.quorum(), leastChance })
}

// settle asks all nodes about a lock the owner holds.
func (b *ballot) settle(ctx context.Context, q question) vote {
	return b.hold(ctx, func(ctx context.Context, _ int, node Request) (bool, error) { return q(ctx, node) }, func(v vote) (bool, time.Duration) {
		return v.yes >= b.r.quorum() || v.refused(b.r), 0
	})
}
