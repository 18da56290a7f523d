package scenario_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/engine/scenario"
)

// Sentences of what is allowed that several keys share.
const (
	allKeys       = "title, lock, threads, defaults, faults, seed, policy, schedule, expect"
	settings      = "start, depth, work, repeat, on-lost, retry"
	ranges        = "a time with a unit or a range of two, such as 50ms or 50ms-100ms, from 0ms to "
	allowedName   = "1 to 12 letters, digits, - or _, unlike every other thread's"
	allowedSeed   = "a whole number from 0 to 9223372036854775807"
	allowedKey    = "1 to 64 printable characters without spaces, { and }"
	allowedInHour = "a time with a unit from 1ms to 1h, such as 50ms"
)

// refused parses what must have mistakes.
func refused(t *testing.T, text string) scenario.Mistakes {
	t.Helper()
	sc, err := scenario.Parse([]byte(text))
	if sc != nil {
		t.Error("a scenario came with mistakes")
	}
	var m scenario.Mistakes
	if !errors.As(err, &m) {
		t.Fatalf("error %v, want Mistakes", err)
	}
	return m
}

func TestEachMistakeExactly(t *testing.T) {
	const a = "threads: [{name: A}]\n"
	const fault = a + "faults:\n  - {thread: A, at: work, "
	for _, c := range []struct {
		name, text string
		want       scenario.Mistake
	}{
		{"title too long", a + "title: " + strings.Repeat("x", 121), scenario.Mistake{2, "title", `"` + strings.Repeat("x", 60) + `…"`, "a line of at most 120 characters"}},
		{"title of two lines", a + `title: "a\nb"`, scenario.Mistake{2, "title", `"a\nb"`, "a line of at most 120 characters"}},
		{"title without a value", a + "title:", scenario.Mistake{2, "title", "nothing", "a line of at most 120 characters"}},
		{"lock without a value", a + "lock:", scenario.Mistake{2, "lock", "nothing", "a map with the keys protocol, key, lease, watchdog, retry, nodes"}},
		{"key with a space", a + `lock: {key: "a b"}`, scenario.Mistake{2, "lock.key", `"a b"`, allowedKey}},
		{"key with a hash tag", a + `lock: {key: "{a}"}`, scenario.Mistake{2, "lock.key", `"{a}"`, allowedKey}},
		{"empty key", a + `lock: {key: ""}`, scenario.Mistake{2, "lock.key", `""`, allowedKey}},
		{"key too long", a + "lock: {key: " + strings.Repeat("k", 65) + "}", scenario.Mistake{2, "lock.key", `"` + strings.Repeat("k", 60) + `…"`, allowedKey}},
		{"lease of nothing", a + "lock: {lease: 0ms}", scenario.Mistake{2, "lock.lease", `"0ms"`, allowedInHour + ", in whole milliseconds"}},
		{"lease between milliseconds", a + "lock: {lease: 1.5ms}", scenario.Mistake{2, "lock.lease", `"1.5ms"`, allowedInHour + ", in whole milliseconds"}},
		{"lease beyond any integer", a + "lock: {lease: 99999999999999999999h}", scenario.Mistake{2, "lock.lease", `"99999999999999999999h"`, allowedInHour + ", in whole milliseconds"}},
		{"watchdog too quick", a + "lock: {watchdog: 999us}", scenario.Mistake{2, "lock.watchdog", `"999us"`, allowedInHour + ", or off"}},
		{"more nodes than this protocol has", a + "lock: {nodes: 3}", scenario.Mistake{2, "lock.nodes", `"3"`, "a whole number from 1 to 1"}},
		{"whole number with a point", a + "lock: {nodes: 1.0}", scenario.Mistake{2, "lock.nodes", `"1.0"`, "a whole number from 1 to 1"}},
		{"whole number in hexadecimal", "threads: [{name: A, depth: 0x2}]", scenario.Mistake{1, "threads[0].depth", `"0x2"`, "a whole number from 1 to 16"}},
		{"whole number with a sign", "threads: [{name: A, depth: +2}]", scenario.Mistake{1, "threads[0].depth", `"+2"`, "a whole number from 1 to 16"}},
		{"retry as a list", a + "lock: {retry: []}", scenario.Mistake{2, "lock.retry", "a list", "a map with the keys times, interval, wait, jitter"}},
		{"too many retries", a + "lock: {retry: {times: 1001}}", scenario.Mistake{2, "lock.retry.times", `"1001"`, "a whole number from 0 to 1000"}},
		{"retry at once", a + "lock: {retry: {interval: 0ms}}", scenario.Mistake{2, "lock.retry.interval", `"0ms"`, "a time with a unit from 1ms to 1m, such as 50ms"}},
		{"retry too rarely", a + "lock: {retry: {interval: 61s}}", scenario.Mistake{2, "lock.retry.interval", `"61s"`, "a time with a unit from 1ms to 1m, such as 50ms"}},
		{"a way to wait that no lock has yet", a + "lock: {retry: {wait: notify}}", scenario.Mistake{2, "lock.retry.wait", `"notify"`, "poll"}},
		{"jitter too long", a + "lock: {retry: {jitter: 0-61s}}", scenario.Mistake{2, "lock.retry.jitter", `"0-61s"`, ranges + "1m"}},
		{"retry of one thread", "threads:\n- name: A\n  retry:\n    times: -1", scenario.Mistake{4, "threads[0].retry.times", `"-1"`, "a whole number from 0 to 1000"}},
		{"start in the past", "threads: [{name: A, start: -1ms}]", scenario.Mistake{1, "threads[0].start", `"-1ms"`, "a time with a unit from 0ms to 1h, such as 50ms"}},
		{"work without a unit", "threads: [{name: A, work: 50}]", scenario.Mistake{1, "threads[0].work", `"50"`, ranges + "1h"}},
		{"range without a unit", "threads: [{name: A, work: 50-100}]", scenario.Mistake{1, "threads[0].work", `"50-100"`, ranges + "1h"}},
		{"range without an end", "threads: [{name: A, work: 50ms-}]", scenario.Mistake{1, "threads[0].work", `"50ms-"`, ranges + "1h"}},
		{"work too long", "threads: [{name: A, work: 1h1ms}]", scenario.Mistake{1, "threads[0].work", `"1h1ms"`, ranges + "1h"}},
		{"work finer than a microsecond", "threads: [{name: A, work: 1.0001ms}]", scenario.Mistake{1, "threads[0].work", `"1.0001ms"`, ranges + "1h"}},
		{"no round", "threads: [{name: A, repeat: 0}]", scenario.Mistake{1, "threads[0].repeat", `"0"`, "a whole number from 1 to 100"}},
		{"too many rounds", "threads: [{name: A, repeat: 101}]", scenario.Mistake{1, "threads[0].repeat", `"101"`, "a whole number from 1 to 100"}},
		{"no level", "threads: [{name: A, depth: 0}]", scenario.Mistake{1, "threads[0].depth", `"0"`, "a whole number from 1 to 16"}},
		{"on-lost", "threads: [{name: A, on-lost: panic}]", scenario.Mistake{1, "threads[0].on-lost", `"panic"`, "ignore, stop"}},
		{"thread as a text", "threads: [A]", scenario.Mistake{1, "threads[0]", `"A"`, "a map with the keys name, " + settings}},
		{"too many threads", "threads:" + strings.Repeat("\n- {name: A}", 17), scenario.Mistake{2, "threads", "17 threads", "a list of at most 16 threads"}},
		{"name with a space", "threads: [{name: A B}]", scenario.Mistake{1, "threads[0].name", `"A B"`, allowedName}},
		{"name with a picture", "threads: [{name: 😀}]", scenario.Mistake{1, "threads[0].name", `"😀"`, allowedName}},
		{"thirteen Chinese characters", "threads: [{name: 一二三四五六七八九十一二三}]", scenario.Mistake{1, "threads[0].name", `"一二三四五六七八九十一二三"`, allowedName}},
		{"name as a list", "threads: [{name: [A]}]", scenario.Mistake{1, "threads[0].name", "a list", allowedName}},
		{"name for all", a + "defaults: {name: B}", scenario.Mistake{2, "defaults", `the key "name"`, settings}},
		{"bad default", a + "defaults: {depth: 99}", scenario.Mistake{2, "defaults.depth", `"99"`, "a whole number from 1 to 16"}},
		{"fault of nobody", a + "faults: [{thread: Z, at: work, do: crash}]", scenario.Mistake{2, "faults[0].thread", `"Z"`, "a thread of the scenario: A"}},
		{"fault without a place", a + "faults: [{thread: A, do: crash}]", scenario.Mistake{2, "faults[0].at", "nothing", "work"}},
		{"fault without a deed", fault + "level: 1}", scenario.Mistake{3, "faults[0].do", "nothing", "pause, crash"}},
		{"a place that cannot fail yet", a + "faults: [{thread: A, at: renew, do: crash}]", scenario.Mistake{2, "faults[0].at", `"renew"`, "work"}},
		{"a deed that cannot be done yet", fault + "do: stall}", scenario.Mistake{3, "faults[0].do", `"stall"`, "pause, crash"}},
		{"a fault by the clock", fault + "do: crash, time: 120ms}", scenario.Mistake{3, "faults[0]", `the key "time"`, "thread, at, level, round, do, for, scope"}},
		{"fault in a round that never comes", fault + "round: 2, do: crash}", scenario.Mistake{3, "faults[0].round", `"2"`, "a whole number from 1 to 1"}},
		{"pause of nothing", fault + "do: pause, for: 0ms}", scenario.Mistake{3, "faults[0].for", `"0ms"`, allowedInHour}},
		{"scope of a pause", fault + "do: pause, for: 1ms, scope: half}", scenario.Mistake{3, "faults[0].scope", `"half"`, "all, work"}},
		{"scope of a crash", fault + "do: crash, scope: work}", scenario.Mistake{3, "faults[0].scope", `"work"`, "only with do: pause"}},
		{"too many faults", a + "faults: [" + strings.Repeat("{},", 65) + "]", scenario.Mistake{2, "faults", "65 faults", "a list of at most 64 faults"}},
		{"seed too large", a + "seed: 9223372036854775808", scenario.Mistake{2, "seed", `"9223372036854775808"`, allowedSeed}},
		{"seed as a list", a + "seed: [1]", scenario.Mistake{2, "seed", "a list", allowedSeed}},
		{"seed without a value", a + "seed: ~", scenario.Mistake{2, "seed", "nothing", allowedSeed}},
		{"choice too large", a + "schedule: [31, 32]", scenario.Mistake{2, "schedule[1]", `"32"`, "a whole number from 0 to 31"}},
		{"choice below none", a + "schedule: [-1]", scenario.Mistake{2, "schedule[0]", `"-1"`, "a whole number from 0 to 31"}},
		{"schedule as a text", a + "schedule: random", scenario.Mistake{2, "schedule", `"random"`, "a list of at most 10000 choices"}},
		{"schedule too long", a + "schedule: [" + strings.Repeat("0,", 10_001) + "]", scenario.Mistake{2, "schedule", "10001 choices", "a list of at most 10000 choices"}},
		{"expect as a list", a + "expect: [orphan]", scenario.Mistake{2, "expect", "a list", "a map with the keys violations, outcome"}},
		{"one rule without a list", a + "expect: {violations: orphan}", scenario.Mistake{2, "expect.violations", `"orphan"`, "a list of at most 9 rules"}},
		{"outcome as a list", a + "expect: {outcome: [done]}", scenario.Mistake{2, "expect.outcome", "a list", "a map with the keys A"}},
		{"alias of a value", "lock: &x {}\ntitle: *x\n" + a, scenario.Mistake{2, "title", "an alias (*x)", "a line of at most 120 characters"}},
		{"merge key", a + "<<: {seed: 2}", scenario.Mistake{2, "", `the key "<<"`, allKeys}},
		{"key in a thread twice", "threads:\n- name: A\n  depth: 1\n  depth: 2", scenario.Mistake{4, "threads[0].depth", "the key a second time", "each key once"}},
		{"list as a key", a + "? [x]\n: y", scenario.Mistake{2, "", `the key ""`, allKeys}},
		{"list for a scenario", "[1]", scenario.Mistake{1, "", "a list", "a map with the keys " + allKeys}},
		{"JSON with an unknown key", "{\"threads\": [{\"name\": \"A\"}],\n\"sede\": 1}", scenario.Mistake{2, "", `the key "sede"`, allKeys}},
		{"one byte too many", a + "#" + strings.Repeat("x", scenario.MaxBytes-len(a)), scenario.Mistake{1, "", "more than 64 KiB", "at most 64 KiB"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(scenario.Mistakes{c.want}, refused(t, c.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMistakesOfAllPartsComeSortedByLine(t *testing.T) {
	got := refused(t, `seed: x
expect:
  violations: [rain]
  outcome:
    A: won
schedule: [99]
policy: fair
faults:
  - thread: A
    at: work
    do: pause
    for: 5
threads:
  - name: A
    depth: 0
defaults:
  work: x
lock:
  lease: 1
color: red
`)
	var lines []int
	var words []string
	for _, m := range got {
		lines = append(lines, m.Line)
		words = append(words, m.Key+" "+m.Given)
	}
	want := []string{
		`seed "x"`, `expect.violations[0] "rain"`, `expect.outcome.A "won"`, `schedule[0] "99"`, `policy "fair"`, `faults[0].for "5"`,
		`threads[0].depth "0"`, `defaults.work "x"`, `lock.lease "1"`, ` the key "color"`,
	}
	if diff := cmp.Diff(want, words); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{1, 3, 5, 6, 7, 12, 15, 17, 19, 20}, lines); diff != "" {
		t.Error("lines: ", diff)
	}
}

func TestMistakesAreOneSentenceALine(t *testing.T) {
	m := scenario.Mistakes{{1, "", "nothing", "something"}, {7, "lock.key", `"a b"`, "no spaces"}}
	const want = "line 1: scenario: given nothing, allowed: something\n" + `line 7: lock.key: given "a b", allowed: no spaces`
	if got := m.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
