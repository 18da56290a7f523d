package check_test

import (
	"strings"
	"testing"

	"relock/engine/check"
	"relock/engine/lock/protocol"
	"relock/engine/trace"
)

// Work to be done once breaks the rule the second time, and is reported once; refused
// work is not done, and no update is lost.
func TestDoneTwice(t *testing.T) {
	do := func(thread string, times int, refused bool) trace.Event {
		return trace.Event{Thread: thread, Body: trace.Resource{Op: trace.OpWrite, Effect: true, Value: times, Version: times, Refused: refused}}
	}
	for _, c := range []struct {
		name   string
		events []trace.Event
		want   string
	}{
		{"once", []trace.Event{do("A", 1, false)}, ""},
		{"again, reported once", []trace.Event{do("A", 1, false), do("B", 2, false), do("A", 3, false)}, "done-twice: B did it again: it is done 2 times"},
		{
			"due again, and done twice again",
			[]trace.Event{do("A", 1, false), do("B", 2, false), do("A", 1, false), do("B", 2, false)},
			"done-twice: B did it again: it is done 2 times; done-twice: B did it again: it is done 2 times",
		},
		{"again, and refused", []trace.Event{do("A", 1, false), do("B", 1, true)}, ""},
	} {
		checker := check.New(nil, protocol.InRedis, check.Kind{})
		var got []string
		for i, e := range c.events {
			e.Seq = i + 1
			for _, f := range checker.Observe(e) {
				got = append(got, f.Rule+": "+f.Detail)
			}
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
}
