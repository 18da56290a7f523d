package view_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"relock/engine/lock"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/web/timeline"
	"relock/web/view"
	"relock/web/words"
)

// The sentences about what only redsync and the second article's mutex do.
func TestWhatOnlyTheyDoIsTold(t *testing.T) {
	for _, c := range []struct {
		lesson string
		l      words.Language
		want   string
	}{
		{"redsync", words.English, "A has the lock on 3 of 3 nodes, valid until 7,920 ms: 8,000 ms from its question, less 80 ms for clocks that drift."},
		{"redsync", words.Match("zh"), "A 拿到锁（3/3 个节点），有效至 7,920 ms：从询问起 8,000 ms，减去漂移 80 ms。"},
		{"redlock", words.English, "A has the lock on 5 of 5 nodes, valid until 295 ms: 300 ms from its question, less 5 ms for clocks that drift."},
		{"redsync-one-node", words.English, "A has the lock, valid until 7,920 ms: 8,000 ms from its question, less 80 ms for clocks that drift."},
		{"redsync-one-node", words.English, "B must not delete the key: GET reads the value of A, whose lock it is now."},
		{"redsync-extend", words.English, "A's watchdog has renewed on 3 of 3 nodes: the lock is now valid until 15,920 ms."},
		{"redsync-extend", words.Match("zh"), "A 的看门狗已续期（3/3 个节点）：锁有效至 15,920 ms。"},
		{"redsync-split-vote", words.English, "C's lock is held up on the way to node 2 and gets there 2 ms later."},
		{"redsync-split-vote", words.English, "A is refused: 1 of 3 nodes took its value, and 2 are needed."},
		{"redsync-too-late", words.English, "A was granted the lock too late: its lease of 8,000 ms may be over, so it gives the lock back."},
		{"mutex-blind-last-pause", words.English, "B waits 50 ms before it asks again: retry 5 of 5."},
		{"mutex-blind-last-pause", words.English, "B waits 50 ms for nothing: it has no retry left, and gives up after that."},
	} {
		if told := play(t, c.lesson+".yaml", as).tell(c.l); !slices.Contains(told, c.want) {
			t.Errorf("%s: nobody says %q:\n%s", c.lesson, c.want, strings.Join(told, "\n"))
		}
	}
}

// The table says until when a lock is valid, and to which node a fault happens.
func TestTheTableSaysUntilWhenALockIsValid(t *testing.T) {
	notes := func(l words.Language, name string) []string {
		var list []string
		for _, r := range film(t, l, name).Rows() {
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

// Who gives up after its last pause, and who waits for a delayed request, is
// said to.
func TestWhoWaitsForWhatIsSaid(t *testing.T) {
	call := lock.Call{Name: lock.CallLock, Level: 1, Attempt: 7}
	for _, c := range []struct {
		o    run.Option
		want view.Option
	}{
		{run.Option{Thread: "A", Choice: -1, Next: run.NextNothing, Reason: run.AwaitsLate}, view.Option{Thread: "A", Choice: -1, Why: "waits for an answer"}},
		{
			run.Option{Thread: "A", Choice: -1, Next: run.NextEnd, Reason: run.Waits, At: 250 * time.Millisecond, Call: call, First: "SET"},
			view.Option{Thread: "A", Choice: -1, Can: true, Does: "gives up: no retry is left", Why: "waits until 250 ms"},
		},
	} {
		if got := view.NewOptions(words.English, []run.Option{c.o})[0]; got != c.want {
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
	if got := timeline.NewScenario(words.English, sc).Threads[0].Interval; got != "50ms-250ms" {
		t.Errorf("%q", got)
	}
}
