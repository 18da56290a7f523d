package run_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"relock/engine/fault"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// worked is the work of a run: "30ms A 2 begin after".
func worked(events []trace.Event) []string {
	var list []string
	for _, e := range events {
		if w, ok := e.Body.(trace.Work); ok {
			text := fmt.Sprintf("%v %s %d %s", e.At.Duration(), e.Thread, w.Level, w.State)
			if w.After {
				text += " after"
			}
			if w.Cancelled {
				text += ", cancelled"
			}
			list = append(list, text)
		}
	}
	return list
}

// Each level but the innermost works on when what it has called has returned,
// with the lock in hand, on both clocks. A thread that was stopped, or panicked, does
// not.
func TestWorkAfterANestedCall(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{
			"three levels", "threads: [{name: A, depth: 3, work: 10ms, after: 5ms}]",
			"0s A 1 begin, 10ms A 1 end, 10ms A 2 begin, 20ms A 2 end, 20ms A 3 begin, 30ms A 3 end, " +
				"30ms A 2 begin after, 35ms A 2 end after, 35ms A 1 begin after, 40ms A 1 end after",
		},
		{"one level calls nothing", "threads: [{name: A, work: 10ms, after: 5ms}]", "0s A 1 begin, 10ms A 1 end"},
		{
			"two rounds", "threads: [{name: A, depth: 2, work: 10ms, after: 5ms, repeat: 2}]",
			"0s A 1 begin, 10ms A 1 end, 10ms A 2 begin, 20ms A 2 end, 20ms A 1 begin after, 25ms A 1 end after, " +
				"25ms A 1 begin, 35ms A 1 end, 35ms A 2 begin, 45ms A 2 end, 45ms A 1 begin after, 50ms A 1 end after",
		},
		{
			"a panic", "threads: [{name: A, depth: 2, work: 10ms, after: 5ms}]\nfaults: [{thread: A, at: work, level: 2, do: panic}]",
			"0s A 1 begin, 10ms A 1 end, 10ms A 2 begin",
		},
		{
			"a context that ends", "lock: {lease: 100ms, watchdog: off}\nthreads: [{name: A, depth: 2, work: 60ms, after: 5ms, on-lost: stop}]",
			"0s A 1 begin, 60ms A 1 end, 60ms A 2 begin, 97ms A 2 end, cancelled",
		},
		{
			"a context that ends in the work after", "lock: {lease: 100ms, watchdog: off}\nthreads: [{name: A, depth: 2, work: 40ms, after: 60ms, on-lost: stop}]",
			"0s A 1 begin, 40ms A 1 end, 40ms A 2 begin, 80ms A 2 end, 80ms A 1 begin after, 97ms A 1 end after, cancelled",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, events := play(t, parse(t, c.text), run.Options{})
			if got := strings.Join(worked(events), ", "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			live := worked(liveEvents(t, c.text, func(*testing.T, *run.Run) {}))
			if got := strings.Join(live, ", "); got != c.want {
				t.Errorf("on the wall clock\ngot  %s\nwant %s", got, c.want)
			}
		})
	}
}

// The length of the work after a nested call is drawn separately: it changes nothing else
// that is drawn.
func TestAfterIsDrawnByItself(t *testing.T) {
	lengths := func(after string) (before, later []trace.Millis) {
		_, events := play(t, parse(t, "lock: {lease: 10s}\nthreads: [{name: A, depth: 3, work: 10ms-900ms, repeat: 3"+after+"}]"), run.Options{})
		for _, e := range events {
			switch w, _ := e.Body.(trace.Work); {
			case w.State == trace.WorkBegin && w.After:
				later = append(later, w.For)
			case w.State == trace.WorkBegin:
				before = append(before, w.For)
			}
		}
		return before, later
	}
	without, _ := lengths("")
	with, later := lengths(", after: 1ms-500ms")
	if len(without) != 9 || !slices.Equal(without, with) {
		t.Errorf("without %v, with %v", without, with)
	}
	if slices.Sort(later); len(later) != 6 || later[0] == later[5] || later[0] < 1 || later[5] > 500 {
		t.Errorf("after the nested calls %v, want 6 different ones from 1 to 500", later)
	}
}

// A fault that waits for work can still strike who unlocks an inner level, if
// there is work after that.
func TestAFaultWaitsForTheWorkAfter(t *testing.T) {
	for after, want := range map[string]bool{"0ms": true, "20ms": false} {
		w := begin(t, parse(t, `
lock: {lease: 1s, watchdog: off}
threads: [{name: A, depth: 2, work: 10ms, after: `+after+`}]
faults: [{thread: A, at: unlock, level: 2, do: delay, for: 50ms}]
`), scenario.Move{}, scenario.Move{}, scenario.Move{})
		if w.Now() != 20*ms {
			t.Fatalf("it is %v", w.Now())
		}
		list, err := w.Pointless(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pointless := slices.ContainsFunc(list, func(p run.Pointless) bool { return p.Fault.Do == fault.Panic && p.Why.Reason == run.NotAhead })
		if pointless != want {
			t.Errorf("after: %s: a panic is pointless: %v", after, pointless)
		}
		w.must(t, scenario.Move{Fault: &scenario.Fault{Do: fault.Panic, Thread: "A"}})
		_ = w.toTheEnd(t)
		events, _ := w.r.Log().Since(0)
		if struck := slices.ContainsFunc(events, func(e trace.Event) bool { f, ok := e.Body.(trace.Fault); return ok && f.Do == fault.Panic }); struck == want {
			t.Errorf("after: %s: it struck: %v", after, struck)
		}
	}
}
