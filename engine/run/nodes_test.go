package run_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

const atOnce = `
lock: {protocol: redsync, nodes: 3, lease: 8s, watchdog: %s, retry: {times: 3, interval: 50ms}}
threads: [{name: A, work: 100ms}, {name: B, start: 20ms, work: 10ms}]
`

// asking are the options of a thread that ask one of several nodes, in short.
func asking(w *walk, thread string) []string {
	var list []string
	for _, o := range w.Options() {
		if o.Thread == thread && o.Background && o.Node > 0 {
			list = append(list, fmt.Sprintf("%s %s %d %s", o.Next, o.Call.Name, o.Node, o.First))
		}
	}
	return list
}

// business is what a thread itself would do next.
func business(w *walk, thread string) run.Option {
	for _, o := range w.Options() {
		if o.Thread == thread && !o.Background {
			return o
		}
	}
	return run.Option{}
}

// stepNode has a thread ask a node.
func (w *walk) stepNode(t *testing.T, thread string, node int) {
	t.Helper()
	m, err := w.StepNode(t.Context(), thread, node)
	if err != nil {
		t.Fatal(err)
	}
	w.moves = append(w.moves, m)
}

// nodesAsked are the nodes in the order in which a thread's commands ran.
func nodesAsked(events []trace.Event, thread, verb string) []int {
	var list []int
	for _, e := range events {
		if c, ok := e.Body.(trace.Command); ok && e.Thread == thread && c.Args[0] == verb {
			list = append(list, c.Node)
		}
	}
	return list
}

// It asks all nodes at once: each question is a separate decision, and somebody chooses
// which comes first.
func TestWhichNodeIsAskedFirstIsChosen(t *testing.T) {
	w := begin(t, parse(t, fmt.Sprintf(atOnce, "60ms")), scenario.Move{})
	if got, want := asking(w, "A"), []string{"ask lock 1 SET", "ask lock 2 SET", "ask lock 3 SET"}; !slices.Equal(got, want) {
		t.Fatalf("A would %q, want %q", got, want)
	}
	if o := business(w, "A"); o.Next != run.NextNothing || o.Reason != run.AwaitsNode {
		t.Errorf("A itself: %s, %s", o.Next, o.Reason)
	}
	var refused *run.Refusal
	if _, err := w.StepThread(t.Context(), "A", false); !errors.As(err, &refused) || refused.Reason != run.AwaitsNode {
		t.Errorf("A itself cannot move: %v", err)
	}
	if _, err := w.StepNode(t.Context(), "A", 4); !errors.As(err, &refused) || refused.Reason != run.NeverMoves {
		t.Errorf("there is no node 4: %v", err)
	}
	for _, node := range []int{3, 1, 2} {
		w.stepNode(t, "A", node)
	}
	events, _ := w.r.Log().Since(0)
	if got := nodesAsked(events, "A", "SET"); !slices.Equal(got, []int{3, 1, 2}) {
		t.Errorf("A asked %v", got)
	}
	steps := map[int]bool{}
	for _, e := range events {
		steps[e.Step] = true
		if e.At != 0 {
			t.Errorf("event %d is at %v ms, not at once", e.Seq, e.At)
		}
	}
	if len(steps) != 4 {
		t.Errorf("%d rows, want one for each node, and one for what came of it", len(steps))
	}
	if got := asking(w, "A"); len(got) > 0 {
		t.Errorf("A would still %q", got)
	}
	// The watchdog asks all of them, too.
	w.must(t, scenario.Move{Until: 60 * time.Millisecond})
	if got, want := asking(w, "A"), []string{"renew renew 1 GET", "renew renew 2 GET", "renew renew 3 GET"}; !slices.Equal(got, want) {
		t.Errorf("A's watchdog would %q, want %q", got, want)
	}
	w.stepNode(t, "A", 2)
	if again := begin(t, parse(t, fmt.Sprintf(atOnce, "60ms")), w.moves...); again.written(t) != w.written(t) {
		t.Error("the same moves give another trace")
	}
}

