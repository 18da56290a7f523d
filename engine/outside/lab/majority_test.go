package lab_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"relock/engine/outside/infer"
	"relock/engine/outside/lab"
	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/verdict"
)

// The findings for a lock of a majority: how many orders there are, which rules break, and
// the verdict. A client that asks nodes in turn has an order for each way to mix the
// commands of each node.
func TestAMajority(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct {
		kind   string
		nodes  int
		faults string
		broken string // rules
		want   verdict.Verdict
	}{
		{"majority in turn", 3, "", "", verdict.Unbroken},
		{"majority", 3, "", "", verdict.Unbroken},
		{"majority in turn", 3, lab.Evict, "mutual-exclusion", verdict.Broken},
		{"majority in turn", 2, lab.LoseRequest, "", verdict.Unbroken}, // a client's own client sends no release again
		{"majority in turn", 2, lab.LeaseEnds, "mutual-exclusion", verdict.Broken},
		{"majority of one value", 2, "", "", verdict.Unjudged},
	} {
		if testing.Short() && c.nodes > 2 {
			if c.faults != "" {
				continue
			}
			c.nodes = 2
		}
		t.Run(fmt.Sprint(c.kind, " ", c.nodes, " ", c.faults), func(t *testing.T) {
			o := options(t, c.kind)
			o.Nodes = c.nodes
			if o.MaxOrders = 20_000; c.faults != "" {
				o.Faults, o.MaxFaults = []string{c.faults}, 1
			}
			found := search(t, o)
			var broken []string
			for _, r := range found.Rules {
				broken = append(broken, r.Name)
			}
			if got := strings.Join(broken, " "); found.Ending != lab.Exhausted || got != c.broken || found.Judgement().Verdict != c.want || found.Key != "k" {
				t.Errorf("%s, %d orders, key %s: breaks %q, %+v", found.Ending, found.Orders, found.Key, got, found.Judgement())
			}
			t.Logf("%d of %d, %d diverged", found.Broken, found.Orders, found.Diverged)
		})
	}
}

// Orders that cannot differ are not both tried; those that can, are: what breaks is the same
// as where every order is tried.
func TestWhatCommutesOnNodesIsTriedOnce(t *testing.T) {
	racetest.Skip(t)
	faults := []string{"", lab.LeaseEnds, lab.Evict}
	if testing.Short() {
		faults = faults[:2]
	}
	for _, fault := range faults {
		t.Run("with "+fault, func(t *testing.T) {
			o := options(t, "majority in turn")
			o.Nodes, o.MaxOrders = 2, 20_000
			if fault != "" {
				o.Faults, o.MaxFaults = []string{fault}, 1
			}
			some := search(t, o)
			o.Full = true
			all := search(t, o)
			names := func(f *lab.Found) (list []string) {
				for _, r := range f.Rules {
					list = append(list, fmt.Sprint(r.Name, " after ", len(r.Order.Decisions)))
				}
				return list
			}
			if some.Orders >= all.Orders || (some.Broken > 0) != (all.Broken > 0) || !slices.Equal(names(some), names(all)) || some.Evidence.Inside != all.Evidence.Inside {
				t.Errorf("%d of %d break %v, and of all %d of %d break %v", some.Broken, some.Orders, names(some), all.Broken, all.Orders, names(all))
			}
			t.Logf("%d instead of %d orders", some.Orders, all.Orders)
		})
	}
}

// A client that does not wait for the last answer behaves differently: then the lab tries
// more orders.
func TestWhoDoesNotWaitForAllNodes(t *testing.T) {
	racetest.Skip(t)
	waits, goes := options(t, "majority, unmarked"), options(t, "majority, not waiting")
	waits.Nodes, goes.Nodes = 2, 2
	a := search(t, waits)
	if testing.Short() {
		goes.MaxOrders = a.Orders + 1
	}
	b := search(t, goes)
	if a.Ending != lab.Exhausted || a.Broken > 0 || b.Broken > 0 || b.Orders <= a.Orders {
		t.Errorf("%d orders (%s), and of who does not wait %d (%s)", a.Orders, a.Ending, b.Orders, b.Ending)
	}
	t.Logf("%d and %d", a.Orders, b.Orders)
}

// The trace of an order says to which node each command went, and what each node has; the
// order plays again.
func TestATraceOfAMajority(t *testing.T) {
	racetest.Skip(t)
	o := options(t, "majority in turn")
	o.Nodes, o.MaxOrders, o.Faults, o.MaxFaults = 3, 20_000, []string{lab.Evict}, 1
	if testing.Short() {
		o.Nodes, o.Faults = 2, []string{lab.LeaseEnds}
	}
	found := search(t, o)
	if len(found.Rules) == 0 {
		t.Fatal("nothing is broken")
	}
	order := found.Rules[0].Order
	h, events, err := order.Trace(found, o, "test")
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scenario.Parse(h.Scenario)
	if err != nil || sc.Lock.Nodes != o.Nodes {
		t.Fatalf("a frame of %d nodes: %v", sc.Lock.Nodes, err)
	}
	nodes, evicted, broken := map[int]bool{}, 0, false
	for _, e := range events {
		switch b := e.Body.(type) {
		case trace.Command:
			nodes[b.Node] = true
		case trace.Fault:
			evicted = b.Node
		case trace.Violation:
			broken = broken || b.Rule == found.Rules[0].Name
		}
		if len(e.Nodes) != o.Nodes {
			t.Fatalf("event %d has %d nodes", e.Seq, len(e.Nodes))
		}
	}
	if len(nodes) != o.Nodes || nodes[0] || (evicted == 0) != testing.Short() || !broken {
		t.Errorf("commands on nodes %v, evicted on %d, broken %t", nodes, evicted, broken)
	}
	way, err := lab.ReadOrder(strings.NewReader(lab.Line(order.Decisions)))
	if err != nil {
		t.Fatal(err)
	}
	again, f, err := lab.Replay(t.Context(), o, way)
	if err != nil || again.Diverged() != nil || !slices.Equal(again.Rules, order.Rules) {
		t.Errorf("played again: %v %+v %v", err, again.Diverged(), f.Rules)
	}
}

// Which commands commute, by their footprints: commands on different nodes do, marks with
// all.
func TestFootprintsOfNodes(t *testing.T) {
	racetest.Skip(t)
	a, b := infer.Footprint{Keys: []string{"k"}, Writes: true, Node: 1}, infer.Footprint{Keys: []string{"k"}, Writes: true, Node: 2}
	c := infer.Footprint{Keys: []string{"k"}, Node: 1}
	all := infer.Everything
	if a.Conflicts(b) || !a.Conflicts(c) || !a.Conflicts(all) || !all.Conflicts(b) {
		t.Error("footprints of nodes")
	}
}
