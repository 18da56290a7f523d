package verdict_test

import (
	"encoding/json"
	"slices"
	"testing"

	"relock/engine/check"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/verdict"
)

// sound is evidence of which nothing is missing.
func sound() verdict.Evidence {
	return verdict.Evidence{Key: true, Inside: 2, Replays: 10, Diverged: 1}
}

func TestEachThingThatIsMissingKeepsAVerdictFromBeingUnbroken(t *testing.T) {
	for name, c := range map[string]struct {
		miss func(*verdict.Evidence)
		want []verdict.Reason
	}{
		"nothing":                   {func(*verdict.Evidence) {}, nil},
		"the key":                   {func(e *verdict.Evidence) { e.Key, e.Inside = false, 0 }, []verdict.Reason{verdict.NoKey}},
		"the kind":                  {func(e *verdict.Evidence) { e.Kind = phrase.Plain("A sorted set.") }, []verdict.Reason{verdict.KindUnknown}},
		"anybody":                   {func(e *verdict.Evidence) { e.Inside = 0 }, []verdict.Reason{verdict.NobodyInside}},
		"a second one":              {func(e *verdict.Evidence) { e.Inside = 1 }, []verdict.Reason{verdict.OneInside}},
		"a fault":                   {func(e *verdict.Evidence) { e.Unstruck = []verdict.Unstruck{{Fault: "pause"}} }, []verdict.Reason{verdict.FaultNeverStruck}},
		"what the lock protects":    {func(e *verdict.Evidence) { e.Untouched = phrase.Plain("Nobody wrote it.") }, []verdict.Reason{verdict.Untouched}},
		"a command of a real Redis": {func(e *verdict.Evidence) { e.Failures = []verdict.Failure{{Command: "HPEXPIRE", Times: 1, Ours: true}} }, []verdict.Reason{verdict.CommandsFailed}},
		"all calls of a script":     {func(e *verdict.Evidence) { e.Failures = []verdict.Failure{{Command: "EVAL", Times: 3, All: true}} }, []verdict.Reason{verdict.CommandsFailed}},
		"no command, one failed":    {func(e *verdict.Evidence) { e.Failures = []verdict.Failure{{Command: "EVAL", Times: 3}} }, nil},
		"orders that repeat":        {func(e *verdict.Evidence) { e.Diverged = 2 }, []verdict.Reason{verdict.Diverged}},
		"orders":                    {func(e *verdict.Evidence) { e.Cut = phrase.Plain("too many") }, []verdict.Reason{verdict.Cut}},
		"several":                   {func(e *verdict.Evidence) { e.Inside, e.Cut = 1, phrase.Plain("too many") }, []verdict.Reason{verdict.OneInside, verdict.Cut}},
	} {
		for _, broken := range []bool{false, true} {
			e := sound()
			if broken {
				e.Broken = []string{check.LostUpdate}
			}
			c.miss(&e)
			j := e.Judge()
			var got []verdict.Reason
			for _, l := range j.Unjudged {
				got = append(got, l.Reason)
			}
			want := verdict.Unbroken
			switch {
			case broken:
				want = verdict.Broken
			case c.want != nil:
				want = verdict.Unjudged
			}
			if j.Verdict != want || !slices.Equal(got, c.want) {
				t.Errorf("without %s, broken %v: %s %v, want %s %v", name, broken, j.Verdict, got, want, c.want)
			}
		}
	}
}

// Where a thread would never get in, nobody is told to let it try more often.
func TestWhoNeverGetsInNeedsNoMoreRetries(t *testing.T) {
	for rule, helps := range map[string]bool{check.ShutOut: false, check.Deadlock: false, check.SelfDeadlock: false, check.MutualExclusion: true} {
		e := verdict.Evidence{Key: true, Inside: 1, Broken: []string{rule}, Advice: verdict.Advice{One: verdict.Help{Says: phrase.Plain("Give it more retries.")}}}
		if j := e.Judge(); len(j.Unjudged) != 1 || j.Unjudged[0].Helps.IsZero() == helps {
			t.Errorf("%s: %+v", rule, j)
		}
	}
}