// The nth command of a call goes to the nth node, whichever is asked first; a
// lock that asks one after the other counts them as they are sent. The event
// says which node it was.
func TestAFaultStrikesTheNthNode(t *testing.T) {
	const fault = `faults: [{thread: A, at: lock, command: %d, do: lose-request}]`
	struck := func(events []trace.Event) []int {
		var list []int
		for _, e := range events {
			if f, ok := e.Body.(trace.Fault); ok {
				list = append(list, f.Node)
			}
		}
		return list
	}
	for _, first := range []int{1, 2, 3} {
		w := begin(t, parse(t, fmt.Sprintf(atOnce+fault, "off", 3)), scenario.Move{})
		w.stepNode(t, "A", first)
		events, _ := w.r.Log().Since(0)
		want := []int{3}
		if first != 3 {
			want = nil
		}
		if got := struck(events); !slices.Equal(got, want) {
			t.Errorf("node %d asked first: the fault struck at %v, want %v", first, got, want)
		}
	}
	// B holds nodes 1 and 2 when A asks: it takes back from all three.
	late := strings.Replace(strings.Replace(fmt.Sprintf(atOnce+fault, "off", 5), "work: 100ms}, {name: B, start: 20ms", "start: 5ms, work: 10ms}, {name: B", 1), "work: 10ms}]", "work: 30ms}]", 1)
	_, events := play(t, parse(t, late), run.Options{})
	if got := struck(events); !slices.Equal(got, []int{2}) {
		t.Errorf("the fifth command: the fault struck at %v, want 2", got)
	}
	inTurn := strings.Replace(fmt.Sprintf(atOnce+`faults: [{time: 0ms, do: down, node: 1, thread: A}, {thread: A, at: lock, command: 2, do: lose-request}]`, "off"), "redsync", "redlock", 1)
	_, events = play(t, parse(t, inTurn), run.Options{})
	if got := struck(events); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("one after the other: the faults struck at %v, want 2", got)
	}
}

// Until when a lock on several nodes is valid is in the trace: its lease from
// the moment of asking, less the drift. Of one node's lock it is not.
func TestTheTraceSaysUntilWhenALockIsValid(t *testing.T) {
	until := func(text string) map[string]trace.Millis {
		_, events := play(t, parse(t, text), run.Options{})
		list := map[string]trace.Millis{}
		for _, e := range events {
			if o, ok := e.Body.(trace.Outcome); ok && (o.Until != 0 || o.Result == trace.Acquired || o.Result == trace.Renewed) {
				list[e.Thread+" "+o.Call] = o.Until
			}
		}
		return list
	}
	got := until(fmt.Sprintf(atOnce, "60ms"))
	if got["A lock"] != 7920 || got["A renew"] != 60+7920 || got["B lock"] != 120+7920 {
		t.Errorf("redsync: %v", got)
	}
	got = until(strings.Replace(fmt.Sprintf(atOnce, "off"), "redsync", "redlock", 1))
	if got["A lock"] != 8000-82 {
		t.Errorf("redlock: %v", got)
	}
	got = until(fmt.Sprintf(atOnce, "off") + "faults: [{thread: A, at: lock, do: delay, for: 30ms}]")
	if got["A lock"] != 7920 {
		t.Errorf("asked at 0 ms, granted at 30 ms: %v", got)
	}
	got = until(strings.Replace(fmt.Sprintf(atOnce, "off"), "protocol: redsync, nodes: 3", "protocol: mutex", 1))
	if got["A lock"] != 0 || len(got) == 0 {
		t.Errorf("mutex: %v", got)
	}
}

