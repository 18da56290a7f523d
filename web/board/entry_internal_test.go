package board

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"relock/web/lesson"
)

// An entry is written in the oldest version that can say it, and read in any.
func TestVersionsOfEntries(t *testing.T) {
	zero := 0
	move := json.RawMessage(`{"until":"7ms"}`)
	for name, c := range map[string]struct {
		e    Entry
		want string
	}{
		"one move":   {Entry{Seq: 2, Made: []Made{{Branch: 1, Parent: 0, Fork: 3, After: 3, Moves: []json.RawMessage{move}}}}, `{"seq":2,"at":0,"moved":{"branch":1,"parent":0,"fork":3,"after":3,"move":{"until":"7ms"}}}`},
		"none":       {Entry{Seq: 2, Stand: &Stand{At: 1}}, `{"seq":2,"at":0,"stand":{"branch":0,"at":1,"row":0,"moment":0,"focus":""}}`},
		"a cut":      {Entry{Seq: 2, Made: []Made{{Branch: 1, Fork: 3, After: 3, Moves: []json.RawMessage{}}}}, `{"v":2,"seq":2,"at":0,"made":[{"branch":1,"parent":0,"fork":3,"after":3,"moves":[]}]}`},
		"two moves":  {Entry{Seq: 2, Made: []Made{{Moves: []json.RawMessage{move, move}}}}, `{"v":2,"seq":2,"at":0,"made":[{"branch":0,"parent":0,"fork":0,"after":0,"moves":[{"until":"7ms"},{"until":"7ms"}]}]}`},
		"in place":   {Entry{Seq: 2, Dropped: &zero, Made: []Made{{Branch: 1, Moves: []json.RawMessage{move}}}}, `{"v":2,"seq":2,"at":0,"dropped":0,"made":[{"branch":1,"parent":0,"fork":0,"after":0,"moves":[{"until":"7ms"}]}]}`},
		"it goes on": {Entry{Seq: 2, Going: &Going{To: "end"}}, `{"v":2,"seq":2,"at":0,"going":{"branch":0,"to":"end"}}`},
		"a vote":     {Entry{Seq: 2, Vote: &Vote{Member: "m1", Option: 1}}, `{"seq":2,"at":0,"vote":{"member":"m1","option":1}}`},
		"a script":   {Entry{Seq: 2, Vote: &Vote{Member: "m1", Option: 1, Script: "return 1"}}, `{"v":4,"seq":2,"at":0,"vote":{"member":"m1","option":1,"script":"return 1"}}`},
		"a lesson":   {Entry{Seq: 2, Taught: &Taught{Step: 3, Asked: true, Stand: Stand{At: 1}}}, `{"v":3,"seq":2,"at":0,"taught":{"step":3,"asked":true,"stand":{"branch":0,"at":1,"row":0,"moment":0,"focus":""}}}`},
	} {
		text, err := json.Marshal(c.e)
		if err != nil || string(text) != c.want {
			t.Errorf("%s is written %s, want %s (%v)", name, text, c.want, err)
		}
		var read Entry
		if err := json.Unmarshal(text, &read); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		again, err := json.Marshal(read)
		if err != nil || string(again) != c.want {
			t.Errorf("%s, read, is written %s, want %s (%v)", name, again, c.want, err)
		}
		if len(read.Made) != len(c.e.Made) {
			t.Errorf("%s: read as %+v", name, read)
		}
	}
	whole, err := json.Marshal(Entry{Whole: &State{Going: &Going{To: "end"}}})
	if err != nil || !strings.HasPrefix(string(whole), `{"v":2,`) {
		t.Errorf("a room whose run goes on is written %s (%v)", whole, err)
	}
	whole, err = json.Marshal(Entry{Whole: &State{Lesson: &lesson.Lesson{}}})
	if err != nil || !strings.HasPrefix(string(whole), `{"v":3,`) {
		t.Errorf("a room with a lesson is written %s (%v)", whole, err)
	}
	whole, err = json.Marshal(Entry{Whole: &State{Past: []*Question{{Kind: Write}}}})
	if err != nil || !strings.HasPrefix(string(whole), `{"v":4,`) {
		t.Errorf("a room that has written scripts is written %s (%v)", whole, err)
	}
	whole, err = json.Marshal(Entry{Whole: &State{}})
	if err != nil || strings.Contains(string(whole), `"taught"`) || strings.HasPrefix(string(whole), `{"v":`) {
		t.Errorf("a room without one is written %s (%v)", whole, err)
	}
	var e Entry
	if err := json.Unmarshal([]byte(`{"v":5,"seq":9}`), &e); !errors.Is(err, errVersion) || e.Seq != 0 {
		t.Errorf("an entry of a version to come: %v, %+v", err, e)
	}
}

