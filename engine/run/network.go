package run

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
	"relock/engine/lock/protocol"
)

// networkName is what the network's process is called on the virtual clock. No
// thread can be called so.
const networkName = "the network"

// network is what carries the requests that their callers have given up. It
// has a process of its own: what is under way neither pauses nor dies with the
// thread that sent it.
type network struct {
	r       *Run
	process clock.Process

	mu     sync.Mutex
	copies []*lateCopy // under way, in the order in which they were sent
	sent   int
}

// lateCopy is a request that reaches Redis later.
type lateCopy struct {
	name   string // of its task on the clock
	thread string
	call   protocol.Call

	timer  clock.Timer
	cancel context.CancelFunc
}

// carry has Redis run a script of p's thread after d, whatever becomes of the
// thread. A Redis that does not answer then, or has forgotten the script, runs
// nothing: nobody is there who would send it once more.
func (n *network) carry(ctx context.Context, d time.Duration, p *tap, call protocol.Call, send func(context.Context) *redis.Cmd) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sent++
	c := &lateCopy{name: fmt.Sprintf("late copy %d", n.sent), thread: p.t.spec.Name, call: call}
	ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	n.copies = append(n.copies, c)
	c.timer = n.process.AfterFunc(d, c.name, func() {
		defer n.arrived(c)
		if n.process.Gate(ctx, c.name) == nil {
			p.send(ctx, true, send)
		}
	})
}

func (n *network) arrived(c *lateCopy) {
	c.cancel()
	n.mu.Lock()
	n.copies = slices.DeleteFunc(n.copies, func(o *lateCopy) bool { return o == c })
	n.mu.Unlock()
	n.r.rec.mayEnd()
}

// carries tells whether anything is under way.
func (n *network) carries() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.copies) > 0
}

// copyOf is the late copy that a task of the network is, or nil of any other.
func (n *network) copyOf(t clock.Task) *lateCopy {
	if t.Process != networkName {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.IndexFunc(n.copies, func(c *lateCopy) bool { return c.name == t.Name })
	if i < 0 {
		return nil
	}
	return n.copies[i]
}

// end has nothing more arrive on the wall clock, and returns when Redis runs
// nothing of it any more. The virtual clock ends its processes itself.
func (n *network) end() {
	n.mu.Lock()
	copies := slices.Clone(n.copies)
	n.mu.Unlock()
	for _, c := range copies {
		c.cancel()
		if !c.timer.Stop() {
			_ = c.timer.Wait(context.Background())
		}
	}
}
