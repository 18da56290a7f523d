package engine_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"relock/engine"
	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons/lessonstest"
)

func lesson(t *testing.T, name string) *scenario.Scenario {
	t.Helper()
	return lessonstest.Scenario(t, name+".yaml")
}

func compared(t *testing.T, sc *scenario.Scenario, protocols ...string) []engine.Played {
	t.Helper()
	played, err := engine.Compare(t.Context(), sc, protocols)
	if err != nil {
		t.Fatal(err)
	}
	return played
}

// A person who has only looked has chosen nothing: what other locks make of it
// is what they make of the scenario.
func TestToLookIsNotToChoose(t *testing.T) {
	racetest.Skip(t)
	for _, name := range []string{"lease-expiry", "two-threads", "long-pause", "fair", "redlock"} {
		for _, policy := range []string{scenario.PolicyInOrder, scenario.PolicyRandom} {
			sc := lesson(t, name)
			sc.Policy = policy
			b := toTheEnd(t, open(t, sc), 0)
			untouched := compared(t, sc, "reentrant", "redlock", "mutex-unsafe", "none")
			for i, p := range compared(t, sc.WithSchedule(b.Moves), "reentrant", "redlock", "mutex-unsafe", "none") {
				same(t, written(t, untouched[i].Header, untouched[i].Events), written(t, p.Header, p.Events))
				if p.Own != 0 || p.Fitted != 0 {
					t.Errorf("%s, %s: %d moves are said to be a person's, and %d to have fitted", name, policy, p.Own, p.Fitted)
				}
			}
		}
	}
}

// With the lock that it was done on, a comparison shows what was done.
func TestComparedWithItsOwnLockARunIsWhatItWas(t *testing.T) {
	racetest.Skip(t)
	own := 0
	for seed := range uint64(6) {
		text := contended
		if seed%3 == 1 {
			text = strings.Replace(text, "{lease", "{protocol: reentrant-fair, lease", 1)
		}
		sc := parse(t, text)
		if seed%2 == 1 {
			sc.Policy, sc.Seed = scenario.PolicyRandom, seed
		}
		s := open(t, sc)
		wander(t, s, rand.New(rand.NewPCG(seed, 2)))
		for _, b := range s.Branches() {
			h, events := whole(t, sc.WithSchedule(b.Moves))
			p := compared(t, sc.WithSchedule(b.Moves), sc.Lock.Protocol, "none")[0]
			same(t, written(t, h, events)[1:], written(t, p.Header, p.Events)[1:])
			if t.Failed() || p.Fitted != p.Own {
				t.Fatalf("seed %d, branch %d: %d of %d fitted", seed, b.ID, p.Fitted, p.Own)
			}
			own += p.Own
		}
		s.Close()
	}
	if own < 25 {
		t.Errorf("no more than %d moves were a person's", own)
	}
}

