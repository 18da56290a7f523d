package run

import (
	"slices"
	"testing"

	"relock/engine/lock"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// The outcome of a call that is over is about the hold that was left, and not about the
// one entered since.
func TestALateUnlockTellsItsThreadNothing(t *testing.T) {
	command := func(level int, givesBack bool) trace.Command {
		return trace.Command{Call: lock.CallUnlock, Level: level, Args: []string{"HINCRBY", "K", "o", "-1"}, GivesBack: givesBack}
	}
	acquired := trace.Outcome{Call: lock.CallLock, Result: trace.Acquired, Level: 1}
	b := newBeliefs()
	for _, c := range []struct {
		name    string
		before  func()
		body    trace.Body
		levels  int
		leaving bool
	}{
		{"it is told that it has the lock", func() {}, acquired, 1, false},
		{"it calls its unlock", func() { b.calls("A", unlock{level: 1, last: true, leaves: true}) }, trace.Wait{}, 1, true},
		{"which is not answered", func() {}, trace.Outcome{Call: lock.CallUnlock, Result: trace.Failed, Level: 1}, 0, true},
		{"and returns", func() { b.returns("A") }, trace.Wait{}, 0, false},
		{"it is told that it has the lock again", func() {}, acquired, 1, false},
		{"Redis runs the unlock of the first time", func() {}, command(1, false), 1, false},
		{"Redis runs a give-back", func() {}, command(1, true), 1, false},
		{"a give-back is answered", func() {}, trace.Outcome{Call: lock.CallUnlock, Result: trace.Released, Level: 1, GivesBack: true}, 1, false},
		{"it calls its unlock again", func() { b.calls("A", unlock{level: 1, last: true, leaves: true}) }, trace.Wait{}, 1, true},
		{"Redis runs it", func() {}, command(1, false), 0, true},
		{"and it hears of that", func() {}, trace.Outcome{Call: lock.CallUnlock, Result: trace.Released, Level: 1}, 0, false},
		{"it has the lock a third time", func() {}, acquired, 1, false},
		{"and enters a second level", func() {}, trace.Outcome{Call: lock.CallLock, Result: trace.Reentered, Level: 2}, 2, false},
		{"it unlocks that level, and has work left to do", func() { b.calls("A", unlock{level: 2}) }, trace.Wait{}, 2, false},
		{"Redis runs an unlock of another level", func() {}, command(1, false), 2, false},
		{"Redis runs that of this level", func() {}, command(2, false), 1, false},
		{"its holds are lost, and it does not look", func() { b.loses("A") }, trace.Wait{}, 1, false},
		{"and it hears that it has left", func() { b.returns("A") }, trace.Outcome{Call: lock.CallUnlock, Result: trace.Decremented, Level: 2}, 1, false},
		{"an unlock whose work is for nothing once the lock is lost", func() { b.calls("A", unlock{level: 1, stops: true}) }, trace.Wait{}, 1, false},
		{"is on its way out when it is", func() { b.loses("A") }, trace.Wait{}, 1, true},
	} {
		c.before()
		levels, leaving := b.after("A", c.body)
		if levels["A"] != c.levels || slices.Contains(leaving, "A") != c.leaving {
			t.Errorf("%s: level %d, leaving: %v", c.name, levels["A"], leaving)
		}
	}
}

// Nobody comes between what is done to a resource and the telling of it: else
// a trace could have two writes in the wrong order.
func TestAResourceIsToldOfInOrder(t *testing.T) {
	r := newResource(&scenario.Resource{Kind: scenario.KindCounter})
	told := 0
	tell := func(trace.Body) {
		told++
		if r.mu.TryLock() {
			t.Error("somebody could have come between")
		}
	}
	r.write(r.read("", tell), 0, tell)
	if told != 2 {
		t.Errorf("told %d times, want 2", told)
	}
}
