package check_test

import (
	"fmt"
	"strings"
	"testing"

	"relock/engine/check"
	"relock/engine/lock/protocol"
	"relock/engine/trace"
)

func TestALimitForEachUser(t *testing.T) {
	read := func(thread, user string, count int) trace.Event {
		return trace.Event{Thread: thread, Body: trace.Resource{Op: trace.OpRead, User: user, Limit: 2, Value: count}}
	}
	buy := func(thread, user string, count int) trace.Event {
		// Based on an old version: another's row in between is no lost update.
		return trace.Event{Thread: thread, Body: trace.Resource{Op: trace.OpWrite, User: user, Limit: 2, Value: count, Version: 5, Based: 1}}
	}
	refused := trace.Event{Thread: "A", Body: trace.Resource{Op: trace.OpWrite, User: "7", Limit: 2, Value: 3, Refused: true}}
	for _, c := range []struct {
		name   string
		events []trace.Event
		want   string
	}{
		{"within it", []trace.Event{read("A", "7", 0), buy("A", "7", 1), buy("B", "7", 2)}, ""},
		{"beyond it, reported once", []trace.Event{
			read("A", "7", 1), read("B", "7", 1), buy("A", "7", 2), buy("B", "7", 3), buy("C", "7", 4),
		}, "over-limit B [2 3 4]: user 7 bought 3 times, 2 are allowed"},
		{
			"each user has its own",
			[]trace.Event{buy("A", "7", 3), buy("B", "8", 2), buy("C", "9", 5)},
			"over-limit A [1]: user 7 bought 3 times, 2 are allowed; over-limit C [3]: user 9 bought 5 times, 2 are allowed",
		},
		{"refused by the resource", []trace.Event{refused}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			checker := check.New(nil, protocol.InRedis, check.Kind{})
			var got []string
			for i, e := range c.events {
				e.Seq = i + 1
				for _, v := range checker.Observe(e) {
					got = append(got, fmt.Sprint(v.Rule, " ", strings.Join(v.Threads, ","), " ", v.Events, ": ", v.Detail))
				}
			}
			if s := strings.Join(got, "; "); s != c.want {
				t.Errorf("violations %q, want %q", s, c.want)
			}
		})
	}
}
