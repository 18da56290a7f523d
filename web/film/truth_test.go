package film_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"relock/engine/lock"
	"relock/engine/outside/ownlock/ownlocktest"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons/lessonstest"
	"relock/web/film"
	"relock/web/page"
	"relock/web/words"
)

// Random runs with all faults and all protocols, own scripts among them: each sentence is
// held against the events, the key and the times, in each language, by patterns of its
// own. What has none is counted.
func TestSentencesOfRandomRunsAreTrue(t *testing.T) {
	runs, most := 2000, 0.6
	if testing.Short() {
		runs = 100
	}
	ctx := ownlocktest.Boxed(t)
	counted := map[words.Language]*tally{}
	for l := range longest {
		counted[l] = newTally(l)
	}
	for seed := range uint64(runs) {
		d := drawing{rand.New(rand.NewPCG(seed, 20))}
		sc := d.scenario(t)
		p := play(ctx, t, sc)
		r := newPlayedRun(p)
		for l := range longest {
			for i, text := range sentences(p, l) {
				checkSentence(t, l, p, p.Events[i], text)
				counted[l].hold(t, r, i, text, seed)
			}
		}
	}
	for l, c := range counted {
		t.Logf("%s: %d sentences of %d runs, %d held by a pattern, %d untrue", l.Code(), c.all, runs, c.held, c.wrong)
		for _, one := range c.list(c.untrue) {
			t.Logf("untrue: %s", one)
		}
		for _, one := range c.list(c.unheld) {
			t.Logf("without a pattern: %s", one)
		}
		if float64(c.held) < most*float64(c.all) {
			t.Errorf("%s: %d of %d sentences are held by a pattern, want %.0f %%", l.Code(), c.held, c.all, 100*most)
		}
	}
}

// What was once said in these runs was not so.
func TestWhatIsSaidBesideRarerFaults(t *testing.T) {
	ctx := ownlocktest.Boxed(t)
	for _, c := range []struct{ text, want string }{
		{
			"lock: {protocol: mutex, lease: 200ms, watchdog: off, retry: {times: 8, interval: 20ms}}\nthreads: [{name: A, work: 50ms}, {name: B, start: 60ms, work: 10ms}]\nfaults: [{thread: A, at: unlock, do: answer-error, error: BUSY}]",
			"B is refused: A is leaving, but its last unlock was answered with BUSY, and the key has 140 ms left.",
		},
		{
			"lock: {lease: 200ms, watchdog: off, retry: {times: 3, interval: 50ms}}\nthreads: [{name: A, work: 50ms, drift: 50%}, {name: B, start: 10ms, work: 10ms, drift: 50%}]",
			"B waits 50 ms before it asks again: retry 1 of 3. By its own clock.",
		},
		{
			"lock: {protocol: mutex-unsafe, lease: 200ms, watchdog: off, retry: {times: 5, interval: 50ms}}\nthreads: [{name: A, work: 50ms}, {name: B, start: 10ms, work: 10ms}]\nfaults: [{thread: A, at: lock, level: 1, command: 2, do: answer-error, error: BUSY}]",
			"A is told BUSY in answer to its lock, but Redis had run SETNX before. The key is its own and has no expiry.",
		},
		{
			"lock: {protocol: redlock, nodes: 3, lease: 200ms, watchdog: off, retry: {times: 2, interval: 50ms}}\nthreads: [{name: A, work: 20ms}]\nfaults: [{time: 5ms, do: answer-error, error: NOSCRIPT, node: 1}, {time: 6ms, do: answer-error, error: NOSCRIPT, node: 2}]",
			"Node 2 knows no script by its digest: each must be sent in full.",
		},
		{
			"lock: {protocol: redlock, nodes: 1, lease: 200ms, watchdog: off, retry: {times: 1, interval: 10ms}}\nthreads: [{name: A, work: 20ms}]\nfaults: [{thread: A, at: lock, do: answer-error, error: BUSY}]",
			"A is told BUSY in answer to its lock: the part that Redis ran changed nothing.",
		},
		{
			"lock: {protocol: mutex, lease: 100ms, watchdog: 30ms, max-hold: 200ms}\nthreads: [{name: A, work: 20ms}]\nfaults: [{thread: A, at: work, do: stall}]",
			"A's work hangs for ever; its watchdog renews every 30 ms, until it has held the lock for 200 ms.",
		},
		{
			"lock: {protocol: mutex, lease: 200ms, watchdog: off}\nthreads: [{name: A, work: 50ms}]\nfaults: [{time: 10ms, do: two-masters, thread: A, for: 300ms}]",
			"A has released the lock: its key was deleted. It asks the old master.",
		},
		{
			"lock:\n  protocol: own\n  lease: 200ms\n  retry: {times: 1, interval: 20ms}\n  scripts:\n    lock: |\n      if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end\n      redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])\n      return 1\n    unlock: |\n      return 1\nthreads: [{name: A, work: 10ms}, {name: B, start: 5ms, work: 10ms}]",
			"A has unlocked level 1: its script says yes. The key is its own for another 190 ms.",
		},
	} {
		p := play(ctx, t, parse(t, c.text))
		if told := sentences(p, words.English); !slices.Contains(told, c.want) {
			t.Errorf("nobody says %q:\n%s", c.want, strings.Join(told, "\n"))
		}
	}
}

