package scenario_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/engine/lock/exhibit"
	"relock/engine/scenario"
)

// mistakes are the mistakes of a scenario, each a line.
func mistakes(t *testing.T, text string) []string {
	t.Helper()
	sc, err := scenario.Parse([]byte(text))
	var m scenario.Mistakes
	if err != nil && !errors.As(err, &m) || (err == nil) == (sc == nil) {
		t.Fatalf("%v, %v", sc, err)
	}
	var lines []string
	for _, one := range m {
		lines = append(lines, one.String())
	}
	return lines
}

func TestAFaultThatCanNeverStrikeIsRefused(t *testing.T) {
	const (
		noRedis = "allowed: with protocol: none, only pause, crash, panic, stall, skip-unlock, extra-unlock"
		text    = "threads: [{name: A, depth: 2, repeat: 2}]\n"
	)
	for _, c := range []struct{ name, text, want string }{
		{"reply without Redis", "lock: {protocol: none}\nfaults: [{thread: A, at: lock, do: lose-reply}]", `line 3: faults[0].do: given "lose-reply", ` + noRedis},
		{"request without Redis", "lock: {protocol: none}\nfaults: [{thread: A, at: unlock, do: lose-request}]", `line 3: faults[0].do: given "lose-request", ` + noRedis},
		{"delay without Redis", "lock: {protocol: spin}\nfaults: [{thread: A, at: unlock, do: delay, for: 1ms}]", `line 3: faults[0].do: given "delay", allowed: with protocol: spin, only pause, crash,`},
		{"late copy without Redis", "lock: {protocol: none}\nfaults: [{thread: A, at: unlock, do: late-copy, for: 1ms}]", `line 3: faults[0].do: given "late-copy", ` + noRedis},
		{"late copy of work", "faults: [{thread: A, at: work, do: late-copy, for: 1ms}]", `line 2: faults[0].at: given "work", allowed: lock, unlock, renew`},
		{"late copy without a length", "faults: [{thread: A, at: lock, do: late-copy}]", `line 2: faults[0].for: given nothing, allowed: a time with a unit from 1ms to`},
		{"late copy that comes at once", "faults: [{thread: A, at: lock, do: late-copy, for: 0ms}]", `line 2: faults[0].for: given "0ms", allowed: a time with a unit from 1ms to`},
		{"late copy with a scope", "faults: [{thread: A, at: lock, do: late-copy, for: 1ms, scope: work}]", `line 2: faults[0].scope: given the key "scope", allowed: with do: late-copy, only thread, at, level, round, command, for`},
		{"late copy of a renewal without a watchdog", "lock: {watchdog: off}\nfaults: [{thread: A, at: renew, do: late-copy, for: 1ms}]", `line 3: faults[0].at: given "renew", allowed: with watchdog: off, only lock, unlock`},
		{"late copy struck at no place", "schedule: [{thread: A, do: late-copy, for: 1ms}]", `line 2: schedule[0].at: given nothing, allowed: lock, unlock, renew`},
		{"late copy struck without a length", "schedule: [{thread: A, at: unlock, do: late-copy}]", `line 2: schedule[0].for: given nothing, allowed: a time with a unit from 1ms to`},
		{"message without Redis", "lock: {protocol: none}\nfaults: [{thread: A, at: lock, do: lose-message}]", `line 3: faults[0].do: given "lose-message", ` + noRedis},
		{"eviction without Redis", "lock: {protocol: none}\nfaults: [{time: 1ms, do: evict}]", `line 3: faults[0].do: given "evict", ` + noRedis},
		{"down without Redis", "lock: {protocol: none}\nfaults:\n  - time: 1ms\n    do: down\n    thread: A", `line 5: faults[0].do: given "down", ` + noRedis},
		{"pause in a call without Redis", "lock: {protocol: none}\nfaults: [{thread: A, at: lock, do: pause, for: 1ms}]", `line 3: faults[0].at: given "lock", allowed: with protocol: none, only start, work`},
		{"renewal without Redis", "lock: {protocol: none}\nfaults: [{thread: A, at: renew, do: crash}]", `line 3: faults[0].at: given "renew", allowed: with protocol: none, only start, work`},
		{"struck without Redis", "lock: {protocol: spin}\nschedule: [0, {thread: A, at: lock, do: lose-reply}]", `line 3: schedule[1].do: given "lose-reply", allowed: with protocol: spin, only`},
		{"Redis struck without Redis", "lock: {protocol: spin}\nschedule: [{do: script-flush}]", `line 3: schedule[0].do: given "script-flush", allowed: with protocol: spin, only`},
		{"no watchdog in the protocol", "lock: {protocol: value}\nfaults: [{thread: A, at: renew, do: crash}]", `line 3: faults[0].at: given "renew", allowed: with protocol: value, only start, lock, work, unlock`},
		{"watchdog off", "lock: {watchdog: off}\nfaults: [{thread: A, at: renew, do: lose-reply}]", `line 3: faults[0].at: given "renew", allowed: with watchdog: off, only lock, unlock`},
		{"struck with the watchdog off", "lock: {watchdog: off}\nschedule: [{thread: A, at: renew, do: lose-reply}]", `line 3: schedule[0].at: given "renew", allowed: with watchdog: off, only lock, unlock`},
		{"no messages", "faults: [{thread: A, at: lock, do: lose-message}]", `line 2: faults[0].do: given "lose-message", allowed: with protocol: reentrant, only pause,`},
		{"no messages struck", "schedule: [{thread: A, do: lose-message}]", `line 2: schedule[0].do: given "lose-message", allowed: with protocol: reentrant, only pause,`},
		{"message to who has the lock", "lock: {protocol: reentrant-fair}\nfaults: [{thread: A, at: lock, level: 2, do: lose-message}]", `line 3: faults[0].level: given "2", allowed: a whole number from 1 to 1`},
		{"a script is one command", "faults: [{thread: A, at: lock, command: 2, do: crash}]", `line 2: faults[0].command: given "2", allowed: a whole number from 1 to 1`},
		{"two commands", "lock: {protocol: mutex-unsafe}\nfaults: [{thread: A, at: lock, command: 3, do: crash}]", `line 3: faults[0].command: given "3", allowed: a whole number from 1 to 2`},
		{"commands of nodes", "lock: {protocol: redlock, nodes: 3}\nfaults: [{thread: A, at: unlock, command: 4, do: crash}]", `line 3: faults[0].command: given "4", allowed: a whole number from 1 to 3`},
		{"heartbeats take no lock", "kind: heartbeat\nfaults: [{thread: A, at: lock, do: crash}]", `line 3: faults[0].at: given "lock", allowed: with kind: heartbeat, only start`},
		{"heartbeats have no work", "kind: heartbeat\nfaults: [{thread: A, at: work, do: panic}]", `line 3: faults[0].do: given "panic", allowed: with kind: heartbeat, only pause, crash, client-clock-jump, restart,`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := mistakes(t, text+c.text)
			if len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
				t.Errorf("mistakes:\n%s\nwant one:\n%s", strings.Join(got, "\n"), c.want)
			}
		})
	}
}

