package run_test

import (
	"testing"

	"relock/engine/run"
	"relock/engine/store"
	"relock/engine/store/storetest"
	"relock/engine/trace"
)

// waited returns what WAIT was answered, in order, and how often a call was not
// relied on.
func waited(events []trace.Event) (answers []int64, unsynced int) {
	for _, e := range events {
		switch b := e.Body.(type) {
		case trace.Command:
			if n, ok := b.Reply.(int64); ok && b.Args[0] == "WAIT" {
				answers = append(answers, n)
			}
		case trace.Outcome:
			if b.Cause.Kind == trace.Unsynced {
				unsynced++
			}
		}
	}
	return answers, unsynced
}

// On a user's own Redis it waits for the real replicas.
func TestARunWaitsForRealReplicas(t *testing.T) {
	t.Parallel()
	master := storetest.Start(t)
	replica := storetest.Replica(t, master)
	external, err := store.Connect(t.Context(), "redis://"+master.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = external.Close() })
	sc := parse(t, `
lock: {protocol: reentrant-sequenced, lease: 10s, watchdog: off, wait: 1 of 1 in 5s, retry: {times: 0}}
threads: [{name: A, work: 1ms}]`)
	_, events := play(t, sc, run.Options{External: external, ID: "waits"})
	if answers, unsynced := waited(events); len(answers) != 1 || answers[0] != 1 || unsynced != 0 {
		t.Errorf("WAIT is answered with %v, %d calls are not relied on", answers, unsynced)
	}
	if err := replica.Stall(); err != nil {
		t.Fatal(err)
	}
	sc.Lock.Wait.Within /= 100
	_, events = play(t, sc, run.Options{External: external, ID: "waits"})
	if answers, unsynced := waited(events); len(answers) == 0 || answers[0] != 0 || unsynced == 0 {
		t.Errorf("while the replica stands still, WAIT is answered with %v, %d calls are not relied on", answers, unsynced)
	}
	if err := replica.Resume(); err != nil {
		t.Fatal(err)
	}
}

// A fail-over between a lock and its WAIT breaks the connection that WAIT is about:
// what the new master's replicas have says nothing of it.
func TestAFailOverBeforeWAITIsNoAcknowledgement(t *testing.T) {
	t.Parallel()
	sc := parse(t, `
lock: {lease: 500ms, watchdog: off, wait: 1 of 1 in 50ms, retry: {times: 2, interval: 20ms}}
threads: [{name: A, work: 10ms}]
schedule: [0, {do: fail-over}, 0]`)
	_, events := play(t, sc, run.Options{})
	first := true
	for _, e := range events {
		if b, ok := e.Body.(trace.Outcome); ok && first {
			first = false
			if b.Result != trace.Failed || b.Cause.Kind != trace.Reset {
				t.Errorf("the first attempt is %+v, want a broken connection", b)
			}
		}
	}
	answers, _ := waited(events)
	if end := events[len(events)-1].Body.(trace.End); end.Result != trace.Done || len(answers) != 1 || answers[0] != 1 {
		t.Errorf("WAIT is answered with %v, and the run ends with %+v", answers, end)
	}
}
