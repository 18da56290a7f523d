package lessons_test

import (
	"bytes"
	"slices"
	"sync"
	"testing"
	"time"

	"relock/engine"
	"relock/engine/check"
	"relock/engine/clock/clocktest"
	"relock/engine/lock/exhibit"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/store"
	"relock/engine/store/storetest"
	"relock/engine/trace"
	"relock/lessons"
	"relock/lessons/lessonstest"
)

// Every scenario comes out as it says, and twice the same to the byte.
func TestScenariosKeepTheirWord(t *testing.T) {
	for _, name := range lessonstest.Names(t) {
		t.Run(name, func(t *testing.T) {
			sc := lessonstest.Scenario(t, name)
			if sc.Expect == nil || sc.Title == "" {
				t.Error("a scenario that is taught has a title and says what it expects")
			}
			var first []byte
			for range 2 {
				run := lessonstest.PlayScenario(t, sc)
				for _, d := range engine.Unexpected(sc.Expect, run.Events) {
					t.Error(d)
				}
				var b bytes.Buffer
				if err := trace.Write(&b, run.Header, run.Events); err != nil {
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
	}
}

// slower is how many times slower scenarios run on the wall clock here, each in
// turn until one comes out as it says: on a machine busy with other tests the
// margins of the first may be too small. A wrong lock is wrong at any speed.
var slower = []int{3, 8, 20}

// atOnce is how many scenarios run at once on the wall clock here. They mostly
// wait, so more of them than there are cores.
const atOnce = 4

// longest is how long a scenario may last that is run on the wall clock here.
const longest = 5 * time.Second

// impatient says why a scenario is not run on the wall clock and a real Redis,
// or "".
func impatient(t *testing.T, sc *scenario.Scenario, on *store.External) string {
	t.Helper()
	switch {
	case sc.Lock.Protocol == exhibit.MutexDelex.Name && !knows(t, on, "DELEX"):
		return "this Redis does not know DELEX"
	case sc.Kind == scenario.KindHeartbeat:
		return "its minutes would really pass"
	case sc.Lock.Nodes > 1:
		return "one Redis is not several"
	case sc.Locks != nil:
		return "several locks are stepped"
	case slices.ContainsFunc(sc.Schedule, func(m scenario.Move) bool { return m.Fault != nil || m.Until > 0 }):
		return "its moves need somebody to make them"
	case slices.ContainsFunc(sc.Faults, func(f scenario.Fault) bool { return f.Timed }):
		return "a real Redis is spared such faults"
	}
	if events := lessonstest.PlayScenario(t, sc).Events; events[len(events)-1].At.Duration() > longest {
		return "its seconds would really pass, three times over"
	}
	return ""
}

// knows tells whether a Redis has a command.
func knows(t *testing.T, r *store.External, command string) bool {
	t.Helper()
	found, err := r.Client().Do(t.Context(), "COMMAND", "INFO", command).Slice()
	if err != nil {
		t.Fatal(err)
	}
	return len(found) > 0 && found[0] != nil
}

// Scenarios that need no fault of Redis itself end the same on a real one; with -short
// every second one does.
func TestTimedScenariosOnARealRedis(t *testing.T) {
	external, err := store.Connect(t.Context(), storetest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = external.Close() })
	places := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	for n, name := range lessonstest.Names(t) {
		sc := lessonstest.Scenario(t, name)
		if testing.Short() && n%2 > 0 || impatient(t, sc, external) != "" {
			continue
		}
		places <- struct{}{}
		running.Go(func() {
			t.Run(name, func(t *testing.T) {
				clocktest.Punctual(t, time.Duration(slower[0])*sc.Lock.Lease, func(t testing.TB) { keepsItsWord(t, sc, external) })
			})
			<-places
		})
	}
	running.Wait()
	if left, err := external.Client().DBSize(t.Context()).Result(); err != nil || left != 0 {
		t.Errorf("%d keys are left, %v", left, err)
	}
}

// keepsItsWord fails if a scenario comes out as it says at no speed.
func keepsItsWord(t testing.TB, sc *scenario.Scenario, external *store.External) {
	t.Helper()
	var unexpected []phrase.Wording
	for _, slow := range slower {
		run := lessonstest.PlayWith(t, sc, engine.Options{External: external, Slow: slow})
		if unexpected = engine.Unexpected(sc.Expect, run.Events); len(unexpected) == 0 {
			return
		}
		lateness, _ := engine.Late(sc, run.Events)
		t.Logf("%d times slower, on a machine up to %v late: %s", slow, lateness, unexpected)
	}
	t.Errorf("also at the slowest: %s", unexpected)
}

func TestEveryLockIsExplained(t *testing.T) {
	list, err := lessons.Protocols()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != len(exhibit.All()) {
		t.Errorf("%d texts about %d locks", len(list), len(exhibit.All()))
	}
}

// No rule is only claimed: at least two scenarios break each of them.
func TestEveryRuleIsBrokenByTwoScenarios(t *testing.T) {
	broken := map[string]int{}
	for _, name := range lessonstest.Names(t) {
		sc := lessonstest.Scenario(t, name)
		for _, rule := range *sc.Expect.Violations {
			broken[rule]++
		}
	}
	for _, rule := range []string{
		check.MutualExclusion, check.LostUpdate, check.ForeignRelease, check.ForeignRenewal, check.CountMismatch,
		check.ShutOut, check.SelfDeadlock, check.TokenRegression, check.ShutOut, check.Oversold, check.OverLimit,
	} {
		least := 2
		if rule == check.TokenRegression {
			least = 1 // it takes a lost token and a clock that is behind
		}
		if broken[rule] < least {
			t.Errorf("%d scenarios break %s", broken[rule], rule)
		}
	}
}
