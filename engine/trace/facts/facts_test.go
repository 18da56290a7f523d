package facts_test

import (
	"slices"
	"testing"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

const idA, idB = "a-1", "b-2"

func key(owner, count string) trace.KeyState {
	return trace.KeyState{Type: trace.TypeHash, Fields: map[string]string{owner: count}, PTTL: 100}
}

// told adds events, numbered from 1, one after the other.
func told(f *facts.Facts, from int, events ...trace.Event) {
	for i, e := range events {
		e.Seq = from + i
		f.Add(e)
	}
}

func TestWhoHoldsAndSinceWhen(t *testing.T) {
	f := facts.New(map[string]string{idA: "A", idB: "B"})
	told(f, 1,
		trace.Event{Thread: "A", Body: trace.Command{Call: lock.CallLock}, Key: key(idA, "1")},
		trace.Event{Thread: "A", Body: trace.Command{Call: lock.CallLock}, Key: key(idA, "2")},
		trace.Event{Body: trace.Expired{Was: key(idA, "2")}, Key: trace.Absent(), At: 100},
		trace.Event{Thread: "B", Body: trace.Command{Call: lock.CallLock}, Key: key(idB, "1"), At: 110},
	)
	if got := f.Holders(f.Key()); !slices.Equal(got, []string{"B"}) || f.Count(f.Key(), "B") != "1" || f.Count(f.Key(), "A") != "" {
		t.Errorf("holders %v of %+v", got, f.Key())
	}
	if f.Before.Exists() {
		t.Errorf("before B there was %+v", f.Before)
	}
	if f.Gained["A"] != 1 || f.Counted["A"] != 3 || f.Lost["A"] != 3 || f.Gained["B"] != 4 || f.Last["A"] != 2 {
		t.Errorf("gained %v, counted %v, lost %v, last %v", f.Gained, f.Counted, f.Lost, f.Last)
	}
	if at, ok := f.Dropped("A"); !ok || at != 100 {
		t.Errorf("A's key was dropped at %v, %v", at, ok)
	}
	told(f, 5, trace.Event{Thread: "A", Body: trace.Outcome{Call: lock.CallLock, Result: trace.Acquired}, Key: key(idA, "1")})
	if _, ok := f.Dropped("A"); ok {
		t.Error("A has acquired the lock anew, and its key is still said to be dropped")
	}
}

// What a thread believes is one thing, whether it is inside another.
func TestWhoIsInside(t *testing.T) {
	acquired := trace.Outcome{Call: lock.CallLock, Result: trace.Acquired}
	one, two, none := map[string]int{"A": 1}, map[string]int{"A": 2}, map[string]int{}
	for _, c := range []struct {
		name   string
		events []trace.Event
		want   []string
	}{
		{"it has entered", []trace.Event{{Thread: "A", Body: acquired, Belief: one}}, []string{"A"}},
		{"it has left", []trace.Event{{Thread: "A", Body: acquired, Belief: one}, {Thread: "A", Body: trace.Outcome{Call: lock.CallUnlock, Result: trace.Released}, Belief: none}}, nil},
		{"it is leaving", []trace.Event{{Thread: "A", Body: acquired, Belief: one}, {Thread: "A", Body: trace.Fault{Do: fault.Delay}, Belief: one, Leaving: []string{"A"}}}, nil},
		{"it forgot its unlock", []trace.Event{{Thread: "A", Body: acquired, Belief: one}, {Thread: "A", Body: trace.Fault{Do: fault.SkipUnlock}, Belief: one}}, nil},
		{"it forgot an inner unlock", []trace.Event{
			{Thread: "A", Body: acquired, Belief: one},
			{Thread: "A", Body: trace.Outcome{Call: lock.CallLock, Result: trace.Reentered}, Belief: two},
			{Thread: "A", Body: trace.Fault{Do: fault.SkipUnlock}, Belief: two},
		}, []string{"A"}},
	} {
		f := facts.New(map[string]string{idA: "A"})
		told(f, 1, c.events...)
		if got := f.Inside(); !slices.Equal(got, c.want) {
			t.Errorf("%s: inside %v, want %v", c.name, got, c.want)
		}
	}
}

func TestWhatIsOfTheEventsBefore(t *testing.T) {
	f := facts.New(map[string]string{idA: "A"})
	told(f, 1,
		trace.Event{Thread: "A", Body: trace.Resource{Op: trace.OpRead}},
		trace.Event{Thread: "A", Body: trace.Resource{Op: trace.OpWrite, Value: 7}},
	)
	if f.Read["A"] != 1 || f.Written.Seq != 0 {
		t.Errorf("at the write itself: read %v, written before %+v", f.Read, f.Written)
	}
	told(f, 3, trace.Event{Thread: "A", Body: trace.Resource{Op: trace.OpWrite, Value: 8, Refused: true}}, trace.Event{Thread: "A"})
	if f.Written.Seq != 2 {
		t.Errorf("a write that was refused counts as taken: %+v", f.Written)
	}
}

func TestLeftInTime(t *testing.T) {
	f := facts.New(map[string]string{idA: "A"})
	leaving := trace.Event{Thread: "A", Body: trace.Fault{Do: fault.Delay}, Leaving: []string{"A"}}
	told(f, 1, trace.Event{Thread: "A", Key: key(idA, "1")}, leaving)
	if !f.LeftInTime("A") {
		t.Error("its key was there when it called")
	}
	told(f, 3, trace.Event{Thread: "A", Body: trace.Outcome{Call: lock.CallLock, Result: trace.Acquired}, Key: trace.Absent()})
	if f.LeftInTime("A") {
		t.Error("it has locked again, and has not called since")
	}
	told(f, 4, leaving)
	if f.LeftInTime("A") {
		t.Error("its key was gone when it called the second time")
	}
}
