package scenario_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"relock/engine/scenario"
	"relock/lessons/lessonstest"
)

const ms = time.Millisecond

// full has every key that there is.
const full = `
title: 两个线程
lock:
  protocol: reentrant
  key: ORDER:7
  lease: 200ms
  watchdog: 100ms
  retry: {times: 5, interval: 50ms, wait: poll, jitter: 0-20ms}
  nodes: 1
threads:
  - {name: A, start: 1.5s, depth: 2, work: 50ms-100ms, after: 10-30ms, calls: order pay, repeat: 3, on-lost: stop}
  - {name: 线程乙, retry: {times: 0}}
defaults: {depth: 4, work: 60ms, after: 5ms}
faults:
  - {thread: A, at: work, level: 2, round: 3, do: pause, for: 300ms, scope: work}
  - {thread: 线程乙, at: work, do: crash}
  - {thread: A, at: renew, do: lose-reply}
  - {thread: A, at: unlock, level: 2, round: 2, do: late-copy, for: 35ms}
  - {time: 120ms, do: clock-jump, by: -1.5s}
  - {time: 0ms, do: fail-over, behind: 0}
  - {time: 1s, do: restart, keep: true}
seed: 9
policy: random
schedule:
  - 0
  - 1
  - {until: 62.5ms}
  - {thread: A, do: pause, for: 300ms}
  - {thread: A, at: unlock, do: lose-reply}
  - {thread: 线程乙, at: lock, do: late-copy, for: 1s}
  - {do: fail-over}
  - 0
expect:
  violations: [orphan, stuck]
  outcome: {A: lost, 线程乙: crashed}
`

