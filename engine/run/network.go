package run

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
	"relock/engine/lock"
)

// networkName is what the network's process is called on the virtual clock. No
// thread can be called so.
const networkName = "the network"

// network is what carries the requests that do not reach Redis at once. It has its own
// process: a request under way neither pauses nor dies with the thread that sent it. Only
// the answer is the thread's.
type network struct {
	r       *Run
	process clock.Process

	mu       sync.Mutex
	underWay []*inFlight // in the order in which they were sent
	sent     int
}

// inFlight is a request that reaches Redis later.
type inFlight struct {
	name  string // of its task on the clock
	t     *thread
	call  lock.Call
	node  int // from 1, 0 where there is only one
	timer clock.Timer

	cancel context.CancelFunc

	// Guarded by the network's mu.
	awaited bool       // its caller waits for the answer; else it is a late copy
	answer  *redis.Cmd // nil until it has come
}

// isLate tells whether nobody waits for the answer any more. The caller holds
// mu.
func (f *inFlight) isLate() bool { return !f.awaited || f.t.dead.Load() }

// carry has Redis run a script of p's thread after d, whatever becomes of the
// thread. A Redis that does not answer then, or has forgotten the script, runs
// nothing; a late copy that nobody awaits is not sent once more.
func (n *network) carry(ctx context.Context, d time.Duration, p *tap, r request, awaited bool, by passage, send func(context.Context) *redis.Cmd) *inFlight {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sent++
	f := &inFlight{name: fmt.Sprintf("request %d", n.sent), t: p.t, call: r.call, node: r.node, awaited: awaited}
	ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
	n.underWay = append(n.underWay, f)
	f.timer = n.process.AfterFunc(d, f.name, func() {
		defer n.arrived(f)
		if n.process.Gate(ctx, f.name) != nil {
			return
		}
		n.mu.Lock()
		by.late, by.delayed = f.isLate(), true
		n.mu.Unlock()
		answer := p.send(ctx, by, send)
		n.mu.Lock()
		f.answer = answer
		n.mu.Unlock()
	})
	return f
}

func (n *network) arrived(f *inFlight) {
	f.cancel()
	n.mu.Lock()
	n.underWay = slices.DeleteFunc(n.underWay, func(o *inFlight) bool { return o == f })
	n.mu.Unlock()
	n.r.rec.mayEnd()
}

// heard is the answer to a request as its caller goes on, or nil where none has
// come: then the caller has given it up.
func (n *network) heard(f *inFlight) *redis.Cmd {
	n.mu.Lock()
	defer n.mu.Unlock()
	f.awaited = false
	return f.answer
}

// carries tells whether anything is under way.
func (n *network) carries() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.underWay) > 0
}

// appendState writes what is under way, and names the threads.
func (n *network) appendState(b []byte, as *naming) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.underWay {
		b = fmt.Appendf(b, "%s %v %d %t,", as.of(f.t.spec.Name), f.call, f.node, f.isLate())
	}
	return b
}

// of is the request that a task of the network is, or nil of any other, and
// whether nobody waits for its answer any more.
func (n *network) of(t clock.Task) (f *inFlight, late bool) {
	if t.Process != networkName {
		return nil, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.IndexFunc(n.underWay, func(f *inFlight) bool { return f.name == t.Name })
	if i < 0 {
		return nil, false
	}
	f = n.underWay[i]
	return f, f.isLate()
}

// end has nothing more arrive on the wall clock, and returns when Redis runs
// nothing of it any more. The virtual clock ends its processes itself.
func (n *network) end() {
	n.mu.Lock()
	left := slices.Clone(n.underWay)
	n.mu.Unlock()
	for _, f := range left {
		f.cancel()
		if !f.timer.Stop() {
			_ = f.timer.Wait(context.Background())
		}
	}
}