// tally counts sentences in one language.
type tally struct {
	l                 words.Language
	patterns, besides []pattern
	all, held, wrong  int
	unheld, untrue    map[string]int
}

func newTally(l words.Language) *tally {
	c := &tally{l: l, unheld: map[string]int{}, untrue: map[string]int{}}
	for key, so := range truths {
		c.patterns = append(c.patterns, patternOf(l, key, so))
	}
	for key, so := range besides {
		c.besides = append(c.besides, patternOf(l, key, so))
	}
	return c
}

// plainly is a sentence without its names and numbers.
var plainly = regexp.MustCompile(`\b[A-E]\b|[-−]?\d[\d,.]*`)

func (c *tally) hold(t *testing.T, r *playedRun, i int, text string, seed uint64) {
	t.Helper()
	l := c.l
	if text == "" {
		return
	}
	c.all++
	whole, held := text, false
	wrong := func(pattern, why string) {
		if why == "" {
			return
		}
		if c.wrong++; c.untrue[pattern] < 3 {
			e := r.events[i]
			t.Errorf("seed %d, event %d at %v, %+v: %q (%s): %s; %+v", seed, e.Seq, e.At, e.Body, whole, pattern, why, r.sc.Lock)
		}
		c.untrue[pattern]++
	}
	for n, one := range clauses {
		of := compiled[n][0]
		if l != words.English {
			of = compiled[n][1]
		}
		if m := of.FindStringSubmatch(whole); m != nil {
			held = true
			wrong(one.name, one.so(r.scene(l, i, nil), m))
		}
	}
	byOwnClock := false
	for again := true; again; {
		again = false
		for _, p := range c.besides {
			before, said, ok := p.after(text)
			if !ok {
				continue
			}
			held, again, text = true, true, before
			byOwnClock = byOwnClock || p.key == "By its own clock."
			wrong(p.key, p.holds(r.scene(l, i, said)))
			break
		}
	}
	var best pattern
	var values []string
	shortest := len(text) + 1
	for _, p := range c.patterns {
		said, ok := p.said(text)
		if of := len(strings.Join(said, "")); ok && of < shortest { // the more of it is the pattern's own
			best, values, shortest = p, said, of
		}
	}
	if best.holds != nil {
		held = true
		s := r.scene(l, i, values)
		s.own = byOwnClock
		wrong(best.key, best.holds(s))
	}
	if held {
		c.held++
		return
	}
	c.unheld[plainly.ReplaceAllString(whole, "…")]++
}

// list is what was counted, the most frequent first.
func (c *tally) list(of map[string]int) []string {
	var list []string
	for text, n := range of {
		list = append(list, fmt.Sprintf("%5d %s", n, text))
	}
	slices.Sort(list)
	slices.Reverse(list)
	return list
}

// filmOf plays a scenario of the lessons.
func filmOf(t *testing.T, l words.Language, name string) *film.Film {
	t.Helper()
	p := lessonstest.Play(t, name+".yaml")
	f := film.New(l, p.Scenario, p.Owners)
	for _, e := range p.Events {
		f.Add(e)
	}
	return f
}

// What a thread does on the first node right after its work is told beside what
// it wrote: of the nodes after it each step tells.
func TestEachNodeOfAnUnlockIsToldOf(t *testing.T) {
	f := filmOf(t, words.English, "redlock-restart-without-data")
	for step, want := range map[int]string{
		15: "A writes 1, one more than it read, and nobody wrote between. A gives node 1 back: DEL removes its key there.",
		16: "A gives node 2 back: DEL removes its key there.",
	} {
		if got := f.Rows()[step-1].Why; got != want {
			t.Errorf("T%d: %s", step, got)
		}
	}
}

// On the wall clock a step goes on for some milliseconds after its outcome: the
// key beside a sentence is that of the instant of which the sentence tells.
func TestTheKeyIsOfTheInstantOfWhichTheSentenceTells(t *testing.T) {
	p := lessonstest.Play(t, "two-threads.yaml")
	f := film.New(words.English, p.Scenario, p.Owners)
	refused := 0
	for _, e := range p.Events {
		if _, ok := e.Body.(trace.Wait); ok {
			e.Key.PTTL -= 26 // as a busy machine has it
			refused++
		}
		f.Add(e)
	}
	if refused == 0 {
		t.Fatal("nobody waits")
	}
	for i, frame := range f.Rows() {
		row := &f.Rows()[i]
		if !strings.Contains(frame.Why, "is refused") {
			continue
		}
		left := strconv.FormatInt(int64(frame.Key.PTTL), 10) + " ms"
		if !strings.Contains(frame.Why, left) || row.Key.Lease != left {
			t.Errorf("%s: %s left beside %q, and %s in the table", row.Time, left, frame.Why, row.Key.Lease)
		}
	}
}

