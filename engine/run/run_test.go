package run_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"relock/engine/clock"
	"relock/engine/lock"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/store"
	"relock/engine/store/storetest"
	"relock/engine/trace"
	"relock/lessons"
)

var update = flag.Bool("update", false, "write the golden traces; review each line before you commit them")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func lesson(t *testing.T, name string) *scenario.Scenario {
	t.Helper()
	data, err := fs.ReadFile(lessons.Scenarios(), name+".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(data))
}

func parse(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// play runs a scenario to its end and returns its events.
func play(t *testing.T, sc *scenario.Scenario, o run.Options) (trace.Header, []trace.Event) {
	t.Helper()
	r, err := run.New(sc, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	events, closed := r.Log().Since(0)
	if !closed {
		t.Error("the log is open after the run")
	}
	return r.Header(), events
}

// The golden traces were checked by hand against the article's T1–T10 table:
// see the comments in the scenarios.
func TestLessonsGiveTheirGoldenTraces(t *testing.T) {
	for _, name := range []string{"two-threads", "lease-expiry"} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			h, events := play(t, lesson(t, name), run.Options{})
			if err := trace.Write(&got, h, events); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".jsonl")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestVirtualRunRepeatsToTheByte(t *testing.T) {
	sc := parse(t, `
lock: {lease: 100ms, retry: {times: 30, interval: 7ms, jitter: 0-5ms}}
threads: [{name: A}, {name: B, start: 3ms}, {name: C, repeat: 2}, {name: D, depth: 4}]
defaults: {depth: 2, work: 10ms-40ms}
policy: random
seed: 42
`)
	var first string
	for i := range 5 {
		var b bytes.Buffer
		h, events := play(t, sc, run.Options{})
		if err := trace.Write(&b, h, events); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = b.String()
		}
		if b.String() != first {
			t.Fatal("the same scenario and seed gave another trace")
		}
	}
	sc.Seed = 43
	var b bytes.Buffer
	h, events := play(t, sc, run.Options{})
	if err := trace.Write(&b, h, events); err != nil {
		t.Fatal(err)
	}
	if b.String() == first {
		t.Error("another seed gave the same trace")
	}
}

func TestScheduleDecidesWhoMoves(t *testing.T) {
	text := `
threads: [{name: A}, {name: B}]
lock: {lease: 1s}
schedule: [1, 0]
`
	_, events := play(t, parse(t, text), run.Options{})
	if got := events[0].Thread; got != "B" {
		t.Errorf("first to move is %s, want B as scheduled", got)
	}
	sc := parse(t, strings.Replace(text, "[1, 0]", "[0, 5]", 1))
	r, err := run.New(sc, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Execute(t.Context()); !errors.Is(err, run.ErrDiverged) || !strings.Contains(err.Error(), "decision 2: choice 5 cannot be made: only 0 can move") {
		t.Errorf("a schedule that does not fit: %v", err)
	}
}

// facts are the events in short, for reading in a test: "300 A unlock lost".
func facts(events []trace.Event) []string {
	var out []string
	for _, e := range events {
		text := ""
		switch b := e.Body.(type) {
		case trace.Outcome:
			text = b.Call + " " + string(b.Result)
		case trace.Work:
			text = "work " + b.State
		case trace.Fault:
			text = "fault " + b.Do
		case trace.Expired:
			text = "expired"
		case trace.Violation:
			text = "violation " + b.Rule + " " + strings.Join(b.Threads, "+")
		case trace.End:
			text = "end " + string(b.Result)
		default:
			continue
		}
		out = append(out, strings.Join(strings.Fields(e.At.Duration().String()+" "+e.Thread+" "+text), " "))
	}
	return out
}

func TestFaults(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{
			// Standing still for 300 ms, A cannot renew; its 60 ms of work come
			// after the pause. The watchdog's first beat, due at 100, comes at 300.
			"a pause stops the watchdog too", `
lock: {lease: 200ms, watchdog: 100ms, retry: {times: 0}}
threads: [{name: A, work: 60ms}, {name: B, start: 250ms, work: 10ms}]
faults: [{thread: A, at: work, do: pause, for: 300ms}]
`, `0s A lock acquired
0s A work begin
0s A fault pause
200ms expired
250ms B lock acquired
250ms violation mutual-exclusion A+B
250ms B work begin
260ms B work end
260ms B unlock released
260ms B end done
360ms A work end
360ms A unlock lost
360ms A end lost
360ms end done`,
		},
		{
			"a pause at the start is a late start", `
lock: {lease: 200ms, watchdog: off, retry: {times: 0}}
threads: [{name: A, work: 10ms}]
faults: [{thread: A, at: start, do: pause, for: 300ms}]
`, `0s A fault pause
300ms A lock acquired
300ms A work begin
310ms A work end
310ms A unlock released
310ms A end done
310ms end done`,
		},
		{
			// Only the work stands still: the watchdog renews at 100, 200, 300.
			"a pause of the work leaves the watchdog", `
lock: {lease: 200ms, watchdog: 100ms, retry: {times: 0}}
threads: [{name: A, work: 60ms}]
faults: [{thread: A, at: work, do: pause, scope: work, for: 300ms}]
`, `0s A lock acquired
0s A work begin
0s A fault pause
100ms A renew renewed
200ms A renew renewed
300ms A renew renewed
360ms A work end
360ms A unlock released
360ms A end done
360ms end done`,
		},
		{
			// The lease is all that frees the lock of a thread that died.
			"a crash releases nothing", `
lock: {lease: 200ms, watchdog: 50ms, retry: {times: 4, interval: 55ms}}
threads: [{name: A, depth: 2, work: 60ms}, {name: B, start: 61ms, work: 10ms}]
faults: [{thread: A, at: work, level: 2, do: crash}]
`, `0s A lock acquired
0s A work begin
50ms A renew renewed
60ms A work end
60ms A lock reentered
60ms A work begin
60ms A fault crash
60ms A end crashed
61ms B lock refused
116ms B lock refused
171ms B lock refused
226ms B lock refused
250ms expired
281ms B lock acquired
281ms B work begin
291ms B work end
291ms B unlock released
291ms B end done
291ms end done`,
		},
		{
			// A looks at its hold's context, which ends 4 ms (a hundredth of the
			// lease and 2 ms) before the lease can: it leaves in time.
			"a thread that looks stops in time", `
lock: {lease: 200ms, watchdog: off, retry: {times: 0}}
threads: [{name: A, work: 300ms, on-lost: stop}, {name: B, start: 210ms, work: 10ms}]
`, `0s A lock acquired
0s A work begin
196ms A work end
196ms A unlock released
196ms A end lost
210ms B lock acquired
210ms B work begin
220ms B work end
220ms B unlock released
220ms B end done
220ms end done`,
		},
		{
			// The key is gone at 200: level 2 must not start again at 1.
			"re-entry after the lease was lost is refused", `
lock: {lease: 200ms, watchdog: off, retry: {times: 0}}
threads: [{name: A, depth: 2, work: 250ms}]
`, `0s A lock acquired
0s A work begin
200ms expired
250ms A work end
250ms A lock lost
250ms A unlock lost
250ms A end lost
250ms end done`,
		},
		{
			// A's panic passes its deferred unlocks: both levels are left.
			"a panic unlocks on its way", `
lock: {lease: 200ms, retry: {times: 0}}
threads: [{name: A, depth: 2, work: 10ms}]
faults: [{thread: A, at: work, level: 2, do: panic}]
`, `0s A lock acquired
0s A work begin
10ms A work end
10ms A lock reentered
10ms A work begin
10ms A fault panic
10ms A unlock decremented
10ms A unlock released
10ms A end error
10ms end done`,
		},
		{
			// The watchdog proves that the process lives, not that its work gets
			// on: B never has a chance, and when B is gone nothing can move.
			"a stall is kept alive by the watchdog", `
lock: {lease: 200ms, watchdog: 100ms, retry: {times: 2, interval: 150ms}}
threads: [{name: A, work: 10ms}, {name: B, start: 1ms, work: 10ms}]
faults: [{thread: A, at: work, do: stall}]
`, `0s A lock acquired
0s A work begin
0s A fault stall
1ms B lock refused
100ms A renew renewed
151ms B lock refused
200ms A renew renewed
300ms A renew renewed
301ms B lock refused
301ms B lock exhausted
301ms B end exhausted
301ms violation stuck A
301ms end done`,
		},
		{
			// One unlock too few: the watchdog keeps the lock, one lease later and on.
			"a skipped unlock leaves an orphan", `
lock: {lease: 200ms, watchdog: 150ms, retry: {times: 0}}
threads: [{name: A, work: 10ms}]
faults: [{thread: A, at: unlock, do: skip-unlock}]
`, `0s A lock acquired
0s A work begin
10ms A work end
10ms A fault skip-unlock
10ms A end done
150ms A renew renewed
210ms violation orphan A
210ms end done`,
		},
		{
			"one unlock too many is refused", `
lock: {lease: 200ms, watchdog: 150ms, retry: {times: 0}}
threads: [{name: A, work: 10ms}]
faults: [{thread: A, at: unlock, do: extra-unlock}]
`, `0s A lock acquired
0s A work begin
10ms A work end
10ms A unlock released
10ms A fault extra-unlock
10ms A unlock not-held
10ms A end done
10ms end done`,
		},
		{
			// The second attempts name the same levels: nothing counts twice.
			"lost replies are survived", `
lock: {lease: 500ms, watchdog: off, retry: {times: 1, interval: 20ms}}
threads: [{name: A, depth: 2, work: 10ms}]
faults:
  - {thread: A, at: lock, level: 1, do: lose-reply}
  - {thread: A, at: lock, level: 2, do: lose-request}
  - {thread: A, at: unlock, level: 2, do: lose-reply}
  - {thread: A, at: unlock, level: 1, do: lose-reply}
`, `0s A fault lose-reply
0s A lock error
20ms A lock acquired
20ms A work begin
30ms A work end
30ms A fault lose-request
30ms A lock error
50ms A lock reentered
50ms A work begin
60ms A work end
60ms A fault lose-reply
60ms A unlock error
80ms A unlock decremented
80ms A fault lose-reply
80ms A unlock error
100ms A unlock released
100ms A end done
100ms end done`,
		},
		{
			// The request arrives when its sender has given up on it; what it
			// took is given back, or ends with the lease.
			"a delayed request", `
lock: {lease: 100ms, watchdog: off, retry: {times: 0}}
threads: [{name: A, work: 10ms}]
faults: [{thread: A, at: lock, do: delay, for: 30ms}]
`, `0s A fault delay
30ms A lock acquired
30ms A work begin
40ms A work end
40ms A unlock released
40ms A end done
40ms end done`,
		},
		{
			// The replica never got A's acquisition: B is let in beside A.
			"a fail-over loses the last write", `
lock: {lease: 1s, watchdog: off, retry: {times: 0}}
threads: [{name: A, work: 100ms}, {name: B, start: 50ms, work: 10ms}]
faults: [{time: 40ms, do: fail-over, behind: 1}]
`, `0s A lock acquired
0s A work begin
40ms fault fail-over
50ms B lock acquired
50ms violation mutual-exclusion A+B
50ms B work begin
60ms B work end
60ms B unlock released
60ms B end done
100ms A work end
100ms A unlock lost
100ms A end lost
100ms end done`,
		},
		{
			"a fail-over to a replica that has it all", `
lock: {lease: 1s, watchdog: off, retry: {times: 0}}
threads: [{name: A, work: 100ms}, {name: B, start: 50ms, work: 10ms}]
faults: [{time: 40ms, do: fail-over, behind: 0}]
`, `0s A lock acquired
0s A work begin
40ms fault fail-over
50ms B lock refused
50ms B lock exhausted
50ms B end exhausted
100ms A work end
100ms A unlock released
100ms A end done
100ms end done`,
		},
		{
			// Redis' clock jumps over the lease's end; A's own does not.
			"a clock jump ends the lease early", `
lock: {lease: 1s, watchdog: off, retry: {times: 0}}
threads: [{name: A, work: 100ms}]
faults: [{time: 40ms, do: clock-jump, by: 2s}]
`, `0s A lock acquired
0s A work begin
40ms fault clock-jump
40ms expired
100ms A work end
100ms A unlock lost
100ms A end lost
100ms end done`,
		},
		{
			// A jump back makes the crashed thread's lease of 100 ms last 600.
			"a clock jump back lengthens the lease", `
lock: {lease: 100ms, watchdog: off, retry: {times: 0}}
threads: [{name: A, work: 60ms}, {name: B, start: 550ms, work: 10ms}]
faults:
  - {thread: A, at: work, do: crash}
  - {time: 40ms, do: clock-jump, by: -500ms}
`, `0s A lock acquired
0s A work begin
0s A fault crash
0s A end crashed
40ms fault clock-jump
550ms B lock refused
550ms B lock exhausted
550ms B end exhausted
600ms expired
600ms end done`,
		},
		{
			"a restart without data, then one with", `
lock: {lease: 1s, watchdog: off, retry: {times: 0}}
threads: [{name: A, work: 100ms}, {name: B, start: 50ms, work: 20ms}, {name: C, start: 61ms}]
faults: [{time: 40ms, do: restart}, {time: 60ms, do: restart, keep: true}]
`, `0s A lock acquired
0s A work begin
40ms fault restart
50ms B lock acquired
50ms violation mutual-exclusion A+B
50ms B work begin
60ms fault restart
61ms C lock refused
61ms C lock exhausted
61ms C end exhausted
70ms B work end
70ms B unlock released
70ms B end done
100ms A work end
100ms A unlock lost
100ms A end lost
100ms end done`,
		},
		{
			"eviction, a flush of scripts, and an outage", `
lock: {lease: 1s, watchdog: 30ms, retry: {times: 0}}
threads: [{name: A, work: 50ms}, {name: B, start: 70ms}, {name: C, start: 90ms, work: 1ms}]
faults: [{time: 5ms, do: script-flush}, {time: 40ms, do: evict}, {time: 65ms, do: down}, {time: 80ms, do: up}]
`, `0s A lock acquired
0s A work begin
5ms fault script-flush
30ms A renew renewed
40ms fault evict
50ms A work end
50ms A unlock lost
50ms A end lost
65ms fault down
70ms B lock error
70ms B unlock error
70ms B end error
80ms fault up
90ms C lock acquired
90ms C work begin
91ms C work end
91ms C unlock released
91ms C end done
91ms end done`,
		},
		{
			"one attempt and two retries, then it gives up", `
lock: {lease: 1s, retry: {times: 2, interval: 10ms}}
threads: [{name: A, work: 500ms}, {name: B, start: 1ms}]
`, `0s A lock acquired
0s A work begin
1ms B lock refused
11ms B lock refused
21ms B lock refused
21ms B lock exhausted
21ms B end exhausted
333.333ms A renew renewed
500ms A work end
500ms A unlock released
500ms A end done
500ms end done`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, events := play(t, parse(t, c.text), run.Options{})
			if diff := cmp.Diff(strings.Split(c.want, "\n"), facts(events)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTraceIsWellFormed(t *testing.T) {
	for _, o := range []run.Options{{}, {Wall: true}} {
		_, events := play(t, lesson(t, "lease-expiry"), o)
		var before trace.Event
		for i, e := range events {
			if e.Seq != i+1 {
				t.Fatalf("event %d has seq %d", i+1, e.Seq)
			}
			if e.Step != before.Step && e.Step != before.Step+1 {
				t.Errorf("seq %d: step %d after step %d", e.Seq, e.Step, before.Step)
			}
			if e.At < before.At {
				t.Errorf("seq %d: at %v after %v", e.Seq, e.At, before.At)
			}
			before = e
		}
		if end, ok := before.Body.(trace.End); !ok || before.Thread != "" || end.Result != trace.Done {
			t.Errorf("the last event is %+v, want the run's end", before)
		}
	}
}

// perThread is what each thread had Redis run, with owners by name.
func perThread(h trace.Header, events []trace.Event) map[string][]string {
	out := map[string][]string{}
	for _, e := range events {
		if c, ok := e.Body.(trace.Command); ok {
			args := slices.Clone(c.Args)
			for i, a := range args {
				if name := h.Owners[a]; name != "" {
					args[i] = name
				}
			}
			out[e.Thread] = append(out[e.Thread], c.Call+": "+strings.Join(args, " "))
		}
	}
	return out
}

func TestSameCommandsOnBothStores(t *testing.T) {
	sc := parse(t, `
lock: {lease: 5s, watchdog: off, retry: {times: 5, interval: 400ms}}
threads: [{name: A, depth: 3, work: 50ms}, {name: B, start: 20ms, depth: 2, work: 10ms}]
`)
	h, events := play(t, sc, run.Options{})
	want := perThread(h, events)
	external, err := store.Connect(t.Context(), storetest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = external.Close() })
	h, events = play(t, sc, run.Options{External: external, ID: "test"})
	if diff := cmp.Diff(want, perThread(h, events)); diff != "" {
		t.Error("embedded and external differ:", diff)
	}
	if n := external.Client().DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys were left behind", n)
	}
}

func TestStoppedExternalRunLeavesNothing(t *testing.T) {
	external, err := store.Connect(t.Context(), storetest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = external.Close() })
	sc := parse(t, `
lock: {lease: 1h, retry: {times: 1000, interval: 1s}}
threads: [{name: A, work: 1h}, {name: B}, {name: C, start: 1h}, {name: D, start: 1h}]
`)
	r, err := run.New(sc, run.Options{External: external, ID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Execute(ctx) }()
	if _, _, err := r.Log().Wait(t.Context(), 6); err != nil { // A holds it, B waits
		t.Fatal(err)
	}
	keys := external.Client().Keys(t.Context(), "*").Val()
	if len(keys) != 1 || !strings.HasPrefix(keys[0], "relock:{test}:") {
		t.Errorf("keys of the run: %q", keys)
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("stopped run: %v", err)
	}
	if n := external.Client().DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys were left behind", n)
	}
}

// BenchmarkTwoThreads is a whole schedule, and beside it nothing but its
// scripts, unwrapped, on a miniredis: what is left is what stepping, journal,
// checks and starting a Redis cost.
func BenchmarkTwoThreads(b *testing.B) {
	data, err := fs.ReadFile(lessons.Scenarios(), "two-threads.yaml")
	if err != nil {
		b.Fatal(err)
	}
	sc, err := scenario.Parse(data)
	if err != nil {
		b.Fatal(err)
	}
	var calls [][]any // SHA, key and arguments of each script
	b.Run("schedule", func(b *testing.B) {
		for b.Loop() {
			r, err := run.New(sc, run.Options{})
			if err != nil {
				b.Fatal(err)
			}
			if err := r.Execute(b.Context()); err != nil {
				b.Fatal(err)
			}
			if calls == nil {
				events, _ := r.Log().Since(0)
				calls = scripts(events)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "schedules/s")
	})
	b.Run("bare", func(b *testing.B) {
		e := store.NewEmbedded(clock.Epoch)
		defer func() { _ = e.Close() }()
		for _, s := range lock.Reentrant.Scripts {
			if err := e.Client().ScriptLoad(b.Context(), s.Source).Err(); err != nil {
				b.Fatal(err)
			}
		}
		for b.Loop() {
			for _, c := range calls {
				if err := e.Client().EvalSha(b.Context(), c[0].(string), []string{"K"}, c[1:]...).Err(); err != nil { //nolint:forcetypeassert // ours
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(len(calls)), "scripts")
	})
}

// scripts are the calls that the events came from, one a step and call.
func scripts(events []trace.Event) [][]any {
	var calls [][]any
	last := ""
	for _, e := range events {
		c, ok := e.Body.(trace.Command)
		if at := fmt.Sprint(e.Step, e.Thread, c.Call); !ok || at == last {
			continue
		} else {
			last = at
		}
		for _, s := range lock.Reentrant.Scripts {
			if s.Name != c.Script {
				continue
			}
			call := []any{s.SHA, e.Thread}
			switch c.Call {
			case lock.CallLock:
				call = append(call, c.Level, 200)
			case lock.CallUnlock:
				call = append(call, c.Level)
			case lock.CallRenew:
				call = append(call, 200)
			}
			calls = append(calls, call)
		}
	}
	return calls
}

// overdue is a context whose deadline has passed, and that does not know yet.
type overdue struct{ context.Context }

func (overdue) Deadline() (time.Time, bool) { return time.Now().Add(-time.Hour), true }

// A client that is given a deadline fails with a timeout of its own as soon as
// it has passed: the run has ended for the deadline's reason all the same.
func TestADeadlineIsWhyARunEnds(t *testing.T) {
	late := errors.New("it took too long")
	for name, o := range map[string]run.Options{"virtual": {}, "wall": {Wall: true}} {
		t.Run(name, func(t *testing.T) {
			ctx, end := context.WithCancelCause(t.Context())
			defer time.AfterFunc(20*time.Millisecond, func() { end(late) }).Stop()
			r, err := run.New(parse(t, "threads: [{name: A, work: 1h}]"), o)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Execute(overdue{ctx}); !errors.Is(err, late) {
				t.Errorf("ended with %v, want %v", err, late)
			}
			events, _ := r.Log().Since(0)
			if end, ok := events[len(events)-1].Body.(trace.End); !ok || end.Error != late.Error() {
				t.Errorf("the trace ends with %+v", events[len(events)-1])
			}
		})
	}
}