func TestParseReadsEveryKey(t *testing.T) {
	got, err := scenario.Parse([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	retry := scenario.Retry{Times: 5, Interval: 50 * ms, Wait: "poll", Jitter: scenario.Range{Max: 20 * ms}}
	none := retry
	none.Times = 0
	want := &scenario.Scenario{
		Title: "两个线程", Kind: "lock",
		Lock: scenario.Lock{Protocol: "reentrant", Key: "ORDER:7", Lease: 200 * ms, Watchdog: 100 * ms, Retry: retry, Nodes: 1},
		Threads: []scenario.Thread{
			{Name: "A", Start: 1500 * ms, Depth: 2, Work: scenario.Range{Min: 50 * ms, Max: 100 * ms}, After: scenario.Range{Min: 10 * ms, Max: 30 * ms}, Calls: "order pay", Repeat: 3, OnLost: "stop", Process: "main", Retry: retry},
			{Name: "线程乙", Depth: 4, Work: scenario.Range{Min: 60 * ms, Max: 60 * ms}, After: scenario.Range{Min: 5 * ms, Max: 5 * ms}, Repeat: 1, OnLost: "ignore", Process: "main", Retry: none},
		},
		Faults: []scenario.Fault{
			{Thread: "A", At: "work", Level: 2, Round: 3, Do: "pause", For: 300 * ms, Scope: "work"},
			{Thread: "线程乙", At: "work", Level: 1, Round: 1, Do: "crash"},
			{Thread: "A", At: "renew", Round: 1, Command: 1, Do: "lose-reply"},
			{Thread: "A", At: "unlock", Level: 2, Round: 2, Command: 1, Do: "late-copy", For: 35 * ms},
			{Timed: true, Time: 120 * ms, Do: "clock-jump", By: -1500 * ms, Node: 1},
			{Timed: true, Do: "fail-over", Node: 1},
			{Timed: true, Time: time.Second, Do: "restart", Keep: true, Node: 1},
		},
		Seed: 9, Policy: "random",
		Schedule: []scenario.Move{
			{Choice: 0},
			{Choice: 1},
			{Until: 62500 * time.Microsecond},
			{Fault: &scenario.Fault{Do: "pause", Thread: "A", For: 300 * ms}},
			{Fault: &scenario.Fault{Do: "lose-reply", Thread: "A", At: "unlock"}},
			{Fault: &scenario.Fault{Do: "late-copy", Thread: "线程乙", At: "lock", For: time.Second}},
			{Fault: &scenario.Fault{Do: "fail-over", Behind: 1, Node: 1}},
			{Choice: 0},
		},
		Expect: &scenario.Expect{Violations: &[]string{"shut-out"}, Outcome: map[string]string{"A": "lost", "线程乙": "crashed"}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(scenario.Scenario{})); diff != "" {
		t.Error(diff)
	}
}

func TestDefaults(t *testing.T) {
	got, err := scenario.Parse([]byte("lock: {lease: 200ms}\nthreads: [{name: A}]"))
	if err != nil {
		t.Fatal(err)
	}
	retry := scenario.Retry{Times: 5, Interval: 50 * ms, Wait: "poll"}
	want := &scenario.Scenario{
		Kind: "lock",
		// A third of 200 ms, to the microsecond.
		Lock: scenario.Lock{Protocol: "reentrant", Key: "EXAMPLE_LOCK", Lease: 200 * ms, Watchdog: 66667 * time.Microsecond, Retry: retry, Nodes: 1},
		Threads: []scenario.Thread{
			{Name: "A", Depth: 1, Work: scenario.Range{Min: 50 * ms, Max: 100 * ms}, Repeat: 1, OnLost: "ignore", Process: "main", Retry: retry},
		},
		Seed: 1, Policy: "in-order",
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(scenario.Scenario{})); diff != "" {
		t.Error(diff)
	}
}

// mistakesBase is a scenario without mistakes.
const mistakesBase = "threads: [{name: A}]\n"

// refused is what Parse refuses. Alone says why the schema cannot, where it cannot.
var refused = []struct{ name, text, want, alone string }{
	{"no unit", mistakesBase + "lock: {lease: 200}", `line 2: lock.lease: given "200", allowed: a time with a unit from 1ms to 1h, such as 50ms, in whole milliseconds`, ""},
	{"half a millisecond", mistakesBase + "lock: {lease: 0.5ms}", `line 2: lock.lease: given "0.5ms", allowed: a time with a unit from 1ms to 1h, such as 50ms, in whole milliseconds`, "how long a time may be, or in which unit, is no pattern's"},
	{"negative", mistakesBase + "lock: {lease: -5ms}", `line 2: lock.lease: given "-5ms"`, ""},
	{"too long", mistakesBase + "lock: {lease: 2h}", `line 2: lock.lease: given "2h"`, "how long a time may be, or in which unit, is no pattern's"},
	{"watchdog", mistakesBase + "lock: {watchdog: never}", `line 2: lock.watchdog: given "never", allowed: a time with a unit from 1ms to 1h, such as 50ms, or off`, ""},
	{"protocol", mistakesBase + "lock: {protocol: zookeeper}", `line 2: lock.protocol: given "zookeeper", allowed: reentrant`, ""},
	{"unknown key", mistakesBase + "lock: {leese: 1s}", `line 2: lock: given the key "leese" (did you mean lease?), allowed: protocol, key, kind, lease, watchdog, max-hold, retry, nodes`, ""},
	{"keeps what it loses", mistakesBase + "faults: [{time: 1s, do: restart, keep: true, lose: 1s}]", `line 2: faults[0].lose: given "1s", allowed: not with keep: true`, ""},
	{"too many replicas", mistakesBase + "lock: {wait: 3 of 2 in 50ms}", `line 2: lock.wait: given "3 of 2 in 50ms", allowed: replicas and a time, such as 1 of 2 in 50ms: at most 5, and no more than there are; whole milliseconds, to 1h`, ""},
	{"replicas without a time", mistakesBase + "lock: {wait: 1 of 2}", `line 2: lock.wait: given "1 of 2"`, ""},
	{"replicas of a lock of a majority", mistakesBase + "lock: {protocol: redlock, wait: 1 of 2 in 50ms}", `line 2: lock.wait: given the key "wait", allowed: only with a lock in one Redis`, "which lock it is"},
	{"replicas of nothing", mistakesBase + "lock: {min-replicas: 0 in 1s}", `line 2: lock.min-replicas: given "0 in 1s", allowed: replicas and a time, such as 1 in 1s`, ""},
	{"a limit of no renewals", mistakesBase + "lock: {watchdog: off, max-hold: 1s}", `line 2: lock.max-hold: given the key "max-hold", allowed: only with a watchdog: it limits renewals`, "what the lock says"},
	{"nodes of a lock of one", mistakesBase + "lock: {nodes: 3}", `line 2: lock.nodes: given the key "nodes", allowed: nodes only with protocol: redlock, redsync, redsync-reset, whose key is on several Redis`, "it depends on the protocol"},
	{"keeps what counts", mistakesBase + "lock: {keep: 1m}", `line 2: lock.keep: given the key "keep", allowed: keep only with protocol: mutex, whose key refuses its last owner, too`, ""},
	{"keeps with scripts of one's own", "lock: {protocol: own, like: mutex, keep: 1m, scripts: {unlock: return 1}}\n" + mistakesBase, `line 1: lock.keep: given the key "keep", allowed: keep only with protocol: mutex`, ""},
	{"keeps for no time", mistakesBase + "lock: {protocol: mutex, keep: 0ms}", `line 2: lock.keep: given "0ms", allowed: a time with a unit from 1ms to 1h`, "how long a time may be, or in which unit, is no pattern's"},
	{"a replica nobody waits for", mistakesBase + "faults: [{time: 1ms, do: fail-over, replica: 1}]", `line 2: faults[0].replica: given the key "replica", allowed: only where the lock waits for replicas, as in wait: 1 of 2 in 50ms`, "what the lock says"},
	{"a replica too many", mistakesBase + "lock: {wait: 1 of 2 in 50ms}\nfaults: [{time: 1ms, do: fail-over, replica: 3}]", `line 3: faults[0].replica: given "3", allowed: a whole number from 1 to 2`, "what the lock says"},
	{"key twice", mistakesBase + "seed: 1\nseed: 2", `line 3: seed: given the key a second time, allowed: each key once`, ""},
	{"list for a map", mistakesBase + "lock: [1]", `line 2: lock: given a list, allowed: a map with the keys protocol,`, ""},
	{"map for a list", "threads: {name: A}", `line 1: threads: given a map, allowed: a list of at most 16 threads`, ""},
	{"no threads", "seed: 1", `line 1: threads: given nothing, allowed: a list of 1 to 16 threads`, ""},
	{"empty threads", "threads: []", `line 1: threads: given an empty list`, ""},
	{"no name", "threads:\n  - {depth: 2}", `line 2: threads[0].name: given nothing, allowed: 1 to 12 letters`, ""},
	{"long name", "threads: [{name: ABCDEFGHIJKLM}]", `line 1: threads[0].name: given "ABCDEFGHIJKLM"`, ""},
	{"name twice", "threads:\n  - {name: A}\n  - {name: A}", `line 3: threads[1].name: given "A"`, "names are compared with other threads"},
	{"depth", "threads: [{name: A, depth: 17}]", `line 1: threads[0].depth: given "17", allowed: a whole number from 1 to 16`, ""},
	{"depth as text", "threads: [{name: A, depth: two}]", `line 1: threads[0].depth: given "two"`, ""},
	{"upside down", "threads: [{name: A, work: 9ms-1ms}]", `line 1: threads[0].work: given "9ms-1ms", allowed: a time with a unit or a range`, "which of two times is the longer is no pattern's"},
	{"after without a unit", "threads: [{name: A, depth: 2, after: 5}]", `line 1: threads[0].after: given "5", allowed: a time with a unit or a range of two, such as 50ms or 50ms-100ms, from 0ms to 1h`, ""},
	{"a function with a gap in its name", "threads: [{name: A, depth: 2, calls: 'order  pay!'}]", `line 1: threads[0].calls: given "order  pay!", allowed: names of up to 16 functions, with spaces between`, ""},
	{"after upside down", mistakesBase + "defaults: {after: 9ms-1ms}", `line 2: defaults.after: given "9ms-1ms", allowed: a time with a unit or a range`, "which of two times is the longer is no pattern's"},
	{"drift without a unit", "threads: [{name: A, drift: 5}]", `line 1: threads[0].drift: given "5", allowed: how much faster the clock runs, in percent or ppm, such as 5%, or with a - slower, 50% at most`, ""},
	{"drift too large", "threads: [{name: A, drift: -51%}]", `line 1: threads[0].drift: given "-51%"`, "how large a number in a text is, is no pattern's"},
	{"drift too fine", "threads: [{name: A, drift: 0.00001%}]", `line 1: threads[0].drift: given "0.00001%"`, ""},
	{"seed", mistakesBase + "seed: -1", `line 2: seed: given "-1", allowed: a whole number from 0 to 9223372036854775807`, ""},
	{"policy", mistakesBase + "policy: fair", `line 2: policy: given "fair", allowed: in-order, random`, ""},
	{"schedule", mistakesBase + "schedule: [0, x]", `line 2: schedule[1]: given "x"`, ""},
	{"wait beyond any run", mistakesBase + "schedule: [{until: 1281023h}, {until: 1281023h0.001ms}]", `line 2: schedule[1].until: given "1281023h0.001ms", allowed: a time with a unit from 0.001ms to 1281023h`, "how long a time may be, or in which unit, is no pattern's"},
	{"wait for nothing", mistakesBase + "schedule: [{until: 0ms}]", `line 2: schedule[0].until: given "0ms", allowed: a time with a unit from 0.001ms to 1281023h`, "how long a time may be, or in which unit, is no pattern's"},
	{"struck at a level", mistakesBase + "schedule: [{do: crash, thread: A, level: 1}]", `line 2: schedule[0]: given the key "level", allowed: thread, at, do, error, for, by, behind, keep, lose, node`, ""},
	{"struck at a place", mistakesBase + "schedule: [{do: crash, thread: A, at: work}]", `line 2: schedule[0].at: given the key "at", allowed: with do: crash, only thread`, ""},
	{"struck at no place", mistakesBase + "schedule: [{do: delay, thread: A, for: 1ms}]", `line 2: schedule[0].at: given nothing, allowed: lock, unlock, renew`, ""},
	{"struck on nobody", mistakesBase + "schedule: [{do: crash, thread: Z}]", `line 2: schedule[0].thread: given "Z", allowed: a thread of the scenario: A`, "names are compared with the threads"},
	{"struck with nothing", mistakesBase + "schedule: [{}]", `line 2: schedule[0].do: given nothing, allowed: pause, crash`, ""},
	{"fault without a thread", mistakesBase + "faults: [{at: work, do: crash}]", `line 2: faults[0].thread: given nothing, allowed: a thread of the scenario: A`, ""},
	{"pause without a length", mistakesBase + "faults: [{thread: A, at: work, do: pause}]", `line 2: faults[0].for: given nothing`, ""},
	{"crash with a length", mistakesBase + "faults: [{thread: A, at: work, do: crash, for: 1ms}]", `line 2: faults[0].for: given the key "for", allowed: with do: crash, only thread, at, level, round`, ""},
	{"fault of Redis without a time", mistakesBase + "faults: [{do: evict}]", `line 2: faults[0].time: given nothing, allowed: a time with a unit`, ""},
	{"fault of Redis in a thread", mistakesBase + "faults: [{do: evict, time: 1ms, thread: A}]", `line 2: faults[0].thread: given the key "thread", allowed: with do: evict, only time, node`, ""},
	{"place of a fault", mistakesBase + "faults: [{do: stall, thread: A, at: lock}]", `line 2: faults[0].at: given "lock", allowed: work`, ""},
	{"jump of nothing", mistakesBase + "faults: [{do: clock-jump, time: 1ms, by: 0ms}]", `line 2: faults[0].by: given "0ms", allowed: a time with a unit, forward or with a - back`, "how long a time may be, or in which unit, is no pattern's"},
	{"unknown fault", mistakesBase + "faults: [{do: rain, time: 1ms}]", `line 2: faults[0].do: given "rain", allowed: pause, crash, panic,`, ""},
	{"level of a fault", mistakesBase + "faults: [{thread: A, at: work, level: 2, do: crash}]", `line 2: faults[0].level: given "2", allowed: a whole number from 1 to 1`, "it depends on the thread's depth"},
	{"rule", mistakesBase + "expect: {violations: [rain]}", `line 2: expect.violations[0]: given "rain", allowed: mutual-exclusion,`, ""},
	{"faults of no kind", mistakesBase + "expect: {explore: {max-faults: 1, violations: []}}", `line 2: expect.explore.max-faults: given max-faults without faults, allowed: with the faults that may strike`, ""},
	{"outcome of nobody", mistakesBase + "expect: {outcome: {Z: done}}", `line 2: expect.outcome: given the key "Z", allowed: A`, "names are compared with the threads"},
	{"outcome", mistakesBase + "expect: {outcome: {A: won}}", `line 2: expect.outcome.A: given "won", allowed: done, exhausted, lost, crashed, error`, ""},
	{"alias", "threads: &x [{name: A}]\nlock: *x", `line 2: lock: given an alias (*x)`, ""},
	{"nothing", "", `line 1: scenario: given nothing`, ""},
	{"only a comment", "# hello\n", `line 1: scenario: given nothing`, ""},
	{"two documents", mistakesBase + "---\n" + mistakesBase, `line 2: scenario: given a second document`, "a schema is of one document; how many there are is the reader's"},
	{"no YAML", "threads: [", `line 1: scenario: given something that is not YAML`, ""},
	{"a text", "hello", `line 1: scenario: given "hello", allowed: a map with the keys title`, ""},
}

func TestMistakesNameLineKeyGivenAndAllowed(t *testing.T) {
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			sc, err := scenario.Parse([]byte(c.text))
			if sc != nil {
				t.Error("a scenario came with mistakes")
			}
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("mistakes:\n%v\nwant one:\n%s", err, c.want)
			}
		})
	}
}