func TestAFaultThatCanStrikeIsTaken(t *testing.T) {
	for _, text := range []string{
		"lock: {protocol: none}\nfaults: [{thread: A, at: start, do: pause, for: 1ms}, {thread: A, at: work, do: crash}, {thread: A, at: unlock, do: skip-unlock}]",
		"lock: {protocol: spin, watchdog: off}\nfaults: [{thread: A, at: work, do: stall}, {thread: A, at: unlock, do: extra-unlock}]\nschedule: [{do: crash, thread: A}, {do: pause, thread: A, for: 1ms}]",
		"lock: {protocol: value}\nfaults: [{thread: A, at: unlock, do: lose-reply}, {time: 1ms, do: script-flush}]",
		"lock: {protocol: mutex-unsafe}\nfaults: [{thread: A, at: lock, command: 2, do: crash}, {time: 1ms, do: script-flush}]",
		"lock: {protocol: setnx-hash}\nfaults: [{thread: A, at: lock, command: 3, do: crash}, {thread: A, at: unlock, command: 2, do: crash}]",
		"lock: {protocol: redlock}\nfaults: [{thread: A, at: lock, command: 10, do: crash}, {thread: A, at: renew, command: 5, do: crash}]",
		"lock: {protocol: reentrant-notify}\nfaults: [{thread: A, at: lock, do: lose-message}]\nschedule: [{thread: A, do: lose-message}]",
		"lock: {watchdog: off}\nfaults: [{thread: A, at: unlock, do: delay, for: 1ms}]",
		"kind: heartbeat\nlock: {protocol: none}\nfaults: [{thread: A, at: start, do: crash}, {time: 1ms, do: down}]",
	} {
		if got := mistakes(t, "threads: [{name: A}]\n"+text); got != nil {
			t.Errorf("%s\n%s", text, strings.Join(got, "\n"))
		}
	}
}

