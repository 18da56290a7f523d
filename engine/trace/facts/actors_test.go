package facts_test

import (
	"maps"
	"slices"
	"testing"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

func TestStacksFollowWhoCalledWhom(t *testing.T) {
	at := func(levels int, b trace.Body) trace.Event {
		return trace.Event{Thread: "A", Body: b, Belief: map[string]int{"A": levels}}
	}
	lockCall, unlockCall := trace.Command{Call: lock.CallLock, Level: 2, Attempt: 3}, trace.Command{Call: lock.CallUnlock, Level: 2}
	stacks := facts.Stacks{}
	for _, c := range []struct {
		name string
		e    trace.Event
		want facts.Stack
	}{
		{"asks for level 2", at(1, lockCall), facts.Stack{Levels: 2, Doing: facts.Asking, Attempt: 3}},
		{"is refused, and asks on", at(1, trace.Outcome{Call: lock.CallLock, Result: trace.Refused, Level: 2, Attempt: 3}), facts.Stack{Levels: 2, Doing: facts.Asking, Attempt: 3}},
		{"its watchdog renews", at(2, trace.Command{Call: lock.CallRenew, Level: 2}), facts.Stack{Levels: 2, Doing: facts.Asking, Attempt: 3}},
		{"enters", at(2, trace.Outcome{Call: lock.CallLock, Result: trace.Reentered, Level: 2}), facts.Stack{Levels: 2, Doing: facts.Entered}},
		{"works", at(2, trace.Work{State: trace.WorkBegin, Level: 2}), facts.Stack{Levels: 2, Doing: facts.Working}},
		{"has worked", at(2, trace.Work{State: trace.WorkEnd, Level: 2}), facts.Stack{Levels: 2, Doing: facts.Worked}},
		{"leaves", at(2, unlockCall), facts.Stack{Levels: 2, Doing: facts.Leaving}},
		{"a late copy arrives", at(2, trace.Command{Call: lock.CallLock, Level: 1, Late: true}), facts.Stack{Levels: 2, Doing: facts.Leaving}},
		{"has left level 2", at(1, trace.Outcome{Call: lock.CallUnlock, Result: trace.Decremented, Level: 2}), facts.Stack{Levels: 1, Doing: facts.Worked}},
		{"ends", at(0, trace.End{Result: trace.Done}), facts.Stack{}},
	} {
		stacks.Add(c.e)
		if got := stacks["A"]; got != c.want {
			t.Errorf("%s: %+v, not %+v", c.name, got, c.want)
		}
	}
	if names := stacks.Threads(); len(names) > 0 {
		t.Errorf("%v are still in a call", names)
	}
}

func TestResourceIsWhatWasReadAndWritten(t *testing.T) {
	var r facts.Resource
	read := func(thread string, value int) {
		r.Add(trace.Event{Thread: thread, Body: trace.Resource{Op: trace.OpRead, Value: value}})
	}
	write := func(thread string, b trace.Resource) {
		b.Op = trace.OpWrite
		r.Add(trace.Event{Thread: thread, Body: b})
	}
	read("A", 0)
	read("B", 0)
	write("B", trace.Resource{Value: 1, Version: 1, Token: 2})
	write("A", trace.Resource{Value: 1, Version: 1, Token: 1, Refused: true})
	if r.Values[""] != 1 || r.Writes != 1 || r.Refused != 1 || r.Token != 2 || len(r.Seen) != 0 {
		t.Errorf("%+v", r)
	}
	read("A", 1)
	if r.Add(trace.Event{Thread: "A", Body: trace.End{Result: trace.Crashed}}); len(r.Seen) != 0 {
		t.Errorf("who has crashed still knows what it read: %v", r.Seen)
	}
}

func TestLineIsTheOrderOfWaiters(t *testing.T) {
	line := facts.Line{Key: "{L}:queue", Owners: facts.Owners{"a": "A", "b": "B", "c": "C"}}
	run := func(reply any, args ...string) {
		line.Add(trace.Event{Thread: "X", Body: trace.Command{Args: args, Reply: reply}})
	}
	check := func(certain bool, want ...string) {
		t.Helper()
		if got, sure := line.Threads(9); !slices.Equal(got, want) || sure != certain {
			t.Errorf("%v, certain: %v; not %v, %v", got, sure, want, certain)
		}
	}
	run(int64(1), "RPUSH", "{L}:queue", "a in 1")
	run(int64(2), "RPUSH", "{L}:queue", "b in 1")
	run(int64(1), "RPUSH", "{L}:other", "c in 1")
	check(true, "A", "B")
	run(int64(1), "ZADD", "{L}:queue", "NX", "7", "c in 1")
	run(int64(0), "ZADD", "{L}:queue", "NX", "9", "c in 1")
	check(true, "A", "B", "C")
	run([]any{"a in 1", "7"}, "ZPOPMIN", "{L}:queue")
	run(int64(1), "LREM", "{L}:queue", "1", "c in 1")
	check(true, "B")
	line.Add(trace.Event{Body: trace.Fault{Do: fault.FailOver}})
	check(false, "B")
	run(nil, "LPOP", "{L}:queue")
	check(true)
	run(int64(1), "RPUSH", "{L}:queue", "a in 1")
	line.Add(trace.Event{Body: trace.Fault{Do: fault.Restart, Keep: true}})
	check(true, "A")
	line.Add(trace.Event{Body: trace.Fault{Do: fault.Restart}})
	check(true)
}

func TestWordsAreOfProcesses(t *testing.T) {
	w := facts.Words{Process: map[string]string{"A": "p", "B": "q"}}
	outcome := func(thread, call string, result trace.Result, level int) {
		w.Add(trace.Event{Thread: thread, Body: trace.Outcome{Call: call, Result: result, Level: level}})
	}
	outcome("A", lock.CallLock, trace.Acquired, 1)
	outcome("A", lock.CallLock, trace.Reentered, 2)
	outcome("B", lock.CallLock, trace.Refused, 1)
	if a, b := w.Of("p"), w.Of("q"); a != (facts.Word{Thread: "A", Count: 2}) || b.Thread != "" {
		t.Errorf("%+v and %+v", a, b)
	}
	outcome("A", lock.CallUnlock, trace.Decremented, 2)
	if a := w.Of("p"); a.Count != 1 {
		t.Errorf("after leaving level 2: %+v", a)
	}
	outcome("A", lock.CallUnlock, trace.Released, 1)
	if a := w.Of("p"); a.Thread != "" {
		t.Errorf("after its release: %+v", a)
	}
}

func TestClocksMoveByNode(t *testing.T) {
	c := facts.Clocks{}
	for _, f := range []trace.Fault{
		{Do: fault.ClockJump, By: "1s", Node: 3},
		{Do: fault.ClockJump, By: "-200ms", Node: 3},
		{Do: fault.ClockJump, By: "2s"},
		{Do: fault.Down, By: "5s", Node: 2},
	} {
		c.Strike(f)
	}
	if !maps.Equal(c, facts.Clocks{0: 2000, 2: 800}) {
		t.Errorf("%v", c)
	}
}