func TestAllMistakesByLine(t *testing.T) {
	_, err := scenario.Parse([]byte("expect: {violations: 7}\nthreads:\n  - {name: A, depth: 0}\n  - {name: B, work: x}\nlock: {lease: 1}\n"))
	var m scenario.Mistakes
	if !errors.As(err, &m) {
		t.Fatalf("error %v", err)
	}
	var got []string
	for _, one := range m {
		got = append(got, one.Key)
	}
	want := []string{"expect.violations", "threads[0].depth", "threads[1].work", "lock.lease"}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(scenario.Scenario{})); diff != "" {
		t.Error(diff)
	}
}

// Each of these was once lost, or refused, on the way through the normal form.
func TestNormalFormOfCorners(t *testing.T) {
	for _, text := range []string{
		"lock: {retry: {jitter: 0-20ms}}\nthreads: [{name: A, retry: {jitter: 0ms}}]",
		"lock: {lease: 1ms}\nthreads: [{name: A}]",
		"threads: [{name: A}]\nexpect: {outcome: {}}",
		`{"title": "\ud83d\ude00 \\\ud83d\ude00 \u9501", "threads": [{"name": "A"}]}`,
	} {
		sc, err := scenario.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		same(t, sc)
	}
	sc, err := scenario.Parse([]byte(`{"title": "\ud83d\ude00 \\\ud83d\ude00 \u9501", "threads": [{"name": "A"}]}`))
	if err != nil || sc.Title != `😀 \😀 锁` {
		t.Errorf("title %q, %v", sc.Title, err)
	}
}

