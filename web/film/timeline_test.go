package film_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"relock/engine/lock"
	"relock/engine/trace"
	"relock/web/film"
	"relock/web/words"
)

func ofTwo() *film.Timeline {
	s := film.Scenario{Key: "K", LeaseMillis: 200, Threads: []film.Thread{{Name: "A"}, {Name: "B"}}}
	return film.NewTimeline(words.English, s, map[string]string{ownerA: "A", ownerB: "B"})
}

func TestARowTellsWhatItsStepDid(t *testing.T) {
	held := trace.KeyState{Type: trace.TypeHash, Fields: map[string]string{ownerA: "1"}, PTTL: 150}
	inside := map[string]int{"A": 1}
	tl := ofTwo()
	tl.Add(trace.Event{Seq: 1, Step: 1, At: 62.5, Thread: "A", Key: held, Body: trace.Command{
		Call: "lock", Attempt: 1, Level: 1, Script: "lock.lua", Line: 14, Args: []string{"HINCRBY", "K", ownerA, "1"}, Reply: int64(1),
	}})
	tl.Add(trace.Event{Seq: 2, Step: 1, At: 62.5, Thread: "A", Key: held, Belief: inside, Body: trace.Outcome{Call: "lock", Result: trace.Acquired, Level: 1, Attempt: 1}})
	i := tl.Add(trace.Event{Seq: 3, Step: 1, At: 62.5, Thread: "A", Key: held, Belief: inside, Body: trace.Work{State: trace.WorkBegin, Level: 1, For: 60}})
	command := film.Line{
		Verb: "HINCRBY", Args: "+1", Reply: "1", Writes: true, Source: "lock.lua:14", Spoken: "HINCRBY +1 gives 1",
	}
	key := film.Key{Type: "hash", Lease: "150 ms", PTTL: 150, Fraction: 750, Holds: []film.HoldCount{{Thread: "A", Owner: "aaaa…222", Count: "1"}}}
	want := film.Row{
		Step: 1, LastSeq: 3, Time: "T1", At: "63 ms", Millis: 62.5, // as precise as a person can use
		Cells: []film.Cell{
			{
				Thread: "A", Title: "lock: acquired", Tone: film.Good, Acting: true, Inside: 1, Notes: []film.Note{{Text: "works 60 ms", Tone: film.Plain}},
				Lines: []film.Line{command},
			},
			{Thread: "B", Title: "not started", Tone: film.Quiet, Ordinal: 1},
		},
		Key:    key,
		Inside: []film.Inner{{Time: "T1.1", Line: command, Before: film.Key{Type: "none", PTTL: trace.NoKey}, After: key, Atomic: true, Opens: true, Closes: true}},
	}
	if diff := cmp.Diff(want, tl.Rows()[i], cmpopts.IgnoreUnexported(film.Row{})); diff != "" {
		t.Error(diff)
	}
	i = tl.Add(trace.Event{Seq: 4, Step: 2, At: 120, Body: trace.Expired{Was: held}, Key: trace.Absent(), Belief: inside})
	row := tl.Rows()[i]
	if row.Event == "" || row.EventTone != film.Bad || row.Key.Lease != "" || !row.Cells[0].Parted || row.Cells[1].Parted {
		t.Errorf("after the expiry: %+v; want A alone parted from the truth", row)
	}
	if row.Cells[0].Title != "working, level 1" {
		t.Errorf("A meanwhile: %q", row.Cells[0].Title)
	}
}

func TestAFaultStaysBesideTheOutcome(t *testing.T) {
	tl := ofTwo()
	tl.Add(trace.Event{Seq: 1, Step: 1, Thread: "A", Key: trace.Absent(), Body: trace.Fault{Do: "lose-reply", At: "lock"}})
	tl.Add(trace.Event{Seq: 2, Step: 1, Thread: "A", Key: trace.Absent(), Body: trace.Outcome{
		Call: "lock", Result: trace.Failed, Attempt: 1, Error: "lock: lock.lua: read tcp: connection reset by peer",
	}})
	c := tl.Rows()[0].Cells[0]
	if want := []film.Note{{Text: "fault: the reply is lost", Tone: film.Bad}, {Text: "connection reset by peer", Tone: film.Plain}}; c.Title != "lock: error" || c.Tone != film.Bad || !cmp.Equal(want, c.Notes) {
		t.Errorf("cell %+v", c)
	}
}

// A thread that gave up after an error unlocks what it never knew that it held.
func TestGivingBackIsNoUnlock(t *testing.T) {
	for _, c := range []struct {
		result trace.Result
		want   string
		tone   film.Tone
	}{
		{trace.Failed, "gives back a lock that it may have acquired: error", film.Bad},
		{trace.Released, "gives back a lock that it may have acquired: released", film.Good},
		{trace.NotHeld, "gives back a lock that it may have acquired: it had not", film.Plain},
	} {
		tl := ofTwo()
		tl.Add(trace.Event{Seq: 1, Step: 1, Thread: "A", Key: trace.Absent(), Body: trace.Command{
			Call: "unlock", Level: 1, Args: []string{"EXISTS", "K"}, Reply: int64(0), GivesBack: true,
		}})
		if got := tl.Rows()[0].Cells[0].Title; got != "gives back a lock that it may have acquired" {
			t.Errorf("its commands: %q", got)
		}
		tl.Add(trace.Event{Seq: 2, Step: 1, Thread: "A", Key: trace.Absent(), Body: trace.Outcome{
			Call: "unlock", Result: c.result, Level: 1, Attempt: 1, GivesBack: true,
		}})
		if got := tl.Rows()[0].Cells[0]; got.Title != c.want || got.Tone != c.tone {
			t.Errorf("%q %s, want %q %s", got.Title, got.Tone, c.want, c.tone)
		}
	}
}

