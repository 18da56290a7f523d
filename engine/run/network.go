package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock/protocol"
)

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