// What Strikes says of a fault is what Parse does with it in a schedule.
func TestStrikesAreWhatAScheduleCanHave(t *testing.T) {
	for text, want := range map[string]int{ // how many can never strike, and by which setting
		"lock: {protocol: none}":           2*(5*3+1) + 8 + 2,
		"lock: {protocol: spin}":           2*(5*3+1) + 8 + 2,
		"lock: {protocol: value}":          2*1 + 2*5, // no message to lose, no renewals
		"lock: {watchdog: off}":            2*1 + 2*5,
		"kind: heartbeat":                  2 * (2 + 2 + 5*3 + 1),
		"lock: {protocol: redlock}":        2 * 1,
		"lock: {protocol: reentrant-fair}": 0,
	} {
		sc, err := scenario.Parse([]byte("threads: [{name: A}, {name: B}]\n" + text))
		if err != nil {
			t.Fatal(err)
		}
		never := 0
		for _, s := range sc.Strikes() {
			doc, err := sc.WithSchedule([]scenario.Move{{Fault: &s.Fault}}).MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := scenario.Parse(doc)
			switch {
			case s.Never != "":
				never++
				if err == nil || !strings.Contains(err.Error(), "with "+s.Never+", only") {
					t.Errorf("%s: %+v: Parse says %v, Strikes that it never strikes with %s", text, s.Fault, err, s.Never)
				}
			case err != nil:
				t.Errorf("%s: %+v: %v", text, s.Fault, err)
			case !parsed.Schedule[0].Equal(scenario.Move{Fault: &s.Fault}):
				t.Errorf("%s: %+v is read as %+v", text, s.Fault, *parsed.Schedule[0].Fault)
			}
		}
		if never != want {
			t.Errorf("%s: %d can never strike, want %d", text, never, want)
		}
	}
}

func TestEveryMistakeOfAFaultIsNamedOnce(t *testing.T) {
	const base = "threads: [{name: A}]\n"
	for _, c := range []struct {
		text string
		want []string // keys
	}{
		{"faults: [{thread: Z, at: wrk, do: paus}]", []string{"faults[0].do", "faults[0].thread", "faults[0].at"}},
		{"faults: [{thread: Z, at: wrk, do: pause}]", []string{"faults[0].thread", "faults[0].at", "faults[0].for"}},
		{"faults: [{at: work}]", []string{"faults[0].do"}},
		{
			"faults: [{thread: Z, at: wrk, level: 0, round: 0, command: 0, time: 1, do: paus, for: x, scope: y, by: z, behind: -1, keep: w, node: 0}]",
			[]string{
				"faults[0].do", "faults[0].thread", "faults[0].at", "faults[0].round", "faults[0].command", "faults[0].level", "faults[0].time",
				"faults[0].behind", "faults[0].by", "faults[0].for", "faults[0].keep", "faults[0].node", "faults[0].scope",
			},
		},
		{"faults: [{thread: Z, at: start, level: 7, do: evict, time: x, for: y}]", []string{
			"faults[0].time", "faults[0].at", "faults[0].for", "faults[0].level", "faults[0].thread",
		}},
		{"schedule: [{thread: Z, at: wrk, do: paus, for: x}]", []string{"schedule[0].do", "schedule[0].thread", "schedule[0].at", "schedule[0].for"}},
	} {
		_, err := scenario.Parse([]byte(base + c.text))
		var m scenario.Mistakes
		if !errors.As(err, &m) {
			t.Fatalf("%s: %v", c.text, err)
		}
		var got []string
		for _, one := range m {
			got = append(got, one.Key)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s\n%s", c.text, diff)
		}
	}
}

