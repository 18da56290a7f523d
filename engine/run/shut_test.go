package run_test

import (
	"fmt"
	"strings"
	"testing"

	"relock/engine/check"
	"relock/engine/outside/ownlock/ownlocktest"
	"relock/engine/racetest"
	"relock/engine/run"
	"relock/engine/store"
	"relock/engine/store/storetest"
	"relock/engine/trace"
)

// shutOut is for how long somebody is said to be shut out at the end of a run, 0 if nobody is. Any other broken rule
// fails the test.
func shutOut(t *testing.T, events []trace.Event) trace.Millis {
	t.Helper()
	last := trace.Millis(0)
	for _, e := range events {
		if v, ok := e.Body.(trace.Violation); ok {
			if last = v.For; v.Rule != check.ShutOut {
				t.Errorf("%s: %s", v.Rule, v.Detail)
			}
		}
	}
	return last
}

// shutFor reports whether somebody is said to be shut out for so long, or for the rest of five minutes.
func shutFor(got, want trace.Millis) bool {
	return got == want || want == fiveMinutes && got > fiveMinutes-60_000 && got < fiveMinutes
}

const fiveMinutes trace.Millis = 300_000

// Whoever comes at a run's end is tried on what is left, on both clocks and on a real Redis alike: what is said is what
// happens to who comes.
func TestWhatIsLeftIsTriedOnEveryClock(t *testing.T) {
	const (
		takes   = `return redis.call('SET', KEYS[1], ARGV[1], 'NX'%s)`
		minutes = `, 'PX', 300000`
		frees   = `return redis.call('DEL', KEYS[1])`
		counts  = `if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return false end
			redis.call('HINCRBY', KEYS[1], ARGV[1], 2) return 'OK'`
		uncounts = `if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) < 1 then redis.call('DEL', KEYS[1]) end return 1`
		beside   = `if redis.call('EXISTS', KEYS[1] .. ':n') == 1 then return false end
			redis.call('SET', KEYS[1] .. ':n', ARGV[1], 'PX', 300000) return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', 300000)`
	)
	external, err := store.Connect(t.Context(), storetest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = external.Close() })
	for name, c := range map[string]struct {
		lock, unlock, faults string
		want                 trace.Millis
	}{
		"nothing":                        {fmt.Sprintf(takes, minutes), frees, "", 0},
		"a key without an expiry":        {fmt.Sprintf(takes, ""), "return 1", "", trace.NoExpiry},
		"a key with 5 min":               {fmt.Sprintf(takes, minutes), "return 1", "", fiveMinutes},
		"a count that never came back":   {counts, uncounts, "", trace.NoExpiry},
		"another key, with 5 min":        {beside, frees, "", fiveMinutes},
		"another key, that keeps nobody": {`redis.call('SET', KEYS[1] .. ':n', 1) ` + fmt.Sprintf(takes, minutes), frees, "", 0},
		"the lease of who crashed":       {fmt.Sprintf(takes, ", 'PX', 150"), frees, "{thread: A, at: work, do: crash}", 0},
		"who crashed, and 5 min":         {fmt.Sprintf(takes, minutes), frees, "{thread: A, at: work, do: crash}", fiveMinutes},
	} {
		text := fmt.Sprintf(`
lock:
  {protocol: own, key: k, lease: 150ms, watchdog: off, args: {lock: [token], unlock: [token]}, replies: {lock: {entered: OK, refused: nil}},
   scripts: {lock: %q, unlock: %q}}
threads: [{name: A, work: 5ms}]
faults: [%s]
`, strings.ReplaceAll(c.lock, "\n\t\t\t", " "), c.unlock, c.faults)
		for clock, o := range map[string]run.Options{"virtual": {}, "real": {External: external, ID: "shut"}} {
			t.Run(name+", "+clock, func(t *testing.T) {
				r, err := run.New(parse(t, text), o)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Execute(ownlocktest.Boxed(t)); err != nil {
					t.Fatal(err)
				}
				events, _ := r.Log().Since(0)
				if got := shutOut(t, events); !shutFor(got, c.want) {
					t.Errorf("shut out for %v ms, want %v", got, c.want)
				}
			})
		}
	}
}

// So is it on both clocks for locks of ours, whose scripts need no box, and on several nodes, where a majority shuts out. On
// the wall clock neither nodes nor several locks run.
func TestWhatOurLocksLeaveIsTried(t *testing.T) {
	racetest.Skip(t)
	const forgets = "{thread: A, at: unlock, do: skip-unlock}"
	for _, c := range []struct {
		lock, thread, faults string
		nodes                bool
		want                 trace.Millis
	}{
		{"protocol: mutex", "", "", false, 0},
		{"protocol: mutex", "", forgets, false, fiveMinutes},
		{"protocol: mutex", "", "{thread: A, at: work, do: crash}", false, 0}, // its lease
		{"protocol: mutex-unsafe", "", "{thread: A, at: lock, command: 2, do: crash}", false, trace.NoExpiry},
		{"protocol: reentrant", ", depth: 2", "", false, 0},
		{"protocol: reentrant", ", depth: 2", forgets, false, fiveMinutes}, // a count that never came back
		{"protocol: redlock, nodes: 3", "", "", true, 0},
		{"protocol: redlock, nodes: 3", "", forgets, true, fiveMinutes},
		{"protocol: redlock, nodes: 3", "", "{thread: A, at: work, do: crash}", true, 0},
		{"protocol: redlock, nodes: 3", "", forgets + ", {time: 2ms, node: 1, do: restart}", true, fiveMinutes},
		{"protocol: redlock, nodes: 3", "", forgets + ", {time: 2ms, node: 1, do: restart}, {time: 2ms, node: 2, do: restart}", true, 0},
	} {
		text := fmt.Sprintf("lock: {%s, lease: 5m, watchdog: off}\nthreads: [{name: A, work: 5ms%s}]\nfaults: [%s]", c.lock, c.thread, c.faults)
		_, events := play(t, parse(t, text), run.Options{})
		if got := shutOut(t, events); !shutFor(got, c.want) {
			t.Errorf("%s: shut out for %v ms, want %v", text, got, c.want)
		}
		if c.nodes {
			if _, err := run.New(parse(t, text), run.Options{Wall: true}); err == nil {
				t.Errorf("%s: it runs on the wall clock, and nothing tries what it leaves", text)
			}
			continue
		}
		got := shutOut(t, liveEvents(t, text, func(*testing.T, *run.Run) {}))
		if !shutFor(got, c.want) {
			t.Errorf("%s, on the wall clock: shut out for %v ms, want %v", text, got, c.want)
		}
	}
}