// A fault that strikes in the step in which a call has ended does not make
// the call's outcome bad, and is told after it.
func TestAFaultDoesNotSpoilTheOutcome(t *testing.T) {
	for _, c := range []struct {
		name            string
		step            int
		title, note     string
		outcome, struck string
	}{
		{"fenced-late-write", 1, "lock: acquired", "fault: paused for 200 ms", "A has the lock and fencing token 1", "A's whole process is paused for 200 ms"},
		{"crash", 4, "lock: level 2 entered", "fault: the process dies", "A is at level 2: hold count 2", "A dies with the lock"},
	} {
		f := filmOf(t, words.English, c.name)
		cell := f.Rows()[c.step-1].Cells[0]
		bad := -1
		for i, n := range cell.Notes {
			if n == (film.Note{Text: c.note, Tone: film.Bad}) {
				bad = i
			}
		}
		if cell.Title != c.title || cell.Tone != film.Good || bad < 0 {
			t.Errorf("%s: %+v", c.name, cell)
		}
		why := f.Rows()[c.step-1].Why
		if first := strings.Index(why, c.outcome); first != 0 || strings.Index(why, c.struck) < first {
			t.Errorf("%s: %s", c.name, why)
		}
	}
}

func TestWhyNotIsAReason(t *testing.T) {
	list := page.NewOptions(words.English, []run.Option{
		{Thread: "A", Choice: -1, Next: run.NextRetry, Reason: run.Waits, At: 300 * time.Millisecond},
		{Thread: "B", Choice: -1, Next: run.NextWork, Reason: run.Waits, At: 300 * time.Millisecond},
		{Thread: "C", Choice: -1, Next: run.NextWork, Reason: run.IsPaused, At: 240 * time.Millisecond},
		{Thread: "D", Choice: -1, Next: run.NextNothing, Reason: run.AwaitsNode},
	})
	for i, want := range []string{"waits until 300 ms", "works until 300 ms", "paused; its work ends at 240 ms: time passes first", "waits for the nodes"} {
		if list[i].Why != want {
			t.Errorf("%q, want %q", list[i].Why, want)
		}
	}
}

// Where the lock is not in Redis, nothing that a thread believes can part from
// what Redis knows.
func TestOutsideOfRedisNothingIsParted(t *testing.T) {
	for name, kind := range map[string]string{"spin-two-processes": film.TypeElsewhere, "no-lock-flash-sale": film.TypeNoLock} {
		f := filmOf(t, words.English, name)
		for i, r := range f.Rows() {
			for _, c := range r.Cells {
				if c.Parted {
					t.Errorf("%s: %s: %s is parted", name, r.Time, c.Thread)
				}
			}
			if got := f.Rows()[i].Key.Type; got != kind {
				t.Errorf("%s: a key of type %q, want %q", name, got, kind)
			}
		}
		for _, lane := range whole(f.Lanes()).Lanes {
			for _, b := range lane.Bars {
				if b.Parted {
					t.Errorf("%s: %s has a hatched bar", name, lane.Thread)
				}
			}
		}
	}
	f := filmOf(t, words.English, "no-lock-flash-sale")
	if c := f.Rows()[0].Cells[0]; c.Title != "enters level 1, no lock" || c.Tone != film.Plain {
		t.Errorf("%q %s", c.Title, c.Tone)
	}
}

// A heartbeat is no lock's.
func TestAHeartbeatHasNoLock(t *testing.T) {
	f := filmOf(t, words.English, "heartbeat")
	if got, want := f.Rows()[0].Cells[0].Title, "beat: its key is set"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !f.Rows()[0].Key.Heartbeat {
		t.Error("its key is a lock's")
	}
}

// The nodes that have a key are there for the inspector, majority or not.
func TestNodesAreInTheState(t *testing.T) {
	f := filmOf(t, words.English, "redlock-restart-without-data")
	some := false
	for _, r := range f.Rows() {
		var told struct{ After struct{ Nodes []int } }
		if text, err := json.Marshal(r); err != nil || json.Unmarshal(text, &told) != nil {
			t.Fatalf("%s: %s, %v", r.Time, text, err)
		}
		for n, node := range r.Key.Nodes {
			some = some || node.Thread != ""
			if has := told.After.Nodes[n] >= 0; has != (node.Thread != "") {
				t.Errorf("%s: node %d: %d", r.Time, node.Number, told.After.Nodes[n])
			}
		}
	}
	if !some {
		t.Error("no node ever has the key")
	}
}

