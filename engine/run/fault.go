package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
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

// Impossible is the ErrFault of a scenario that cannot be run where it was to
// be: on the wall clock, or on a cluster.
type Impossible struct {
	Cluster  bool   // Protocol needs one Redis
	Protocol string // whose nodes are each a Redis of its own, or ""
	Nodes    int
	Fault    string // what happens to Redis itself, or ""
	Entry    int    // of the scenario's faults where Fault is set; else, without Protocol, of its schedule
}

// Error says what is not possible.
func (i *Impossible) Error() string { return fmt.Sprintf("%v: %v", ErrFault, i.Says()) }

// Says implements [phrase.Speaker].
func (i *Impossible) Says() phrase.Wording {
	switch {
	case i.Cluster:
		return phrase.Say("%s needs one Redis: in a cluster PUBLISH counts the listeners of one node only, and the lock could be granted twice", i.Protocol)
	case i.Protocol != "":
		return phrase.Say("%s has %d nodes, each a Redis of its own, which only the virtual clock has", i.Protocol, i.Nodes)
	case i.Fault != "":
		return phrase.Say("%s: %s happens to Redis itself, which only the embedded Redis on the virtual clock can have done to it", fmt.Sprintf("faults[%d]", i.Entry), i.Fault)
	default:
		return phrase.Say("%s: what a person did step by step can only be repeated on the virtual clock", fmt.Sprintf("schedule[%d]", i.Entry))
	}
}

// Unwrap is ErrFault.
func (i *Impossible) Unwrap() error { return ErrFault }

// possible refuses what would have to be acted.
func possible(sc *scenario.Scenario, o Options) error {
	virtual := !o.Wall && o.External == nil
	if o.External != nil && o.External.Cluster() && exhibit.Named(sc.Lock.Protocol).OneRedis {
		return &Impossible{Cluster: true, Protocol: sc.Lock.Protocol}
	}
	if sc.Lock.Nodes > 1 && !virtual {
		return &Impossible{Protocol: sc.Lock.Protocol, Nodes: sc.Lock.Nodes}
	}
	for i, f := range sc.Faults {
		if f.Timed && !virtual {
			return &Impossible{Fault: f.Do, Entry: i}
		}
	}
	for i, m := range sc.Schedule {
		if (m.Fault != nil || m.Until > 0) && !virtual {
			return &Impossible{Entry: i}
		}
	}
	return nil
}

// described is the fault as its event tells it.
func described(f scenario.Fault) trace.Fault {
	out := trace.Fault{
		Node: nodeOf(f), Thread: cutOff(f),
		Do: f.Do, At: f.At, Level: f.Level, Round: f.Round, ForMS: trace.MillisOf(f.For), Scope: f.Scope, Keep: f.Keep,
	}
	if f.For > 0 {
		out.For = phrase.Duration(f.For)
	}
	if f.By > 0 {
		out.By = phrase.Duration(f.By)
	}
	if f.By < 0 {
		out.By = "-" + phrase.Duration(-f.By)
	}
	if f.Do == fault.FailOver {
		out.Behind = &f.Behind
	}
	return out
}

// nodeOf is the node of a fault where it need not be the only one.
func nodeOf(f scenario.Fault) int {
	if f.Node > 1 {
		return f.Node
	}
	return 0
}

// cutOff is for whom alone Redis goes down.
func cutOff(f scenario.Fault) string {
	if k, _ := fault.Named(f.Do); k.Alone {
		return f.Thread
	}
	return ""
}

// moment is where a thread is.
type moment struct {
	place   string
	level   int
	command int // its place in its call, from 1; 0 outside of calls
	node    int // that it goes to, from 1, where there are several; else 0
}

// find finds a fault for this moment that has not struck, marks it, and tells
// of it.
func (t *thread) find(m moment, wanted func(do string) bool) (scenario.Fault, bool) {
	for i, f := range t.r.sc.Faults {
		here := !f.Timed && f.Thread == t.spec.Name && f.At == m.place &&
			(f.Level == 0 || f.Level == m.level) && (f.Command == m.command || m.command == 0) && int64(f.Round) == t.round.Load()
		if here && wanted(f.Do) && !t.dead.Load() && t.struck[i].CompareAndSwap(false, true) {
			t.tell(m.described(f))
			return f, true
		}
	}
	return t.findArmed(m, wanted)
}

// described is a thread's fault as its event tells it.
func (m moment) described(f scenario.Fault) trace.Fault {
	out := described(f)
	out.Node = m.node
	return out
}

