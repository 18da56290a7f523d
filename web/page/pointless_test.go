package page_test

import (
	"encoding/json"
	"testing"
	"time"

	"relock/engine/run"
	"relock/engine/scenario"
	"relock/web/page"
	"relock/web/words"
)

// It lists faults that would change nothing in as few entries as are true.
func TestPointlessIsSaidShortly(t *testing.T) {
	fault := func(f scenario.Fault, why run.Refusal) run.Pointless { return run.Pointless{Fault: &f, Why: why} }
	ended, hangs := run.Refusal{Reason: run.HasEnded, Thread: "A"}, run.Refusal{Reason: run.Hangs, Thread: "A"}
	for _, c := range []struct {
		name string
		list []run.Pointless
		want string
	}{
		{"nothing", nil, `null`},
		{"whatever happens to a thread that has ended", []run.Pointless{
			fault(scenario.Fault{Do: "pause", Thread: "A", For: time.Second}, ended),
			fault(scenario.Fault{Do: "crash", Thread: "A"}, ended),
			fault(scenario.Fault{Do: "delay", Thread: "A", At: "lock"}, ended),
			fault(scenario.Fault{Do: "crash", Thread: "B"}, run.Refusal{Reason: run.HasEnded, Thread: "B"}),
		}, `[{"thread":"A","why":"A has ended."},{"thread":"B","why":"B has ended."}]`},
		{"calls are put together where the kinds are the same", []run.Pointless{
			fault(scenario.Fault{Do: "stall", Thread: "A"}, hangs),
			fault(scenario.Fault{Do: "panic", Thread: "A"}, hangs),
			fault(scenario.Fault{Do: "lose-reply", Thread: "A", At: "lock"}, hangs),
			fault(scenario.Fault{Do: "lose-reply", Thread: "A", At: "unlock"}, hangs),
			fault(scenario.Fault{Do: "delay", Thread: "A", At: "lock"}, hangs),
			fault(scenario.Fault{Do: "delay", Thread: "A", At: "unlock"}, hangs),
		}, `[{"do":["stall","panic"],"thread":"A","why":"A hangs for ever."},{"do":["lose-reply","delay"],"thread":"A","at":["lock","unlock"],"why":"A hangs for ever."}]`},
		{"a longer pause would change something", []run.Pointless{
			fault(scenario.Fault{Do: "pause", Thread: "A", For: 300 * time.Millisecond}, run.Refusal{Reason: run.IsPaused, Thread: "A", At: time.Second}),
		}, `[{"do":["pause"],"thread":"A","for":"300ms","why":"A is paused until 1,000 ms."}]`},
		{"without data is also with data", []run.Pointless{
			fault(scenario.Fault{Do: "restart"}, run.Refusal{Reason: run.NoData}),
			fault(scenario.Fault{Do: "restart", Keep: true}, run.Refusal{Reason: run.NoData}),
			fault(scenario.Fault{Do: "fail-over"}, run.Refusal{Reason: run.NoData}),
		}, `[{"do":["restart","fail-over"],"why":"Redis has no data to lose."}]`},
		{"with data is not without", []run.Pointless{
			fault(scenario.Fault{Do: "restart", Keep: true}, run.Refusal{Reason: run.NothingYet}),
		}, `[{"do":["restart"],"keep":true,"why":"Redis has nothing to lose."}]`},
	} {
		got, err := json.Marshal(page.NewPointless(words.English, c.list))
		if err != nil || string(got) != c.want {
			t.Errorf("%s:\n%s, want\n%s; %v", c.name, got, c.want, err)
		}
	}
}

func TestWhatNeverStrikesIsSaidOnce(t *testing.T) {
	for text, want := range map[string]string{
		"lock: {watchdog: 50ms}": `[{"do":["lose-message"],"why":"This cannot happen with protocol: reentrant."}]`,
		"lock: {watchdog: off}":  `[{"do":["lose-request","lose-reply","delay","late-copy","answer-error"],"at":["renew"],"why":"This cannot happen with watchdog: off."},{"do":["lose-message"],"why":"This cannot happen with protocol: reentrant."}]`,
		"lock: {protocol: none}": `[{"do":["lose-request","lose-reply","delay","late-copy","answer-error"],"at":["lock","unlock","renew"],"why":"This cannot happen with protocol: none."},{"do":["lose-message","restart","fail-over","two-masters","evict","clock-jump","down","up","script-flush"],"why":"This cannot happen with protocol: none."}]`,
	} {
		sc, err := scenario.Parse([]byte("threads: [{name: A}, {name: B}]\n" + text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(page.NewNever(words.English, sc)); err != nil || string(got) != want {
			t.Errorf("%s:\n%s, want\n%s; %v", text, got, want, err)
		}
	}
}
