package run_test

import (
	"fmt"
	"testing"

	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Each pod runs the tick of a schedule, one after the other, and neither looks whether
// the other has: a lock that is gone by then does not help. A thread that looks, or has a
// key for the tick, does it once; so does a lock that keeps its key. A minute later it is
// due again.
func TestATickIsDoneOnEachPod(t *testing.T) {
	for _, c := range []struct {
		resource, second string // when the second pod begins
		want             string
		keep             string // of the lock
	}{
		{"{kind: effect, looks: false, once-per: 1m}", "300ms", "done 1", ", keep: 1m"},
		{"{kind: effect, looks: false, once-per: 1m}", "59000ms", "done 1", ", keep: 1m"},
		{"{kind: effect, looks: false, once-per: 1m}", "59000ms", "done 1, done 2, done-twice", ", keep: 50s"},
		{"{kind: effect, looks: false, once-per: 1m}", "60100ms", "done 1, done 1", ", keep: 1m"},
		{"{kind: effect}", "300ms", "read 0, done 1, read 1", ""},
		{"{kind: effect, looks: false}", "300ms", "done 1, done 2, done-twice", ""},
		{"{kind: effect, looks: false, once-per: 1m}", "300ms", "done 1, done 2, done-twice", ""},
		{"{kind: effect, looks: false, once-per: 1m}", "60100ms", "done 1, done 1", ""},
		{"{kind: effect, looks: false, once-per: 1m, checks: key}", "300ms", "done 1, refused", ""},
		{"{kind: effect, looks: false, once-per: 1m, checks: key}", "60100ms", "done 1, done 1", ""},
		{"{kind: effect, once-per: 1m}", "60100ms", "read 0, done 1, read 0, done 1", ""},
	} {
		sc, err := scenario.Parse(fmt.Appendf(nil, "lock: {protocol: mutex, lease: 10s%s}\nresource: %s\nthreads: [{name: A, work: 50ms}, {name: B, start: %s, work: 50ms}]\n", c.keep, c.resource, c.second))
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
		events, _ := r.Log().Since(0)
		got := ""
		for _, e := range events {
			says := ""
			switch b := e.Body.(type) {
			case trace.Resource:
				says = fmt.Sprintf("done %d", b.Value)
				switch {
				case b.Refused:
					says = "refused"
				case b.Op == trace.OpRead:
					says = fmt.Sprintf("read %d", b.Value)
				}
			case trace.Violation:
				says = b.Rule
			}
			if says != "" && got != "" {
				says = ", " + says
			}
			got += says
		}
		if got != c.want {
			t.Errorf("%s%s, the second at %s: %s, want %s", c.resource, c.keep, c.second, got, c.want)
		}
	}
}
