package run_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"relock/engine/run"
	"relock/engine/trace"
)

// leavings are the events after which other threads are leaving than before:
// "50ms A", "250ms -" for nobody.
func leavings(events []trace.Event) []string {
	var out []string
	var before []string
	for _, e := range events {
		if !slices.Equal(before, e.Leaving) {
			who := strings.Join(e.Leaving, "+")
			if who == "" {
				who = "-"
			}
			out = append(out, e.At.Duration().String()+" "+who)
			before = e.Leaving
		}
	}
	return out
}

// brokenRules are the rules that were broken, in their order.
func brokenRules(events []trace.Event) []string {
	var out []string
	for _, e := range events {
		if v, ok := e.Body.(trace.Violation); ok {
			out = append(out, v.Rule)
		}
	}
	return out
}

// On the wall clock the same holds, also while somebody keeps a thread from
// sending its unlock.
func TestWhoIsLeavingOnTheWallClock(t *testing.T) {
	const text = `
lock: {lease: 100ms, watchdog: off, retry: {times: 0}}
threads: [{name: A, work: 20ms}, {name: B, start: 150ms, work: 300ms}]
`
	for _, c := range []struct {
		name, text string
		steer      func(t *testing.T, r *run.Run)
		leaves     string
		broken     string
	}{
		{
			"an unlock that waits at the gate", text,
			func(t *testing.T, r *run.Run) {
				do(t, r, "A", run.Gate, "")
				time.Sleep(199 * ms)
				do(t, r, "A", run.Ungate, "")
			}, "100ms A, 200ms -, 450ms B, 450ms -", "",
		},
		{
			"a thread that dies at the gate", text,
			func(t *testing.T, r *run.Run) {
				do(t, r, "A", run.Gate, "")
				time.Sleep(199 * ms)
				do(t, r, "A", run.Crash, "")
			}, "100ms A, 200ms -, 450ms B, 450ms -", "",
		},
		{
			"a thread that is paused in its work", text,
			func(t *testing.T, r *run.Run) {
				do(t, r, "A", run.Suspend, "")
				time.Sleep(199 * ms)
				do(t, r, "A", run.Resume, "")
			}, "219ms A, 219ms -, 450ms B, 450ms -", "mutual-exclusion",
		},
		{
			"an unlock that is delayed", text + "faults: [{thread: A, at: unlock, do: delay, for: 200ms}]",
			func(*testing.T, *run.Run) {}, "20ms A, 120ms -, 450ms B, 450ms -", "",
		},
		{
			"an unlock that is delayed within its limit", `
lock: {lease: 100ms, watchdog: off, retry: {times: 0}}
threads: [{name: A, work: 80ms}, {name: B, start: 110ms, work: 300ms}]
faults: [{thread: A, at: unlock, do: delay, for: 60ms}]`,
			func(*testing.T, *run.Run) {}, "80ms A, 140ms -, 410ms B, 410ms -", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := liveEvents(t, c.text, c.steer)
			if got := strings.Join(leavings(events), ", "); got != c.leaves {
				t.Errorf("leaving: %s\nwant:    %s", got, c.leaves)
			}
			if got := strings.Join(brokenRules(events), ", "); got != c.broken {
				t.Errorf("broken: %s\nwant:   %s\n%s", got, c.broken, strings.Join(facts(events), "\n"))
			}
		})
	}
}

// A run waits for what is still on its way when every thread has ended: it may
// be what gives the lock back, or what takes it for nobody.
func TestARunWaitsForWhatIsOnItsWay(t *testing.T) {
	for _, c := range []struct{ name, text, last, broken string }{
		{
			// A has given its unlock up at 110 ms.
			"an unlock", `
lock: {protocol: reentrant-naive, lease: 100ms, watchdog: off, retry: {times: 0}}
threads: [{name: A, work: 10ms}]
faults: [{thread: A, at: unlock, do: delay, for: 500ms}]`,
			"510ms DEL", "",
		},
		{
			// A has given its lock call up, and back, at 100 ms.
			"a lock call", `
lock: {lease: 100ms, watchdog: off, retry: {times: 0}}
threads: [{name: A, work: 10ms}]
faults: [{thread: A, at: lock, do: delay, for: 500ms}]`,
			"500ms PEXPIRE", "shut-out",
		},
	} {
		last := func(events []trace.Event) string {
			text := ""
			for _, e := range events {
				if b, ok := e.Body.(trace.Command); ok {
					text = e.At.Duration().String() + " " + b.Args[0]
				}
			}
			return text
		}
		check := func(t *testing.T, events []trace.Event) {
			t.Helper()
			if got := last(events); got != c.last {
				t.Errorf("last came %s, want %s", got, c.last)
			}
			if got := strings.Join(brokenRules(events), ", "); got != c.broken {
				t.Errorf("broken: %s, want %s\n%s", got, c.broken, strings.Join(facts(events), "\n"))
			}
		}
		t.Run(c.name, func(t *testing.T) {
			_, events := play(t, parse(t, c.text), run.Options{})
			check(t, events)
		})
		t.Run(c.name+", on the wall clock", func(t *testing.T) {
			check(t, liveEvents(t, c.text, func(*testing.T, *run.Run) {}))
		})
	}
}
