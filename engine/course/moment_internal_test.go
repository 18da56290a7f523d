package course

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"relock/engine/explore"
	"relock/engine/lock"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
)

func parsed(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// The stage stands after the whole step of a moment, or before it.
func TestWhereAMomentStands(t *testing.T) {
	sc := parsed(t, "threads: [{name: A}, {name: B}]")
	outcome := func(step int, thread string, r trace.Result) trace.Event {
		return trace.Event{Step: step, Thread: thread, Body: trace.Outcome{Call: lock.CallLock, Result: r}}
	}
	events := []trace.Event{
		{Step: 1, Thread: "A", Body: trace.Command{Args: []string{"EXISTS", "K"}}},
		outcome(1, "A", trace.Acquired),
		outcome(2, "B", trace.Refused),
		outcome(3, "B", trace.Refused),
		{Step: 3, Thread: "B", Body: trace.Wait{}},
		{Step: 4, Body: trace.Expired{}},
		{Step: 5, Body: trace.Violation{Rule: "mutual-exclusion"}, Belief: map[string]int{"A": 1, "B": 1}},
	}
	for _, c := range []struct {
		text string
		want int // events; -1 where the run never comes to it, -2 where it is no moment
	}{
		{"start", 0},
		{"end", 7},
		{"A EXISTS", 2},
		{"A acquired", 2},
		{"before A acquired", 0},
		{"B refused", 3},
		{"before B refused", 2},
		{"B refused 2", 5},
		{"before B refused 2", 3},
		{"before B waits", 3},
		{"B refused 3", -1},
		{"expired", 6},
		{"before expired", 5},
		{"broken mutual-exclusion", 7},
		{"believe A B", 7},
		{"before believe A B", 6},
		{"B refused 0", -2},
		{"broken peace", -2},
		{"C acquired", -2},
		{"believe A C", -2},
	} {
		m, err := parseMoment(c.text, sc)
		if (err != nil) != (c.want == -2) {
			t.Errorf("%q: %v", c.text, err)
		}
		if err != nil {
			continue
		}
		if n, ok := m.stand(events); ok != (c.want >= 0) || ok && n != c.want {
			t.Errorf("%q: %d events, %v; want %d", c.text, n, ok, c.want)
		}
	}
}

// Answers that differ by a few milliseconds, or by whether the lock counts, are
// none to choose among.
func TestAnswersThatAreTooAlike(t *testing.T) {
	hash := trace.KeyState{Type: trace.TypeHash}
	value := trace.KeyState{Type: trace.TypeString}
	left := func(ms time.Duration) phrase.Wording { return phrase.Say(leftOf, ms*time.Millisecond) }
	for _, c := range []struct {
		name string
		key  trace.KeyState
		own  phrase.Wording
		says phrase.Wording
		want bool
	}{
		{"another time", hash, left(100), left(140), true},
		{"nearly the same time", hash, left(100), left(119), false},
		{"nearly the same time, before it", hash, left(100), left(81), false},
		{"a tenth of the lease later", hash, left(100), left(120), true},
		{"no time at all", hash, left(100), phrase.Say("there is no key, and so no lease"), true},
		{"with a count, as this lock tells it", hash, left(100), phrase.Say(heldTimes, phrase.Names{"A"}, 1), true},
		{"without a count, of a lock that counts", hash, left(100), phrase.Say(heldOnce, phrase.Names{"A"}), false},
		{"for ever, of a lock that counts", hash, left(100), phrase.Say(heldForEver, phrase.Names{"A"}), false},
		{"with a count, of a lock that counts nothing", value, left(100), phrase.Say(heldTimes, phrase.Names{"A"}, 1), false},
		{"for ever, of a lock that counts nothing", value, left(100), phrase.Say(heldForEver, phrase.Names{"A"}), true},
	} {
		q := &Question{
			Run:     &Run{Scenario: parsed(t, "threads: [{name: A}]\nlock: {lease: 200ms}"), Events: []trace.Event{{Key: c.key}}},
			Answers: []*Answer{{Says: []phrase.Wording{c.own}}},
		}
		if got := q.alike([]phrase.Wording{c.says}); got != c.want {
			t.Errorf("%s: can be an answer: %v", c.name, got)
		}
	}
}

// Only what a thread was answered after the question was asked is a guess.
func TestAnAnswerOfBeforeIsNoGuess(t *testing.T) {
	at := func(ms trace.Millis) trace.Event {
		return trace.Event{At: ms, Thread: "A", Body: trace.Outcome{Call: lock.CallLock, Result: trace.Refused}}
	}
	own := &Run{Events: []trace.Event{at(10), at(20), at(30)}}
	for _, c := range []struct {
		name   string
		stand  int
		events []trace.Event
		want   bool
	}{
		{"later", 2, []trace.Event{at(10), at(25)}, true},
		{"at the same instant", 2, []trace.Event{at(10), at(20)}, false},
		{"before", 2, []trace.Event{at(10)}, false},
		{"at the start", 0, []trace.Event{at(0)}, true},
		{"never", 0, nil, false},
	} {
		q := &Question{Run: own, Stand: c.stand}
		if got := q.answered(&Run{Events: c.events}, len(c.events), "A"); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// The rest of the lease and the stock are those at the instant of the question.
func TestWhatIsSeen(t *testing.T) {
	stock := parsed(t, "threads: [{name: A}]\nresource: {kind: stock, size: 2}")
	purchases := parsed(t, "threads: [{name: A}]\nresource: {kind: purchases, limit: 2}")
	effect := parsed(t, "threads: [{name: A}]\nresource: {kind: effect}")
	wrote := trace.Event{Body: trace.Resource{Op: trace.OpWrite, Value: 1}}
	sold := func(left int) trace.Event {
		return trace.Event{At: 100, Body: trace.Resource{Op: trace.OpWrite, Stock: true, Value: left}, Key: trace.KeyState{Type: trace.TypeHash, PTTL: 80}}
	}
	for _, c := range []struct {
		name  string
		see   seeing
		event trace.Event
		at    trace.Millis
		want  string
	}{
		{"the lease as the event leaves it", seeLeft, sold(1), 100, "80ms of the lease are left"},
		{"the lease, some time later", seeLeft, sold(1), 130, "50ms of the lease are left"},
		{"no key", seeLeft, trace.Event{Key: trace.Absent()}, 0, "there is no key, and so no lease"},
		{"no expiry", seeLeft, trace.Event{Key: trace.KeyState{Type: trace.TypeHash, PTTL: trace.NoExpiry}}, 0, "the key has no expiry: it would stay for ever"},
		{"some stock", seeValue, sold(1), 100, "the stock is 1"},
		{"no stock", seeValue, sold(0), 100, "the stock is 0"},
		{"less than none", seeValue, sold(-1), 100, "the stock is -1: more was sold than there was"},
	} {
		if got := c.see(&Run{Scenario: stock, Events: []trace.Event{c.event}}, 1, c.at).String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for want, sc := range map[string]*scenario.Scenario{"one has been bought": purchases, "it is done once": effect} { // and not "1 times"
		if got := seeValue(&Run{Scenario: sc, Events: []trace.Event{wrote}}, 1, 100).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Two Han characters are a word, and so is a number that is filled in.
func TestWordsAreCounted(t *testing.T) {
	for text, want := range map[string]int{"": 0, "one two": 2, "锁丢失了": 2, "A 拿到锁": 1 + 1, "at {{at \"B acquired\"}} it ends": 4, "一二三四五六 x": 3 + 1} {
		if got := wordCount(text); got != want {
			t.Errorf("%q has %d words, want %d", text, got, want)
		}
	}
}

// A file of a course may be so long, and no longer.
func TestAFileIsAsLongAsItMayBe(t *testing.T) {
	fsys := fstest.MapFS{"fits": {Data: make([]byte, MaxFile)}, "more": {Data: make([]byte, MaxFile+1)}}
	if data, err := readFile(fsys, "fits"); err != nil || len(data) != MaxFile {
		t.Error(err)
	}
	if _, err := readFile(fsys, "more"); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("one byte more: %v", err)
	}
}

// Neighbours are the items before and after one, also over the end of a chapter.
func TestNeighbours(t *testing.T) {
	c := &Course{}
	for n, ids := range [][]string{{"a", "b"}, {"c"}} {
		ch := &Chapter{Number: n}
		for _, id := range ids {
			ch.Items = append(ch.Items, &Item{ID: id, Chapter: ch, Kind: Why})
		}
		c.Chapters = append(c.Chapters, ch)
	}
	id := func(i *Item) string {
		if i == nil {
			return "none"
		}
		return i.ID
	}
	var got []string
	for _, i := range c.Items() {
		before, after := c.Around(i)
		got = append(got, id(before)+"-"+i.ID+"-"+id(after))
	}
	if !slices.Equal(got, []string{"none-a-b", "a-b-c", "b-c-none"}) {
		t.Error(got)
	}
	// At the end of a chapter come questions from earlier chapters, and none from this one.
	if first, last := c.Earlier(c.Chapters[0].Items[1]), c.Earlier(c.Chapters[1].Items[0]); len(first) != 0 || len(last) == 0 || slices.Contains(last, c.Chapters[1].Items[0]) {
		t.Errorf("after the first chapter %d questions, after the second %d", len(first), len(last))
	}
}

// In what is not to be broken, nothing is judged.
func TestOnlyABreakIsJudged(t *testing.T) {
	if _, err := TaskOf[*Breaking](&Item{Kind: Predict, task: new(predicting)}); !errors.Is(err, ErrOtherKind) {
		t.Error(err)
	}
}

// What moves cost: each fault, and each time that somebody could have moved and
// nobody did. If nobody could, time passes free of charge.
func TestWhatMovesCost(t *testing.T) {
	sc := parsed(t, "threads: [{name: A, work: 50ms}, {name: B, start: 20ms, work: 50ms, retry: {times: 0}}]\nlock: {watchdog: off}")
	crash := scenario.Move{Fault: &scenario.Fault{Thread: "B", Do: "crash"}}
	until := func(ms time.Duration) scenario.Move { return scenario.Move{Until: ms * time.Millisecond} }
	for _, c := range []struct {
		name  string
		moves []scenario.Move
		want  int
	}{
		{"nothing", nil, 0},
		{"a move", []scenario.Move{{}}, 0},
		{"time in which A could have moved", []scenario.Move{until(10)}, 1},
		{"time in which both could have moved", []scenario.Move{until(30)}, 2},
		{"time in which nobody could", []scenario.Move{{}, until(10)}, 0},
		{"a fault", []scenario.Move{{}, crash}, 1},
		{"a delay and a fault", []scenario.Move{until(10), {}, crash}, 2},
	} {
		if got, err := spent(t.Context(), sc, c.moves); err != nil || got != c.want {
			t.Errorf("%s: %d, %v; want %d", c.name, got, err, c.want)
		}
	}
}

// A break whose kept search does not fit its solution is a mistake.
func TestASolutionCostsWhatWasFound(t *testing.T) {
	item := func() *Item {
		sc := parsed(t, "lock: {protocol: mutex-get-del, lease: 100ms, watchdog: off, retry: {times: 5, interval: 50ms}}\nthreads: [{name: A, work: 80ms}, {name: B, start: 10ms, work: 80ms}]")
		goal, err := parseMoment("broken foreign-release", sc)
		if err != nil {
			t.Fatal(err)
		}
		return &Item{Chapter: &Chapter{dir: "x"}, ID: "it", Kind: Break, Scenario: sc, goal: goal, within: explore.Bounds{Delays: 2}, at: Moment{text: "start", edge: "start"}, task: new(Breaking)}
	}
	found := item()
	made, err := TaskOf[*Breaking](found)
	if err != nil || made.Par != 2 {
		t.Fatal(err, made)
	}
	for cost, want := range map[int]bool{2: true, 1: false, 3: false} {
		kept := item()
		kept.kept = map[string]keptFound{}
		for key, one := range found.searched {
			one.Cost = cost
			kept.kept[key] = one
		}
		if _, err := kept.Made(); (err == nil) != want {
			t.Errorf("kept with a cost of %d: %v", cost, err)
		}
	}
}

// A goal is reached with the move after which it can be seen, and not with a later
// one.
func TestWithWhichMoveAGoalIsReached(t *testing.T) {
	sc := parsed(t, "threads: [{name: A, work: 50ms}, {name: B, start: 20ms, work: 50ms, retry: {times: 0}}]\nlock: {watchdog: off}")
	moves := make([]scenario.Move, 3)
	for goal, want := range map[string]int{"A works": 1, "A acquired": 1, "B ended": 2, "A released": 3, "A crash": 3} {
		m, err := parseMoment(goal, sc)
		if err != nil {
			t.Fatal(err)
		}
		v, _, err := reached(t.Context(), sc, moves, m)
		if err != nil || v.Moves != want || v.Met != (goal != "A crash") {
			t.Errorf("%s: %+v, %v; want %d moves", goal, v, err, want)
		}
	}
}

// An item is about the thread that does what it asks for; of a broken rule about
// the first of those who broke it.
func TestWhomAnItemIsAbout(t *testing.T) {
	sc := parsed(t, "threads: [{name: A}, {name: B}]")
	run := &Run{Scenario: sc, Events: []trace.Event{
		{Step: 1, Thread: "A", Body: trace.Outcome{Call: lock.CallLock, Result: trace.Acquired}},
		{Step: 2, Body: trace.Expired{}},
		{Step: 3, Body: trace.Violation{Rule: "mutual-exclusion", Threads: []string{"B", "A"}}},
		{Step: 4, Thread: "A", Body: trace.Violation{Rule: "shut-out", Threads: []string{"B"}}},
	}}
	for _, c := range []struct {
		kind   Kind
		moment string
		want   string
	}{
		{Predict, "A acquired", "A"},
		{Predict, "expired", ""},
		{Predict, "start", ""},
		{Why, "broken mutual-exclusion", "B"},
		{Why, "broken shut-out", "A"},
		{Mend, "broken mutual-exclusion", "B"},
		{Why, "B acquired", ""},
	} {
		m, err := parseMoment(c.moment, sc)
		if err != nil {
			t.Fatal(err)
		}
		i, made := &Item{Kind: c.kind, goal: m}, &Made{Run: run}
		switch c.kind {
		case Predict:
			i.until, i.goal = m, Moment{}
		case Mend:
			made.Run, made.Solved = &Run{Scenario: sc}, run
		}
		if got := made.About(i); got != c.want {
			t.Errorf("%s of %q is about %q, want %q", c.kind, c.moment, got, c.want)
		}
	}
}

// A line of a script stands in a text without its comment, which is in English.
func TestALineOfAScriptIsToldWithoutItsComment(t *testing.T) {
	t.Parallel()
	told := teller{run: &Run{Scenario: parsed(t, "threads: [{name: A}]\nlock: {lease: 200ms, protocol: reentrant}")}}
	if says, err := told.lua("unlock", 20); err != nil || says != "`redis.call('DEL', KEYS[1])`" {
		t.Errorf("line 20 is told as %s, %v", says, err)
	}
}