// What to set is said beside the sentence that asks for it, and beside no other one.
func TestASettingIsNamedWithItsAdvice(t *testing.T) {
	even, absent := trace.LogNote{What: trace.NoteEven, Count: 4}, trace.LogNote{What: trace.NoteAbsent, Count: 1}
	for name, c := range map[string]struct {
		notes   []trace.LogNote
		untried bool
		want    []verdict.Setting
	}{
		"there may be others":        {[]trace.LogNote{even}, false, []verdict.Setting{verdict.AllNodes}},
		"some have no log":           {[]trace.LogNote{even, absent}, false, []verdict.Setting{""}},
		"no key":                     {nil, false, []verdict.Setting{verdict.TheLock}},
		"what is left was not tried": {[]trace.LogNote{}, true, []verdict.Setting{""}},
	} {
		e := verdict.OfTrace(trace.Header{Store: trace.StoreLog, Log: &trace.FromLog{Notes: c.notes}}, &scenario.Scenario{})
		e.Key, e.Inside, e.Untried = c.notes != nil, 2, c.untried
		var got []verdict.Setting
		for _, lack := range e.Judge().Unjudged {
			got = append(got, lack.Set)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Of several locks that marks name, two threads must have been inside each, in one order.
func TestTwoThreadsAreInsideEachNamedLock(t *testing.T) {
	enters := func(lock string, threads ...string) *verdict.Witness {
		w := &verdict.Witness{Key: true, Alone: map[string]bool{"A": true, "B": true}}
		for _, who := range threads {
			w.See(trace.Event{Thread: who, Key: trace.Absent(), Body: trace.Work{State: trace.WorkBegin, Name: lock}})
		}
		return w
	}
	for _, c := range []struct {
		orders []*verdict.Witness
		want   verdict.Verdict
	}{
		{[]*verdict.Witness{enters("stock", "A", "B"), enters("user", "A", "B")}, verdict.Unbroken},
		{[]*verdict.Witness{enters("stock", "A", "B"), enters("user", "A")}, verdict.Unjudged},
		{[]*verdict.Witness{enters("stock", "A", "B"), enters("user", "A"), enters("user", "B")}, verdict.Unjudged},
		{[]*verdict.Witness{enters("stock", "A"), enters("stock", "A", "B")}, verdict.Unbroken},
	} {
		e := verdict.Evidence{Replays: 1}
		for _, w := range c.orders {
			e.Add(w)
		}
		if j := e.Judge(); j.Verdict != c.want {
			t.Errorf("%v: %+v, want %s", e.Named, j, c.want)
		}
	}
}

func TestWhoWasInsideAtATimeOfItsOwn(t *testing.T) {
	believes := func(levels map[string]int, leaving ...string) trace.Event {
		return trace.Event{Body: trace.Wait{}, Belief: levels, Leaving: leaving}
	}
	for name, c := range map[string]struct {
		events []trace.Event
		want   int
	}{
		"nobody":              {[]trace.Event{believes(nil), believes(map[string]int{"A": 0})}, 0},
		"one":                 {[]trace.Event{believes(map[string]int{"A": 2})}, 1},
		"one after the other": {[]trace.Event{believes(map[string]int{"A": 1}), believes(map[string]int{"B": 1})}, 2},
		"only together":       {[]trace.Event{believes(map[string]int{"A": 1}), believes(map[string]int{"A": 1, "B": 1})}, 1},
		"one leaves":          {[]trace.Event{believes(map[string]int{"A": 1}), believes(map[string]int{"A": 1, "B": 1}, "A")}, 2},
		"without a lock": {[]trace.Event{
			{Thread: "A", Body: trace.Work{State: trace.WorkBegin}}, {Thread: "A", Body: trace.Work{State: trace.WorkEnd}}, {Thread: "B", Body: trace.Work{State: trace.WorkBegin}},
		}, 2},
	} {
		var w verdict.Witness
		for _, e := range c.events {
			w.See(e)
		}
		var e verdict.Evidence
		e.Add(&w)
		if e.Inside != c.want {
			t.Errorf("%s: %d inside, want %d", name, e.Inside, c.want)
		}
	}
}

// Of a lock that lets several in, it is enough that two were inside at once; a key that has a
// mode says so itself.
func TestWhoWasInsideWhereSeveralMayBe(t *testing.T) {
	together := []trace.Event{
		{Body: trace.Wait{}, Belief: map[string]int{"A": 1}},
		{Body: trace.Wait{}, Belief: map[string]int{"A": 1, "B": 1}},
	}
	for name, c := range map[string]struct {
		shared bool
		fields map[string]string
		want   int
	}{
		"one at a time":      {false, map[string]string{"A": "1"}, 1},
		"permits or readers": {true, nil, 2},
		"a field mode":       {false, map[string]string{trace.Mode: "read"}, 2},
	} {
		var w verdict.Witness
		for _, e := range together {
			e.Key.Fields = c.fields
			w.See(e)
		}
		e := verdict.Evidence{Shared: c.shared}
		e.Add(&w)
		if e.Inside != c.want {
			t.Errorf("%s: %d inside, want %d", name, e.Inside, c.want)
		}
	}
}

func TestAFaultOfAThreadIsNotThatOfAnother(t *testing.T) {
	e := verdict.Evidence{Unstruck: []verdict.Unstruck{{Fault: "pause", Thread: "A"}, {Fault: "pause", Thread: "B"}, {Fault: "evict"}, {Fault: "pause"}}}
	var w verdict.Witness
	w.See(trace.Event{Thread: "B", Body: trace.Fault{Do: "pause"}})
	e.Add(&w)
	if want := []verdict.Unstruck{{Fault: "pause", Thread: "A"}, {Fault: "evict"}}; !slices.EqualFunc(e.Unstruck, want, func(a, b verdict.Unstruck) bool { return a.Fault == b.Fault && a.Thread == b.Thread }) {
		t.Errorf("never struck: %v, want %v", e.Unstruck, want)
	}
}

func TestAJudgementAsJSON(t *testing.T) {
	e := sound()
	e.Unstruck = []verdict.Unstruck{{Fault: "lease-ends", Why: phrase.Plain("The key has no expiry.")}}
	data, err := json.Marshal(e.Judge())
	const want = `{"verdict":"unjudged","unjudged":[{"reason":"fault-never-struck","fault":"lease-ends","says":"The fault lease-ends never struck. The key has no expiry."}]}`
	if err != nil || string(data) != want {
		t.Errorf("%s (%v)\nwant %s", data, err, want)
	}
}