func TestMistakesOfOneLineHaveOneOrder(t *testing.T) {
	const text = "threads: [{name: A}, {name: B}, {name: C}]\nexpect: {outcome: {C: x, A: x, B: x}}\nfaults: [{do: evict, time: 1s, thread: A, at: work, round: 2}]"
	_, first := scenario.Parse([]byte(text))
	for range 20 {
		if _, err := scenario.Parse([]byte(text)); err.Error() != first.Error() {
			t.Fatalf("%v\nand then\n%v", first, err)
		}
	}
}

// A drift is read in percent or in millionths, and written in percent.
func TestDrift(t *testing.T) {
	for _, c := range []struct {
		text, written string
		want          scenario.Drift
	}{
		{"5%", "5%", 50_000},
		{"-0.5%", "-0.5%", -5_000},
		{"+0.0001%", "0.0001%", 1},
		{"200ppm", "0.02%", 200},
		{"-500000ppm", "-50%", -500_000},
		{"0%", "0%", 0},
	} {
		sc, err := scenario.Parse([]byte("threads: [{name: A, drift: " + c.text + "}]"))
		if err != nil || sc.Threads[0].Drift != c.want || c.want.String() != c.written {
			t.Errorf("%s: %v %v %s", c.text, sc, err, c.want)
			continue
		}
		same(t, sc)
	}
}