func TestChoicesMeanTheSameThreadWithEachLock(t *testing.T) {
	for _, c := range []struct {
		name     string
		text     string
		protocol string
		own      int
		fitted   int
		parted   time.Duration
		first    string // who has the lock first
	}{
		{"B before A", "threads: [{name: A}, {name: B}, {name: C}]\nschedule: [1]\n", "redlock", 1, 1, 0, "B"},
		{"C, though others need more decisions", "threads: [{name: A}, {name: B}, {name: C}]\nschedule: [2, 1]\n", "mutex-unsafe", 2, 2, 0, "C"},
		{"nobody until then", "threads: [{name: A}, {name: B, start: 5ms}]\nschedule: [{until: 5ms}, 1]\n", "redlock", 2, 2, 0, "B"},
		{"time passes by itself", "threads: [{name: A, start: 9ms}, {name: B, start: 20ms}]\nschedule: [{until: 5ms}, 0]\n", "redlock", 0, 0, 0, "A"},
		{"a fault", "threads: [{name: A, work: 50ms}, {name: B, start: 5ms}]\nschedule: [0, {until: 3ms}, {do: evict}]\n", "mutex", 1, 1, 0, "A"},
		{"A, where it waits for itself", "threads: [{name: A, depth: 2, work: 10ms}, {name: B, start: 20ms}]\nschedule: [0, 0, 1]\n", "mutex", 1, 0, 20 * ms, "A"},
		{"one that is the policy's elsewhere", "threads: [{name: A, work: 9ms}, {name: B, start: 5ms}]\nschedule: [0, {until: 1ms}, 0, 0]\n", "redlock", 0, 0, 0, "A"},
		{"one that fits nowhere", "threads: [{name: A}, {name: B, start: 5ms}]\nschedule: [0, 0, 7]\n", "redlock", 1, 0, 55 * ms, "A"},
		{
			"a late copy before its turn", `
lock: {watchdog: off, retry: {times: 3, interval: 10ms}}
threads: [{name: A, work: 20ms, repeat: 2}, {name: B, start: 45ms}]
schedule: [0, {thread: A, at: unlock, do: late-copy, for: 25ms}, 0, 0, 0, 1]
`, "mutex", 2, 2, 0, "A",
		},
		{"a fault that the lock cannot have", "threads: [{name: A}, {name: B}]\nschedule: [1, {thread: B, at: lock, do: lose-reply}]\n", "none", 1, 1, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compared(t, parse(t, c.text), "reentrant", c.protocol)[1]
			if p.Own != c.own || p.Fitted != c.fitted || p.Parted != c.parted {
				t.Errorf("%d of %d fitted, parted at %v; want %d of %d, at %v", p.Fitted, p.Own, p.Parted, c.fitted, c.own, c.parted)
			}
			i := slices.IndexFunc(p.Events, func(e trace.Event) bool {
				o, ok := e.Body.(trace.Outcome)
				return ok && o.Result == trace.Acquired
			})
			if c.first != "" && (i < 0 || p.Events[i].Thread != c.first) {
				t.Errorf("not %s but another has the lock first", c.first)
			}
		})
	}
}

// If a lock asks all nodes at once, a person chooses which comes first; a lock that asks
// them in turn does not have that choice.
func TestTheOrderOfTheNodesIsComparedToo(t *testing.T) {
	sc := parse(t, `
lock: {protocol: redsync, nodes: 3, lease: 300ms, watchdog: off}
threads: [{name: A, work: 20ms}, {name: B, start: 5ms, work: 10ms}]
`)
	b := toTheEnd(t, open(t, sc.WithSchedule([]scenario.Move{{}, {Choice: 2}})), 0)
	played := compared(t, sc.WithSchedule(b.Moves), "redsync", "redlock")
	if p := played[0]; p.Own != 1 || p.Fitted != 1 {
		t.Errorf("redsync: %d own moves, %d fitted", p.Own, p.Fitted)
	}
	same(t, written(t, b.Header, b.Events), written(t, played[0].Header, played[0].Events))
	if c, ok := played[0].Events[0].Body.(trace.Command); !ok || c.Node != 3 {
		t.Errorf("redsync asks first: %+v", played[0].Events[0].Body)
	}
	if p := played[1]; p.Own != 1 || p.Fitted != 0 || p.Parted != 0 {
		t.Errorf("redlock: %d own moves, %d fitted, parted at %v", p.Own, p.Fitted, p.Parted)
	}
}

// Several locks are compared with locks of which there can be several, and with no others.
func TestSeveralLocksAreComparedWithTheirLike(t *testing.T) {
	sc, err := scenario.Parse([]byte("lock: {protocol: mutex}\nlocks: [x, y]\nthreads: [{name: A}, {name: B, takes: [y, x]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	played, err := engine.Compare(t.Context(), sc, []string{"mutex", "reentrant"})
	if err != nil || len(played) != 2 || played[1].Err != nil {
		t.Errorf("%v, %+v", err, played)
	}
	for _, name := range []string{"redlock", "reentrant-fair", "fenced", "none"} {
		if _, err := engine.Compare(t.Context(), sc, []string{"mutex", name}); !errors.Is(err, engine.ErrCompared) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
