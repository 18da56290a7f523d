package trace_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/engine/trace"
)

func ofTwo(lock string, body trace.Body) trace.Event {
	id := "a-1"
	held := trace.KeyState{Type: trace.TypeString, Value: &id, PTTL: 100}
	return trace.Event{
		Seq: 1, Step: 1, Thread: "A", Lock: lock, Body: body, Key: held, Belief: map[string]int{"A": 2},
		Locks: []trace.LockState{{"x", held, map[string]int{"A": 1}}, {"y", trace.Absent(), map[string]int{"A": 1}}},
	}
}

// An event is read as it was written, and has of each lock what is its own.
func TestEventsOfSeveralLocks(t *testing.T) {
	e := ofTwo("y", trace.Outcome{Call: "lock", Result: trace.Acquired, Count: 1, Level: 2, Attempt: 1})
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var again trace.Event
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, again); diff != "" {
		t.Error(diff)
	}
	if _, ok := e.Of(0); ok {
		t.Error("what is of y is x's, too")
	}
	y, ok := e.Of(1)
	if b, _ := y.Body.(trace.Outcome); !ok || b.Level != 1 || y.Key.Exists() || y.Belief["A"] != 1 || y.Locks != nil {
		t.Errorf("%+v", y)
	}
	if x, ok := ofTwo("", trace.Work{State: trace.WorkBegin, Level: 2}).Of(0); !ok || !x.Key.Exists() || x.Belief["A"] != 1 || x.Body.(trace.Work).Level != 2 {
		t.Errorf("%+v", x)
	}
}

func TestCheckOfSeveralLocks(t *testing.T) {
	work := trace.Work{State: trace.WorkBegin, Level: 1}
	twice, nameless, long, many := ofTwo("x", work), ofTwo("x", work), ofTwo("x", work), ofTwo("x", work)
	twice.Locks[1].Lock = "x"
	nameless.Locks[1].Lock = ""
	long.Locks[1].Lock = strings.Repeat("y", 300)
	for i := range 20 {
		many.Locks = append(many.Locks, trace.LockState{Lock: strings.Repeat("z", i+1)})
	}
	for name, c := range map[string]struct {
		e    trace.Event
		want string
	}{
		"one of them": {ofTwo("y", work), ""}, "none of them": {ofTwo("", work), ""},
		"another": {ofTwo("z", work), `its lock "z" is not one of its locks`}, "twice": {twice, "with a name of its own"},
		"nameless": {nameless, "with a name of its own"}, "long": {long, "with a name of its own"}, "many": {many, "it names 22 locks; allowed: at most 16"},
	} {
		err := trace.Check(trace.Header{}, []trace.Event{c.e}, []string{"A"})
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
