package run

import (
	"cmp"
	"context"
	"errors"
	"runtime"

	"relock/engine/fault"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// errPanic is what the business code panics with.
var errPanic = errors.New("the business code panicked")

// described is the fault as its event tells it.
func described(f scenario.Fault) trace.Fault {
	out := trace.Fault{
		Node: nodeOf(f), Thread: cutOff(f),
		Do: f.Do, Error: f.Error, At: f.At, Level: f.Level, Round: f.Round, ForMS: trace.MillisOf(f.For), Scope: f.Scope, Keep: f.Keep,
	}
	if f.For > 0 {
		out.For = phrase.Duration(f.For)
	}
	if f.Lose > 0 {
		out.Lose, out.LoseMS = phrase.Duration(f.Lose), trace.MillisOf(f.Lose)
	}
	if f.By > 0 {
		out.By = phrase.Duration(f.By)
	}
	if f.By < 0 {
		out.By = "-" + phrase.Duration(-f.By)
	}
	if f.Do == fault.FailOver {
		out.Behind, out.Replica = &f.Behind, f.Replica
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
	if k, _ := fault.Struck(f.Do, f.At); k.Alone {
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

// described is a thread's fault as its event tells it.
func (m moment) described(f scenario.Fault) trace.Fault {
	out := described(f)
	out.Node = m.node
	return out
}

// lockAt is which of several locks a fault that strikes here belongs to: the call's.
func (t *thread) lockAt(m moment) string {
	if m.place == fault.AtWork || m.place == fault.AtStart {
		return ""
	}
	return t.spec.Takes.Key(m.level)
}

// find finds a fault for this moment that has not struck, marks it, and tells
// of it.
func (t *thread) find(m moment, wanted func(do string) bool) (scenario.Fault, bool) {
	for i, f := range t.r.sc.Faults {
		here := !f.Timed && f.Thread == t.spec.Name && f.At == m.place &&
			(f.Level == 0 || f.Level == m.level) && (f.Command == m.command || m.command == 0) && int64(f.Round) == t.round.Load()
		if here && wanted(f.Do) && !t.dead.Load() && t.struck[i].CompareAndSwap(false, true) {
			t.tellOf(t.lockAt(m), m.described(f))
			return f, true
		}
	}
	return t.findArmed(m, wanted)
}

// findArmed is find for the faults that were struck by hand.
func (t *thread) findArmed(m moment, wanted func(do string) bool) (scenario.Fault, bool) {
	if t.dead.Load() {
		return scenario.Fault{}, false
	}
	f, ok := t.r.rec.armed(t, m.place, wanted)
	if ok {
		t.toldFault(f)
		t.tellOf(t.lockAt(m), m.described(f))
	}
	return f, ok
}

// toldFault notes a fault that was struck by hand.
func (t *thread) toldFault(f scenario.Fault) {
	t.told(toldFault, f.Do, f.At, int64(f.For), int64(f.By), f.Error)
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
	case fault.ClientClockJump:
		t.process.Jump(f.By)
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

// crash ends the thread and its watchdog where they are.
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
	t.locker.close()
	t.r.rec.mayEnd() // what was on its way has died with it
}

// killAll ends what is left of the threads when the run is over.
func (r *Run) killAll() {
	for _, t := range r.threads {
		t.die()
		r.machine.hasAsked(t) // one that died before it asked holds up nobody
	}
}
