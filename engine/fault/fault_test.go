package fault_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"relock/engine/fault"
	"relock/engine/trace"
)

// A kind is the only place where its words are: all of them must be there, for
// a thread or for Redis, alone or with nodes.
func TestEveryKindIsWhole(t *testing.T) {
	if _, ok := fault.Named("flood"); ok {
		t.Error("there is a fault that nobody wrote")
	}
	for _, k := range fault.Kinds() {
		if (k.Target == fault.Redis) != (len(k.Places) == 0) {
			t.Errorf("%s: target %d, places %v", k.Name, k.Target, k.Places)
		}
		if k.Waits != "" && !slices.Contains(k.Places, k.Waits) {
			t.Errorf("%s waits for %s, which is none of its places %v", k.Name, k.Waits, k.Places)
		}
		if got, ok := fault.Named(k.Name); !ok || got.Label != k.Label || got.Name != string(got.Word) || got.Label == "" || got.Button == "" {
			t.Errorf("%s: found %v %+v", k.Name, ok, got)
		}
		if (k.For > 0) != (slices.Contains(k.Fields, "for") && !slices.Contains(k.Optional, "for")) || (k.Error != "") != slices.Contains(k.Fields, "error") || (k.By != 0) != slices.Contains(k.Fields, "by") || (k.Behind > 0) != slices.Contains(k.Fields, "behind") {
			t.Errorf("%s has the keys %v, and by hand %v, %v, %d", k.Name, k.Fields, k.For, k.By, k.Behind)
		}
		for _, nodes := range []int{0, 3} {
			b := trace.Fault{Do: k.Name, At: fault.AtLock}
			row, why := fault.Row(b, nodes > 0).String(), fault.Why(fault.Scene{Fault: b, Who: "A", Nodes: nodes}).String()
			if strings.Contains(row+why, "%!") || row == "" || !strings.HasSuffix(why, ".") {
				t.Errorf("%s, %d nodes: %q, %q", k.Name, nodes, row, why)
			}
		}
	}
}

func TestReadmeNamesEveryFault(t *testing.T) {
	readme, err := os.ReadFile("../../lessons/docs/SCENARIOS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range fault.Names() {
		if !strings.Contains(string(readme), "`"+name+"`") {
			t.Errorf("SCENARIOS does not name %s", name)
		}
	}
}

// It needs a majority; and with several nodes a fault without a number happens to the
// first.
func TestAnOutageSaysHowManyAreNeeded(t *testing.T) {
	for nodes, want := range map[int]string{
		3: "Node 1 no longer answers: 2 of 3 nodes are left, and 2 are needed.",
		5: "Node 1 no longer answers: 4 of 5 nodes are left, and 3 are needed.",
	} {
		b := trace.Fault{Do: fault.Down}
		if got := fault.Why(fault.Scene{Fault: b, Nodes: nodes, Up: nodes - 1}).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got, want := fault.Row(b, true).String(), "Fault: node 1 stops answering"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
