package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"runtime"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// ErrFault is returned by New for a fault that the run's store or clock
// cannot have.
var ErrFault = errors.New("fault not possible here")

// errPanic is what the business code panics with.
var errPanic = errors.New("the business code panicked")

// forever is longer than any run.
const forever time.Duration = math.MaxInt64 / 2

// possible refuses what would have to be acted.
func possible(sc *scenario.Scenario, virtual bool) error {
	for i, f := range sc.Faults {
		if f.Timed && !virtual {
			return fmt.Errorf("%w: faults[%d]: %s happens to Redis itself, which only the embedded Redis on the virtual clock can have done to it",
				ErrFault, i, f.Do)
		}
	}
	return nil
}

// described is the fault as its event tells it.
func described(f scenario.Fault) trace.Fault {
	out := trace.Fault{
		Do: f.Do, At: f.At, Level: f.Level, Round: f.Round, ForMS: trace.MillisOf(f.For), Scope: f.Scope, Keep: f.Keep,
	}
	if f.For > 0 {
		out.For = scenario.Duration(f.For)
	}
	if f.By > 0 {
		out.By = scenario.Duration(f.By)
	}
	if f.By < 0 {
		out.By = "-" + scenario.Duration(-f.By)
	}
	if f.Do == scenario.FaultFailOver {
		out.Behind = &f.Behind
	}
	return out
}

// next finds a fault for this moment that has not struck, marks it, and tells
// of it.
func (t *thread) next(place string, level int, wanted func(do string) bool) (scenario.Fault, bool) {
	for i, f := range t.r.sc.Faults {
		here := !f.Timed && f.Thread == t.spec.Name && f.At == place &&
			(f.Level == 0 || f.Level == level) && int64(f.Round) == t.round.Load()
		if here && wanted(f.Do) && !t.dead.Load() && t.struck[i].CompareAndSwap(false, true) {
			t.tell(described(f))
			return f, true
		}
	}
	return scenario.Fault{}, false
}

// take strikes one kind of fault that the business code itself commits.
func (t *thread) take(place string, level int, do string) bool {
	_, ok := t.next(place, level, func(d string) bool { return d == do })
	return ok
}

// strike lets the faults happen that need no call.
func (t *thread) strike(place string, level int) {
	for {
		f, ok := t.next(place, level, func(string) bool { return true })
		if !ok {
			return
		}
		switch f.Do {
		case scenario.FaultPause:
			t.pause(f)
		case scenario.FaultCrash:
			t.crash()
		case scenario.FaultPanic:
			panic(errPanic)
		case scenario.FaultStall:
			t.stalls.Store(true)
			t.r.rec.stalled()
			_ = t.process.Work(context.Background(), forever)
		}
	}
}

func (t *thread) pause(f scenario.Fault) {
	if f.Scope == scenario.ScopeWork {
		_ = t.process.Sleep(context.Background(), f.For)
		return
	}
	t.process.Pause(f.For)
}

// crash ends the thread and its watchdog where they stand.
func (t *thread) crash() {
	t.ended.Store(true)
	t.tell(trace.End{Result: trace.Crashed})
	t.die()
	runtime.Goexit()
}

// die ends the thread's process without a word.
func (t *thread) die() {
	t.dead.Store(true)
	t.process.Kill()
}

// ofCall tells the faults that strike on the way to Redis.
func ofCall(do string) bool {
	return do != scenario.FaultSkipUnlock && do != scenario.FaultExtraUnlock
}

// strike sends a script past the gate and the faults on its way.
func (p *tap) strike(ctx context.Context, send func(context.Context) *redis.Cmd) *redis.Cmd {
	call, _ := lock.CallOf(ctx)
	if err := p.t.process.Gate(ctx, call.String()); err != nil {
		return broken(ctx, err)
	}
	loseReply := false
	for {
		f, ok := p.t.next(call.Name, call.Level, ofCall)
		if !ok {
			break
		}
		switch f.Do {
		case scenario.FaultPause:
			p.t.pause(f)
			if err := p.t.process.Gate(ctx, call.String()); err != nil {
				return broken(ctx, err)
			}
		case scenario.FaultCrash:
			p.t.crash()
		case scenario.FaultLoseRequest:
			return broken(ctx, reset("write"))
		case scenario.FaultLoseReply:
			loseReply = true
		case scenario.FaultDelay:
			return p.delayed(ctx, f.For, call, send)
		}
	}
	if p.t.r.rec.down() {
		return broken(ctx, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})
	}
	cmd := p.send(ctx, send)
	if loseReply {
		return broken(ctx, reset("read"))
	}
	return cmd
}

// delayed lets the script reach Redis later, whether or not its caller still
// waits for the reply.
func (p *tap) delayed(ctx context.Context, d time.Duration, call lock.Call, send func(context.Context) *redis.Cmd) *redis.Cmd {
	var cmd *redis.Cmd
	onItsWay := p.t.process.AfterFunc(d, func() {
		late := context.WithoutCancel(ctx)
		if p.t.process.Gate(late, "delayed "+call.String()) == nil {
			cmd = p.send(late, send)
		}
	})
	if err := onItsWay.Wait(ctx); err != nil {
		return broken(ctx, err)
	}
	if cmd == nil {
		return broken(ctx, reset("read"))
	}
	return cmd
}

func broken(ctx context.Context, err error) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(err)
	return cmd
}

// reset is the error of a connection that broke.
func reset(op string) error { return &net.OpError{Op: op, Net: "tcp", Err: syscall.ECONNRESET} }
