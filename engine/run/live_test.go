package run_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"relock/engine/run"
	"relock/engine/trace"
)

const ms = time.Millisecond

// live plays a scenario on the wall clock of a bubble, whose time jumps from
// one event to the next, while steer does what it wants with it.
func live(t *testing.T, text string, steer func(t *testing.T, r *run.Run)) []string {
	t.Helper()
	return facts(liveEvents(t, text, steer))
}

// liveEvents is live, with all that happened.
func liveEvents(t *testing.T, text string, steer func(t *testing.T, r *run.Run)) []trace.Event {
	t.Helper()
	var events []trace.Event
	synctest.Test(t, func(t *testing.T) {
		r, err := run.New(parse(t, text), run.Options{Wall: true})
		if err != nil {
			t.Fatal(err)
		}
		steered := make(chan struct{})
		go func() {
			defer close(steered)
			time.Sleep(1 * ms) // the threads have begun
			steer(t, r)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // of the bubble, which costs nothing
		defer cancel()
		if err := r.Execute(ctx); err != nil {
			t.Error(err)
		}
		<-steered
		events, _ = r.Log().Since(0)
	})
	return events
}

func do(t *testing.T, r *run.Run, thread string, a run.Action, want run.Reason) {
	t.Helper()
	err := r.Steer(thread, a)
	var refused *run.Refusal
	switch {
	case want == "" && err != nil:
		t.Errorf("%s %s: %v", a, thread, err)
	case want != "" && (!errors.As(err, &refused) || refused.Reason != want):
		t.Errorf("%s %s: %v, want the refusal %s", a, thread, err, want)
	}
}

func TestPauseAndResumeByHand(t *testing.T) {
	got := live(t, `
lock: {lease: 1s, watchdog: off}
threads: [{name: A, work: 50ms}]
`, func(t *testing.T, r *run.Run) {
		time.Sleep(19 * ms)
		do(t, r, "A", run.Suspend, "")
		do(t, r, "A", run.Suspend, run.IsSuspended)
		if c := r.Controls(); len(c) != 1 || !c[0].Suspended {
			t.Errorf("controls %+v", c)
		}
		time.Sleep(300 * ms)
		do(t, r, "A", run.Resume, "")
		do(t, r, "A", run.Resume, run.GoesOn)
	})
	want := []string{
		"0s A lock acquired", "0s A work begin", "20ms A fault pause", "320ms A fault resume",
		"350ms A work end", "350ms A unlock released", "350ms A end done", "350ms end done",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestCrashByHand(t *testing.T) {
	got := live(t, `
lock: {lease: 100ms, watchdog: 30ms, retry: {times: 20, interval: 20ms}}
threads: [{name: A, work: 500ms}, {name: B, start: 5ms, work: 10ms}]
`, func(t *testing.T, r *run.Run) {
		time.Sleep(49 * ms)
		do(t, r, "A", run.Crash, "")
		do(t, r, "A", run.Crash, run.HasEnded)
		do(t, r, "A", run.Resume, run.HasEnded)
		do(t, r, "Z", run.Crash, run.NotLive)
		do(t, r, "B", "sing", run.NoAction)
	})
	// The last renewal was at 30 ms; the lease ends at 130; B asks at 5, 25, … 145.
	for _, want := range []string{"50ms A fault crash", "50ms A end crashed", "130ms expired", "145ms B lock acquired", "155ms B end done"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
}

func TestGateByHand(t *testing.T) {
	got := live(t, `
lock: {lease: 100ms, watchdog: 30ms}
threads: [{name: A, work: 20ms, depth: 2, after: 10ms}] # after it is let go it has still work to do
`, func(t *testing.T, r *run.Run) {
		do(t, r, "A", run.Admit, run.NobodyWaits)
		do(t, r, "A", run.Gate, "")
		do(t, r, "A", run.Gate, run.IsGated)
		time.Sleep(499 * ms) // its watchdog goes on meanwhile
		if c := r.Controls(); c[0].At.String() != "lock, level 2" {
			t.Errorf("at the gate: %+v", c)
		}
		do(t, r, "A", run.Admit, "")
		time.Sleep(100 * ms)
		if c := r.Controls(); c[0].At.String() != "unlock, level 2" {
			t.Errorf("at the gate: %+v", c)
		}
		do(t, r, "A", run.Ungate, "")
		do(t, r, "A", run.Ungate, run.IsNotGated)
	})
	for _, want := range []string{"480ms A renew renewed", "500ms A lock reentered", "520ms A work end", "600ms A unlock decremented", "610ms A end done"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
}

func TestOnlyLiveRunsAreSteered(t *testing.T) {
	r, err := run.New(parse(t, "threads: [{name: A}]"), run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	do(t, r, "A", run.Suspend, run.NotLive)
	if _, err := run.New(parse(t, "threads: [{name: A}]\nschedule: [{do: crash, thread: A}]"), run.Options{Wall: true}); !errors.Is(err, run.ErrFault) {
		t.Errorf("a step by hand on the wall clock: %v", err)
	}
}

// A thread's commands arrive though it has died, and the run waits for them: here the
// expiry of a key that others ask for without end.
func TestADelayedRequestOfWhoCrashesArrives(t *testing.T) {
	got := came(liveEvents(t, `
lock: {protocol: mutex-unsafe, lease: 200ms, retry: {times: unlimited, interval: 10ms}}
faults: [{thread: A, at: lock, command: 2, do: delay, for: 100ms}]
threads: [{name: A}, {name: B, start: 5ms}]
`, func(t *testing.T, r *run.Run) {
		time.Sleep(49 * ms) // B was refused more than once, and went on asking
		do(t, r, "A", run.Crash, "")
	}))
	if want := "A crashed, B done"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Order is Redis' order: what Redis ran first stands first, though its answer
// came last.
func TestAnAnswerThatIsLateKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var scripts atomic.Int64
		r, err := run.New(parse(t, `
lock: {lease: 1s, watchdog: off, retry: {times: 0}}
threads: [{name: A, work: 10ms}, {name: B, start: 10ms}]
`), run.Options{Wall: true, Turn: func(context.Context) (func(), error) {
			if scripts.Add(1) > 1 {
				return func() {}, nil
			}
			return func() { time.Sleep(50 * ms) }, nil // the answer to A's lock is on its way
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Execute(t.Context()); err != nil {
			t.Error(err)
		}
		events, _ := r.Log().Since(0)
		got := facts(events)
		want := []string{
			"0s A lock acquired", "10ms B lock refused", "10ms B lock exhausted", "10ms B end exhausted", "50ms A work begin", "60ms A work end",
			"60ms A unlock released", "60ms A end done", "60ms end done",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q\nwant %q", got, want)
		}
	})
}

// Of those that start at one moment each waits for the first answer of the one
// before it; not for one that is kept from asking.
func TestNobodyWaitsForWhoIsKeptFromAsking(t *testing.T) {
	for _, action := range []run.Action{run.Suspend, run.Gate, run.Crash} {
		got := live(t, `
lock: {lease: 1s, watchdog: off}
threads: [{name: A, start: 10ms, work: 1ms}, {name: B, start: 10ms, work: 20ms}]
`, func(t *testing.T, r *run.Run) {
			do(t, r, "A", action, "")
			time.Sleep(50 * ms)
			switch action {
			case run.Suspend:
				do(t, r, "A", run.Resume, "")
			case run.Gate:
				do(t, r, "A", run.Ungate, "")
			}
		})
		if !slices.Contains(got, "10ms B lock acquired") {
			t.Errorf("%s: %q", action, got)
		}
	}
}

// A run's end tells how late its timers were: from a tenth of the lease on, its instants
// are not the scenario's. How long somebody pauses it, or Redis takes to answer, is no
// lateness.
func TestARunTellsHowLateItWas(t *testing.T) {
	for _, c := range []struct {
		delay time.Duration
		late  bool
	}{{0, false}, {79 * ms, false}, {80 * ms, true}} {
		synctest.Test(t, func(t *testing.T) {
			sc := parse(t, `
lock: {lease: 800ms, watchdog: 200ms, retry: {times: 9, interval: 100ms}}
threads: [{name: A, start: 10ms, work: 500ms}, {name: B, start: 20ms, work: 10ms}]
faults: [{thread: B, at: work, do: pause, for: 900ms}, {time: 30ms, do: down, for: 300ms}]
`)
			r, err := run.New(sc, run.Options{Wall: true, Turn: func(context.Context) (func(), error) {
				return func() { time.Sleep(100 * ms) }, nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			run.Delay(r, c.delay)
			if err := r.Execute(t.Context()); err != nil {
				t.Error(err)
			}
			events, _ := r.Log().Since(0)
			end, _ := events[len(events)-1].Body.(trace.End)
			if got := end.Lateness.Duration(); got != c.delay || end.Late(sc.Lock.Lease) != c.late {
				t.Errorf("late by %v, %v, want %v, %v", got, end.Late(sc.Lock.Lease), c.delay, c.late)
			}
			var file bytes.Buffer
			if err := trace.Write(&file, r.Header(), events); err != nil {
				t.Fatal(err)
			}
			_, again, err := trace.Read(t.Context(), &file)
			if err != nil || again[len(again)-1].Body != end {
				t.Errorf("read again: %+v, want %+v, %v", again[len(again)-1].Body, end, err)
			}
		})
	}
}
