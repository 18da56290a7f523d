package run

import (
	"errors"
	"testing"
	"time"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// A fault is too late where its place in a thread cannot come any more, and only
// there.
func TestWhatIsTooLate(t *testing.T) {
	locking := lock.Call{Name: lock.CallLock, Level: 2, Attempt: 1}
	inner, outer := lock.Call{Name: lock.CallUnlock, Level: 2, Attempt: 1}, lock.Call{Name: lock.CallUnlock, Level: 1, Attempt: 1}
	back := outer
	back.GivesBack = true
	atLock, atWork := scenario.Fault{Do: fault.LoseReply, At: fault.AtLock}, scenario.Fault{Do: fault.Stall, At: fault.AtWork}
	atUnlock, skip := scenario.Fault{Do: fault.LoseReply, At: fault.AtUnlock}, scenario.Fault{Do: fault.SkipUnlock, At: fault.AtUnlock}
	for _, c := range []struct {
		name          string
		next          lock.Call
		working, more bool
		round         int64
		f             scenario.Fault
		want          Reason
	}{
		{"a lock before it asks", locking, true, false, 1, atLock, ""},
		{"a lock at its last work", outer, true, false, 1, atLock, NotAhead},
		{"a lock when another round comes", outer, true, false, 0, atLock, ""},
		{"a lock while one is given back", back, false, false, 1, atLock, ""},
		{"work before its last", outer, true, false, 1, atWork, ""},
		{"work as it leaves", inner, false, false, 1, atWork, NotAhead},
		{"work as it leaves, and a level outside works on", inner, false, true, 1, atWork, ""},
		{"an unlock as it leaves", outer, false, false, 1, atUnlock, ""},
		{"a forgotten unlock at work", outer, true, false, 1, skip, ""},
		{"a forgotten unlock, with another after this one", inner, false, false, 1, skip, ""},
		{"a forgotten unlock in the last one", outer, false, false, 1, skip, LastUnlock},
	} {
		th := &thread{spec: scenario.Thread{Name: "A", Repeat: 1}, working: c.working, more: c.more}
		th.next.Store(c.next)
		th.round.Store(c.round)
		got := Reason("")
		if why := th.tooLate(c.f); why != nil {
			got = why.Reason
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Between two answers of Redis the lease goes on running out, but not past its end; a key
// without an expiry has none.
func TestTheLeaseRunsOutBetweenAnswers(t *testing.T) {
	for _, c := range []struct {
		left int64 // at 100 ms
		at   time.Duration
		want int64
	}{
		{200, 100, 200},
		{200, 150, 150},
		{200, 299, 1},
		{200, 400, 0},
		{trace.NoExpiry, 400, trace.NoExpiry},
	} {
		w := &wall{key: trace.KeyState{Type: trace.TypeHash, PTTL: c.left}, keyAt: 100 * time.Millisecond}
		if got := w.keyNow(c.at * time.Millisecond).PTTL; got != c.want {
			t.Errorf("%d ms left at 100 ms: %d at %d ms, want %d", c.left, got, c.at, c.want)
		}
	}
}

// A paused thread can be paused for longer, and not for less.
func TestAPauseCanBecomeLonger(t *testing.T) {
	sc, err := scenario.Parse([]byte("threads: [{name: A}, {name: B}]"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(sc, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(nil)
	pause := func(ms time.Duration) scenario.Fault {
		return scenario.Fault{Thread: "A", Do: fault.Pause, For: ms * time.Millisecond}
	}
	first := pause(100)
	if err := s.Apply(t.Context(), scenario.Move{Fault: &first}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ms   time.Duration
		want Reason
	}{{50, IsPaused}, {100, IsPaused}, {101, ""}} {
		var refused *Refusal
		got := Reason("")
		if err := s.Refuses(t.Context(), pause(c.ms)); errors.As(err, &refused) {
			got = refused.Reason
		}
		if got != c.want {
			t.Errorf("%d ms more: %q, want %q", c.ms, got, c.want)
		}
	}
}
