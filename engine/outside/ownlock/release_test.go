package ownlock_test

import (
	"strings"
	"testing"
	"time"

	"relock/engine/outside/ownlock/ownlocktest"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// A release whose request is lost is sent again, unless the scenario says that its
// client does not: then the key stays for its lease, and keeps the next one out.
func TestAReleaseThatIsNotSentAgain(t *testing.T) {
	const text = `
lock:
  protocol: own
  lease: 3s
  watchdog: off
  retry: {times: 100, interval: 100ms}
  scripts:
    lock: |
      if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3]) then return 1 end
      return 0
    unlock: |
      if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
      return redis.call('DEL', KEYS[1])
threads: [{name: A, work: 100ms}, {name: B, start: 50ms, work: 100ms}]
faults: [{thread: A, at: unlock, do: lose-request}]
`
	for _, c := range []struct {
		release string
		in      time.Duration // when B gets in, at the earliest
		before  time.Duration
	}{
		{"", 100 * time.Millisecond, 2 * time.Second},
		{"  release: once\n", 3 * time.Second, 3100 * time.Millisecond},
	} {
		events := played(t, strings.Replace(text, "  lease: 3s\n", "  lease: 3s\n"+c.release, 1))
		var in time.Duration
		for _, e := range events {
			if o, ok := e.Body.(trace.Outcome); ok && e.Thread == "B" && o.Result == trace.Acquired {
				in = e.At.Duration()
			}
		}
		if in < c.in || in >= c.before {
			t.Errorf("%q: B gets in at %s, want from %s, before %s", c.release, in, c.in, c.before)
		}
	}
}

// played runs a scenario with a lock of its own to the end, and returns its events.
func played(t *testing.T, text string) []trace.Event {
	t.Helper()
	sc, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := run.New(sc, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Execute(ownlocktest.Boxed(t)); err != nil {
		t.Fatal(err)
	}
	events, _ := r.Log().Since(0)
	return events
}
