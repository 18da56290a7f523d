package film_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"relock/engine/lock/protocol"
	"relock/engine/outside/ownlock/ownlocktest"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/trace/facts"
	"relock/lessons/lessonstest"
	"relock/web/film"
	"relock/web/words"
)

// staged is the film of a bundled run, and the last event of each of its rows.
func staged(tb testing.TB, name string) (lessonstest.Run, []film.Row, []trace.Event) {
	tb.Helper()
	p := lessonstest.Play(tb, name)
	f := film.New(words.English, p.Scenario, p.Owners)
	var last []trace.Event
	for _, e := range p.Events {
		if i := f.Add(e); i == len(last) {
			last = append(last, e)
		} else {
			last[i] = e
		}
	}
	return p, f.Rows(), last
}

// told is what a stage says of a thread: "I hold the lock, works until 40 ms, false, not in Redis".
func told(s film.Stage, thread int) string {
	b := s.Beliefs[thread]
	var parts []string
	for _, part := range []string{b.Says, b.Does, b.Odd, string(b.Cord), b.Tie, b.Need} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

func TestWhatIsOnTheStage(t *testing.T) {
	for _, c := range []struct {
		file   string
		step   int
		thread int
		want   string
	}{
		{"late-write-without-a-token.yaml", 1, 0, "I hold the lock, paused until 200 ms, ok"},
		{"late-write-without-a-token.yaml", 1, 1, "Outside, comes at 5 ms, none"},
		{"late-write-without-a-token.yaml", 4, 1, "I wait, refused 3 times, again at 65 ms, no, refused"},
		{"late-write-without-a-token.yaml", 7, 0, "I hold the lock, paused until 200 ms, it cannot know, open, not in Redis"},
		{"late-write-without-a-token.yaml", 8, 0, "I hold the lock, paused until 200 ms, it cannot know, false, not in Redis"},
		{"late-write-without-a-token.yaml", 8, 1, "I hold the lock, works until 125 ms, ok"},
		{"late-write-without-a-token.yaml", 9, 1, "Done, wrote 1, left at 125 ms, none"},
		{"late-write-without-a-token.yaml", 10, 0, "I lost it, told at its unlock, at 240 ms, none"},
		{"two-threads.yaml", 3, 0, "I hold the lock, works until 93 ms, ok"},
		{"two-threads.yaml", 6, 0, "I hold it twice, works until 152 ms, two, both say 2"},
		{"two-masters.yaml", 3, 0, "I hold the lock, works until 120 ms, nobody has told it, false, asks the old master"},
		{"stalled-work.yaml", 3, 0, "I hold the lock, hangs for ever, ok"},
		{"busy-asked-again.yaml", 5, 1, "I do not know, its call was answered with BUSY, none"},
		{"redlock-cut-off.yaml", 8, 0, "I do not know, its call got 2 yes and 0 no, none"},
		{"late-lock-orphan.yaml", 1, 0, "I do not know, its call got no answer, none"},
		{"late-lock-orphan.yaml", 7, 0, "Done, left at 50 ms, loose, its key is there"},
		{"fair.yaml", 4, 3, "I wait, for a message, until 114 ms at most, no, number 3"},
		{"redlock-restart-without-data.yaml", 14, 0, "I hold the lock, works until 105 ms, valid until 498 ms, nobody has told it, false, 2 of 5, 3 are needed"},
		{"redlock-restart-without-data.yaml", 14, 1, "I hold the lock, works until 140 ms, valid until 533 ms, ok, 3 of 5, enough"},
	} {
		_, rows, _ := staged(t, c.file)
		if got := told(rows[c.step-1].Stage, c.thread); got != c.want {
			t.Errorf("%s, T%d: %q, not %q", c.file, c.step, got, c.want)
		}
	}
}

// A thread that its end calls lost has lost the lock, and no other.
func TestAnEndIsCalledTheSame(t *testing.T) {
	failed := false
	for _, name := range lessonstest.Names(t) {
		p, rows, _ := staged(t, name)
		if len(rows) == 0 {
			continue
		}
		for _, e := range p.Events {
			b, is := e.Body.(trace.End)
			if !is || e.Thread == "" {
				continue
			}
			i := slices.IndexFunc(p.Scenario.Threads, func(t scenario.Thread) bool { return t.Name == e.Thread })
			is = rows[len(rows)-1].Stage.Beliefs[i].State == film.LostIt
			failed = failed || b.Result == trace.Failed
			if is != (b.Result == trace.Lost) {
				t.Errorf("%s: %s ended as %s, and the stage says %q", name, e.Thread, b.Result, told(rows[len(rows)-1].Stage, i))
			}
		}
	}
	if !failed {
		t.Error("no thread of any lesson ends with an error")
	}
}

func TestWhatTheCardSays(t *testing.T) {
	for _, c := range []struct {
		file string
		step int
		held string
		raw  string
		left string
		res  string
	}{
		{"late-write-without-a-token.yaml", 8, "B holds it, ×1", "HASH { e137…47f: 1 }", "100 of 100 ms", "counter 0: A and B have read 0"},
		{"late-write-without-a-token.yaml", 7, "nobody holds it", "no key", "–", "counter 0: A has read 0"},
		{"two-threads.yaml", 6, "A holds it, ×2", "HASH { 0678…102: 2 }", "200 of 200 ms", ""},
		{"fair.yaml", 4, "A holds it, ×1", "HASH { 0678…102: 1, #A: 1 }", "261 of 300 ms", "counter 0: A has read 0"},
		{"fenced-late-write.yaml", 10, "nobody holds it", "no key", "–", "counter 1: newest token: 105,000; writes refused: 1"},
	} {
		_, rows, _ := staged(t, c.file)
		card := rows[c.step-1].Stage.Card
		held := card.Held
		for _, o := range card.Owners {
			held = o.Name + " " + held
		}
		res := ""
		if r := card.Resource; r != nil {
			res = r.Name + " " + r.Value + ": " + strings.Join(r.Texts, "; ")
		}
		if held != c.held || card.Raw != c.raw || card.Left != c.left || res != c.res {
			t.Errorf("%s, T%d: %q, %q, %q, %q", c.file, c.step, held, card.Raw, card.Left, res)
		}
	}
}

// checkSeveral holds a belief in several locks against an event.
func checkSeveral(t *testing.T, name string, step int, b film.Belief, e trace.Event, owners facts.Owners, thread string) {
	t.Helper()
	var holds, believes []string
	parted := false
	for _, one := range e.Locks {
		has, thinks := owners.Hold(one.Key, thread), one.Belief[thread] > 0
		parted = parted || thinks && !has
		if has {
			holds = append(holds, one.Lock)
		}
		if thinks && !facts.Leaves(e, thread) {
			believes = append(believes, one.Lock)
		}
	}
	var want []film.Cord
	switch {
	case len(believes) > 0 && parted:
		want = []film.Cord{film.Parted}
	case len(believes) > 1:
		want = []film.Cord{film.Twice}
	case len(believes) > 0:
		want = []film.Cord{film.Agrees}
	case len(holds) > 0:
		want = []film.Cord{film.Agrees, film.Loose}
	default:
		want = []film.Cord{film.NoCord, film.Kept, film.Asking}
	}
	if !slices.Contains(want, b.Cord) {
		t.Errorf("%s, T%d: %s has the cord %q, holds %q, believes in %q", name, step, thread, b.Cord, holds, believes)
	}
	for _, lock := range believes {
		if !strings.Contains(b.Says, lock) {
			t.Errorf("%s, T%d: %s says %q, and believes in %q", name, step, thread, b.Says, believes)
		}
	}
}

// The test compares the stage after each row of all bundled runs with the row's last
// event: what threads believe, and who is in the key.
func TestTheStageIsTrue(t *testing.T) {
	states, cords := map[film.State]bool{}, map[film.Cord]bool{}
	for _, name := range lessonstest.Names(t) {
		p, rows, last := staged(t, name)
		owners := facts.Owners(p.Owners)
		inRedis := p.Scenario.Lock.Implementation().Guard == protocol.InRedis && p.Scenario.Kind != scenario.KindHeartbeat
		for i, r := range rows {
			e := last[i]
			if inRedis && r.Stage.Card.Gone == e.Key.Exists() {
				t.Errorf("%s, T%d: gone is %v, the key %+v", name, r.Step, r.Stage.Card.Gone, e.Key)
			}
			for n, b := range r.Stage.Beliefs {
				thread := p.Scenario.Threads[n].Name
				states[b.State], cords[b.Cord] = true, true
				believes := e.Belief[thread] > 0 && !facts.Leaves(e, thread)
				if p.Scenario.Kind != scenario.KindHeartbeat && (b.State == film.Holds) != believes {
					t.Errorf("%s, T%d: %s %s, believes %v", name, r.Step, thread, b.State, e.Belief)
				}
				if !inRedis {
					continue
				}
				if len(e.Locks) > 0 {
					checkSeveral(t, name, r.Step, b, e, owners, thread)
					continue
				}
				holds := owners.Hold(e.Key, thread)
				if len(e.Nodes) > 0 {
					continue // counted below
				}
				aside := b.Tie == "asks the old master"
				switch b.Cord {
				case film.Agrees, film.Twice, film.Loose:
					if !holds {
						t.Errorf("%s, T%d: %s is tied by %q to %+v", name, r.Step, thread, b.Cord, e.Key)
					}
				case film.Parted, film.Open:
					if holds && !aside || !believes || (b.Cord == film.Open) == e.Key.Exists() {
						t.Errorf("%s, T%d: %s is parted by %q from %+v, believes %v", name, r.Step, thread, b.Cord, e.Key, e.Belief)
					}
				default:
					if holds || believes {
						t.Errorf("%s, T%d: %s has the cord %q, holds %v, believes %v", name, r.Step, thread, b.Cord, holds, believes)
					}
				}
			}
			for n, b := range r.Stage.Beliefs {
				has := 0
				for _, k := range e.Nodes {
					if owners.Hold(k, p.Scenario.Threads[n].Name) {
						has++
					}
				}
				if len(e.Nodes) > 0 && (b.Cord == film.Agrees) != (has > len(e.Nodes)/2 && b.State == film.Holds) {
					t.Errorf("%s, T%d: %s has %d of %d nodes and the cord %q", name, r.Step, p.Scenario.Threads[n].Name, has, len(e.Nodes), b.Cord)
				}
			}
		}
	}
	for _, state := range []film.State{
		film.Outside, film.Asks, film.Waits, film.Holds, film.Leaves, film.Unsure, film.LostIt, film.GaveUp, film.Failed, film.Crashed, film.Done,
	} {
		if !states[state] {
			t.Errorf("no bundled run has a thread that is %q", state)
		}
	}
	for _, cord := range []film.Cord{film.NoCord, film.Asking, film.Kept, film.Agrees, film.Twice, film.Parted, film.Open, film.Loose} {
		if !cords[cord] {
			t.Errorf("no bundled run has the cord %q", cord)
		}
	}
}

// The places of a stage stay from the first row to the last, or what is below
// them would jump.
func TestTheStageKeepsItsPlaces(t *testing.T) {
	for _, name := range lessonstest.Names(t) {
		p, rows, _ := staged(t, name)
		start := film.Start(words.English, p.Scenario)
		for _, r := range rows {
			if len(r.Stage.Beliefs) != len(start.Beliefs) || len(r.Stage.Nodes) != len(start.Nodes) {
				t.Errorf("%s, T%d: %d beliefs and %d nodes, at the start %d and %d", name, r.Step, len(r.Stage.Beliefs), len(r.Stage.Nodes), len(start.Beliefs), len(start.Nodes))
			}
		}
	}
}

// A command has a stage of its own only where something is another than before.
func TestCommandsHaveStagesOfTheirOwn(t *testing.T) {
	_, rows, _ := staged(t, "late-write-without-a-token.yaml")
	var own []int
	for i, m := range rows[0].Inside {
		if m.Stage != nil {
			own = append(own, i+1)
		}
	}
	// EXISTS: A asks; HINCRBY: Redis names A; PEXPIRE: the key has an expiry.
	if want := []int{1, 2, 3}; !slices.Equal(own, want) {
		t.Errorf("the commands %v have one, not %v", own, want)
	}
	if b := rows[0].Inside[1].Stage.Beliefs[0]; b.State != film.Asks || b.Cord != film.Loose {
		t.Errorf("after HINCRBY A is %s, %s: it was not told yet", b.State, b.Cord)
	}
}

// What the lock protects is said to be safe where a late write was refused and nothing but two
// inside went wrong.
func TestWhatIsProtectedIsSaidToBeSafe(t *testing.T) {
	const text = `lock: {protocol: fenced, lease: 100ms, watchdog: off, retry: {times: 20, interval: 20ms}}
resource: {kind: counter, checks: token}
threads: [{name: A, work: 40ms}, {name: B, start: 320ms, work: 20ms}]
faults: [{thread: A, at: work, do: pause, for: 350ms}%s]`
	for more, safe := range map[string]bool{"": true, ", {thread: B, at: unlock, do: skip-unlock}": false} {
		p := play(t.Context(), t, parse(t, fmt.Sprintf(text, more)))
		f := film.New(words.English, p.Scenario, p.Owners)
		refused := false
		for _, e := range p.Events {
			b, _ := e.Body.(trace.Resource)
			refused = refused || b.Refused
			f.Add(e)
		}
		rows := f.Rows()
		last := rows[len(rows)-1]
		if !refused || (last.EventTone == film.Good) != safe || strings.HasPrefix(last.Why, "The counter is safe: A's late write was refused.") != safe {
			t.Errorf("%q: refused %t, %s %q", more, refused, last.EventTone, last.Why)
		}
	}
}

// While a question is open a film tells of no belief, no broken rule and no reason,
// but still what Redis holds.
func TestACoveredFilmDoesNotTell(t *testing.T) {
	for _, name := range []string{"late-write-without-a-token.yaml", "fenced-late-write.yaml"} {
		t.Run(name, func(t *testing.T) { covered(t, name) })
	}
}

func covered(t *testing.T, name string) {
	t.Helper()
	p := lessonstest.Play(t, name)
	f := film.New(words.English, p.Scenario, p.Owners)
	for _, e := range p.Events {
		f.Add(e)
	}
	var telling []string // what only a film that is not covered has
	for _, row := range f.Rows() {
		for _, v := range row.Violations {
			telling = append(telling, v.Title, v.Detail)
		}
		telling = append(telling, row.Why, row.Stage.Card.Odd)
		if row.EventTone == film.Good {
			telling = append(telling, row.Event)
		}
		for _, b := range row.Stage.Beliefs {
			telling = append(telling, b.Says, b.Odd)
		}
	}
	held := f.Rows()[7].Stage.Card.Held
	f.Cover()
	text, err := json.Marshal(f.RecordedWhole())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range f.Rows() {
		text = append(text, row.Event...)
	}
	for _, one := range telling {
		if one != "" && strings.Contains(string(text), one) {
			t.Errorf("a covered film tells %q", one)
		}
	}
	for _, row := range f.Rows() {
		if !row.Stage.Covered || row.Mark == film.Broken || row.Calm || len(row.Violations) > 0 || slices.ContainsFunc(row.Cells, func(c film.Cell) bool { return c.Parted }) {
			t.Errorf("%s is not covered", row.Time)
		}
	}
	if got := f.Rows()[7].Stage.Card.Held; got == "" || got != held {
		t.Errorf("Redis' card says %q, want %q", got, held)
	}
}

// A script that writes the same value for all owns what it put there: its belief is tied to
// it, and the other's is not.
func TestTheStageOfAValueThatAllWrite(t *testing.T) {
	p := play(ownlocktest.Boxed(t), t, parse(t, "lock:\n  protocol: own\n  lease: 50ms\n  retry: {times: 8, interval: 20ms}\n  scripts:\n    lock: |\n      if redis.call('SET', KEYS[1], 'taken', 'NX', 'PX', ARGV[3]) then return 1 end\n      return 0\n    unlock: |\n      return redis.call('DEL', KEYS[1])\nthreads: [{name: A, work: 100ms}, {name: B, start: 5ms, work: 20ms}]"))
	f := film.New(words.English, p.Scenario, p.Owners)
	var seen []string
	for _, e := range p.Events {
		i := f.Add(e)
		row := f.Rows()[i]
		for i := range row.Stage.Beliefs {
			if says := told(row.Stage, i); row.Stage.Beliefs[i].State == film.Holds && !slices.Contains(seen, says) {
				seen = append(seen, says)
			}
		}
	}
	if want := []string{"I hold the lock, ok", "I hold the lock, works until 100 ms, ok", "I hold the lock, works until 100 ms, nobody has told it, open, not in Redis", "I hold the lock, works until 100 ms, nobody has told it, false, not in Redis", "I hold the lock, works until 85 ms, ok", "I hold the lock, its work is done, ok", "I hold the lock, its work is done, nobody has told it, open, not in Redis"}; !slices.Equal(seen, want) {
		t.Errorf("the beliefs are %q, want %q", seen, want)
	}
}
