package run_test

import (
	"slices"
	"strings"
	"testing"

	"relock/engine/run"
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
