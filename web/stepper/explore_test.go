package stepper_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"relock/engine/racetest"
	"relock/web/webtest"
)

func TestExploreOverTheSocket(t *testing.T) {
	racetest.Skip(t)
	p := webtest.Open(t, nil).Searcher(t, webtest.LeaseExpiry)
	p.Must(webtest.Explore(2))
	found, picture := p.Ended()
	for _, want := range []string{"38 of 53 orders with at most 2 delays and no fault break a rule. All of them were tried.", "38 of 53 (72 %)", "Open as a branch : mutual-exclusion"} {
		if !strings.Contains(found, want) {
			t.Errorf("found is %q, without %q", found, want)
		}
	}
	if strings.Count(picture, "data-dot=") < 50 || !strings.Contains(picture, "<table") {
		t.Errorf("the picture: %.300s", picture)
	}

	// What becomes of where you are.
	at := func(branch, moves int) webtest.ExploreFrame {
		return p.Must(webtest.Object{"do": "outlook", "branch": branch, "moves": moves, "names": webtest.Object{"1": "the example"}})[0]
	}
	start := at(0, 0).Stands
	if start.Dot < 0 || !strings.Contains(start.Says, "From here 38 of 53 ways break a rule.") || len(start.Outlooks) != 2 || start.Outlooks[0].Short != "30 of 36 break" {
		t.Errorf("at the start: %+v", start)
	}

	// The example is a branch that breaks the rule, and you stand where that becomes inevitable.
	frames := p.Must(webtest.Object{"do": "example", "rule": "mutual-exclusion"})
	went := frames[len(frames)-2].Went
	if went == nil || went.At == 0 {
		t.Fatalf("the example: %+v", frames)
	}
	there := at(went.Branch, went.At).Stands
	if there.Dot < 0 || len(there.Way) < 2 || there.Lost != went.At || !strings.Contains(there.Says, "A rule is broken already.") || strings.Contains(there.Says, "no rule breaks") {
		t.Errorf("at the example: %+v", there)
	}

	// A walk goes to a state, on a branch that the next walk takes the place of.
	states := regexp.MustCompile(`data-state="(\d+)"`).FindAllStringSubmatch(picture, -1)
	walk := func(n int) []webtest.ExploreFrame {
		state, err := strconv.Atoi(states[n][1])
		if err != nil {
			t.Fatal(err)
		}
		return p.Must(webtest.Object{"do": "walk", "state": state})
	}
	first := walk(40)
	onto := first[len(first)-2].Went
	if dot := at(onto.Branch, onto.At).Stands.Dot; dot < 0 {
		t.Errorf("a walk leads to %+v, which is nowhere", onto)
	}
	second := walk(60)
	if !slices.ContainsFunc(second, func(f webtest.ExploreFrame) bool { return f.Dropped != nil && *f.Dropped == onto.Branch }) {
		t.Errorf("the next walk keeps branch %d: %+v", onto.Branch, second)
	}
}

// Two branches, one of which breaks a rule, are told by the last state that both
// have come by.
func TestThisIsTheMove(t *testing.T) {
	p := webtest.Open(t, nil).Searcher(t, webtest.LeaseExpiry)
	p.Must(webtest.Explore(3))
	p.Ended()
	p.Must(webtest.Object{"do": "run", "branch": 0, "to": "end"}) // breaks
	p.Must(webtest.Object{"do": "time", "branch": 0, "at": 0, "to": "event"})
	p.Must(webtest.Object{"do": "step", "branch": 1, "thread": "B"})
	p.Must(webtest.Object{"do": "run", "branch": 1, "to": "end"})
	says := webtest.Text(p.Must(webtest.Object{"do": "outlook", "branch": 0, "moves": 0, "names": webtest.Object{"0": "main", "1": "the other"}})[0].Stands.Says)
	for _, want := range []string{"This is the move. main breaks a rule, the other does not. The last state that they share is at 0 ms.", "main · A: starts: EXISTS … in lock, level 1. After that 74 of 89 break.", "the other · nobody moves until 10 ms. After that 31 of 55 break."} {
		if !strings.Contains(says, want) {
			t.Errorf("%q says nothing of %q", says, want)
		}
	}
}

