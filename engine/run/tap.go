package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/trace"
)

// EvalSha passes the gate, where the call's faults strike; Eval is only its
// fall-back and part of the same decision.
func (p *tap) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	ctx = p.ofThread(ctx, keys[0])
	return p.strike(ctx, false, atOnce, func(ctx context.Context) *redis.Cmd { return p.journal.EvalSha(ctx, sha, keys, args...) })
}

// Do passes the gate like EvalSha.
func (p *tap) Do(ctx context.Context, args ...any) *redis.Cmd {
	if args[0] == protocol.WAIT {
		return p.wait(ctx, args[1].(int), time.Duration(args[2].(int64))*time.Millisecond)
	}
	ctx = p.ofThread(ctx, fmt.Sprint(args[1]))
	return p.strike(ctx, true, atOnce, func(ctx context.Context) *redis.Cmd { return p.journal.Do(ctx, args...) })
}

// ofThread gives a command the call that it is part of as the thread makes it.
func (p *tap) ofThread(ctx context.Context, key string) context.Context {
	if p.t.r.sc.Locks == nil {
		return ctx
	}
	call, _ := protocol.CallOf(ctx)
	return protocol.WithCall(ctx, p.t.levelOf(call, key))
}

// wait asks how many replicas have what the thread wrote. No script can.
func (p *tap) wait(ctx context.Context, replicas int, within time.Duration) *redis.Cmd {
	blocks := func() time.Duration { return p.t.r.rec.blocks(p.t, p.node, within) }
	return p.strike(ctx, true, blocks, func(ctx context.Context) *redis.Cmd {
		rec, err := p.t.r.rec.acknowledged(ctx, p.t, p.node, replicas, within)
		if err != nil {
			return broken(ctx, err)
		}
		rec.Entries[0].Args = []string{protocol.WAIT, strconv.Itoa(replicas), strconv.FormatInt(within.Milliseconds(), 10)}
		p.note(ctx, rec)
		cmd := redis.NewCmd(ctx)
		cmd.SetVal(rec.Entries[0].Reply)
		return cmd
	})
}

// atOnce is how long a command that never blocks does.
func atOnce() time.Duration { return 0 }

// request is what waits at a gate.
type request struct {
	call lock.Call
	node int // from 1, 0 where there is only one
}

// ofCall tells the faults that strike on the way to Redis: a fault of a thread as a whole
// may strike there, too.
func ofCall(do string) bool {
	k, _ := fault.Named(do)
	return k.Target == fault.OnTheWay || k.Target == fault.Thread
}

// strike sends a script, and sends it again by itself as its client would: as often as
// the thread's setting says, while nobody answers, and without telling the lock. InFull
// tells whether it goes without its digest.
func (p *tap) strike(ctx context.Context, inFull bool, blocks func() time.Duration, send func(context.Context) *redis.Cmd) *redis.Cmd {
	call, _ := protocol.CallOf(ctx)
	here := moment{call.Name, call.Level, p.t.redis.next(call, p.node, p.t.r.protocol().Parallel), p.t.r.nodeNumber(p.node)}
	for again := 0; ; again++ {
		cmd := p.once(ctx, call, here, inFull, blocks, send)
		if again == p.t.spec.ClientRetries || !errors.As(cmd.Err(), new(*net.OpError)) || ctx.Err() != nil {
			return cmd
		}
		d := min(firstResend<<min(again, 10), lastResend)
		p.t.tellOf(p.t.spec.Takes.Key(call.Level), trace.Wait{For: trace.MillisOf(d), Why: trace.WaitClient})
		if p.t.process.Sleep(ctx, d) != nil {
			return cmd
		}
	}
}

// How long a client pauses before it sends a request again by itself: first, and
// twice as long each time, at most. These are go-redis' own, but for the chance in
// them.
const (
	firstResend = 8 * time.Millisecond
	lastResend  = 512 * time.Millisecond
)

// once sends a script past the gate and the faults on its way.
func (p *tap) once(ctx context.Context, call lock.Call, here moment, inFull bool, blocks func() time.Duration, send func(context.Context) *redis.Cmd) *redis.Cmd {
	r := request{call: call, node: here.node}
	if err := p.t.process.Gate(ctx, r); err != nil {
		return broken(ctx, err)
	}
	loseReply := false
	by := passage{inFull: inFull}
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
		case fault.ClientClockJump:
			p.t.process.Jump(f.By)
		case fault.Crash:
			p.t.crash()
		case fault.LoseRequest:
			return broken(ctx, reset("write"))
		case fault.LoseReply:
			loseReply = true
		case fault.Delay:
			return p.late(ctx, f.For, r, by, send)
		case fault.LateCopy:
			p.t.r.network.carry(ctx, f.For, p, r, false, by, send)
			return broken(ctx, reset("read"))
		case fault.AnswerError:
			by.refused, _ = answerOf(f)
			if f.For > 0 {
				p.t.r.rec.goesOn(f, p.node)
			}
		}
	}
	var cmd *redis.Cmd
	if d := blocks(); d > 0 {
		cmd = p.late(ctx, d, r, by, send)
	} else {
		cmd = p.send(ctx, by, send)
	}
	if loseReply {
		return broken(ctx, reset("read"))
	}
	return cmd
}

// late lets the script reach Redis later, and waits for the answer. If its caller gives
// it up before that, it is one more late copy.
func (p *tap) late(ctx context.Context, d time.Duration, r request, by passage, send func(context.Context) *redis.Cmd) *redis.Cmd {
	f := p.t.r.network.carry(ctx, d, p, r, true, by, send)
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