// Lists read as Redis' people write them down.
func TestRepliesThatAreLists(t *testing.T) {
	for _, c := range []struct {
		reply any
		want  string
	}{
		{[]any{nil, nil}, "nil nil"},
		{[]any{"1", "3"}, "1 3"},
		{[]any{}, "empty list"},
		{[]any{int64(1), []any{"a", nil}}, "1 a nil"},
		{nil, "nil"},
		{int64(-2), "-2"},
		{"OK", "OK"},
	} {
		if got := film.Reply(words.English, c.reply); got != c.want {
			t.Errorf("%v: %q, want %q", c.reply, got, c.want)
		}
	}
}

func TestFailuresAreGroupedByTheirReason(t *testing.T) {
	reset := "lock: not acquired: lock: SET on \"K\": read tcp: connection reset by peer"
	list := []film.Failure{
		{Thread: "A", Error: reset},
		{Thread: "B", Error: "lock: not held: unlock of level 1 of \"K\""},
		{Thread: "C", Error: reset},
		{Thread: "D", Error: "the business code panicked"},
		{Thread: "E"},
	}
	for l, want := range map[words.Language]string{
		words.English: "no rule was broken, but A and C ended with an error: connection reset by peer; " +
			"B ended with an error: it did not hold what it wanted to unlock; D ended with an error: the business code panicked; E ended with an error: unknown",
		words.Match("zh"): "没有违反任何规则，但 A 和 C 以错误结束：连接被对端重置；B 以错误结束：并不持有要解的锁；D 以错误结束：业务代码抛出异常（panic）；E 以错误结束：原因不明",
	} {
		if got := film.OnlyFailed(l, list); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
	if got := film.OnlyFailed(words.English, nil); got != "" {
		t.Errorf("nobody failed: %q", got)
	}
}

// A thread's situation is worded for the instant of the row.
func TestWaitingUntilThen(t *testing.T) {
	tl := ofTwo()
	tl.Add(trace.Event{Seq: 1, Step: 1, At: 10, Thread: "A", Key: trace.Absent(), Body: trace.Wait{For: 100, Why: trace.WaitRetry}})
	for i, c := range []struct {
		at   trace.Millis
		want string
	}{
		{109, "waiting until 110 ms"},
		{110, "can move now"},
		{111, "could have moved since 110 ms"},
	} {
		tl.Add(trace.Event{Seq: i + 2, Step: i + 2, At: c.at, Thread: "B", Key: trace.Absent(), Body: trace.Work{State: trace.WorkEnd, Level: 1}})
		if got := tl.Rows()[i+1].Cells[0].Title; got != c.want {
			t.Errorf("at %v: %q, want %q", c.at, got, c.want)
		}
	}
	// A thread that works longer is not said to be able to move.
	tl.Add(trace.Event{Seq: 5, Step: 5, At: 120, Thread: "A", Key: trace.Absent(), Body: trace.Work{State: trace.WorkBegin, Level: 1, For: 40}})
	tl.Add(trace.Event{Seq: 6, Step: 5, At: 120, Thread: "A", Key: trace.Absent(), Body: trace.Fault{Do: "pause", ForMS: 200}})
	tl.Add(trace.Event{Seq: 7, Step: 6, At: 121, Thread: "B", Key: trace.Absent(), Body: trace.Work{State: trace.WorkEnd, Level: 1}})
	if got, want := tl.Rows()[5].Cells[0].Title, "paused until 320 ms, then working until 360 ms"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// A pause makes work end later, but no sleep.
	tl.Add(trace.Event{Seq: 8, Step: 7, At: 400, Thread: "A", Key: trace.Absent(), Body: trace.Wait{For: 40, Why: trace.WaitRetry}})
	tl.Add(trace.Event{Seq: 9, Step: 7, At: 400, Thread: "A", Key: trace.Absent(), Body: trace.Fault{Do: "pause", ForMS: 20}})
	tl.Add(trace.Event{Seq: 10, Step: 8, At: 401, Thread: "B", Key: trace.Absent(), Body: trace.Work{State: trace.WorkEnd, Level: 1}})
	if got, want := tl.Rows()[7].Cells[0].Title, "paused until 420 ms, waiting until 440 ms"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Work after a nested call is told from the work before it, and work that its
// context stopped from work that is done.
func TestWorkOnAndWorkThatStops(t *testing.T) {
	for i, c := range []struct {
		body        trace.Body
		title, note string
	}{
		{trace.Work{State: trace.WorkBegin, Level: 1, For: 40}, "", "works 40 ms"},
		{trace.Work{State: trace.WorkBegin, Level: 1, For: 40, After: true}, "", "works on for 40 ms"},
		{trace.Work{State: trace.WorkEnd, Level: 1, For: 40, After: true}, "work at level 1 done", ""},
		{trace.Work{State: trace.WorkEnd, Level: 2, For: 40, Cancelled: true}, "work at level 2 stopped: its context has ended", ""},
		{trace.Outcome{Call: lock.CallLock, Result: trace.Cancelled, Level: 2, Attempt: 3}, "stops asking: its context has ended", ""},
	} {
		tl := ofTwo()
		tl.Add(trace.Event{Seq: 1, Step: 1, Thread: "A", Key: trace.Absent(), Body: c.body})
		cell, note := tl.Rows()[0].Cells[0], ""
		for _, n := range cell.Notes {
			note = n.Text
		}
		if cell.Title != c.title || note != c.note {
			t.Errorf("%d: title %q, note %q, want %q and %q", i, cell.Title, note, c.title, c.note)
		}
	}
}
