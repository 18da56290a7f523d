package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"relock/engine/check"
	"relock/engine/racetest"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// abandoned is a lock that A dies with before it has an expiry, and that the
// others ask for without end.
const abandoned = `
lock: {protocol: mutex-unsafe, lease: 200ms, retry: {times: unlimited, interval: 100ms}}
faults: [{thread: A, at: lock, command: 2, do: crash}%s]
threads: [{name: A, work: 10ms}, {name: B, start: 5ms, work: 10ms}%s]
`

// late is a lock whose expiry never reached Redis, and whose deletion is on its
// way when its owner has ended.
const late = `
lock: {protocol: mutex-unsafe, lease: 100ms, retry: {times: unlimited, interval: 20ms}}
faults: [{thread: A, at: lock, command: 2, do: lose-request}, {thread: A, at: unlock, do: delay, for: 400ms}]
threads: [{name: A, retry: {times: 0}}, {name: B, start: 5ms, work: 10ms}]
`

// came is how a run ended: each thread's result, the rules that were broken,
// and when.
func came(events []trace.Event) string {
	var out []string
	for _, e := range events {
		switch b := e.Body.(type) {
		case trace.Violation:
			out = append(out, fmt.Sprintf("%s %s at %v", b.Rule, strings.Join(b.Threads, "+"), e.At))
		case trace.End:
			if e.Thread != "" {
				out = append(out, e.Thread+" "+string(b.Result))
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// A run whose waiters can never get in ends by itself, and not before it is
// certain that nothing changes any more.
func TestAskingInVainIsStuck(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"one waiter", fmt.Sprintf(abandoned, "", ""), "A crashed, shut-out B at 105"},
		{"two waiters", fmt.Sprintf(abandoned, "", ", {name: C, start: 50ms}"), "A crashed, shut-out B+C at 150"},
		{"one that comes late", fmt.Sprintf(abandoned, "", ", {name: C, start: 10s}"), "A crashed, shut-out B+C at 10100"},
		{"one that gives up", fmt.Sprintf(abandoned, "", ", {name: C, retry: {times: 4}}"), "A crashed, C exhausted, shut-out B at 505"},
		{
			"the crash came before SETNX", strings.Replace(fmt.Sprintf(abandoned, "", ", {name: C, start: 1s}"), "at: lock, command: 2", "at: lock, command: 1", 1),
			"A crashed, B done, C done",
		},
		{"an eviction is to come", fmt.Sprintf(abandoned, ", {time: 950ms, do: evict}", ""), "A crashed, B done"},
		{"Redis stops answering, and answers again", fmt.Sprintf(abandoned, ", {time: 20ms, do: down}, {time: 900ms, do: up}", ""), "A crashed, shut-out B at 1005"},
		{"an expiry is to come", `
lock: {protocol: mutex-unsafe, lease: 3s, retry: {times: unlimited, interval: 100ms}}
faults: [{thread: A, at: work, do: crash}]
threads: [{name: A}, {name: B, start: 5ms, work: 10ms}]`, "A crashed, B done"},
		{"the holder hangs", `
lock: {protocol: spin, retry: {times: unlimited, interval: 10ms}}
faults: [{thread: A, at: work, do: stall}]
threads: [{name: A}, {name: B, start: 5ms}]`, "shut-out A+B at 15"},
		{"the holder died with a lock that nothing ends", `
lock: {protocol: spin, retry: {times: unlimited, interval: 10ms}}
faults: [{thread: A, at: work, do: crash}]
threads: [{name: A}, {name: B, start: 5ms}]`, "A crashed, shut-out B at 15"},
		{"the holder only works long", `
lock: {protocol: spin, retry: {times: unlimited, interval: 1s}}
threads: [{name: A, work: 20s}, {name: B, start: 5ms, work: 10ms}]`, "A done, B done"},
		{"the holder stands still", `
lock: {protocol: spin, retry: {times: unlimited, interval: 1s}}
faults: [{thread: A, at: work, do: pause, for: 20s}]
threads: [{name: A, work: 10ms}, {name: B, start: 5ms, work: 10ms}]`, "A done, B done"},
		{"the article's lock", `
lock: {protocol: setnx-hash, lease: 3s, retry: {times: unlimited, interval: 100ms}}
threads: [{name: A}, {name: B, start: 5ms}, {name: C, start: 10ms}]`, "A error, B error, C error"},
		{"between the two commands of an attempt the key goes", `
lock: {protocol: setnx-hash, lease: 3s, retry: {times: unlimited, interval: 100ms}}
faults: [{thread: A, at: lock, command: 2, do: crash}]
threads: [{name: A}, {name: B, start: 5ms}]
schedule: [0, 0, 0, {do: evict}]`, "A crashed, B error"},
		{"Redis does not answer", `
lock: {protocol: mutex-unsafe, retry: {times: unlimited, interval: 1s}}
faults: [{thread: B, at: start, do: pause, for: 1ms}, {time: 0ms, do: down}, {time: 2500ms, do: up}]
threads: [{name: B, work: 10ms}]`, "B done"},
		{"a delayed unlock is on its way", late, "A error, B done"},
		{
			"a request was lost", strings.Replace(fmt.Sprintf(abandoned, ", {thread: B, at: lock, do: lose-request}, {time: 4ms, do: evict}", ""), "B, start: 5ms", "B, start: 7ms", 1),
			"A crashed, B done",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, events := play(t, parse(t, c.text), run.Options{})
			if got := came(events); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestStuckSaysWhoseKeyItIs(t *testing.T) {
	_, events := play(t, parse(t, fmt.Sprintf(abandoned, "", "")), run.Options{})
	for _, e := range events {
		if v, ok := e.Body.(trace.Violation); ok {
			const want = "B will never get in: the key is A's, it has no expiry, and no thread is left to delete it"
			if v.Rule != check.ShutOut || v.Detail != want || len(v.Events) < 2 || v.Events[0] != 1 {
				t.Errorf("%+v, want %q, proved by A's SETNX (1) and B's last event", v, want)
			}
		}
	}
}

// A person's later moves can still change things, so a schedule that has more moves is
// played to the end.
func TestAScheduleGoesOnWhereNobodyGetsIn(t *testing.T) {
	// A's SETNX, its death, and four attempts of B; then the key is evicted.
	const moves = "schedule: [0, 0, 0, 0, 0, 0, {do: evict}]"
	_, events := play(t, parse(t, fmt.Sprintf(abandoned, "", "")+moves), run.Options{})
	if got, want := came(events), "A crashed, B done"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	_, events = play(t, parse(t, fmt.Sprintf(abandoned, "", "")+strings.Replace(moves, ", {do: evict}", "", 1)), run.Options{})
	if got, want := came(events), "A crashed, shut-out B at 305"; got != want {
		t.Errorf("without the eviction: %s, want %s", got, want)
	}
}

// While a watchdog goes on renewing, or Redis is down, things could change: such a run
// ends when it has no room for more.
func TestAskingWithoutEndReachesTheLimit(t *testing.T) {
	racetest.Skip(t)
	for _, text := range []string{
		`
lock: {lease: 200ms, watchdog: 66ms, retry: {times: unlimited, interval: 50ms}}
faults: [{thread: A, at: work, do: stall}]
threads: [{name: A}, {name: B, start: 5ms}]`,
		`
lock: {protocol: mutex-unsafe, retry: {times: unlimited, interval: 1s}}
faults: [{time: 0ms, do: down}]
threads: [{name: B}]`,
	} {
		reachesTheLimit(t, parse(t, text))
	}
}

func reachesTheLimit(t *testing.T, sc *scenario.Scenario) {
	t.Helper()
	r, err := run.New(sc, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = r.Execute(t.Context())
	const want = ", with B still asking for the lock"
	if err == nil {
		t.Fatal("it ended by itself")
	}
	if !errors.Is(err, run.ErrLimit) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want ErrLimit%s", err, want)
	}
	events, _ := r.Log().Since(0)
	if end, ok := events[len(events)-1].Body.(trace.End); !ok || end.Error != err.Error() {
		t.Errorf("the trace ends with %+v", events[len(events)-1])
	}
}

func TestAskingInVainIsStuckOnTheWallClock(t *testing.T) {
	for name, text := range map[string]string{
		"A crashed, shut-out B": strings.NewReplacer("100ms", "10ms", "start: 5ms", "start: 1s").Replace(fmt.Sprintf(abandoned, "", "")),
		"shut-out A+B": `
lock: {protocol: spin, retry: {times: unlimited, interval: 10ms}}
faults: [{thread: A, at: work, do: stall}]
threads: [{name: A}, {name: B, start: 1s}]`,
		"A done, B done": `
lock: {protocol: spin, retry: {times: unlimited, interval: 5ms}}
threads: [{name: A, work: 60ms}, {name: B, start: 5ms, work: 10ms}]`,
		"A error, B done": strings.Replace(late, "start: 5ms", "start: 100ms", 1), // after A even on a busy machine
		"A error, B error": `
lock: {protocol: setnx-hash, lease: 400ms, retry: {times: unlimited, interval: 10ms}}
threads: [{name: A}, {name: B, start: 5ms}]`,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r, err := run.New(parse(t, text), run.Options{Wall: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Execute(ctx); err != nil {
				t.Fatal(err)
			}
			events, _ := r.Log().Since(0)
			got, _, _ := strings.Cut(came(events), " at ")
			if got != name {
				t.Errorf("%s, want %s", came(events), name)
			}
		})
	}
}

// Stepping stops where a run does, and a comparison follows it.
func TestSteppingEndsWhereNobodyGetsIn(t *testing.T) {
	r, err := run.New(parse(t, fmt.Sprintf(abandoned, "", "")), run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(nil)
	var moves []scenario.Move
	for !s.Over() && len(moves) < 20 {
		m, err := s.Step(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		moves = append(moves, m)
	}
	if !s.Over() {
		t.Fatal("it goes on after 20 moves")
	}
	stepped, _ := r.Log().Since(0)
	again, err := run.New(parse(t, fmt.Sprintf(abandoned, "", "")).WithSchedule(moves), run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	if replayed, _ := again.Log().Since(0); came(replayed) != came(stepped) || len(replayed) != len(stepped) {
		t.Errorf("stepped: %s; its schedule again: %s", came(stepped), came(replayed))
	}
}