// A client measures with its own clock: how long it waits, when it renews, until when it
// relies on its lease. Its work, and Redis, do not use it. The trace goes by the clock of
// the run.
func TestAClientMeasuresByItsOwnClock(t *testing.T) {
	for _, c := range []struct {
		name, scenario string
		is             func(trace.Event) bool
		want           []trace.Millis
	}{
		{
			"it waits", "lock: {lease: 1s, watchdog: off, retry: {times: 2, interval: 100ms}}\nthreads: [{name: B, work: 900ms}, {name: A, start: 20ms, drift: -20%}]",
			func(e trace.Event) bool { o, ok := e.Body.(trace.Outcome); return ok && o.Result == trace.Refused },
			[]trace.Millis{20, 145, 270},
		},
		{
			"it renews", "lock: {lease: 200ms, watchdog: 100ms}\nthreads: [{name: A, work: 300ms, drift: -20%}]",
			func(e trace.Event) bool { o, ok := e.Body.(trace.Outcome); return ok && o.Result == trace.Renewed },
			[]trace.Millis{125, 250},
		},
		{
			"it relies on its lease", "lock: {protocol: mutex, lease: 200ms, watchdog: off}\nthreads: [{name: A, work: 300ms, on-lost: stop, drift: 25%}]",
			func(e trace.Event) bool {
				w, ok := e.Body.(trace.Work)
				return ok && w.State == trace.WorkEnd && w.Cancelled
			},
			[]trace.Millis{156.8}, // 200 ms less 4 ms: 196 by its own clock
		},
		{
			"it works", "lock: {lease: 1s, watchdog: off}\nthreads: [{name: A, work: 300ms, drift: -20%}]",
			func(e trace.Event) bool { w, ok := e.Body.(trace.Work); return ok && w.State == trace.WorkEnd },
			[]trace.Millis{300},
		},
		{
			"it says so", "lock: {lease: 1s, watchdog: off}\nthreads: [{name: A, work: 300ms, drift: -20%}, {name: B}]",
			func(e trace.Event) bool {
				f, ok := e.Body.(trace.Fault)
				return ok && f.Do == fault.Drift && f.By == "-20%" && e.Thread == "A"
			},
			[]trace.Millis{0},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, events := play(t, parse(t, c.scenario), run.Options{})
			var got []trace.Millis
			for _, e := range events {
				if c.is(e) {
					got = append(got, e.At)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("at %v, want %v", got, c.want)
			}
		})
	}
	_, events := play(t, parse(t, strings.Replace(fmt.Sprintf(atOnce, "off"), "{name: A", "{name: A, drift: -20%", 1)), run.Options{})
	for _, e := range events {
		if o, ok := e.Body.(trace.Outcome); ok && o.Until > 0 && e.Thread == "A" {
			if o.Until != 9900 {
				t.Errorf("valid until %v, want 7,920 ms of its own clock: 9,900", o.Until)
			}
			return
		}
	}
	t.Error("nobody says until when the lock is valid")
}

// The text says which thread waits for Redis' answer, and which gives up after its last
// pause.
func TestWhatAThreadWaitsFor(t *testing.T) {
	w := begin(t, parse(t, `
threads: [{name: A, work: 10ms}]
faults: [{thread: A, at: lock, do: delay, for: 30ms}]
`), scenario.Move{})
	if o := business(w, "A"); o.Reason != run.AwaitsLate {
		t.Errorf("on its way: %s, %s", o.Next, o.Reason)
	}
	w = begin(t, parse(t, `
lock: {protocol: mutex-blind, lease: 1s, watchdog: off, retry: {times: 1, interval: 50ms}}
threads: [{name: A, work: 500ms}, {name: B, start: 5ms}]
`), scenario.Move{}, scenario.Move{}, scenario.Move{})
	if o := business(w, "B"); o.Next != run.NextEnd || o.Reason != run.Waits || o.At != 55*time.Millisecond || o.Call.Name != lock.CallLock {
		t.Errorf("after the last retry: %+v", o)
	}
	w.must(t, scenario.Move{})
	if o := business(w, "B"); o.Ended != trace.Exhausted || w.Now() != 55*time.Millisecond {
		t.Errorf("after the last pause, at %v: %+v", w.Now(), o)
	}
}

// One node is asked by the thread itself.
func TestOneNodeIsAskedByTheThreadItself(t *testing.T) {
	w := begin(t, parse(t, strings.Replace(fmt.Sprintf(atOnce, "off"), "nodes: 3", "nodes: 1", 1)), scenario.Move{})
	events, _ := w.r.Log().Since(0)
	if len(events) < 2 || events[1].Step != 1 || events[1].Body.(trace.Outcome).Result != trace.Acquired {
		t.Errorf("the first move: %+v", events)
	}
	if got := asking(w, "A"); len(got) > 0 || len(w.Options()) != 2 {
		t.Errorf("A would %q", got)
	}
}
