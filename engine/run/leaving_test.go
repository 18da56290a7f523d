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

// A thread has left its critical section as soon as it has called its outermost
// unlock, whatever becomes of the call, and no sooner.
func TestWhoIsLeaving(t *testing.T) {
	const two = `
lock: {lease: 200ms, watchdog: 66ms, retry: {times: 12, interval: 30ms}}
threads: [{name: A, work: 50ms}, {name: B, start: 10ms, work: 500ms, retry: {times: 30, interval: 30ms}}]
`
	for _, c := range []struct{ name, text, leaves, broken string }{
		{
			// B gets in at 220 ms, while A waits for an answer until 250 ms.
			"an unlock that is delayed", two + `
faults: [{thread: A, at: unlock, level: 1, do: delay, for: 300ms}]`,
			"50ms A, 250ms -, 720ms B, 720ms -", "",
		},
		{
			"a pause before the unlock is sent", two + `
faults: [{thread: A, at: unlock, level: 1, do: pause, for: 300ms}]`,
			"50ms A, 350ms -, 720ms B, 720ms -", "",
		},
		{
			"a pause of the work", two + `
faults: [{thread: A, at: work, level: 1, do: pause, for: 300ms}]`,
			"350ms A, 350ms -, 720ms B, 720ms -", "mutual-exclusion",
		},
		{
			"a crash before the unlock is sent", two + `
faults: [{thread: A, at: unlock, level: 1, do: crash}]`,
			"50ms A, 50ms -, 720ms B, 720ms -", "",
		},
		{
			// The fourth attempt is answered: not held. Each keeps it leaving.
			"requests that are lost", `
lock: {lease: 100ms, watchdog: off, retry: {times: 5, interval: 30ms}}
threads: [{name: A, work: 50ms}, {name: B, start: 10ms, work: 50ms}]
faults:
  - {thread: A, at: unlock, level: 1, do: lose-request}
  - {thread: A, at: unlock, level: 1, do: lose-request}
  - {thread: A, at: unlock, level: 1, do: lose-request}`,
			"50ms A, 140ms -, 150ms B, 150ms -", "",
		},
		{
			// Its outer level's code is not over: it is inside, and B beside it.
			"an inner unlock that is delayed", `
lock: {lease: 200ms, watchdog: off, retry: {times: 12, interval: 30ms}}
threads: [{name: A, depth: 2, work: 25ms}, {name: B, start: 10ms, work: 500ms, retry: {times: 30, interval: 30ms}}]
faults: [{thread: A, at: unlock, level: 2, do: delay, for: 180ms}]`,
			"230ms A, 230ms -, 720ms B, 720ms -", "mutual-exclusion",
		},
		{
			"a panic, and its deferred unlocks", `
lock: {lease: 200ms, watchdog: off, retry: {times: 12, interval: 30ms}}
threads: [{name: A, depth: 2, work: 25ms}, {name: B, start: 10ms, work: 500ms, retry: {times: 30, interval: 30ms}}]
faults: [{thread: A, at: work, level: 2, do: panic}, {thread: A, at: unlock, level: 1, do: delay, for: 300ms}]`,
			"25ms A, 225ms -, 720ms B, 720ms -", "",
		},
		{
			"a round whose unlock is late, and the next one", `
lock: {lease: 200ms, watchdog: off, retry: {times: 12, interval: 30ms}}
threads: [{name: A, repeat: 2, work: 50ms}]
faults: [{thread: A, at: unlock, level: 1, do: delay, for: 100ms}]`,
			"50ms A, 150ms -, 200ms A, 200ms -", "",
		},
		{
			// A waits for its level 2 in the second round, outside of everything,
			// when B gets in.
			"an unlock that was forgotten, and another round", `
lock: {lease: 100ms, watchdog: off, retry: {times: 12, interval: 30ms}}
threads: [{name: A, repeat: 2, depth: 2, work: 25ms}, {name: B, start: 110ms, work: 200ms}]
faults: [{thread: A, at: unlock, level: 1, do: skip-unlock}, {thread: A, at: lock, level: 2, round: 2, do: pause, for: 100ms}]`,
			"310ms B, 310ms -", "",
		},
		{
			"one unlock too many", `
lock: {lease: 200ms, watchdog: off, retry: {times: 0}}
threads: [{name: A, depth: 2, work: 10ms}]
faults: [{thread: A, at: unlock, level: 1, do: extra-unlock}]`,
			"20ms A, 20ms -", "",
		},
		{
			// The inner level was forgotten: the outermost cannot be left.
			"an inner unlock that was forgotten", `
lock: {lease: 200ms, watchdog: off, retry: {times: 0}}
threads: [{name: A, depth: 2, work: 10ms}]
faults: [{thread: A, at: unlock, level: 2, do: skip-unlock}]`,
			"20ms A, 20ms -", "",
		},
		{
			// A's first lock call was given back: who never was inside does not
			// leave.
			"a lock call that is given back", `
lock: {lease: 200ms, watchdog: off, retry: {times: 0}}
threads: [{name: A, work: 10ms}]
faults: [{thread: A, at: lock, level: 1, do: lose-reply}, {thread: A, at: unlock, level: 1, do: delay, for: 50ms}]`,
			"", "",
		},
		{
			"no Redis to ask", `
lock: {protocol: none}
threads: [{name: A, work: 10ms}, {name: B, start: 11ms, work: 10ms}]`,
			"", "",
		},
		{
			// Redis runs the DEL that A sent while the lock was its own: it is B's.
			"a DEL that comes too late", `
lock: {protocol: mutex-unsafe, lease: 100ms, retry: {times: 9, interval: 20ms}}
threads: [{name: A, work: 50ms}, {name: B, start: 5ms, work: 80ms}]
faults: [{thread: A, at: unlock, do: delay, for: 90ms}]`,
			"50ms A, 140ms -, 185ms B, 185ms -", "foreign-release",
		},
		{
			// Of the naive lock's two unlocks the inner one arrives last.
			"a count whose unlock is on its way", `
lock: {protocol: reentrant-naive, lease: 100ms, watchdog: off, retry: {times: 0}}
threads: [{name: A, depth: 2, work: 10ms}, {name: B, start: 300ms, work: 10ms}]
faults: [{thread: A, at: unlock, level: 2, do: delay, for: 150ms}]`,
			"120ms A, 120ms -, 310ms B, 310ms -", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, events := play(t, parse(t, c.text), run.Options{})
			if got := strings.Join(leavings(events), ", "); got != c.leaves {
				t.Errorf("leaving: %s\nwant:    %s", got, c.leaves)
			}
			if got := strings.Join(brokenRules(events), ", "); got != c.broken {
				t.Errorf("broken: %s\nwant:   %s\n%s", got, c.broken, strings.Join(facts(events), "\n"))
			}
		})
	}
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
			"500ms PEXPIRE", "orphan",
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
