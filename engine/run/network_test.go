package run_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"relock/engine/fault"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// arrivals are the late copies of a run, with what Redis ran of each: "85ms A
// unlock 1: DEL=1". Reads are left out.
func arrivals(t *testing.T, events []trace.Event) []string {
	t.Helper()
	var list []string
	step := 0
	for i, e := range events {
		c, ok := e.Body.(trace.Command)
		if !ok || !c.Late {
			if e.Step == step && e.Kind() != trace.KindViolation {
				t.Errorf("event %d is in the row of a late copy: %+v", e.Seq, e)
			}
			continue
		}
		if e.Step != step {
			if events[i-1].Step == e.Step {
				t.Errorf("event %d, a late copy, is in the row of what came before", e.Seq)
			}
			step = e.Step
			list = append(list, fmt.Sprintf("%v %s %s %d:", e.At.Duration(), e.Thread, c.Call, c.Level))
		}
		if fmt.Sprint(e.Belief) != fmt.Sprint(events[i-1].Belief) {
			t.Errorf("event %d: a late copy has changed what is believed from %v to %v", e.Seq, events[i-1].Belief, e.Belief)
		}
		switch c.Args[0] {
		case "HINCRBY", "PEXPIRE", "DEL", "SET":
			list[len(list)-1] += fmt.Sprintf(" %s=%v", c.Args[0], c.Reply)
		}
	}
	return list
}

// happened are a run's facts but for those of Redis and of the run itself,
// whose instants lie a little later on the wall clock.
func happened(events []trace.Event) []string {
	return facts(slices.DeleteFunc(slices.Clone(events), func(e trace.Event) bool { return e.Thread == "" }))
}

// outcomes are what the calls of a kind came to.
func outcomes(events []trace.Event, call string) []string {
	var list []string
	for _, e := range events {
		if o, ok := e.Body.(trace.Outcome); ok && o.Call == call {
			list = append(list, string(o.Result))
		}
	}
	return list
}

