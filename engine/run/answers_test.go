package run_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/run"
	"relock/engine/store"
	"relock/engine/store/storetest"
	"relock/engine/trace"
)

// answered is a scenario in which Redis answers A's first call so: one command of it,
// or whatever is asked at first.
func answered(code string, all bool) string {
	struck := fmt.Sprintf("{thread: A, at: lock, do: answer-error, error: %s}", code)
	if all {
		struck = fmt.Sprintf("{time: 0ms, do: answer-error, error: %s, for: 60ms}", code)
	}
	return fmt.Sprintf(`
lock: {lease: 1s, watchdog: off, retry: {times: 3, interval: 40ms}}
threads: [{name: A, start: 40ms, work: 5ms}]
faults: [%s]
`, struck)
}

// Each answer is the same on both clocks: what it refuses leaves no key, and the
// lock asks again unless that is no use.
func TestAnswersOnBothClocks(t *testing.T) {
	forGood := []string{"OOM", "NOAUTH", "NOPERM"}
	for _, code := range fault.Codes() {
		for _, all := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s to all %t", code, all), func(t *testing.T) {
				text := answered(code, all)
				_, virtual := play(t, parse(t, text), run.Options{})
				wall := liveEvents(t, text, func(*testing.T, *run.Run) {})
				if diff := cmp.Diff(facts(virtual), facts(wall)); diff != "" {
					t.Error(diff)
				}
				judgeAnswered(t, virtual, code, slices.Contains(forGood, code))
			})
		}
	}
}

// A real Redis is not harmed by what its client is told in its name.
func TestAnswersOnARealRedis(t *testing.T) {
	server, err := store.Connect(t.Context(), storetest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	for _, code := range []string{"BUSY", "OOM", "READONLY", "NOSCRIPT"} {
		for _, all := range []bool{false, true} {
			_, events := play(t, parse(t, answered(code, all)), run.Options{External: server, ID: "answers-" + code})
			judgeAnswered(t, events, code, code == "OOM")
		}
	}
}

func judgeAnswered(t *testing.T, events []trace.Event, code string, forGood bool) {
	t.Helper()
	struck, told := false, false
	var got trace.Result
	for _, e := range events {
		switch b := e.Body.(type) {
		case trace.Fault:
			struck = struck || b.Error == code
		case trace.Outcome:
			if b.Call != lock.CallLock || told {
				continue
			}
			told = true
			is := trace.Cause{}
			if code != "NOSCRIPT" { // the script follows in full
				is = trace.Cause{Kind: trace.Answered, Code: code}
			}
			if b.Cause != is || is.Code != "" && e.Key.Exists() {
				t.Errorf("%s: the first call came to %+v, and left %+v", code, b, e.Key)
			}
		case trace.End:
			if e.Thread != "" {
				got = b.Result
			}
		}
	}
	want := trace.Done
	if forGood {
		want = trace.Failed
	}
	if !struck || !told || got != want {
		t.Errorf("%s: struck %v, told %v, A ended with %s, want %s", code, struck, told, got, want)
	}
}