func TestWatchdogOff(t *testing.T) {
	for _, text := range []string{"off", `"off"`, "false"} {
		sc, err := scenario.Parse([]byte("threads: [{name: A}]\nlock: {watchdog: " + text + "}"))
		if err != nil || sc.Lock.Watchdog != 0 {
			t.Errorf("watchdog: %s = %v, %v", text, sc, err)
		}
	}
}

// same parses a scenario's normal form and compares.
func same(t *testing.T, sc *scenario.Scenario) {
	t.Helper()
	for form, write := range map[string]func() ([]byte, error){
		"normal":  func() ([]byte, error) { return json.Marshal(sc) },
		"compact": sc.Compact,
	} {
		text, err := write()
		if err != nil {
			t.Fatal(err)
		}
		again, err := scenario.Parse(text)
		if err != nil {
			t.Fatalf("%v\nin the %s form\n%s", err, form, text)
		}
		if diff := cmp.Diff(sc, again, cmpopts.IgnoreUnexported(scenario.Scenario{})); diff != "" {
			t.Errorf("the %s form says something else: %s\n%s", form, diff, text)
		}
	}
}

func TestWrittenFormsSayTheSame(t *testing.T) {
	texts := []string{full}
	for _, name := range lessonstest.Names(t) {
		texts = append(texts, lessonstest.Text(t, name))
	}
	for _, text := range texts {
		sc, err := scenario.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		same(t, sc)
	}
}