func TestWhatCannotBeExplored(t *testing.T) {
	p := webtest.Open(t, nil).Searcher(t, webtest.LeaseExpiry)
	for _, c := range []struct {
		change webtest.Object
		want   string
	}{
		{webtest.Object{"delays": 5}, "A page searches with 0 to 4 delays."},
		{webtest.Object{"delays": -1}, "A page searches with 0 to 4 delays."},
		{webtest.Object{"faults": 3}, "A page searches with 0 to 2 faults."},
		{webtest.Object{"faults": 1}, "Choose at least one kind of fault, or no faults."},
		{webtest.Object{"faults": 1, "kinds": []string{"crash", "fire"}}, `Fault "fire" cannot strike in this scenario; allowed: `},
		{webtest.Object{"from": "the end"}, "A search begins at the start or here; allowed: start, here."},
		{webtest.Object{"moves": 7}, "The branch has no such move."},
		{webtest.Object{"do": "outlook"}, "That is not a command"},
	} {
		command := webtest.Explore(1)
		for k, v := range c.change {
			command[k] = v
		}
		all := p.Ask(command)
		if refused := all[len(all)-1].Refused; !strings.HasPrefix(refused, c.want) || p.Last.Explored != nil {
			t.Errorf("%v: %q, want %q", c.change, refused, c.want)
		}
	}
	for _, command := range []webtest.Object{{"do": "halt"}, {"do": "example", "rule": "shut-out"}, {"do": "walk", "state": 1}, {"do": "outlook", "branch": 0, "moves": 0}} {
		all := p.Ask(command)
		if refused := all[len(all)-1].Refused; refused != "There is no search here yet: send the command explore first." {
			t.Errorf("%v: %q", command, refused)
		}
	}
	p.Must(webtest.Explore(1))
	p.Ended()
	for want, command := range map[string]webtest.Object{
		"The search has found no order that breaks this rule.": {"do": "example", "rule": "shut-out"},
		"The search has found no such state.":                  {"do": "walk", "state": 99999},
	} {
		all := p.Ask(command)
		if refused := all[len(all)-1].Refused; refused != want {
			t.Errorf("%v: %q", command, refused)
		}
	}
}

// A search of orders without an end can be stopped before one has come to its end.
func TestNoOrderEnds(t *testing.T) {
	racetest.Skip(t)
	p := webtest.Open(t, nil).Searcher(t, `
lock: {lease: 100ms, watchdog: 30ms, retry: {times: unlimited, interval: 20ms}}
defaults: {work: 10ms}
threads: [{name: A}, {name: B, start: 1ms}, {name: C, start: 2ms}]
faults: [{thread: A, at: work, level: 1, do: pause, for: 300ms}, {thread: B, at: work, level: 1, do: stall}]
`)
	p.Must(webtest.Explore(0))
	for !strings.Contains(p.Last.Explored.Found, "shut-out") && !strings.Contains(p.Last.Explored.Found, "mutual-exclusion") {
		p.Read()
	}
	p.Must(webtest.Object{"do": "halt"})
	found, picture := p.Ended()
	if !strings.Contains(found, "No order was tried to the end, but some unfinished ones break a rule.") || picture == "" {
		t.Errorf("found is %q", found)
	}
}

// A search goes on while the page steps, can be stopped, and another takes its
// place.
func TestASearchIsStopped(t *testing.T) {
	p := webtest.Open(t, nil).Searcher(t, `
lock: {lease: 200ms}
threads: [{name: A, depth: 2}, {name: B, depth: 2}, {name: C, depth: 2}]
`)
	p.Must(webtest.Explore(4))
	p.Must(webtest.Object{"do": "step", "branch": 0})
	if !p.Last.Explored.Going {
		t.Fatal("too small a search")
	}
	p.Must(webtest.Object{"do": "halt"})
	found, _ := p.Ended()
	if !strings.Contains(found, "The search was cut short: it was stopped. ") {
		t.Errorf("stopped: %q", found)
	}
	here := p.Must(webtest.Object{"do": "outlook", "branch": 0, "moves": 0})[0].Stands
	if says := webtest.Text(here.Says); here.Lost >= 0 || strings.Contains(says, "no rule is broken") || strings.Contains(says, "every order") {
		t.Errorf("of a search that was stopped: %q", says)
	}
	for _, o := range here.Outlooks {
		if o.Tone == "none" || o.Tone == "all" {
			t.Errorf("of a search that was stopped: %+v", o)
		}
	}
	p.Must(webtest.Explore(4))
	p.Must(webtest.Object{"do": "explore", "branch": 0, "moves": 1, "from": "here", "delays": 0, "faults": 0})
	if found, _ = p.Ended(); !strings.Contains(found, "Every order from 0 ms on.") || !strings.Contains(found, "with no delay") {
		t.Errorf("from here: %q", found)
	}
	p.Must(webtest.Explore(4))
	p.Must(webtest.Object{"do": "open", "scenario": webtest.LeaseExpiry})
	all := p.Ask(webtest.Object{"do": "outlook", "branch": 0, "moves": 0})
	if refused := all[len(all)-1].Refused; refused == "" {
		t.Error("what was searched in another scenario is known")
	}
}
