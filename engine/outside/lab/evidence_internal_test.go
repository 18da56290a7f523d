package lab

import (
	"encoding/json"
	"slices"
	"testing"

	"relock/engine/interpreter"
	"relock/engine/outside/resp"
	"relock/engine/racetest"
	"relock/engine/verdict"
)

func TestWhatFailsForAReasonOfOurs(t *testing.T) {
	racetest.Skip(t)
	ok, no := resp.Simple("OK"), resp.Failure
	script := []string{"EVAL", "return 1", "0"}
	for name, c := range map[string]struct {
		args     []string
		answers  [][]byte
		external bool
		all, own bool
	}{
		"the gate refuses":            {[]string{"HPEXPIRE", "h"}, [][]byte{no("ERR the lab's Redis has no 'HPEXPIRE'")}, false, true, true},
		"the gate before a real one":  {[]string{"MONITOR"}, [][]byte{no("ERR the lab has no 'MONITOR'")}, true, true, true},
		"a library of scripts":        {script, [][]byte{no("ERR " + interpreter.Lacks + "collectgarbage"), ok}, false, false, true},
		"a command inside a script":   {script, [][]byte{no("ERR Unknown Redis command called from script"), ok}, false, false, true},
		"a text that is too long":     {script, [][]byte{no("ERR line 2: the script takes too much memory: a text of .."), ok}, false, false, true},
		"a mistake in a script":       {script, [][]byte{no("ERR Script attempted to access nonexistent global variable 'x'"), no("ERR x")}, false, true, false},
		"a script that fails once":    {script, [][]byte{no("ERR x"), ok}, false, false, false},
		"a script that a real lacks":  {script, [][]byte{no("ERR Unknown Redis command called from script"), ok}, true, false, false},
		"a command of the wrong type": {[]string{"GET", "h"}, [][]byte{no("WRONGTYPE")}, false, false, false},
	} {
		f := failures{}
		for _, a := range c.answers {
			f.see(c.args, !c.external, a)
		}
		sum := failures{}
		sum.add(f)
		list := sum.list()
		if len(list) > 0 != (c.all || c.own) || len(list) > 0 && (list[0].All != c.all || list[0].Ours != c.own) {
			t.Errorf("%s: %+v, want all %v, ours %v", name, list, c.all, c.own)
		}
	}
}

// A page has what a lab has found from another process.
func TestEvidenceGoesToAnotherProcessWhole(t *testing.T) {
	racetest.Skip(t)
	o := Options{Faults: []string{LeaseEnds}, MaxFaults: 1, Threads: 2}
	s := newSearch(o, nil, nil, "embedded")
	s.found.Ending, s.found.Diverged, s.replays = Bound, 1, 2
	s.found.First = &Divergence{At: 3, Want: Decision{Thread: "A"}, Have: "nothing"}
	s.conclude()
	data, err := json.Marshal(Tried{Evidence: s.found.Evidence})
	var tried Tried
	if err == nil {
		err = json.Unmarshal(data, &tried)
	}
	if err != nil {
		t.Fatal(err)
	}
	want, got := s.found.Judgement(), tried.Judgement()
	same := func(a, b verdict.Lack) bool {
		return a.Reason == b.Reason && a.Fault == b.Fault && a.Says.String() == b.Says.String() && a.Helps.String() == b.Helps.String() && a.Says.Text == b.Says.Text
	}
	if want.Verdict != verdict.Unjudged || got.Verdict != want.Verdict || len(want.Unjudged) != 4 || !slices.EqualFunc(want.Unjudged, got.Unjudged, same) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}