// Kinds of faults that may strike are a promise: one of them does unless it is
// said how many.
func TestClaimsWithFaults(t *testing.T) {
	sc, err := scenario.Parse([]byte("threads: [{name: A}]\nexpect:\n  explore:\n" +
		"    - {faults: [crash], violations: []}\n    - {faults: [crash], max-faults: 0, violations: []}\n    - {faults: [crash], max-faults: 2, violations: []}\n    - {violations: []}"))
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, e := range sc.Expect.Explore {
		got = append(got, e.MaxFaults)
	}
	if want := []int{1, 0, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("%v faults strike, want %v", got, want)
	}
	same(t, sc)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(`{"threads":[{"name":"A","work":"1us-2us"}],"lock":{"watchdog":false}}`))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("? [x]\n: y"))
	f.Fuzz(func(t *testing.T, data []byte) {
		sc, err := scenario.Parse(data)
		if err == nil {
			same(t, sc)
			return
		}
		var m scenario.Mistakes
		if !errors.As(err, &m) || len(m) == 0 || sc != nil {
			t.Fatalf("%v, %v", sc, err)
		}
		for _, one := range m {
			if one.Line < 1 || one.Given.String() == "" || one.Allowed.String() == "" {
				t.Fatalf("mistake %+v", one)
			}
		}
	})
}