// The server that leads is gone while a run goes on: the next one carries on.
func TestTheNextLeaderCarriesARunOn(t *testing.T) {
	b := newBench(t, "lease-expiry; h host; slices of 4")
	if got := b.decide(t, []string{"h1", "run", "end"}); !strings.Contains(got, "going end") {
		t.Fatal(got)
	}
	kept, err := json.Marshal(Entry{Seq: b.f.state.Seq, Whole: b.f.state})
	if err != nil {
		t.Fatal(err)
	}
	var whole Entry
	if err := json.Unmarshal(kept, &whole); err != nil {
		t.Fatal(err)
	}
	next := newBench(t, "lease-expiry; slices of 4")
	next.f.state.Fold(whole)
	if at := next.f.deadline(); !at.Equal(next.now) {
		t.Errorf("it is to go on at %v, want now", at)
	}
	for range 9 {
		next.f.tick(t.Context())
	}
	if n := len(next.f.state.Branches[0].Moves); n != 9 || next.f.state.Going != nil || next.f.state.Stand.At != n {
		t.Errorf("it has come to %d moves, and goes on as %+v, all at %+v", n, next.f.state.Going, next.f.state.Stand)
	}
	if at := next.f.deadline(); !at.IsZero() && at.Equal(next.now) {
		t.Error("what has ended is still to go on")
	}
}

// A room takes scripts of its voters while one is to be written, and no more
// than it can keep.
func TestWhoMayWriteWhat(t *testing.T) {
	long := strings.Repeat("-", maxScript)
	full := map[string]string{"m9": strings.Repeat("-", maxScripts-maxScript)}
	for name, c := range map[string]struct {
		asks   *Question
		past   []*Question
		member string
		script string
		want   error
	}{
		"a script":               {&Question{Kind: Write, Item: "i"}, nil, "m2", "return 1", nil},
		"the longest":            {&Question{Kind: Write, Item: "i"}, nil, "m2", long, nil},
		"a longer one":           {&Question{Kind: Write, Item: "i"}, nil, "m2", long + "-", errScript},
		"none":                   {&Question{Kind: Write, Item: "i"}, nil, "m2", "", errScript},
		"a host's":               {&Question{Kind: Write, Item: "i"}, nil, "m1", "return 1", errVoters},
		"a stranger's":           {&Question{Kind: Write, Item: "i"}, nil, "m7", "return 1", errVoters},
		"nothing is asked":       {nil, nil, "m2", "return 1", errNoScript},
		"another question":       {&Question{Kind: Predict}, nil, "m2", "return 1", errNoScript},
		"it is counted":          {&Question{Kind: Write, Item: "i", Closed: true}, nil, "m2", "return 1", errNotOpen},
		"the last that fits":     {&Question{Kind: Write, Item: "i", Scripts: full}, nil, "m2", long, nil},
		"one too many":           {&Question{Kind: Write, Item: "i", Scripts: map[string]string{"m3": "-"}}, []*Question{{Scripts: full}}, "m2", long, errScripts},
		"instead of one's own":   {&Question{Kind: Write, Item: "i", Scripts: map[string]string{"m2": "-"}}, []*Question{{Scripts: full}}, "m2", long, nil},
		"a shorter one than was": {&Question{Kind: Write, Item: "i", Scripts: full}, []*Question{{Scripts: map[string]string{"m2": long}}}, "m9", "return 1", nil},
	} {
		s := &State{Question: c.asks, Past: c.past, People: map[string]*Member{"m1": {ID: "m1", Part: Host}, "m2": {ID: "m2", Part: Player}, "m9": {ID: "m9", Part: Audience}}}
		item, err := s.Writing(c.member, c.script)
		if !errors.Is(err, c.want) || (err == nil) != (item == "i") {
			t.Errorf("%s: %q, %v, want %v", name, item, err, c.want)
		}
	}
}
