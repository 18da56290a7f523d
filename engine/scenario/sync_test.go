package scenario_test

import (
	"testing"

	"relock/engine/lock/exhibit"
	"relock/engine/scenario"
)

// A scenario that waits for replicas, limits renewals and keeps its key is one with any lock: what
// the other lock has no use for goes, and its fail-overs stay.
func TestAnotherLockMayNotWait(t *testing.T) {
	sc, err := scenario.Parse([]byte(`
lock: {protocol: mutex, lease: 200ms, watchdog: 50ms, max-hold: 1s, keep: 1m, wait: 1 of 2 in 50ms}
threads: [{name: A, work: 50ms}]
faults: [{time: 10ms, do: fail-over, replica: 2}]
schedule: [0, {do: fail-over, replica: 2}]`))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range exhibit.Names() {
		other := sc.With(name)
		text, err := other.MarshalJSON()
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := scenario.Parse(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		asks := other.Lock.Implementation().AsksRedis()
		if asks && (len(other.Faults) != 1 || len(other.Schedule) != 2) {
			t.Errorf("%s has %d faults and %d moves", name, len(other.Faults), len(other.Schedule))
		}
		if keeps := other.Lock.Keep > 0; keeps != (name == exhibit.Mutex.Name) {
			t.Errorf("%s keeps its key: %v", name, keeps)
		}
		if waits := other.Lock.Wait.Count > 0; waits != (asks && other.Lock.Nodes == 1) {
			t.Errorf("%s waits: %v", name, waits)
		}
	}
	if sc.Faults[0].Replica != 2 || sc.Schedule[1].Fault.Replica != 2 {
		t.Error("the scenario itself has changed")
	}
}

// Compared with another lock of a majority, it has as many nodes; with any other lock, as many as
// that one has.
func TestAnotherLockOfAMajorityHasTheSameNodes(t *testing.T) {
	several := 0
	for _, p := range exhibit.All() {
		sc := parse(t, "lock: {protocol: "+p.Name+"}\nthreads: [{name: A}]")
		if p.Nodes > 1 {
			several++
			sc = parse(t, "lock: {protocol: "+p.Name+", nodes: 7}\nthreads: [{name: A}]")
		}
		for _, q := range exhibit.All() {
			want := max(q.Nodes, 1)
			if p.Nodes > 1 && q.Nodes > 1 {
				want = 7
			}
			if got := sc.With(q.Name).Lock.Nodes; got != want {
				t.Errorf("%s with %d nodes has %d as %s, want %d", p.Name, sc.Lock.Nodes, got, q.Name, want)
			}
		}
	}
	if several < 2 {
		t.Errorf("%d locks ask a majority", several)
	}
}
