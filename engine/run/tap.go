package run

import (
	"context"
	"net"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/lock/protocol"
)

// EvalSha passes the gate, where the call's faults strike; Eval is only its
// fall-back and part of the same decision.
func (p *tap) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return p.strike(ctx, func(ctx context.Context) *redis.Cmd { return p.journal.EvalSha(ctx, sha, keys, args...) })
}

// Do passes the gate like EvalSha.
func (p *tap) Do(ctx context.Context, args ...any) *redis.Cmd {
	return p.strike(ctx, func(ctx context.Context) *redis.Cmd { return p.journal.Do(ctx, args...) })
}

// request is what waits at a gate.
type request struct {
	call lock.Call
	node int // from 1, 0 where there is only one
}

// ofCall tells the faults that strike on the way to Redis: that of a thread as
// a whole may strike there, too.
func ofCall(do string) bool {
	k, _ := fault.Named(do)
	return k.Target == fault.OnTheWay || k.Target == fault.Thread
}

// strike sends a script past the gate and the faults on its way.
func (p *tap) strike(ctx context.Context, send func(context.Context) *redis.Cmd) *redis.Cmd {
	call, _ := protocol.CallOf(ctx)
	r := request{call: call, node: p.t.r.nodeNumber(p.node)}
	if err := p.t.process.Gate(ctx, r); err != nil {
		return broken(ctx, err)
	}
	loseReply := false
	here := moment{call.Name, call.Level, p.t.redis.next(call, p.node, p.t.r.protocol().Parallel), p.t.r.nodeNumber(p.node)}
	for {
		f, ok := p.t.find(here, ofCall)
		if !ok {
			break
		}
		switch f.Do {
		case fault.Pause:
			p.t.pause(f)
			if err := p.t.process.Gate(ctx, r); err != nil {
				return broken(ctx, err)
			}
		case fault.Crash:
			p.t.crash()
		case fault.LoseRequest:
			return broken(ctx, reset("write"))
		case fault.LoseReply:
			loseReply = true
		case fault.Delay:
			return p.late(ctx, f.For, r, send)
		case fault.LateCopy:
			p.t.r.network.carry(ctx, f.For, p, r, false, send)
			return broken(ctx, reset("read"))
		}
	}
	cmd := p.send(ctx, passage{}, send)
	if loseReply {
		return broken(ctx, reset("read"))
	}
	return cmd
}

// late lets the script reach Redis later, and waits for the answer. Where its
// caller gives it up before, it is one more late copy.
func (p *tap) late(ctx context.Context, d time.Duration, r request, send func(context.Context) *redis.Cmd) *redis.Cmd {
	f := p.t.r.network.carry(ctx, d, p, r, true, send)
	err := f.timer.Wait(ctx)
	_ = p.t.process.Sleep(context.Background(), 0) // a thread that stands still hears nothing until it goes on
	if answer := p.t.r.network.heard(f); answer != nil {
		return answer
	}
	if err == nil {
		err = reset("read")
	}
	return broken(ctx, err)
}

// reset is the error of a connection that broke.
func reset(op string) error { return &net.OpError{Op: op, Net: "tcp", Err: syscall.ECONNRESET} }