// What Redis did is named where the events show it.
func TestWhyNamesTheJumpAndTheExpiry(t *testing.T) {
	for _, c := range []struct {
		name string
		step int
		want string
	}{
		{"clock-jump", 5, "Redis drops A's key: its clock has jumped by 2,000 ms, beyond the lease of 1,000 ms."},
		{"fenced-late-write", 8, "A and B are inside at once: Redis dropped A's key 5 ms ago."},
	} {
		if got := filmOf(t, words.English, c.name).Rows()[c.step-1].Why; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Calls are numbered in one way, by their retries, and once each.
func TestRetriesAreCountedOnce(t *testing.T) {
	call := func(name string, attempt int) lock.Call { return lock.Call{Name: name, Level: 1, Attempt: attempt} }
	for _, c := range []struct {
		o    run.Option
		want string
	}{
		{run.Option{Next: run.NextRetry, Call: call("lock", 2), Retries: 5}, "asks again: lock, level 1, retry 1"},
		{run.Option{Next: run.NextRetry, Call: call("lock", 2), Retries: 5, First: "EXISTS"}, "asks again: EXISTS … in lock, level 1, retry 1"},
		{run.Option{Next: run.NextRetry, Call: call("lock", 2), Retries: 5, First: "TIME", Handed: true}, "hears that the lock is now its own"},
		{run.Option{Next: run.NextRetry, Call: call("unlock", 3), First: "GET"}, "repeats unlock: GET … in unlock, level 1, retry 2"},
		{run.Option{Next: run.NextRetry, Call: call("unlock", 1), First: "GET"}, "goes on: GET … in unlock, level 1"}, // it waits for a node
		{run.Option{Next: run.NextRetry, Call: call("beat", 2)}, "goes on: beat, round 2"},
		{run.Option{Next: run.NextCall, Call: call("unlock", 2)}, "goes on: unlock, level 1, retry 1"},
		{run.Option{Next: run.NextAsk, Call: call("lock", 1), First: "SET", Node: 3, Background: true}, "asks node 3: SET … in lock, level 1"},
		{run.Option{Next: run.NextCall, Call: call("lock", 1), First: "SET", Node: 2}, "asks node 2: SET … in lock, level 1"},
		{run.Option{Next: run.NextRenew, Call: call("renew", 1), First: "GET", Node: 2, Background: true}, "watchdog: asks node 2: GET … in renew"},
	} {
		if got := page.NewOptions(words.English, []run.Option{c.o})[0].Does; got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	f := filmOf(t, words.English, "lost-replies")
	if got, want := f.Rows()[8].Cells[0].Title, "unlock (retry 1): level 2 left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What a page says of a run speaks of nothing that the run does not have.
func TestFactsAreThoseOfTheRun(t *testing.T) {
	for _, c := range []struct{ name, facts, key, full string }{
		{"two-threads", "reentrant, lease 200 ms, watchdog 100 ms", "lease", "200 ms"},
		{"redlock", "redlock, nodes: 5, lease 300 ms, watchdog off", "nodes", "quorum 3 of 5"},
		{"heartbeat", "heartbeat, the key stays for 5 min", "expiry", "5 min"},
		{"spin-two-processes", "lock: spin", "word", "in memory"},
		{"no-lock-flash-sale", "no lock", "no key", ""},
	} {
		p := lessonstest.Play(t, c.name+".yaml")
		if got := strings.Join(film.NewScenario(words.English, p.Scenario).Facts, ", "); got != c.facts {
			t.Errorf("%s: %q, want %q", c.name, got, c.facts)
		}
		l := film.LanesOf(p.Scenario, p.Owners)
		for _, e := range p.Events {
			l.Add(e)
		}
		picture := whole(l)
		if picture.Key.Name != c.key || picture.Key.Full != c.full {
			t.Errorf("%s: the key's lane is %q, %q", c.name, picture.Key.Name, picture.Key.Full)
		}
		for _, lane := range picture.Lanes {
			for _, b := range lane.Bars {
				if b.Parted && (c.key == "no key" || c.key == "word") {
					t.Errorf("%s: %s is said to hold what Redis does not know", c.name, lane.Thread)
				}
			}
		}
	}
}

// Where Redis is not asked, a broken rule is not explained by it.
func TestViolationsOutsideOfRedisDoNotSpeakOfIt(t *testing.T) {
	for name, want := range map[string]string{
		"spin-two-processes":  "A and B are in their critical sections at once; each process has its own spin lock",
		"no-lock-over-buying": "A and B are in their critical sections at once; there is no lock between them",
	} {
		var first *film.Violation
		for _, r := range filmOf(t, words.English, name).Rows() {
			for i, v := range r.Violations {
				if strings.Contains(v.Detail, "Redis") {
					t.Errorf("%s: %s", name, v.Detail)
				}
				if first == nil {
					first = &r.Violations[i]
				}
			}
		}
		if first == nil || first.Detail != want {
			t.Errorf("%s: %+v, want %q", name, first, want)
		}
	}
}

// What a fair lock does to its queue does not hide what it does to the lock,
// and no key's name is longer than it has to be.
func TestTheQueueIsFolded(t *testing.T) {
	f := filmOf(t, words.English, "fair")
	cell := f.Rows()[1].Cells[1] // B is refused, and gets in line
	var shown, folded []string
	for _, g := range cell.Groups() {
		for _, l := range g.Lines {
			if g.Closed {
				folded = append(folded, l.Verb)
			} else {
				shown = append(shown, l.Verb)
			}
		}
	}
	if got := strings.Join(shown, " "); got != "TIME EXISTS HMGET EXISTS PTTL" {
		t.Errorf("shown are %s", got)
	}
	if got := strings.Join(folded, " "); got != "ZADD RPUSH PTTL PEXPIRE PTTL PEXPIRE" {
		t.Errorf("folded are %s", got)
	}
	for _, l := range cell.Lines {
		if strings.Contains(l.Args, "EXAMPLE_LOCK") {
			t.Errorf("%s %s", l.Verb, l.Args)
		}
	}
	if got, want := f.Rows()[5].Cells[1].Title, "is handed the lock"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, r := range filmOf(t, words.English, "two-threads").Rows() {
		for _, c := range r.Cells {
			if len(c.Lines) > 0 && len(c.Groups()) != 1 {
				t.Errorf("%s: the commands of one lock are in %d groups", r.Time, len(c.Groups()))
			}
		}
	}
}

// What notes that calls are over, and what counts tokens, is beside the lock,
// too, but is no queue.
func TestNotesOfCallsAreNotFoldedAsAQueue(t *testing.T) {
	for _, c := range []struct{ protocol, shown string }{
		{"reentrant-fair", "TIME HMGET DEL TIME HGETALL HSET PEXPIRE LPOP"},
		{"fenced", "HMGET DEL TIME HGETALL HSET PEXPIRE"},
	} {
		p := lessonstest.PlayScenario(t, parse(t, "lock: {protocol: "+c.protocol+", lease: 1s, watchdog: off}\nthreads: [{name: A, work: 10ms}]\nfaults: [{thread: A, at: lock, do: lose-reply}]"))
		for _, r := range filmed(p, words.English, false).Rows() {
			var verbs []string
			for _, g := range r.Cells[0].Groups() {
				for _, l := range g.Lines {
					verbs = append(verbs, l.Verb)
					if g.Closed || l.Queue != (l.Verb == "LPOP") {
						t.Errorf("%s, %s: %s is taken for the queue's", c.protocol, r.Time, l.Verb)
					}
				}
			}
			if r.Cells[0].Title == "unlock: released" && strings.Join(verbs, " ") != c.shown {
				t.Errorf("%s: %s, want %s", c.protocol, strings.Join(verbs, " "), c.shown)
			}
		}
	}
}

// A cell reads in the order of the events: the write at the end of the work
// came before the unlock, the loss of a reply after the commands.
func TestACellIsInTheOrderOfTheEvents(t *testing.T) {
	plain := func(text string) film.Note { return film.Note{Text: text, Tone: film.Plain} }
	for _, c := range []struct {
		name           string
		step, thread   int
		earlier, notes []film.Note
	}{
		{"fenced-late-write", 9, 1, []film.Note{plain("writes 1 with token 105,000")}, []film.Note{plain("ends: done")}},
		{"fenced-late-write", 10, 0, []film.Note{{Text: "its write with token 1 is refused: a newer one was seen", Tone: film.Bad}}, []film.Note{{Text: "ends: lost", Tone: film.Bad}}},
		{"fair", 5, 0, []film.Note{plain("writes 1")}, []film.Note{plain("ends: done")}},
		{"fenced", 4, 0, []film.Note{plain("writes 1 with token 1")}, []film.Note{plain("works 60 ms"), plain("reads 1")}},
		{"fenced-late-write", 2, 1, nil, []film.Note{plain("waits 20 ms")}},
		{"lost-replies", 1, 0, nil, []film.Note{{Text: "fault: the reply is lost", Tone: film.Bad}, plain("connection reset by peer"), plain("waits 20 ms")}},
	} {
		cell := filmOf(t, words.English, c.name).Rows()[c.step-1].Cells[c.thread]
		if !slices.Equal(cell.Earlier, c.earlier) || !slices.Equal(cell.Notes, c.notes) {
			t.Errorf("%s T%d: %+v, then %+v; want %+v, then %+v", c.name, c.step, cell.Earlier, cell.Notes, c.earlier, c.notes)
		}
	}
}

// A node that does not answer is marked as long as it does not, in the table
// and in the lanes.
func TestANodeThatIsDownIsMarked(t *testing.T) {
	marks := func(k film.Key) string {
		var list []string
		for _, n := range k.Nodes {
			switch {
			case n.Down:
				list = append(list, "down")
			case n.Cut != "":
				list = append(list, "cut off from "+n.Cut)
			default:
				list = append(list, "up")
			}
		}
		return strings.Join(list, ", ")
	}
	f := filmOf(t, words.English, "redlock-two-nodes-down")
	for i, r := range f.Rows() {
		want := "up, down, up, down, up"
		if i == 0 {
			want = "up, down, up, up, up"
		}
		if got := marks(r.Key); got != want {
			t.Errorf("%s: %s, want %s", r.Time, got, want)
		}
	}
	picture := f.Lanes().Window(words.English, "x", 0, f.Lanes().Len())
	for i, s := range picture.Key.Strips {
		if down := len(s.Down) == 1 && s.Down[0].To == picture.Right; down != (i == 1 || i == 3) {
			t.Errorf("the lanes show node %d down: %v", i+1, s.Down)
		}
	}

	tl := ofTwoUnowned()
	nodes := []trace.KeyState{trace.Absent(), trace.Absent()}
	for i, c := range []struct {
		fault trace.Fault
		want  string
	}{
		{trace.Fault{Do: "down", Node: 2, Thread: "B"}, "up, cut off from B"},
		{trace.Fault{Do: "down", Node: 2, Thread: "A"}, "up, cut off from A and B"},
		{trace.Fault{Do: "down"}, "down, cut off from A and B"},
		{trace.Fault{Do: "up", Node: 2, Thread: "A"}, "down, cut off from B"},
		{trace.Fault{Do: "up", Node: 1}, "up, cut off from B"},
	} {
		tl.Add(trace.Event{Seq: i + 1, Step: i + 1, Key: trace.Absent(), Nodes: nodes, Body: c.fault})
		if got := marks(tl.Rows()[i].Key); got != c.want {
			t.Errorf("after %+v: %s, want %s", c.fault, got, c.want)
		}
	}
}

// The sentence of a row is about what matters most in it.
func TestTheReasonIsAboutWhatMattersMost(t *testing.T) {
	for _, c := range []struct {
		name string
		step int
		want string
	}{
		{"fenced-late-write", 9, "B writes 1 with token 105,000, one more than it read, and nobody wrote between. B has released the lock: it has left its last level, so the key was deleted."},
		{"fenced-late-write", 10, "A's write is refused: its token is 1, and one with token 105,000 has been here."},
		{"naive-inner-reply-lost", 2, "A's watchdog has cut its lease, from 83 h 20 min to 300 ms."},
		{"fair", 2, "B is refused: A holds the lock for another 295 ms, and B is number 1 in the queue."},
		{"fair", 4, "D is refused: A holds the lock for another 261 ms, and D is number 3 in the queue."},
		{"fair", 5, "A has released the lock: it has left its last level, and the lock is B's already."},
	} {
		if got := filmOf(t, words.English, c.name).Rows()[c.step-1].Why; got != c.want {
			t.Errorf("%s T%d: %s", c.name, c.step, got)
		}
	}
}

// A renewal of another's lease is no success, and nothing is left below zero.
func TestWhatIsWrongIsNotSaidAsIfItWereRight(t *testing.T) {
	for _, c := range []struct {
		name         string
		step, thread int
		title        string
		tone         film.Tone
		earlier      string
	}{
		{"naive-inner-reply-lost", 16, 0, "watchdog: the lease of B renewed", film.Bad, ""},
		{"naive-inner-reply-lost", 15, 1, "watchdog: lease renewed", film.Good, ""},
		{"no-lock-over-buying", 5, 1, "leaves level 1", film.Plain, "buys: user 7 has 2 of 2"},
		{"no-lock-over-buying", 6, 2, "leaves level 1", film.Plain, "buys beyond the limit: user 7 has 3 of 2"},
		{"no-lock-flash-sale", 11, 3, "leaves level 1", film.Plain, "takes one that does not exist: the stock is at -1"},
	} {
		cell := filmOf(t, words.English, c.name).Rows()[c.step-1].Cells[c.thread]
		earlier := ""
		for _, n := range cell.Earlier {
			earlier = n.Text
		}
		if cell.Title != c.title || cell.Tone != c.tone || earlier != c.earlier {
			t.Errorf("%s T%d: %+v", c.name, c.step, cell)
		}
	}
}

// What arrives late is shown as that, in a row of its own, and is neither its
// thread's doing nor anything that its thread hears of.
func TestALateCopyIsShownAsThat(t *testing.T) {
	for _, c := range []struct {
		name  string
		step  int
		title string
		why   string
		mark  film.Mark
	}{
		{"late-unlock", 8, "late copy of unlock, level 1", "A's unlock arrives late and deletes the key, though A is at level 1: anyone who asks now gets in.", film.Struck},
		{"late-inner-unlock", 12, "late copy of unlock, level 2", "A is at level 3, and its hold count is 1: the two must be equal.", film.Broken},
		{"late-lock-naive", 8, "late copy of lock, level 1", "A's lock arrives late: HINCRBY makes its count 4, though A is at level 3.", film.Struck},
		{"late-unlock-sequenced", 8, "late copy of unlock, level 1", "A's unlock arrives too late: it is call 2, and by HMGET the last one was 3. It is refused.", film.Struck},
		{"late-inner-unlock-sequenced", 12, "late copy of unlock, level 2", "A's unlock arrives too late: it is call 5, and by HMGET the last one was 9. It is refused.", film.Struck},
		{"late-lock-sequenced", 7, "late copy of lock, level 1", "A's lock arrives too late: it is call 1, and by HMGET the last one was 3. It is refused.", film.Struck},
		{"late-lock-orphan-sequenced", 7, "late copy of lock, level 1", "A's lock arrives too late: it is call 1, and by HGET call 2 is over by now. It is refused.", film.Struck},
		{"late-lock-orphan", 7, "late copy of lock, level 1", "A's lock arrives late: HINCRBY makes its count 1, though A has ended.", film.Struck},
	} {
		f := filmOf(t, words.English, c.name)
		row, frame := f.Rows()[c.step-1], f.Rows()[c.step-1]
		if cell := row.Cells[0]; cell.Title != c.title || cell.Tone != film.Plain || len(cell.Notes)+len(cell.Earlier) > 0 {
			t.Errorf("%s: %+v", c.name, cell)
		}
		if frame.Why != c.why || frame.Mark != c.mark {
			t.Errorf("%s: %q, %s", c.name, frame.Why, frame.Mark)
		}
		marks := 0
		for _, m := range whole(f.Lanes()).Lanes[0].Marks {
			if m.Kind == film.MarkLate {
				marks++
			}
		}
		if marks != 1 {
			t.Errorf("%s: %d marks of a late copy", c.name, marks)
		}
	}
	// After the late copy a waiting thread still waits, and a working one still
	// works.
	if got, want := filmOf(t, words.English, "late-unlock").Rows()[8].Cells[0].Title, "working, level 1"; got != want {
		t.Errorf("after it: %q, want %q", got, want)
	}
	for _, c := range []struct {
		o    run.Option
		want page.Option
	}{
		{
			run.Option{Thread: "A", Network: true, Choice: -1, Next: run.NextCopy, Call: lock.Call{Name: "unlock", Level: 2}, First: "HEXISTS", Reason: run.Waits, At: 85 * time.Millisecond},
			page.Option{Thread: "A", Network: true, Can: true, Choice: -1, Name: "A's late copy", When: "at 85 ms", Which: "unlock", Does: "late copy of unlock, level 2", Why: "on its way until 85 ms: time passes first"},
		},
		{
			run.Option{Thread: "A", Network: true, Choice: 1, Next: run.NextCopy, Call: lock.Call{Name: "renew", Level: 2}, First: "HEXISTS"},
			page.Option{Thread: "A", Network: true, Can: true, Choice: 1, Name: "A's late copy", Which: "renew", Does: "late copy of renew"},
		},
	} {
		got := page.NewOptions(words.English, []run.Option{c.o})[0]
		if got.When = strings.ReplaceAll(got.When, "\u00a0", " "); got != c.want {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}

// A thread that waits for its retry is drawn waiting while its late copy
// arrives, and the lock that this deletes is one that it believes in.
func TestLanesOfALateCopy(t *testing.T) {
	p := whole(filmOf(t, words.English, "late-unlock").Lanes())
	parted := false
	for _, b := range p.Lanes[0].Bars {
		parted = parted || b.Parted
	}
	if !parted {
		t.Error("A's bar is whole after its lock was deleted")
	}
	sc, err := scenario.Parse([]byte("lock: {lease: 1s, watchdog: off, retry: {times: 2, interval: 90ms}}\nthreads: [{name: A, work: 10ms}]\nfaults: [{thread: A, at: lock, do: late-copy, for: 30ms}]"))
	if err != nil {
		t.Fatal(err)
	}
	played := lessonstest.PlayScenario(t, sc)
	f := film.New(words.English, sc, played.Owners)
	for _, e := range played.Events {
		f.Add(e)
	}
	if got, want := f.Rows()[1].Cells[0].Doing, film.Waiting; got != want {
		t.Errorf("A is %q, want %q", got, want)
	}
	p = whole(f.Lanes())
	if waits := p.Lanes[0].Waits; len(waits) != 1 || waits[0].To != p.Columns[2].X {
		t.Errorf("A waits %v, want until %v", waits, p.Columns[2].X)
	}
}

// A thread that has called its last unlock is said to be leaving, and not to
// hold or believe anything, as long as it has no answer.
func TestWhoLeavesIsSaidToBeLeaving(t *testing.T) {
	f := filmOf(t, words.English, "mutex-unsafe-pause")
	for i, r := range f.Rows() {
		leaving := 6 <= r.Step && r.Step <= 11 // from its pause, at 50 ms, to its DEL
		c, frame := r.Cells[0], f.Rows()[i]
		if c.Leaving != leaving || c.Parted {
			t.Errorf("%s: A's cell: %+v", r.Time, c)
		}
		if slices.Contains(frame.Leaving, 0) != leaving {
			t.Errorf("%s: leaving are %v", r.Time, frame.Leaving)
		}
	}
	var bars []film.Bar
	for _, b := range whole(f.Lanes()).Lanes[0].Bars {
		if b.Leaving || b.Parted {
			bars = append(bars, b)
		}
	}
	if len(bars) != 1 || !bars[0].Leaving || bars[0].Parted || bars[0].Text != "leaving" {
		t.Errorf("A's lane: %+v, want one bar that is leaving", bars)
	}
	for step, want := range map[int]string{
		7:  "B is refused: A is leaving, but its last unlock has not reached Redis, and the key has 35 ms left.",
		9:  "Redis drops A's key: its lease of 100 ms is over before the last unlock of A has arrived.",
		12: "A has deleted B's key: its unlock came late. When A called it, the key was still its own.",
	} {
		if got := f.Rows()[step-1].Why; got != want {
			t.Errorf("T%d: %q, want %q", step, got, want)
		}
	}
}

// The number of a last call is in the lock's hash, and holds nothing.
func TestTheNumberOfACallIsNoHold(t *testing.T) {
	p := lessonstest.PlayScenario(t, parse(t, "lock: {protocol: reentrant-sequenced, lease: 200ms, watchdog: off}\nthreads: [{name: A, depth: 2, work: 40ms}, {name: B, start: 5ms}]"))
	f := filmed(p, words.English, false)
	row := f.Rows()[2] // A has entered level 2
	if got, want := row.Key.Short(), "{A: 2, #A: 2} 160 ms"; got != want {
		t.Errorf("the key is %s, want %s", got, want)
	}
	if len(row.Key.Holds) != 1 || !slices.Equal(row.Key.Calls, []film.LastCall{{Field: "#A", Thread: "A", Number: "2"}}) {
		t.Errorf("%+v", row.Key)
	}
	if told, err := json.Marshal(row.Key); err != nil || !strings.Contains(string(told), `"calls":[{"field":"#A","thread":0,"number":"2"}]`) || strings.Count(string(told), `"owner"`) != 1 {
		t.Errorf("the inspector is told %s, %v", told, err)
	}
	// HINCRBY changes the hold, HSET only the number.
	for _, i := range row.Inside {
		was, now := i.Renumbered()
		switch i.Line.Verb {
		case "HINCRBY":
			if !i.After.Changed(i.Before) || now != "" {
				t.Errorf("%s: %s, then %s", i.Line.Verb, i.Before.Short(), i.After.Short())
			}
		case "HSET":
			if i.After.Changed(i.Before) || was != "#A: 1" || now != "#A: 2" {
				t.Errorf("%s: %s, then %s: %q to %q", i.Line.Verb, i.Before.Short(), i.After.Short(), was, now)
			}
		default:
			if now != "" {
				t.Errorf("%s changes the number to %s", i.Line.Verb, now)
			}
		}
	}
	if was, now := f.Rows()[0].Inside[2].Renumbered(); was != "" || now != "#A: 1" {
		t.Errorf("at the first acquisition: %q to %q", was, now)
	}
	// No owner but the number alone: nobody's.
	tl := ofTwoUnowned()
	tl.Add(trace.Event{Seq: 1, Step: 1, Thread: "A", Key: trace.KeyState{Type: trace.TypeHash, Fields: map[string]string{"#A": "4", "#Z": "5"}, PTTL: 10}, Belief: map[string]int{"A": 1}, Body: trace.Work{State: trace.WorkBegin, Level: 1}})
	only := tl.Rows()[0]
	if len(only.Key.Holds) != 0 || len(only.Key.Calls) != 2 || only.Key.Calls[1].Thread != "" || !only.Cells[0].Parted {
		t.Errorf("%+v, and A is parted: %v", only.Key, only.Cells[0].Parted)
	}
	lanes := film.NewLanes([]string{"A"}, map[string]string{"a": "A"}, 200)
	lanes.Add(trace.Event{Seq: 1, Step: 1, Thread: "A", Key: trace.KeyState{Type: trace.TypeHash, Fields: map[string]string{"#A": "4"}, PTTL: 10}, Belief: map[string]int{"A": 1}, Body: trace.Work{State: trace.WorkBegin, Level: 1}})
	for _, b := range whole(lanes).Lanes[0].Bars {
		if !b.Parted {
			t.Errorf("the number of a call is taken for a hold: %+v", b)
		}
	}
}

// A call that is refused by its number says so, whatever else it asks.
func TestARowOfALateCallSaysThatItIsLate(t *testing.T) {
	sc := parse(t, "lock: {protocol: reentrant-sequenced}\nthreads: [{name: A}]")
	f := film.New(words.English, sc, map[string]string{"a": "A"})
	key := trace.KeyState{Type: trace.TypeHash, Fields: map[string]string{"a": "1", "#A": "5"}, PTTL: 10}
	for i, c := range []trace.Command{
		{Args: []string{"HMGET", sc.Lock.Key, "a", "#A"}, Reply: []any{"1", "5"}},
		{Args: []string{"HGET", "{" + sc.Lock.Key + "}:over", "a/A"}, Reply: nil},
		{Args: []string{"HSET", "{" + sc.Lock.Key + "}:over", "a/A", "2"}, Reply: int64(1)},
	} {
		c.Call, c.Level, c.Number, c.Script = "unlock", 1, 2, "sequenced-unlock.lua"
		f.Add(trace.Event{Seq: i + 1, Step: 1, Thread: "A", Key: key, Body: c})
	}
	if got, want := f.Rows()[0].Why, "A's call 2 arrives too late: by HMGET its last call was 5, so this one is refused."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// ofTwoUnowned is the timeline of a run of two threads.
func ofTwoUnowned() *film.Timeline {
	s := film.Scenario{Key: "K", LeaseMillis: 200, Threads: []film.Thread{{Name: "A"}, {Name: "B"}}}
	return film.NewTimeline(words.English, s, nil)
}
