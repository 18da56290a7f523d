package infer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"relock/engine/outside/infer"
	"relock/engine/trace"
)

// on is a command of a thread to one of several servers, and what it left there.
type on struct {
	ms            int
	node          int
	thread        string
	command       string
	reply         any
	before, after trace.KeyState
	silent        bool // of a lapse: its holder never comes back
}

func value(v string, pttl int64) trace.KeyState {
	return trace.KeyState{Type: trace.TypeString, Value: &v, PTTL: pttl}
}

// Who holds a lock of a majority, after each record; and how its calls ended.
func TestWhoHoldsAMajority(t *testing.T) {
	none := trace.Absent()
	take := func(ms, node int, thread string, ttl int64) on {
		return on{ms, node, thread, fmt.Sprintf("SET k %s NX PX %d", strings.ToLower(thread), ttl), "OK", none, value(strings.ToLower(thread), ttl), false}
	}
	refused := func(ms, node int, thread string, has trace.KeyState) on {
		return on{ms, node, thread, fmt.Sprintf("SET k %s NX PX 300", strings.ToLower(thread)), nil, has, has, false}
	}
	free := func(ms, node int, thread string, left int64) on {
		return on{ms, node, thread, "DEL k", int64(1), value(strings.ToLower(thread), left), none, false}
	}
	renew := func(ms, node int, thread string, left int64) on {
		return on{ms, node, thread, "PEXPIRE k 300", int64(1), value(strings.ToLower(thread), left), value(strings.ToLower(thread), 300), false}
	}
	lapse := func(ms, node int, thread string, silent bool) on {
		return on{ms: ms, node: node, before: value(strings.ToLower(thread), 0), after: none, silent: silent}
	}
	for name, c := range map[string]struct {
		records []on
		want    string // who believes after each, and outcomes in brackets
	}{
		"two of three":                   {[]on{take(0, 1, "A", 300), take(1, 2, "A", 300), take(2, 3, "A", 300)}, "- [A acquired] A A"},
		"one of three":                   {[]on{take(0, 1, "A", 300), refused(1, 2, "A", value("b", 9)), refused(2, 3, "A", value("b", 9))}, "- - [A refused] -"},
		"it has left once it gives back": {[]on{take(0, 1, "A", 300), take(1, 2, "A", 300), free(5, 2, "A", 296), free(6, 1, "A", 294)}, "- [A acquired] A - [A released] -"},
		"a loser gives back":             {[]on{take(0, 1, "A", 300), refused(1, 2, "A", value("b", 9)), refused(2, 3, "A", value("b", 9)), free(3, 1, "A", 297)}, "- - [A refused] - -"},
		"one server's lease is over":     {[]on{take(0, 1, "A", 300), take(1, 2, "A", 900), take(2, 3, "A", 900), lapse(300, 1, "A", false)}, "- [A acquired] A A A"},
		"nobody knows of it any more":    {[]on{take(0, 1, "A", 300), take(1, 2, "A", 900), take(2, 3, "A", 900), lapse(300, 1, "A", true), lapse(901, 2, "A", true)}, "- [A acquired] A A A -"},
		"renewed on two":                 {[]on{take(0, 1, "A", 300), take(1, 2, "A", 300), renew(100, 1, "A", 200), renew(101, 2, "A", 200)}, "- [A acquired] A A [A renewed] A"},
		"as good as over when granted":   {[]on{take(0, 1, "A", 10), take(9, 2, "A", 10)}, "- -"},
		"asks again":                     {[]on{take(0, 1, "A", 300), take(1, 2, "A", 300), refused(9, 1, "A", value("a", 291))}, "- [A acquired] A -"},
	} {
		m := infer.NewMajority(3, []string{"A", "B"}, infer.Lock{Key: "k"}, "", false, infer.Roles{})
		m.SetStart(time.UnixMilli(0))
		var have []string
		seen := 0
		for _, r := range c.records {
			one := infer.Record{Thread: r.thread, Node: r.node, Reply: r.reply, Before: r.before, After: r.after, At: time.Duration(r.ms) * time.Millisecond}
			if r.silent {
				one.Silent = []string{"A"}
			}
			if r.command != "" {
				one.Args = strings.Fields(r.command)
			}
			m.See(one)
			for _, e := range m.Events()[seen:] {
				if o, is := e.Body.(trace.Outcome); is {
					have = append(have, fmt.Sprintf("[%s %s]", e.Thread, o.Result))
				}
				if len(e.Nodes) != 3 {
					t.Errorf("%s: an event with %d nodes", name, len(e.Nodes))
				}
			}
			seen = len(m.Events())
			who := ""
			for thread := range m.Events()[seen-1].Belief {
				who += thread
			}
			have = append(have, map[bool]string{true: "-", false: who}[who == ""])
		}
		if have := strings.Join(have, " "); have != c.want {
			t.Errorf("%s:\n have %s\n want %s", name, have, c.want)
		}
	}
}