// A request under way arrives, whatever has happened to its thread: on both clocks, at
// the same instant, and the run waits for it.
func TestALateCopyArrivesWhateverBecomesOfItsThread(t *testing.T) {
	const lock = "lock: {lease: 200ms, watchdog: off, retry: {times: 3, interval: 10ms}}\n"
	for _, c := range []struct {
		name, text string
		want       string // the arrivals
		rules      string // that were broken
		ends       string // when the run does
	}{
		{
			"it has ended", lock + `
threads: [{name: A, work: 20ms}]
faults: [{thread: A, at: lock, do: late-copy, for: 100ms}]`,
			"100ms A lock 1: HINCRBY=1 PEXPIRE=1", "shut-out", "100ms",
		},
		{
			"it has ended more than a lease ago", lock + `
threads: [{name: A, work: 20ms}]
faults: [{thread: A, at: lock, do: late-copy, for: 400ms}]`,
			"400ms A lock 1: HINCRBY=1 PEXPIRE=1", "shut-out", "400ms",
		},
		{
			"it has crashed", lock + `
threads: [{name: A, work: 20ms}]
faults: [{thread: A, at: lock, do: late-copy, for: 100ms}, {thread: A, at: work, do: crash}]`,
			"100ms A lock 1: PEXPIRE=1", "", "100ms",
		},
		{
			"it stands still", lock + `
threads: [{name: A, work: 20ms}]
faults: [{thread: A, at: lock, do: late-copy, for: 100ms}, {thread: A, at: work, do: pause, for: 150ms}]`,
			"100ms A lock 1: PEXPIRE=1", "", "180ms",
		},
		{
			"it hangs", lock + `
threads: [{name: A, work: 20ms}]
faults: [{thread: A, at: lock, do: late-copy, for: 100ms}, {thread: A, at: work, do: stall}]`,
			"100ms A lock 1: PEXPIRE=1", "", "100ms",
		},
		{
			"it is in its next round", lock + `
threads: [{name: A, work: 20ms, repeat: 2}]
faults: [{thread: A, at: unlock, do: late-copy, for: 25ms}]`,
			"45ms A unlock 1: HINCRBY=0 DEL=1", "", "50ms",
		},
		{
			"it waits to send it again", lock + `
threads: [{name: A, work: 20ms, depth: 2}]
faults: [{thread: A, at: unlock, level: 2, do: late-copy, for: 5ms}]`,
			"45ms A unlock 2: HINCRBY=1", "", "50ms",
		},
		{
			"it has levels of its own again", lock + `
threads: [{name: A, work: 20ms, depth: 3}]
faults: [{thread: A, at: lock, do: late-copy, for: 60ms}]`,
			"60ms A lock 1: HINCRBY=1 PEXPIRE=1", "count-mismatch", "70ms",
		},
		{
			"it is another's lock by now", strings.Replace(lock, "{lease", "{protocol: mutex-unsafe, lease", 1) + `
threads: [{name: A, work: 20ms}, {name: B, start: 35ms, work: 40ms}]
faults: [{thread: A, at: unlock, do: late-copy, for: 30ms}]`,
			"50ms A unlock 1: DEL=1", "foreign-release", "75ms",
		},
		{
			"a renewal of who has left", `
lock: {lease: 200ms, watchdog: 30ms, retry: {times: 3, interval: 10ms}}
threads: [{name: A, work: 40ms}]
faults: [{thread: A, at: renew, do: late-copy, for: 30ms}]`,
			"60ms A renew 1:", "", "60ms",
		},
		{
			"a renewal of one that forgot to leave", `
lock: {lease: 200ms, watchdog: 30ms, retry: {times: 3, interval: 10ms}}
threads: [{name: A, work: 20ms}]
faults: [{thread: A, at: unlock, do: skip-unlock}, {thread: A, at: renew, do: late-copy, for: 300ms}]`,
			"330ms A renew 1: PEXPIRE=1", "shut-out", "330ms",
		},
		{
			"nothing else could let another in", strings.Replace(lock, "{lease", "{protocol: mutex-unsafe, lease", 1) + `
threads: [{name: A, work: 10ms, repeat: 2}, {name: B, start: 25ms, work: 10ms, retry: {times: unlimited, interval: 20ms}}]
faults: [{thread: A, at: unlock, do: late-copy, for: 100ms}, {thread: A, at: lock, round: 2, command: 2, do: crash}]`,
			"110ms A unlock 1: DEL=1", "", "135ms",
		},
		{
			"just after a call that failed", lock + `
threads: [{name: A, work: 10ms, repeat: 2}]
faults: [{thread: A, at: unlock, do: late-copy, for: 21ms}, {thread: A, at: unlock, round: 2, do: lose-request}]`,
			"31ms A unlock 1: HINCRBY=0 DEL=1", "", "40ms",
		},
		{
			"in the middle of work, and a call fails after it", lock + `
threads: [{name: A, work: 10ms, repeat: 2}]
faults: [{thread: A, at: unlock, do: late-copy, for: 15ms}, {thread: A, at: unlock, round: 2, do: lose-request}]`,
			"25ms A unlock 1: HINCRBY=0 DEL=1", "", "40ms",
		},
		{
			"just before a renewal that is lost", `
lock: {lease: 200ms, watchdog: 30ms, retry: {times: 3, interval: 10ms}}
threads: [{name: A, work: 50ms}]
faults: [{thread: A, at: lock, do: late-copy, for: 39ms}, {thread: A, at: renew, do: lose-request}]`,
			"39ms A lock 1: PEXPIRE=1", "", "60ms",
		},
		{
			"two of them, the later one first", lock + `
threads: [{name: A, work: 20ms}]
faults: [{thread: A, at: lock, do: late-copy, for: 100ms}, {thread: A, at: unlock, do: late-copy, for: 50ms}]`,
			"80ms A unlock 1:\n100ms A lock 1: HINCRBY=1 PEXPIRE=1", "shut-out", "100ms",
		},
	} {
		judge := func(t *testing.T, events []trace.Event) {
			t.Helper()
			if got := strings.Join(arrivals(t, events), "\n"); got != c.want {
				t.Errorf("arrivals\n%s\nwant\n%s", got, c.want)
			}
			var rules []string
			for _, e := range events {
				if v, ok := e.Body.(trace.Violation); ok && !slices.Contains(rules, v.Rule) {
					rules = append(rules, v.Rule)
				}
			}
			last := events[len(events)-1]
			if got := strings.Join(rules, " "); got != c.rules {
				t.Errorf("broken: %q, want %q", got, c.rules)
			}
			if end, ok := last.Body.(trace.End); !ok || end.Result != trace.Done {
				t.Errorf("the last event is %+v", last)
			}
		}
		var virtual []string
		t.Run(c.name+", virtual", func(t *testing.T) {
			var first []byte
			for range 2 {
				h, events := play(t, parse(t, c.text), run.Options{})
				judge(t, events)
				virtual = happened(events)
				if got := events[len(events)-1].At.Duration().String(); got != c.ends {
					t.Errorf("the run ends at %s, want %s", got, c.ends)
				}
				var b bytes.Buffer
				if err := trace.Write(&b, h, events); err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = b.Bytes()
				}
				if !bytes.Equal(first, b.Bytes()) {
					t.Error("two runs differ")
				}
			}
		})
		t.Run(c.name+", wall", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, events := play(t, parse(t, c.text), run.Options{Wall: true})
				judge(t, events)
				if got := happened(events); !slices.Equal(got, virtual) {
					t.Errorf("happened %q\non the virtual clock %q", got, virtual)
				}
			})
		})
	}
}

