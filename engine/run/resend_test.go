package run_test

import (
	"fmt"
	"strings"
	"testing"

	"relock/engine/lock"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// A client sends a request again as often as it may, and no longer, and the lock
// hears of the last answer only.
func TestAClientSendsAgainByItself(t *testing.T) {
	for _, c := range []struct {
		retries, times int
		do             string
		waits, sent    int
		want           trace.Result
	}{
		{0, 1, "lose-reply", 0, 1, trace.Failed},
		{3, 1, "lose-reply", 1, 2, trace.Refused},
		{3, 3, "lose-request", 3, 1, trace.Acquired},
		{2, 3, "lose-request", 2, 0, trace.Failed},
	} {
		t.Run(fmt.Sprint(c.retries, c.do, c.times), func(t *testing.T) {
			sc, err := scenario.Parse([]byte(fmt.Sprintf("lock: {protocol: mutex, lease: 10s, watchdog: off, retry: {times: 0}}\nthreads: [{name: A, client-retries: %d}]\nfaults:\n", c.retries) +
				strings.Repeat("- {thread: A, at: lock, do: "+c.do+"}\n", c.times)))
			if err != nil {
				t.Fatal(err)
			}
			r, err := run.New(sc, run.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Execute(t.Context()); err != nil {
				t.Fatal(err)
			}
			waits, sent := 0, 0
			var first trace.Result
			events, _ := r.Log().Since(0)
			for _, e := range events {
				switch b := e.Body.(type) {
				case trace.Wait:
					if b.Why == trace.WaitClient && first == "" {
						waits++
					}
				case trace.Command:
					if b.Call == lock.CallLock {
						sent++
					}
				case trace.Outcome:
					if first == "" {
						first = b.Result
					}
				}
			}
			if waits != c.waits || sent != c.sent || first != c.want {
				t.Errorf("%d pauses, %d requests, %s; want %d, %d, %s", waits, sent, first, c.waits, c.sent, c.want)
			}
		})
	}
}
