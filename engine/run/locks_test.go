package run_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"relock/engine/check"
	"relock/engine/run"
	"relock/engine/trace"
)

const crosswise = `lock: {protocol: mutex, lease: 30s, retry: {times: 3, interval: 50ms}}
locks: [x, y]
threads:
  - {name: A, takes: [x, y], work: 50ms}
  - {name: B, takes: [y, x], work: 50ms}
`

// told says a run in a line: what each call of a thread came to, of which lock, and the
// rules that it broke.
func told(events []trace.Event) string {
	var list []string
	for _, e := range events {
		switch b := e.Body.(type) {
		case trace.Outcome:
			list = append(list, fmt.Sprintf("%s %s %s", e.Thread, e.Lock, b.Result))
		case trace.Violation:
			list = append(list, b.Rule)
		case trace.End:
			list = append(list, fmt.Sprintf("%s %s", e.Thread, b.Result))
		}
	}
	return strings.Join(list, ", ")
}

// Each level of a thread is a separate lock, and they are left in the reverse order.
func TestThreadsTakeSeveralLocks(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{
			"crosswise", crosswise,
			"A x acquired, B y acquired, A y refused, B x refused, deadlock, A y refused, B x refused, A y refused, B x refused, " +
				"A y refused, A y exhausted, B x refused, B x exhausted, A x released, A exhausted, B y released, B exhausted,  done",
		},
		{
			"without end: the leases are renewed, and nothing is to come", strings.Replace(crosswise, "times: 3", "times: unlimited", 1),
			"A x acquired, B y acquired, A y refused, B x refused, deadlock,  done",
		},
		{
			"in one order", strings.Replace(crosswise, "[y, x]", "[x, y]", 1),
			"A x acquired, B x refused, A y acquired, B x refused, A y released, B x refused, A x released, A done, " +
				"B x acquired, B y acquired, B y released, B x released, B done,  done",
		},
		{
			"one gives back", strings.Replace(crosswise, "{name: A,", "{name: A, retry: {give-back: true},", 1),
			"A x acquired, B y acquired, A y refused, B x refused, A x released, B x acquired, A x refused, B x released, A x acquired, B y released, B done, " +
				"A y acquired, A y released, A x released, A done,  done",
		},
	} {
		_, events := play(t, parse(t, c.text), run.Options{})
		if got := told(events); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, c.want)
		}
	}
}

// Each event says of which lock it is, and how all of them are after it.
func TestEventsNameTheirLock(t *testing.T) {
	_, events := play(t, parse(t, crosswise), run.Options{})
	for _, e := range events {
		if len(e.Locks) != 2 || e.Locks[0].Lock != "x" || e.Locks[1].Lock != "y" || !equalKey(e.Key, e.Locks[0].Key) {
			t.Fatalf("event %d: key %+v, locks %+v", e.Seq, e.Key, e.Locks)
		}
		levels := map[string]int{}
		for _, one := range e.Locks {
			for thread, n := range one.Belief {
				levels[thread] += n
			}
		}
		if fmt.Sprint(levels) != fmt.Sprint(e.Belief) {
			t.Errorf("event %d: %v of the locks, %v in all", e.Seq, levels, e.Belief)
		}
		first := map[string]string{"A": "x", "B": "y"}[e.Thread]
		switch b := e.Body.(type) {
		case trace.Command:
			if e.Lock == "" || (b.Level == 1) != (e.Lock == first) || b.Arg(1) != e.Lock {
				t.Errorf("event %d: %v at level %d is of %q", e.Seq, b.Args, b.Level, e.Lock)
			}
		case trace.Outcome, trace.Wait:
			if e.Lock == "" {
				t.Errorf("event %d: %T is of no lock", e.Seq, b)
			}
		}
	}
}

func equalKey(a, b trace.KeyState) bool {
	return fmt.Sprint(a.Type, a.PTTL, a.Fields) == fmt.Sprint(b.Type, b.PTTL, b.Fields)
}

// If a lease ends, it says which lock's, and the thread that comes in is beside the holder
// of only that one.
func TestALeaseOfSeveralEnds(t *testing.T) {
	text := strings.Replace(crosswise, "lease: 30s", "lease: 100ms, watchdog: off", 1)
	text = strings.Replace(text, "[y, x], work: 50ms", "[y], start: 10ms", 1) + "faults: [{thread: A, at: work, level: 2, do: pause, for: 300ms}]\n"
	_, events := play(t, parse(t, text), run.Options{})
	var got []string
	for _, e := range events {
		switch b := e.Body.(type) {
		case trace.Expired:
			got = append(got, fmt.Sprintf("%v %s", e.At, e.Lock))
		case trace.Violation:
			got = append(got, b.Rule+" "+e.Lock+" "+b.Detail)
		}
	}
	if len(got) == 0 || !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "100 x") }) ||
		slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, check.MutualExclusion+" x") }) {
		t.Errorf("%q", got)
	}
	for _, one := range []string{check.Deadlock} {
		if slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, one) }) {
			t.Errorf("%q", got)
		}
	}
}

func TestSeveralLocksAreNotLive(t *testing.T) {
	_, err := run.New(parse(t, crosswise), run.Options{Wall: true})
	var impossible *run.Impossible
	if !errors.As(err, &impossible) || !impossible.Locks || !strings.Contains(impossible.Says().String(), "several locks") {
		t.Errorf("%v", err)
	}
}
