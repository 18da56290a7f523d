package facts_test

import (
	"slices"
	"testing"

	"relock/engine/fault"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// lasting is a key of an owner with so many milliseconds left.
func lasting(owner string, pttl int64) trace.KeyState {
	return trace.KeyState{Type: trace.TypeString, Value: &owner, PTTL: pttl}
}

// is reports whether a key is an owner's with so many milliseconds left; "" is no key.
func is(k trace.KeyState, owner string, pttl int64) bool {
	if owner == "" {
		return !k.Exists()
	}
	return k.Value != nil && *k.Value == owner && k.PTTL == pttl
}

func splits(thread string, node int) trace.Fault {
	return trace.Fault{Do: fault.TwoMasters, Thread: thread, Node: node}
}

func joins(thread string) trace.Fault { return trace.Fault{Do: fault.OneMaster, Thread: thread} }

func wrote(k *trace.KeyState) trace.Command {
	return trace.Command{Call: "lock", Args: []string{"SET", "k"}, OldMaster: true, OldKey: k}
}

// Each thread sees the key of the master that it asks: the one that is cut off has the key
// as it was, what was written there since, and time. The others see what the event says.
func TestEachThreadSeesTheKeyOfItsMaster(t *testing.T) {
	var m facts.Masters
	c := lasting("c", 200)
	for _, step := range []struct {
		what  string
		event trace.Event
		owner string // of the key that its thread sees; "" for none
		left  int64
	}{
		{"one master", trace.Event{At: 0, Thread: "A", Key: lasting("a", 100)}, "a", 100},
		{"the split", trace.Event{At: 10, Key: lasting("a", 90), Body: splits("A", 0)}, "a", 90},
		{"a fail-over without the last write", trace.Event{At: 20, Thread: "B", Key: lasting("b", 50)}, "b", 50},
		{"who is cut off", trace.Event{At: 30, Thread: "A", Key: lasting("b", 40)}, "a", 70},
		{"a second one with it", trace.Event{At: 30, Key: lasting("b", 40), Body: splits("C", 0)}, "b", 40},
		{"what that one wrote", trace.Event{At: 40, Thread: "C", Key: lasting("b", 30), Body: wrote(&c)}, "c", 200},
		{"the first one sees it", trace.Event{At: 50, Thread: "A", Key: lasting("b", 20)}, "c", 190},
		{"the new master does not", trace.Event{At: 50, Thread: "B", Key: lasting("b", 20)}, "b", 20},
		{"the first one is back", trace.Event{At: 60, Key: lasting("b", 10), Body: joins("A")}, "b", 10},
		{"and sees what all see", trace.Event{At: 60, Thread: "A", Key: lasting("b", 10)}, "b", 10},
		{"the second is not", trace.Event{At: 100, Thread: "C", Key: trace.Absent()}, "c", 140},
		{"both clocks jump", trace.Event{At: 110, Key: trace.Absent(), Body: trace.Fault{Do: fault.ClockJump, By: "100ms"}}, "", 0},
		{"its lease is nearer", trace.Event{At: 120, Thread: "C", Key: trace.Absent()}, "c", 20},
		{"its lease is over", trace.Event{At: 140, Thread: "C", Key: trace.Absent()}, "", 0},
		{"nobody is cut off", trace.Event{At: 150, Key: trace.Absent(), Body: joins("C")}, "", 0},
	} {
		if step.event.Body == nil {
			step.event.Body = trace.Wait{}
		}
		if got := m.Add(step.event).Key; !is(got, step.owner, step.left) {
			t.Errorf("%s: %+v, want %q for %d", step.what, got, step.owner, step.left)
		}
	}
	if m.Two(0) || m.Old("A") != nil || m.Old("C") != nil {
		t.Errorf("two masters: %v, asked by A %v, by C %v", m.Two(0), m.Old("A"), m.Old("C"))
	}
}

// Before an event its thread's master has the key of the last one, less the time since.
func TestWhatAMasterHasBeforeAnEvent(t *testing.T) {
	var m facts.Masters
	m.Add(trace.Event{At: 10, Key: lasting("a", 90), Body: splits("A", 0)})
	m.Add(trace.Event{At: 20, Thread: "B", Key: lasting("b", 50), Body: trace.Wait{}})
	for _, c := range []struct {
		thread string
		at     trace.Millis
		owner  string
		left   int64
	}{
		{"A", 20, "a", 80},
		{"A", 60, "a", 40},
		{"A", 99, "a", 1},
		{"A", 100, "", 0},
		{"B", 20, "b", 50},
		{"B", 60, "b", 10},
		{"B", 80, "b", 0}, // no event has told that it was dropped
	} {
		if got, nodes := m.Before(c.thread, c.at); !is(got, c.owner, c.left) || nodes != nil {
			t.Errorf("%s at %v: %+v %v, want %q for %d", c.thread, c.at, got, nodes, c.owner, c.left)
		}
	}
	m.Add(trace.Event{At: 30, Key: lasting("b", trace.NoExpiry), Body: trace.Wait{}})
	if got, _ := m.Before("B", 1000); !is(got, "b", trace.NoExpiry) {
		t.Errorf("without an expiry: %+v", got)
	}
}

// Of several nodes each has two masters for itself, and the key is what a majority of the
// masters has that a thread asks.
func TestMastersOfSeveralNodes(t *testing.T) {
	var m facts.Masters
	nodes := func(owners ...string) []trace.KeyState {
		list := make([]trace.KeyState, len(owners))
		for i, owner := range owners {
			if list[i] = trace.Absent(); owner != "" {
				list[i] = lasting(owner, 100)
			}
		}
		return list
	}
	m.Add(trace.Event{Key: lasting("a", 100), Nodes: nodes("a", "a", ""), Body: splits("A", 2)})
	if got := m.Old("A"); !slices.Equal(got, []int{1}) || m.Old("B") != nil || m.Two(0) || !m.Two(1) {
		t.Fatalf("A asks the old masters of %v", got)
	}
	now := trace.Event{Key: trace.Absent(), Nodes: nodes("a", "", ""), Body: trace.Wait{}}
	now.Thread = "B"
	if got := m.Add(now); got.Key.Exists() || got.Nodes[1].Exists() {
		t.Errorf("B sees %+v, %+v", got.Key, got.Nodes)
	}
	now.Thread = "A"
	got := m.Add(now)
	if !is(got.Key, "a", 100) || !is(got.Nodes[1], "a", 100) || got.Nodes[2].Exists() {
		t.Errorf("A sees %+v, %+v", got.Key, got.Nodes)
	}
	if now.Nodes[1].Exists() {
		t.Error("the event itself has changed")
	}
	if key, before := m.Before("A", 0); !is(key, "a", 100) || len(before) != 3 || !is(before[1], "a", 100) {
		t.Errorf("before, A's masters have %+v, %+v", key, before)
	}
}

// An older trace does not tell of the key on the old master: then nobody knows it, until a
// command tells.
func TestWhatAnOlderTraceDoesNotTell(t *testing.T) {
	var m facts.Masters
	a := lasting("a", 100)
	m.Add(trace.Event{Key: trace.Absent(), Body: splits("A", 0)})
	for _, c := range []struct {
		key   *trace.KeyState
		known bool
	}{{nil, false}, {&a, true}} {
		m.Add(trace.Event{Thread: "A", Key: trace.Absent(), Body: wrote(c.key)})
		if m.Known("A") != c.known || !m.Known("B") {
			t.Errorf("the key %v is known to A: %v, to B: %v", c.key, m.Known("A"), m.Known("B"))
		}
	}
}
