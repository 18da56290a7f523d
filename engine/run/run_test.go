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
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"relock/engine/clock"
	"relock/engine/lock"
	"relock/engine/outside/ownlock"
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

// play runs a scenario to the end and returns its events.
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

// On a real Redis, too, a script that is no lock's ends the run with its line.
func TestAnOwnLockIsJudgedOnARealRedis(t *testing.T) {
	external, err := store.Connect(t.Context(), storetest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = external.Close() })
	for _, c := range []struct {
		unlock, want string
		line         int
	}{
		{"return redis.call('DEL', KEYS[1])", "", 0},
		{"-- one\nif redis.call('DEL', KEYS[1]) {\n}", "this is not Lua: 'then' expected near", 3},
		{"return (", "this is not Lua: unexpected symbol near", 1},
		{"redis.call('DEL', KEYS[1])\nreturn 'gone'", `it returns "gone"`, 0},
		{"redis.call('DEL', KEYS[1])\nreturn redis.cal", "it returns nil", 0},
		{"redis.call('DEL', KEYS[1])\nredis.cal()", "attempt to call field 'cal'", 2},
		{"redis.call('DEL', KEYS[2])\nreturn 1", "DEL is given something that is neither text nor number", 1},
	} {
		sc := parse(t, "lock: {protocol: own, like: mutex, scripts: {unlock: "+strconv.Quote(c.unlock)+"}}\nthreads: [{name: A}]")
		r, err := run.New(sc, run.Options{External: external, ID: "test"})
		if err != nil {
			t.Fatal(err)
		}
		err = r.Execute(t.Context())
		var m *ownlock.Mistake
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q: %v", c.unlock, err)
		case c.want == "":
		case !errors.As(err, &m) || m.Call != "unlock" || m.Line != c.line || !strings.Contains(m.Error(), c.want):
			t.Errorf("%q: %v; want %q on line %d", c.unlock, err, c.want, c.line)
		}
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
				if err := e.Client().EvalSha(b.Context(), c[0].(string), []string{"K"}, c[1:]...).Err(); err != nil {
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

// A client with a deadline fails with its own timeout as soon as that has passed: the run
// has ended for the deadline's reason all the same.
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