// What the lock settles is not judged by where it is not known which it is.
func TestAnUnknownLockSettlesNothing(t *testing.T) {
	const text = `threads: [{name: A, retry: {wait: notify}}]
lock: {protocol: zookeeper, watchdog: 10ms, nodes: 9, retry: {wait: notify}}
faults: [{thread: A, at: lock, do: lose-message}, {thread: A, at: lock, command: 9, do: crash}, {time: 1ms, do: down, node: 9}]
`
	got := mistakes(t, text)
	if len(got) != 1 || !strings.HasPrefix(got[0], `line 2: lock.protocol: given "zookeeper"`) {
		t.Errorf("mistakes:\n%s", strings.Join(got, "\n"))
	}
	got = mistakes(t, strings.Replace(text, "nodes: 9", "nodes: 99", 1))
	if len(got) != 2 || !strings.HasSuffix(got[1], `lock.nodes: given "99", allowed: a whole number from 1 to 9`) {
		t.Errorf("mistakes:\n%s", strings.Join(got, "\n"))
	}
}

// everyFault has every kind of fault, each where some lock can have it.
const everyFault = `
lock: {protocol: redlock, watchdog: 70ms, lease: 200ms}
threads: [{name: A, depth: 2}, {name: B}]
faults:
  - {thread: A, at: start, do: pause, for: 1ms}
  - {thread: A, at: lock, command: 7, do: lose-reply}
  - {thread: A, at: unlock, do: lose-request}
  - {thread: A, at: renew, do: delay, for: 3ms}
  - {thread: B, at: work, do: panic}
  - {thread: B, at: unlock, do: skip-unlock}
  - {time: 10ms, do: restart}
  - {time: 10ms, do: fail-over}
  - {time: 10ms, do: evict, node: 3}
  - {time: 10ms, do: clock-jump, by: 1s}
  - {time: 10ms, do: down, node: 2}
  - {time: 20ms, do: script-flush}
schedule: [0, {do: down, node: 4}, {thread: A, at: renew, do: lose-reply}, {thread: A, at: lock, do: lose-reply}, {thread: B, do: pause, for: 1ms}, 0]
`

// A scenario can be played with any other lock, and then be written and read.
func TestAnyOtherLockGivesAScenario(t *testing.T) {
	faults := map[string]int{"none": 3, "spin": 3, "value": 8, "mutex": 9, "reentrant-fair": 9, "redlock": 12}
	moves := map[string]int{"none": 3, "value": 4, "mutex": 5, "redlock": 6}
	sc, err := scenario.Parse([]byte(everyFault))
	if err != nil {
		t.Fatal(err)
	}
	off, err := scenario.Parse([]byte("lock: {watchdog: off}\nthreads: [{name: A}]"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range exhibit.All() {
		other := sc.With(p.Name)
		if want, ok := faults[p.Name]; ok && len(other.Faults) != want {
			t.Errorf("%s keeps %d faults, want %d", p.Name, len(other.Faults), want)
		}
		if want, ok := moves[p.Name]; ok && len(other.Schedule) != want {
			t.Errorf("%s keeps %d moves, want %d", p.Name, len(other.Schedule), want)
		}
		for _, one := range []*scenario.Scenario{other, off.With(p.Name)} {
			written, err := one.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			again, err := scenario.Parse(written)
			if err != nil {
				t.Errorf("%s: %v\n%s", p.Name, err, written)
			} else if diff := cmp.Diff([]any{one.Faults, one.Schedule}, []any{again.Faults, again.Schedule}); diff != "" {
				t.Errorf("%s: %s", p.Name, diff)
			}
		}
	}
}
