package facts_test

import (
	"slices"
	"strings"
	"testing"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

const idA, idB = "a-1", "b-2"

func key(owner, count string) trace.KeyState {
	return trace.KeyState{Type: trace.TypeHash, Fields: map[string]string{owner: count}, PTTL: 100}
}

// told adds events, numbered from 1, one after the other.
func told(f *facts.Facts, from int, events ...trace.Event) {
	for i, e := range events {
		e.Seq = from + i
		f.Add(e)
	}
}

func TestWhoHoldsAndSinceWhen(t *testing.T) {
	f := facts.New(map[string]string{idA: "A", idB: "B"})
	told(f, 1,
		trace.Event{Thread: "A", Body: trace.Command{Call: lock.CallLock}, Key: key(idA, "1")},
		trace.Event{Thread: "A", Body: trace.Command{Call: lock.CallLock}, Key: key(idA, "2")},
		trace.Event{Body: trace.Expired{Was: key(idA, "2")}, Key: trace.Absent(), At: 100},
		trace.Event{Thread: "B", Body: trace.Command{Call: lock.CallLock}, Key: key(idB, "1"), At: 110},
	)
	if got := f.Held(); !slices.Equal(got, []string{"B"}) {
		t.Errorf("held by %v", got)
	}
	if b := key(idB, "1"); f.Count(b, "B") != "1" || f.Count(b, "A") != "" {
		t.Errorf("B's count is %q, A's is %q", f.Count(b, "B"), f.Count(b, "A"))
	}
	if f.Before.Exists() {
		t.Errorf("before B there was %+v", f.Before)
	}
	if f.Gained["A"] != 1 || f.Counted["A"] != 3 || f.Lost["A"] != 3 || f.Gained["B"] != 4 || f.Last["A"] != 2 {
		t.Errorf("gained %v, counted %v, lost %v, last %v", f.Gained, f.Counted, f.Lost, f.Last)
	}
	if at, ok := f.Dropped("A"); !ok || at != 100 {
		t.Errorf("A's key was dropped at %v, %v", at, ok)
	}
	told(f, 5, trace.Event{Thread: "A", Body: trace.Outcome{Call: lock.CallLock, Result: trace.Acquired}, Key: key(idA, "1")})
	if _, ok := f.Dropped("A"); ok {
		t.Error("A has acquired the lock again, and its key is still said to be dropped")
	}
}

// A thread's belief is one thing, whether it is inside another.
func TestWhoIsInside(t *testing.T) {
	acquired := trace.Outcome{Call: lock.CallLock, Result: trace.Acquired}
	one, two, none := map[string]int{"A": 1}, map[string]int{"A": 2}, map[string]int{}
	for _, c := range []struct {
		name   string
		events []trace.Event
		want   []string
	}{
		{"it has entered", []trace.Event{{Thread: "A", Body: acquired, Belief: one}}, []string{"A"}},
		{"it has left", []trace.Event{{Thread: "A", Body: acquired, Belief: one}, {Thread: "A", Body: trace.Outcome{Call: lock.CallUnlock, Result: trace.Released}, Belief: none}}, nil},
		{"it is leaving", []trace.Event{{Thread: "A", Body: acquired, Belief: one}, {Thread: "A", Body: trace.Fault{Do: fault.Delay}, Belief: one, Leaving: []string{"A"}}}, nil},
		{"it forgot its unlock", []trace.Event{{Thread: "A", Body: acquired, Belief: one}, {Thread: "A", Body: trace.Fault{Do: fault.SkipUnlock}, Belief: one}}, nil},
		{"it forgot an inner unlock", []trace.Event{
			{Thread: "A", Body: acquired, Belief: one},
			{Thread: "A", Body: trace.Outcome{Call: lock.CallLock, Result: trace.Reentered}, Belief: two},
			{Thread: "A", Body: trace.Fault{Do: fault.SkipUnlock}, Belief: two},
		}, []string{"A"}},
	} {
		f := facts.New(map[string]string{idA: "A"})
		told(f, 1, c.events...)
		if got := f.Inside(); !slices.Equal(got, c.want) {
			t.Errorf("%s: inside %v, want %v", c.name, got, c.want)
		}
	}
}

func TestWhatIsOfTheEventsBefore(t *testing.T) {
	f := facts.New(map[string]string{idA: "A"})
	told(f, 1,
		trace.Event{Thread: "A", Body: trace.Resource{Op: trace.OpRead}},
		trace.Event{Thread: "A", Body: trace.Resource{Op: trace.OpWrite, Value: 7}},
	)
	if f.Read["A"] != 1 || f.Written.Seq != 0 {
		t.Errorf("at the write itself: read %v, written before %+v", f.Read, f.Written)
	}
	told(f, 3, trace.Event{Thread: "A", Body: trace.Resource{Op: trace.OpWrite, Value: 8, Refused: true}}, trace.Event{Thread: "A"})
	if f.Written.Seq != 2 {
		t.Errorf("a write that was refused counts as taken: %+v", f.Written)
	}
}

func TestLeftInTime(t *testing.T) {
	f := facts.New(map[string]string{idA: "A"})
	leaving := trace.Event{Thread: "A", Body: trace.Fault{Do: fault.Delay}, Leaving: []string{"A"}}
	told(f, 1, trace.Event{Thread: "A", Key: key(idA, "1")}, leaving)
	if !f.LeftInTime("A") {
		t.Error("its key was there when it called")
	}
	told(f, 3, trace.Event{Thread: "A", Body: trace.Outcome{Call: lock.CallLock, Result: trace.Acquired}, Key: trace.Absent()})
	if f.LeftInTime("A") {
		t.Error("it has locked again, and has not called since")
	}
	told(f, 4, leaving)
	if f.LeftInTime("A") {
		t.Error("its key was gone when it called the second time")
	}
}

// On its way out a thread calls one unlock after another: each is judged by the
// key as it is called.
func TestLeftInTimeFromLevelToLevel(t *testing.T) {
	for _, c := range []struct {
		result trace.Result
		key    trace.KeyState
		want   bool
	}{
		{trace.Decremented, key(idA, "1"), true},
		{trace.Lost, trace.Absent(), false},
		{trace.Failed, key(idA, "1"), false}, // it may call the same one again
	} {
		f := facts.New(map[string]string{idA: "A"})
		told(f, 1, trace.Event{Thread: "A", Key: key(idA, "2")}, trace.Event{Thread: "A", Body: trace.Fault{Do: fault.Delay}, Key: key(idA, "2"), Leaving: []string{"A"}})
		told(f, 3, trace.Event{Thread: "A", Body: trace.Outcome{Call: lock.CallUnlock, Result: c.result, Level: 2}, Key: c.key, Leaving: []string{"A"}})
		if got := f.LeftInTime("A"); got != c.want {
			t.Errorf("after an inner unlock that is %s: %v", c.result, got)
		}
	}
}

func TestTheKeyOnANode(t *testing.T) {
	f := facts.New(map[string]string{idA: "A", idB: "B"})
	a, b := key(idA, "1"), key(idB, "1")
	told(f, 1, trace.Event{Key: a, Nodes: []trace.KeyState{a, b}}, trace.Event{Key: b, Nodes: []trace.KeyState{b, a}})
	for node, want := range map[int]string{0: "A B", 1: "A B", 2: "B A", 3: "A B"} {
		before, after := f.On(node)
		if got := strings.Join(append(f.Holders(before), f.Holders(after)...), " "); got != want {
			t.Errorf("on node %d it was and is held by %s, want %s", node, got, want)
		}
	}
}

func TestOwners(t *testing.T) {
	owners := facts.Owners{idA: "A", "a-2": "A", idB: "B"}
	text := func(id string) trace.KeyState { return trace.KeyState{Type: trace.TypeString, Value: &id, PTTL: 100} }
	both := key(idA, "1")
	both.Fields[idB] = "1"
	twice := key(idA, "1")
	twice.Fields["a-2"] = "1"
	for _, c := range []struct {
		name string
		key  trace.KeyState
		want []string
	}{
		{"no key", trace.Absent(), nil},
		{"a field", key(idB, "2"), []string{"B"}},
		{"two fields", both, []string{"A", "B"}},
		{"two ids of one thread", twice, []string{"A"}},
		{"a field of somebody else's", key("c-3", "1"), nil},
		{"a value", text(idA), []string{"A"}},
		{"somebody else's value", text("c-3"), nil},
	} {
		if got := owners.Holders(c.key); !slices.Equal(got, c.want) {
			t.Errorf("%s: held by %v, want %v", c.name, got, c.want)
		}
		for _, thread := range []string{"A", "B", "C"} {
			if got := owners.Hold(c.key, thread); got != slices.Contains(c.want, thread) {
				t.Errorf("%s: %s holds it: %v", c.name, thread, got)
			}
		}
	}
}

// A thread of a log can have an id for each call: the one that the key has is its count,
// whichever came first.
func TestCountOfSeveralIDs(t *testing.T) {
	owners := map[string]string{idA: "A", "a-2": "A", "a-3": "A", idB: "B"}
	twice := key("a-2", "2")
	twice.Fields["a-3"] = "1"
	for range 20 { // maps have no order
		f := facts.New(owners)
		for _, c := range []struct {
			key  trace.KeyState
			want string
		}{{key("a-2", "2"), "2"}, {key("a-3", "1"), "1"}, {key(idB, "1"), ""}, {twice, ""}, {trace.Absent(), ""}} {
			if got := f.Count(c.key, "A"); got != c.want {
				t.Fatalf("%v: %q, want %q", c.key.Fields, got, c.want)
			}
		}
		told(f, 1, trace.Event{Key: trace.Absent()}, trace.Event{Key: key("a-3", "1")})
		if f.Counted["A"] != 2 || f.Counted["B"] != 0 {
			t.Fatalf("the count changed at %v", f.Counted)
		}
	}
}

func TestOutages(t *testing.T) {
	o := facts.Outages{}
	for _, c := range []struct {
		struck       trace.Fault
		down         bool // the first node
		any, a       int  // of three nodes: how many answer anyone, and A
		cutOffSecond []string
	}{
		{trace.Fault{Do: fault.Down, Node: 2, Thread: "B"}, false, 3, 3, []string{"B"}},
		{trace.Fault{Do: fault.Down, Node: 2, Thread: "A"}, false, 3, 2, []string{"A", "B"}},
		{trace.Fault{Do: fault.Down}, true, 2, 1, []string{"A", "B"}}, // without a node it is the only one
		{trace.Fault{Do: fault.Up, Node: 2}, true, 2, 1, []string{"A", "B"}},
		{trace.Fault{Do: fault.Up, Node: 2, Thread: "A"}, true, 2, 2, []string{"B"}},
		{trace.Fault{Do: fault.Restart, Node: 2}, true, 2, 2, []string{"B"}},
		{trace.Fault{Do: fault.Up, Node: 1}, false, 3, 3, []string{"B"}},
	} {
		o.Strike(c.struck)
		if got := o.CutOff(1); o.Down(0) != c.down || o.Up(3, "") != c.any || o.Up(3, "A") != c.a || !slices.Equal(got, c.cutOffSecond) {
			t.Errorf("after %+v: down %v, %d answer anyone, %d answer A, and the second leaves out %v", c.struck, o.Down(0), o.Up(3, ""), o.Up(3, "A"), got)
		}
	}
}

func TestLaterCall(t *testing.T) {
	const over = "lock:over"
	for _, c := range []struct {
		name string
		say  trace.Command
		want int64
	}{
		{"a lock that comes after its unlock", trace.Command{Call: lock.CallLock, Number: 3, Args: []string{"HGET", over, idA}, Reply: "4 900040"}, 4},
		{"a lock that comes after its unlock, in an older trace", trace.Command{Call: lock.CallLock, Number: 3, Args: []string{"HGET", over, idA}, Reply: "4"}, 4},
		{"a lock in order", trace.Command{Call: lock.CallLock, Number: 3, Args: []string{"HGET", over, idA}, Reply: "3 900040"}, 0},
		{"the first lock", trace.Command{Call: lock.CallLock, Number: 1, Args: []string{"HGET", over, idA}}, 0},
		{"a field of another key", trace.Command{Call: lock.CallLock, Number: 3, Args: []string{"HGET", "lock", idA}, Reply: "4"}, 0},
		{"what an unlock reads", trace.Command{Call: lock.CallUnlock, Number: 3, Args: []string{"HGET", over, idA}, Reply: "4"}, 0},
		{"count and number, later", trace.Command{Call: lock.CallUnlock, Number: 3, Args: []string{"hmget", "lock", idA, "n"}, Reply: []any{"1", "4"}}, 4},
		{"count and number, in order", trace.Command{Call: lock.CallUnlock, Number: 5, Args: []string{"HMGET", "lock", idA, "n"}, Reply: []any{"1", "4"}}, 0},
		{"a number without a count", trace.Command{Call: lock.CallUnlock, Number: 3, Args: []string{"HMGET", "lock", idA, "n"}, Reply: []any{nil, "4"}}, 0},
		{"calls are not numbered", trace.Command{Call: lock.CallUnlock, Args: []string{"HMGET", "lock", idA, "n"}, Reply: []any{"1", "4"}}, 0},
		{"no command", trace.Command{Reply: "4", Number: 3}, 0},
	} {
		if got := facts.LaterCall(c.say); got != c.want {
			t.Errorf("%s: later call %d, want %d", c.name, got, c.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for reply, want := range map[any]int64{int64(7): 7, "7": 7, "7.9": 7, "7 900040": 7, "": 0, "seven": 0, 7: 0, nil: 0} {
		if got := facts.Number(reply); got != want {
			t.Errorf("%#v is the number %d, want %d", reply, got, want)
		}
	}
}

func TestToldIsTheKeyAtTheOutcome(t *testing.T) {
	var told facts.Told
	at := func(step int, body trace.Body, k trace.KeyState) int64 {
		return told.Add(trace.Event{Step: step, Body: body, Key: k}).PTTL
	}
	left := func(ms int64, count string) trace.KeyState {
		k := key(idA, count)
		k.PTTL = ms
		return k
	}
	for i, got := range []struct{ got, want int64 }{
		{at(1, trace.Command{}, left(100, "1")), 100},
		{at(1, trace.Outcome{}, left(99, "1")), 99},
		{at(1, trace.Wait{}, left(70, "1")), 99},              // it only ran on
		{at(1, trace.Command{}, left(200, "1")), 200},         // renewed
		{at(1, trace.Wait{}, left(60, "2")), 60},              // another count
		{at(1, trace.Expired{}, trace.Absent()), trace.NoKey}, // it is gone
		{at(2, trace.Wait{}, left(50, "1")), 50},              // another step
		{at(2, trace.Outcome{}, trace.Absent()), trace.NoKey}, //
		{at(2, trace.Wait{}, left(40, "1")), 40},              // somebody else came
	} {
		if got.got != got.want {
			t.Errorf("%d: %d ms, want %d", i+1, got.got, got.want)
		}
	}
}

// A thread with an answer to an inner unlock calls the next at once: that does not show
// as leaving, unless something holds it up.
func TestWhoIsSeenToBeLeaving(t *testing.T) {
	unlock := func(r trace.Result) trace.Outcome { return trace.Outcome{Call: lock.CallUnlock, Result: r, Level: 2} }
	for _, c := range []struct {
		name string
		e    trace.Event
		want bool
	}{
		{"its unlock is held up", trace.Event{Thread: "A", Body: trace.Fault{Do: fault.Delay}, Leaving: []string{"A"}}, true},
		{"an inner unlock is answered", trace.Event{Thread: "A", Body: unlock(trace.Decremented), Leaving: []string{"A"}}, false},
		{"an inner unlock is not", trace.Event{Thread: "A", Body: unlock(trace.Failed), Leaving: []string{"A"}}, true},
		{"an inner unlock releases everything", trace.Event{Thread: "A", Body: unlock(trace.Released), Leaving: []string{"A"}}, true},
		{"another's is answered", trace.Event{Thread: "B", Body: unlock(trace.Decremented), Leaving: []string{"A"}}, true},
		{"it works", trace.Event{Thread: "A", Body: trace.Work{}, Leaving: []string{"B"}}, false},
	} {
		if got := facts.Leaves(c.e, "A"); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// A key that names no thread is that of the thread whose command put what it holds.
func TestHoldingOfAValueThatAllWrite(t *testing.T) {
	taken := func(ms int64) trace.KeyState {
		v := "taken"
		return trace.KeyState{Type: trace.TypeString, Value: &v, PTTL: ms}
	}
	set := func(thread string, now trace.KeyState) trace.Event {
		return trace.Event{Thread: thread, Key: now, Body: trace.Command{Call: "lock", Args: []string{"SET", "k", "taken"}, Reply: "OK"}}
	}
	h := facts.NewHolding(map[string]string{idA: "A", idB: "B"})
	h.Add(set("A", taken(100)))
	if !h.Hold(taken(100), "A") || h.Hold(taken(100), "B") || h.Of(taken(100), "taken") != "A" || h.Names(taken(100)) {
		t.Errorf("after A's SET it is %v's", h.Holders(taken(100)))
	}
	if h := facts.NewHolding(nil); h.Hold(taken(100), "") || h.Hold(key(idA, "1"), "") {
		t.Error("what nobody is known to have put is held by Redis itself")
	}
	h.Add(set("B", taken(200)))
	if got, was := h.Holders(taken(200)), h.Held(taken(100)); !slices.Equal(got, []string{"B"}) || !slices.Equal(was, []string{"A"}) {
		t.Errorf("after B's SET it is %v's, and was %v's", got, was)
	}
	if got := h.Holders(key(idA, "1")); !slices.Equal(got, []string{"A"}) || h.Hold(key(idA, "1"), "B") {
		t.Errorf("a key that names A is %v's", got)
	}
	h.Add(trace.Event{Key: trace.Absent(), Body: trace.Expired{Was: taken(0)}})
	if got, was := h.Holders(trace.Absent()), h.Held(taken(0)); len(got) != 0 || !slices.Equal(was, []string{"B"}) || h.Hold(trace.Absent(), "B") {
		t.Errorf("after its lease it is %v's, and was %v's", got, was)
	}
}