// findArmed is find for the faults that were struck by hand.
func (t *thread) findArmed(m moment, wanted func(do string) bool) (scenario.Fault, bool) {
	for i, f := range t.armed {
		if momentOf(f) == m.place && wanted(f.Do) && !t.dead.Load() {
			t.armed = slices.Delete(t.armed, i, i+1)
			t.tell(m.described(f))
			return f, true
		}
	}
	return scenario.Fault{}, false
}

// momentOf is the place for which a fault of a thread that is struck by hand
// waits, or "" where it strikes at once.
func momentOf(f scenario.Fault) string {
	k, _ := fault.Named(f.Do)
	return cmp.Or(k.Waits, f.At)
}

// take strikes one kind of fault that the business code itself commits.
func (t *thread) take(place string, level int, do string) bool {
	_, ok := t.find(moment{place: place, level: level}, func(d string) bool { return d == do })
	return ok
}

// strike lets the faults happen that need no call.
func (t *thread) strike(place string, level int) {
	for {
		f, ok := t.find(moment{place: place, level: level}, anyFault)
		if !ok {
			return
		}
		t.suffer(f)
	}
}

// strikeArmed lets those happen at the end of work that were struck by hand
// while it went on.
func (t *thread) strikeArmed() {
	for {
		f, ok := t.findArmed(moment{place: fault.AtWork}, anyFault)
		if !ok {
			return
		}
		t.suffer(f)
	}
}

func anyFault(string) bool { return true }

func (t *thread) suffer(f scenario.Fault) {
	switch f.Do {
	case fault.Pause:
		t.pause(f)
	case fault.Crash:
		t.crash()
	case fault.Panic:
		panic(errPanic)
	case fault.Stall:
		t.stalls.Store(true)
		t.r.rec.mayEnd()
		_ = t.process.Work(context.Background(), forever)
	}
}

func (t *thread) pause(f scenario.Fault) {
	if f.Scope == fault.ScopeWork {
		_ = t.process.Sleep(context.Background(), f.For)
		return
	}
	t.process.Pause(f.For)
	if f.At == fault.AtStart {
		_ = t.process.Work(context.Background(), 0) // it begins when it goes on
	}
}

// crash ends the thread and its watchdog where they stand.
func (t *thread) crash() {
	t.fall()
	runtime.Goexit()
}

// fall is crash, seen from outside.
func (t *thread) fall() {
	t.result.Store(trace.Crashed)
	t.ended.Store(true)
	t.tell(trace.End{Result: trace.Crashed})
	t.die()
}

// die ends the thread's process without a word.
func (t *thread) die() {
	t.dead.Store(true)
	t.process.Kill()
	t.locker.Close()
	t.r.rec.mayEnd() // what was on its way has died with it
}

// ofCall tells the faults that strike on the way to Redis: that of a thread as
// a whole may strike there, too.
func ofCall(do string) bool {
	k, _ := fault.Named(do)
	return k.Target == fault.OnTheWay || k.Target == fault.Thread
}

// request is what waits at a gate.
type request struct {
	call    lock.Call
	node    int  // from 1, 0 where there is only one
	delayed bool // it was sent before, and arrives
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
			r.delayed = true
			return p.late(ctx, f.For, r, send)
		case fault.LateCopy:
			p.t.r.network.carry(ctx, f.For, p, call, send)
			return broken(ctx, reset("read"))
		}
	}
	cmd := p.send(ctx, false, send)
	if loseReply {
		return broken(ctx, reset("read"))
	}
	return cmd
}

// delayed is what the timer of a delayed request is called.
const delayed = "delayed"

// late lets the script reach Redis later. Where its caller gives it up before,
// it is one more late copy.
func (p *tap) late(ctx context.Context, d time.Duration, r request, send func(context.Context) *redis.Cmd) *redis.Cmd {
	var cmd *redis.Cmd
	p.t.delayed.Add(1)
	arrives := p.t.process.Now().Add(d)
	onItsWay := p.t.process.AfterFunc(d, delayed, func() {
		defer p.t.delayed.Add(-1)
		ctx := context.WithoutCancel(ctx)
		if p.t.process.Gate(ctx, r) == nil {
			cmd = p.send(ctx, false, send)
		}
	})
	if err := onItsWay.Wait(ctx); err != nil {
		if onItsWay.Stop() {
			p.t.r.network.carry(ctx, arrives.Sub(p.t.process.Now()), p, r.call, send)
			p.t.delayed.Add(-1)
		}
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
