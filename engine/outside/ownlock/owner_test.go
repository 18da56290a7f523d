package ownlock_test

import (
	"slices"
	"strings"
	"testing"

	"relock/engine/trace"
)

// The thread that put the key there owns it, no matter what is in it: the owner itself,
// one value that everybody writes, or more than the owner.
func TestWhatTheKeyHoldsDoesNotMatter(t *testing.T) {
	const text = `
lock:
  protocol: own
  lease: 200ms
  watchdog: off
  retry: {times: 30, interval: 20ms}
  scripts:
    lock: |
      local me = ARGV[1]
      if redis.call('SET', KEYS[1], me, 'NX', 'PX', ARGV[3]) then return 1 end
      return 0
    unlock: |
      redis.call('DEL', KEYS[1])
      return 1
threads: [{name: A, work: 300ms}, {name: B, start: 20ms, work: 200ms}, {name: C, start: 40ms, work: 60ms}]
`
	for _, value := range []string{`ARGV[1]`, `'1'`, `'lock:' .. ARGV[1]`, `cjson.encode({owner = ARGV[1], n = 1})`} {
		events := played(t, strings.Replace(text, "me = ARGV[1]", "me = "+value, 1))
		var broken []string
		for _, e := range events {
			if v, ok := e.Body.(trace.Violation); ok {
				broken = append(broken, v.Rule+" "+v.Detail)
			}
		}
		want := []string{
			"mutual-exclusion A and C are in their critical sections at once; in Redis the lock is C's",
			"mutual-exclusion A and B are in their critical sections at once; in Redis the lock is B's",
			"foreign-release A deleted the lock of B",
		}
		if !slices.Equal(broken, want) {
			t.Errorf("%s: %q", value, broken)
		}
	}
}