// Its caller hears of an error at once, and of nothing later.
func TestNobodyHearsWhatCameOfALateCopy(t *testing.T) {
	_, events := play(t, parse(t, `
lock: {lease: 200ms, watchdog: off, retry: {times: 3, interval: 10ms}}
threads: [{name: A, work: 20ms}]
faults: [{thread: A, at: lock, do: late-copy, for: 15ms}]
`), run.Options{})
	want := []string{
		"0s A fault late-copy", "0s A lock error", "10ms A lock acquired", "10ms A work begin", // 15ms: the copy
		"30ms A work end", "30ms A unlock released", "30ms A end done", "30ms end done",
	}
	if got := facts(events); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	for _, e := range events {
		if o, ok := e.Body.(trace.Outcome); ok && o.Result == trace.Failed && !strings.Contains(o.Error, "read tcp: connection reset by peer") {
			t.Errorf("the error is %q", o.Error)
		}
	}
	if got := outcomes(events, "lock"); !slices.Equal(got, []string{"error", "acquired"}) {
		t.Errorf("outcomes %v", got)
	}
}

// A Redis that is down, or does not know the script, runs nothing of it: who
// would send it once more is not there.
func TestALateCopyThatRedisCannotRun(t *testing.T) {
	for _, c := range []struct{ name, faults string }{
		{"down", "{time: 20ms, do: down}, {time: 40ms, do: up}"},
		{"down for its thread", "{time: 20ms, do: down, thread: A}, {time: 40ms, do: up, thread: A}"},
		{"without scripts", "{time: 29ms, do: script-flush}"},
		{"restarted", "{time: 29ms, do: restart}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, events := play(t, parse(t, `
lock: {lease: 200ms, watchdog: off, retry: {times: 3, interval: 1ms}}
threads: [{name: A, work: 10ms}]
faults: [{thread: A, at: lock, do: late-copy, for: 30ms}, `+c.faults+`]
`), run.Options{})
			if got := arrivals(t, events); len(got) > 0 {
				t.Errorf("Redis has run %q", got)
			}
			if last := events[len(events)-1]; last.At.Duration() < 30*ms {
				t.Errorf("the run ends at %v, before the copy arrives", last.At.Duration())
			}
		})
	}
}

// A delayed request, too, finds a Redis that is down.
func TestADelayedRequestFindsRedisDown(t *testing.T) {
	_, events := play(t, parse(t, `
lock: {lease: 200ms, watchdog: off, retry: {times: 1, interval: 30ms}}
threads: [{name: A, work: 10ms}]
faults: [{thread: A, at: lock, do: delay, for: 10ms}, {time: 5ms, do: down}, {time: 20ms, do: up}]
`), run.Options{})
	want := []string{
		"0s A fault delay", "5ms fault down", "10ms A lock error", "20ms fault up", "40ms A lock acquired", "40ms A work begin",
		"50ms A work end", "50ms A unlock released", "50ms A end done", "50ms end done",
	}
	if got := facts(events); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// A request that is delayed is on the network, which knows nothing of its
// sender: neither a pause nor a crash holds it. The answer is its sender's, who
// hears it when it goes on. So it is on both clocks.
func TestADelayedRequestArrivesWhateverBecomesOfItsThread(t *testing.T) {
	writes := func(events []trace.Event) []string { // of A
		var list []string
		for _, e := range events {
			if c, ok := e.Body.(trace.Command); ok && e.Thread == "A" && slices.Contains([]string{"HINCRBY", "DEL", "SETNX"}, c.Args[0]) {
				late := map[bool]string{true: ", late"}[c.Late]
				list = append(list, fmt.Sprintf("%v %s=%v%s", e.At.Duration(), c.Args[0], c.Reply, late))
			}
		}
		return list
	}
	const (
		locks = `
lock: {lease: 1s, watchdog: off, retry: {times: 0}}
threads: [{name: A, work: 10ms}, {name: B, start: 60ms, work: 10ms}]
faults: [{thread: A, at: lock, do: delay, for: 50ms}]
`
		unlocks = `
lock: {protocol: mutex-unsafe, lease: 40ms, retry: {times: 9, interval: 10ms}}
threads: [{name: A, work: 10ms}, {name: B, start: 25ms, work: 30ms}]
faults: [{thread: A, at: unlock, do: delay, for: 50ms}]
`
		inner = `
lock: {lease: 200ms, watchdog: 30ms, retry: {times: 0}}
threads: [{name: A, depth: 2, work: 10ms}]
faults: [{thread: A, at: unlock, level: 2, do: delay, for: 50ms}, {thread: A, at: renew, do: %s}]
`
	)
	const crash, pause = "[0, {until: 20ms}, {do: crash, thread: A}]", "[0, {until: 20ms}, {do: pause, thread: A, for: 300ms}]"
	crashed := func(t *testing.T, r *run.Run) {
		time.Sleep(19 * ms)
		do(t, r, "A", run.Crash, "")
	}
	paused := func(t *testing.T, r *run.Run) {
		time.Sleep(19 * ms)
		do(t, r, "A", run.Suspend, "")
		time.Sleep(300 * ms)
		do(t, r, "A", run.Resume, "")
	}
	untouched := func(*testing.T, *run.Run) {}
	for _, c := range []struct {
		name, text, schedule string
		steer                func(*testing.T, *run.Run)
		writes               string
		facts                string // one of them
		broken               string
	}{
		{"a pause", locks, pause, paused, "50ms HINCRBY=1\n330ms HINCRBY=0\n330ms DEL=1", "320ms A lock acquired", ""},
		{"a pause, for who asks meanwhile", locks, pause, paused, "50ms HINCRBY=1\n330ms HINCRBY=0\n330ms DEL=1", "60ms B lock exhausted", ""},
		{"a crash", locks, crash, crashed, "50ms HINCRBY=1, late", "60ms B lock exhausted", ""},
		{
			"a crash, and the lock is another's", unlocks, "[0, 0, 0, {until: 20ms}, {do: crash, thread: A}]", crashed,
			"0s SETNX=1\n60ms DEL=1, late", "45ms B lock acquired", "foreign-release",
		},
		{
			"a pause that the watchdog has", fmt.Sprintf(inner, "pause, for: 100ms"), "[]", untouched,
			"0s HINCRBY=1\n10ms HINCRBY=2\n70ms HINCRBY=1\n130ms HINCRBY=0\n130ms DEL=1", "130ms A unlock decremented", "",
		},
		{
			"a crash that the watchdog has", fmt.Sprintf(inner, "crash"), "[]", untouched,
			"0s HINCRBY=1\n10ms HINCRBY=2\n70ms HINCRBY=1, late", "30ms A end crashed", "",
		},
	} {
		judge := func(t *testing.T, events []trace.Event) {
			t.Helper()
			if got := strings.Join(writes(events), "\n"); got != c.writes {
				t.Errorf("A has Redis run\n%s\nwant\n%s", got, c.writes)
			}
			if got := facts(events); !slices.Contains(got, c.facts) {
				t.Errorf("%q is missing in %q", c.facts, got)
			}
			if got := strings.Join(brokenRules(events), ", "); got != c.broken {
				t.Errorf("broken: %q, want %q", got, c.broken)
			}
		}
		t.Run(c.name+", virtual", func(t *testing.T) {
			_, events := play(t, parse(t, c.text+"schedule: "+c.schedule), run.Options{})
			judge(t, events)
		})
		t.Run(c.name+", wall", func(t *testing.T) { judge(t, liveEvents(t, c.text, c.steer)) })
	}
}

// A run that is stopped does not wait for what is under way, and nothing of it
// arrives any more: on a Redis of somebody's it would leave a key behind.
func TestAStoppedRunForgetsWhatIsUnderWay(t *testing.T) {
	for _, c := range []struct{ kind, lease string }{{"late-copy", "200ms"}, {"delay", "1h"}} {
		t.Run(c.kind, func(t *testing.T) { stoppedWithARequestUnderWay(t, c.kind, c.lease) })
	}
}

func stoppedWithARequestUnderWay(t *testing.T, kind, lease string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r, err := run.New(parse(t, fmt.Sprintf(`
lock: {lease: %s, watchdog: off}
threads: [{name: A, work: 20ms}]
faults: [{thread: A, at: lock, do: %s, for: 1h}]
`, lease, kind)), run.Options{Wall: true})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := r.Execute(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stopped: %v", err)
		}
		if d := time.Since(began); d > time.Minute {
			t.Errorf("it ended after %v", d)
		}
		if n := run.StillToArrive(r); n > 0 {
			t.Errorf("%d requests will still arrive", n)
		}
		events, _ := r.Log().Since(0)
		if got := arrivals(t, events); len(got) > 0 {
			t.Errorf("Redis has run %q", got)
		}
	})
}

// network are the options that are late copies, in short.
func network(w *walk) []string {
	var list []string
	for _, o := range w.Options() {
		if o.Network {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %v %s", o.Thread, o.Next, o.Call, o.Reason, o.At, o.First)))
		}
	}
	return list
}

func TestALateCopyIsAChoiceOfItsOwn(t *testing.T) {
	sc := parse(t, `
lock: {lease: 200ms, watchdog: off, retry: {times: 3, interval: 10ms}}
threads: [{name: A, work: 20ms, repeat: 2}, {name: B, start: 45ms, work: 20ms}]
`)
	refused := func(w *walk, thread string, want run.Refusal) {
		t.Helper()
		_, err := w.StepNetwork(t.Context(), thread, 0)
		var why *run.Refusal
		if !errors.As(err, &why) || why.Reason != want.Reason || why.Error() != want.Error() {
			t.Errorf("%v, want %v", err, &want)
		}
	}
	begun := func() *walk {
		w := begin(t, sc)
		w.must(t, scenario.Move{Choice: 0}) // A locks
		w.must(t, scenario.Move{Fault: &scenario.Fault{Do: fault.LateCopy, Thread: "A", At: fault.AtUnlock, For: 25 * ms}})
		if got := network(w); len(got) > 0 {
			t.Errorf("under way before it was sent: %q", got)
		}
		refused(w, "A", run.Refusal{Reason: run.NeverMoves})
		w.must(t, scenario.Move{Choice: 0}) // 20 ms: the unlock of A is held up
		if got, want := network(w), []string{"A copy unlock, level 1 waits 45ms HEXISTS"}; !slices.Equal(got, want) {
			t.Errorf("under way %q, want %q", got, want)
		}
		refused(w, "A", run.Refusal{Reason: run.OnItsWay, Thread: "A", At: 45 * ms}) // A moves at 30 ms
		refused(w, "B", run.Refusal{Reason: run.NeverMoves})
		w.must(t, scenario.Move{Choice: 0}) // A unlocks again
		w.must(t, scenario.Move{Choice: 0}) // and locks
		return w
	}
	step := func(w *walk, do func() (scenario.Move, error)) {
		t.Helper()
		m, err := do()
		if err != nil {
			t.Fatal(err)
		}
		w.moves = append(w.moves, m)
	}
	// At 45 ms both can move, and which of them does decides on B's fate.
	first := begun()
	step(first, func() (scenario.Move, error) { return first.StepNetwork(t.Context(), "A", 0) })
	step(first, func() (scenario.Move, error) { return first.StepThread(t.Context(), "B", false) })
	second := begun()
	step(second, func() (scenario.Move, error) { return second.StepThread(t.Context(), "B", false) })
	if got, want := network(second), []string{"A copy unlock, level 1  45ms HEXISTS"}; !slices.Equal(got, want) {
		t.Errorf("can arrive %q, want %q", got, want)
	}
	step(second, func() (scenario.Move, error) { return second.StepNetwork(t.Context(), "A", 0) })
	for _, c := range []struct {
		w    *walk
		want string
	}{{first, "acquired"}, {second, "refused"}} {
		_ = c.w.toTheEnd(t)
		events, _ := c.w.r.Log().Since(0)
		i := slices.IndexFunc(events, func(e trace.Event) bool { return e.Thread == "B" && e.Kind() == trace.KindOutcome })
		if got := string(events[i].Body.(trace.Outcome).Result); got != c.want {
			t.Errorf("B's lock was %s, want %s", got, c.want)
		}
		if got, want := arrivals(t, events), []string{"45ms A unlock 1: HINCRBY=0 DEL=1"}; !slices.Equal(got, want) {
			t.Errorf("arrivals %q, want %q", got, want)
		}
		// The moves alone give the same again.
		if again := begin(t, sc, c.w.moves...); again.toTheEnd(t) != c.w.written(t) {
			t.Error("the same moves gave another trace")
		}
	}
}

// A delayed request can also be delivered while its thread waits, stands still or is
// dead, and if one thread sent several to nodes, each by itself.
func TestADelayedRequestIsAChoiceOfItsOwn(t *testing.T) {
	w := begin(t, parse(t, `
lock: {lease: 1s, watchdog: off}
threads: [{name: A, work: 20ms}]
faults: [{thread: A, at: lock, do: delay, for: 50ms}]
`), scenario.Move{})
	want := func(reason run.Reason, at time.Duration, onItsWay string) {
		t.Helper()
		if o := business(w, "A"); o.Next != run.NextNothing || o.Reason != reason || o.At != at {
			t.Errorf("A: %+v, want %s, %v", o, reason, at)
		}
		if got := network(w); !slices.Equal(got, []string{onItsWay}) {
			t.Errorf("under way %q, want %q", got, onItsWay)
		}
	}
	want(run.AwaitsLate, 0, "A arrive lock, level 1 waits 50ms EXISTS")
	w.must(t, scenario.Move{Until: 20 * ms})
	w.must(t, scenario.Move{Fault: &scenario.Fault{Do: fault.Pause, Thread: "A", For: 300 * ms}})
	want(run.IsPaused, 320*ms, "A arrive lock, level 1 waits 50ms EXISTS")
	w.must(t, scenario.Move{Fault: &scenario.Fault{Do: fault.Crash, Thread: "A"}})
	want(run.HasEnded, 0, "A copy lock, level 1 waits 50ms EXISTS")

	w = begin(t, parse(t, `
lock: {protocol: redsync, nodes: 3, lease: 8s, watchdog: off}
threads: [{name: A, work: 20ms}]
faults: [{thread: A, at: lock, command: 1, do: delay, for: 50ms}, {thread: A, at: lock, command: 2, do: delay, for: 50ms}]
`), scenario.Move{}, scenario.Move{}, scenario.Move{}, scenario.Move{}, scenario.Move{Until: 50 * ms})
	for _, node := range []int{2, 1} {
		if _, err := w.StepNetwork(t.Context(), "A", node); err != nil {
			t.Fatal(err)
		}
		events, _ := w.r.Log().Since(0)
		i := slices.IndexFunc(events, func(e trace.Event) bool {
			c, ok := e.Body.(trace.Command)
			return ok && e.At == 50 && c.Node == node
		})
		if i < 0 {
			t.Errorf("nothing has arrived at node %d", node)
		}
		if _, err := w.StepNetwork(t.Context(), "A", node); err == nil {
			t.Errorf("it arrives twice at node %d", node)
		}
	}
}

// A nested lock call ends with its holder's context if the thread looks at that,
// whatever it waits for: its next attempt, or an answer. Then it unlocks.
func TestANestedLockEndsWithItsHoldersContext(t *testing.T) {
	const stops = "threads: [{name: A, depth: 2, work: 20ms, on-lost: stop}]\n"
	for _, c := range []struct{ name, text, want string }{
		{
			"it waits to ask again",
			"lock: {protocol: mutex, lease: 100ms, watchdog: off, retry: {times: 9, interval: 30ms}}\n" + stops,
			"80ms A lock refused, 97ms A lock cancelled, 97ms A unlock released, 97ms A end lost",
		},
		{
			"it waits for an answer, which comes",
			"lock: {lease: 100ms, watchdog: off}\n" + stops + "faults: [{thread: A, at: lock, level: 2, do: delay, for: 90ms}]",
			// Its unlock cuts the call short. The request comes when no key is left, and is refused.
			"20ms A fault delay, 97ms A lock cancelled, 97ms A lock error, 97ms A unlock released, 97ms A end lost, 110ms end done",
		},
		{
			"it waits for an answer, which does not come",
			"lock: {lease: 100ms, watchdog: off}\n" + stops + "faults: [{thread: A, at: lock, level: 2, do: delay, for: 300ms}]",
			"20ms A fault delay, 97ms A lock cancelled, 97ms A lock error, 97ms A unlock released, 97ms A end lost, 320ms end done",
		},
		{
			"it does not check",
			"lock: {protocol: mutex, lease: 100ms, watchdog: off, retry: {times: 9, interval: 30ms}}\n" + strings.Replace(stops, ", on-lost: stop", "", 1),
			// It gives back what it took when its own key was gone.
			"80ms A lock refused, 100ms expired, 110ms A unlock released, 110ms A lock lost, 110ms A unlock lost, 110ms A end lost",
		},
	} {
		judge := func(t *testing.T, events []trace.Event) {
			t.Helper()
			got := strings.Join(facts(events), ", ")
			if !strings.Contains(got, c.want) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			if broken := brokenRules(events); slices.Contains(broken, "count-mismatch") || slices.Contains(broken, "mutual-exclusion") {
				t.Errorf("broken: %q", broken)
			}
		}
		t.Run(c.name+", virtual", func(t *testing.T) {
			_, events := play(t, parse(t, c.text), run.Options{})
			judge(t, events)
		})
		t.Run(c.name+", wall", func(t *testing.T) { judge(t, liveEvents(t, c.text, func(*testing.T, *run.Run) {})) })
	}
}
