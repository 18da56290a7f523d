package run_test

import (
	"slices"
	"strings"
	"testing"

	"relock/engine/run"
	"relock/engine/trace"
)

// Commands are counted from the beginning of each call, also of one that is
// the same as the call before.
func TestAFaultStrikesItsCommand(t *testing.T) {
	const twice = "lock: {lease: 100ms, watchdog: 20ms}\nthreads: [{name: A, work: 50ms, repeat: 2}]\n"
	for _, c := range []struct{ name, text, want string }{
		{"a lock", twice + "faults: [{thread: A, at: lock, round: 2, do: lose-request}]", "50ms A fault lose-request"},
		{"an unlock", twice + "faults: [{thread: A, at: unlock, round: 2, do: lose-request}]", "100ms A fault lose-request"},
		{"a renewal", twice + "faults: [{thread: A, at: renew, round: 2, do: lose-request}]", "70ms A fault lose-request"},
		{"the second of two", `
lock: {protocol: mutex-unsafe, lease: 100ms}
threads: [{name: A, work: 50ms, repeat: 2}]
faults: [{thread: A, at: lock, round: 2, command: 2, do: lose-request}]
`, "50ms A fault lose-request"},
		{"the third of three", `
lock: {protocol: setnx-hash, lease: 100ms}
threads: [{name: A}]
faults: [{thread: A, at: lock, command: 3, do: crash}]
`, "0s A fault crash"},
		{"after all nodes were asked", `
lock: {protocol: redlock, lease: 100ms, nodes: 3}
threads: [{name: A, work: 50ms}, {name: B, start: 10ms}]
faults: [{time: 0ms, do: down, node: 1, thread: B}, {thread: B, at: lock, command: 4, do: crash}]
`, "10ms B fault crash"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, events := play(t, parse(t, c.text), run.Options{})
			if got := facts(events); !slices.Contains(got, c.want) {
				t.Errorf("the fault did not strike:\n%s", strings.Join(got, "\n"))
			}
		})
	}
}

// The trace tells an unlock of what was granted from one in case it was.
func TestGivingBackIsMarked(t *testing.T) {
	const text = `
lock: {lease: 1s, retry: {times: 0, interval: 10ms}}
threads: [{name: A, work: 1ms}, {name: B, start: 20ms, work: 1ms}]
faults: [{thread: B, at: lock, do: lose-request}, {thread: B, at: unlock, do: lose-request}]
`
	for name, protocol := range map[string]string{"a script": "reentrant", "a command": "mutex-unsafe"} {
		t.Run(name, func(t *testing.T) {
			_, events := play(t, parse(t, strings.Replace(text, "lock: {", "lock: {protocol: "+protocol+", ", 1)), run.Options{})
			marked := map[string]bool{}
			for _, e := range events {
				switch b := e.Body.(type) {
				case trace.Outcome:
					marked[e.Thread+" "+b.Call+" "+string(b.Result)] = b.GivesBack
				case trace.Command:
					marked[e.Thread+" "+b.Args[0]+" of "+b.Call] = b.GivesBack
				}
			}
			for what, want := range map[string]bool{
				"A lock acquired": false, "A unlock released": false, "B lock error": false, "B unlock error": true,
				"B unlock not-held": true, // where it asks again: not with a command
			} {
				if protocol != "reentrant" && strings.HasSuffix(what, "not-held") {
					continue
				}
				if got, ok := marked[what]; !ok || got != want {
					t.Errorf("%s: marked %v, want %v (there: %v)", what, got, want, ok)
				}
			}
		})
	}
}
