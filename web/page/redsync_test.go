package page_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"relock/engine/lock"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/web/film"
	"relock/web/page"
	"relock/web/words"
)

// The table says until when a lock is valid, and to which node a fault happens.
func TestTheTableSaysUntilWhenALockIsValid(t *testing.T) {
	notes := func(l words.Language, name string) []string {
		var list []string
		for _, r := range played(t, l, name).Rows() {
			for _, c := range r.Cells {
				for _, n := range append(slices.Clone(c.Earlier), c.Notes...) {
					list = append(list, n.Text)
				}
			}
		}
		return list
	}
	for _, c := range []struct {
		lesson string
		l      words.Language
		want   string
	}{
		{"redsync", words.English, "valid until 7,920 ms"},
		{"redsync", words.Match("zh"), "有效至 7,920 ms"},
		{"redsync-extend", words.English, "valid until 11,920 ms"},
		{"redlock", words.English, "valid until 295 ms"},
		{"redsync-split-vote", words.English, "fault: the request to node 1 is delayed by 2 ms"},
	} {
		if got := notes(c.l, c.lesson); !slices.Contains(got, c.want) {
			t.Errorf("%s: no %q in %q", c.lesson, c.want, got)
		}
	}
	for _, n := range notes(words.English, "mutex-blind") {
		if strings.Contains(n, "valid until") {
			t.Errorf("of a mutex that never finds out: %q", n)
		}
	}
}

// The text says which thread gives up after its last pause, and which waits for a delayed
// request.
func TestWhoWaitsForWhatIsSaid(t *testing.T) {
	call := lock.Call{Name: lock.CallLock, Level: 1, Attempt: 7}
	for _, c := range []struct {
		o    run.Option
		want page.Option
	}{
		{run.Option{Thread: "A", Choice: -1, Next: run.NextNothing, Reason: run.AwaitsLate}, page.Option{Thread: "A", Choice: -1, Which: "waits for an answer", Why: "waits for an answer"}},
		{
			run.Option{Thread: "A", Choice: -1, Next: run.NextEnd, Reason: run.Waits, At: 250 * time.Millisecond, Call: call, First: "SET"},
			page.Option{Thread: "A", Choice: -1, Can: true, Verb: "gives up", When: "at 250 ms", Which: "no retry is left", Does: "gives up: no retry is left", Why: "waits until 250 ms: time passes first"},
		},
	} {
		got := page.NewOptions(words.English, []run.Option{c.o})[0]
		if got.When = plain(got.When); got != c.want {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}

// A random pause is shown as what it can be.
func TestAPauseIsARange(t *testing.T) {
	sc, err := scenario.Parse([]byte("lock: {retry: {interval: 50ms, jitter: 0-200ms}}\nthreads: [{name: A}]"))
	if err != nil {
		t.Fatal(err)
	}
	if got := film.NewScenario(words.English, sc).Threads[0].Interval; got != "50ms-250ms" {
		t.Errorf("%q", got)
	}
}
