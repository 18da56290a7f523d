package ownlock_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"relock/engine/scenario"
	"relock/engine/trace"
)

// A user's own lock that starts from another does what that one does.
func TestABeginningIsThatLock(t *testing.T) {
	const threads = `
threads:
  - {name: A, work: 130ms}
  - {name: B, start: 10ms, work: 80ms}
  - {name: C, start: 20ms, work: 30ms}
`
	came := func(lock string) string {
		var list []string
		for _, e := range played(t, lock+threads) {
			switch b := e.Body.(type) {
			case trace.Outcome:
				list = append(list, fmt.Sprintf("%v %s %s %s", e.At.Duration(), e.Thread, b.Call, b.Result))
			case trace.Violation:
				list = append(list, fmt.Sprintf("%v %s %v", e.At.Duration(), b.Rule, b.Threads))
			}
		}
		return strings.Join(list, "\n")
	}
	for _, like := range scenario.Writable() {
		scripts, err := json.Marshal(scenario.Beginning(like))
		if err != nil {
			t.Fatal(err)
		}
		const rest = "lease: 100ms, watchdog: off, retry: {times: 5, interval: 50ms}"
		own := came("lock: {protocol: own, like: " + like + ", " + rest + ", scripts: " + string(scripts) + "}")
		if itself := came("lock: {protocol: " + like + ", " + rest + "}"); own != itself {
			t.Errorf("%s does\n%s\nand its beginning\n%s", like, itself, own)
		}
	}
}