// It names the seed if that decides something that a person sees.
// A thread asks without end if its own retries say so, whatever the lock's are.
func TestWhoAsksWithoutEnd(t *testing.T) {
	sc, err := scenario.Parse([]byte(`
lock: {retry: {times: unlimited}}
threads: [{name: A}, {name: B, retry: {times: 3}}, {name: C}]
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := sc.Endless(); !slices.Equal(got, []string{"A", "C"}) {
		t.Errorf("%v ask without end, want A and C", got)
	}
}

func TestDrawn(t *testing.T) {
	for text, want := range map[string]bool{
		"threads: [{name: A, work: 50ms}]":                                               false,
		"threads: [{name: A, work: 50ms-60ms}]":                                          true,
		"threads: [{name: A, work: 50ms, after: 5ms-6ms}]":                               false, // nothing is nested
		"threads: [{name: A, work: 50ms, depth: 2, after: 5ms-6ms}]":                     true,
		"threads: [{name: A}]\npolicy: random":                                           true,
		"lock: {retry: {times: 3, interval: 10ms, jitter: 0-5ms}}\nthreads: [{name: A}]": true,
	} {
		sc, err := scenario.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := sc.Drawn(); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// A scenario that has no work after nested calls is written without the key, so
// that its traces are what they were before there was one.
func TestAfterIsWrittenWhereThereIsAny(t *testing.T) {
	for text, want := range map[string]string{
		"threads: [{name: A, depth: 2, after: 0ms}]":            "",
		"threads: [{name: A, depth: 2}]\ndefaults: {after: 0s}": "",
		"threads: [{name: A, depth: 2, after: 30ms}]":           `"after":"30ms"`,
		"threads: [{name: A}]\ndefaults: {after: 1-2ms}":        `"after":"1ms-2ms"`,
	} {
		sc, err := scenario.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(sc)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(got), `"after"`) != (want != "") || !strings.Contains(string(got), want) {
			t.Errorf("%s is written as %s, want %s in it", text, got, want)
		}
	}
}

// Whatever key has a time, it is longer in slow motion: the text is the same, but for its times.
func TestSlowedIsAllOfIt(t *testing.T) {
	length := regexp.MustCompile(`(\d)ms`)
	said := ""
	for _, text := range []string{`
lock: {lease: 30ms, watchdog: 11ms, max-hold: 12ms, wait: 1 of 2 in 13ms, min-replicas: 1 in 14ms, retry: {interval: 15ms, jitter: 16ms-17ms}}
resource: {kind: effect, once-per: 18ms}
threads: [{name: A, start: 1ms, depth: 2, work: 2ms-3ms, after: 4ms-5ms, retry: {interval: 6ms, jitter: 7ms}}]
faults:
  - {time: 6ms, do: clock-jump, by: -7ms}
  - {time: 9ms, do: restart, lose: 10ms, for: 19ms}
  - {thread: A, at: work, do: pause, for: 8ms}
`, `
lock: {protocol: mutex, lease: 30ms, keep: 11ms, retry: {interval: 13ms}}
threads: [{name: A}]
defaults: {work: 12ms}
`} {
		sc, err := scenario.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		before := jsonOf(t, sc)
		slow, err := sc.Slowed(10)
		if err != nil {
			t.Fatal(err)
		}
		want, err := scenario.Parse([]byte(length.ReplaceAllString(text, "${1}0ms")))
		if err != nil {
			t.Fatal(err)
		}
		if got := jsonOf(t, slow); got != jsonOf(t, want) {
			t.Errorf("ten times slower it is %s, want %s", got, jsonOf(t, want))
		}
		if jsonOf(t, sc) != before {
			t.Errorf("what was slowed down is changed itself: %s, was %s", jsonOf(t, sc), before)
		}
		said += text
	}
	var in func(keys scenario.Keys)
	in = func(keys scenario.Keys) {
		for _, key := range keys {
			if key.Values.Times && !strings.Contains(said, key.Name+": ") {
				t.Errorf("no text here has the key %s, which is a time", key.Name)
			}
			in(key.Values.Keys)
		}
	}
	in(scenario.KeysAt(""))
}

func jsonOf(t *testing.T, sc *scenario.Scenario) string {
	t.Helper()
	text, err := sc.Compact()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
