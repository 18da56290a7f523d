package lessons_test

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"relock/engine"
	"relock/engine/check"
	"relock/engine/lock/exhibit"
	"relock/engine/scenario"
	"relock/engine/store"
	"relock/engine/store/storetest"
	"relock/engine/trace"
	"relock/lessons"
)

// Every scenario comes out as it says, and twice the same to the byte.
func TestScenariosKeepTheirWord(t *testing.T) {
	names, err := fs.Glob(lessons.Scenarios(), "*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d scenarios, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			data, err := fs.ReadFile(lessons.Scenarios(), name)
			if err != nil {
				t.Fatal(err)
			}
			sc, err := scenario.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			if sc.Expect == nil || sc.Title == "" {
				t.Error("a scenario that is taught has a title and says what it expects")
			}
			var first []byte
			for range 2 {
				run, err := engine.Start(t.Context(), sc, engine.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if err := run.Wait(); err != nil {
					t.Fatal(err)
				}
				events, _ := run.Log().Since(0)
				for _, d := range engine.Unexpected(sc.Expect, events) {
					t.Error(d)
				}
				var b bytes.Buffer
				if err := trace.Write(&b, run.Header(), events); err != nil {
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

// slower is how many times slower scenarios run on the wall clock here, one
// after the other until one comes out as it says: on a machine that is busy
// with other tests, the margins of the first may be too small. A lock that is
// wrong is so at any speed.
var slower = []int{3, 8, 20}

// longest is how long a scenario may last that is run on the wall clock here.
const longest = 5 * time.Second

// lasts is how long a scenario takes on the virtual clock.
func lasts(t *testing.T, sc *scenario.Scenario) time.Duration {
	t.Helper()
	run, err := engine.Start(t.Context(), sc, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Wait(); err != nil {
		t.Fatal(err)
	}
	events, _ := run.Log().Since(0)
	return events[len(events)-1].At.Duration()
}

// What needs no fault of Redis itself comes out the same on a real one.
func TestScenariosKeepTheirWordOnARealRedis(t *testing.T) {
	external, err := store.Connect(t.Context(), storetest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = external.Close() })
	names, err := fs.Glob(lessons.Scenarios(), "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("all", func(t *testing.T) { // returns when all of them have ended
		for _, name := range names {
			data, err := fs.ReadFile(lessons.Scenarios(), name)
			if err != nil {
				t.Fatal(err)
			}
			sc, err := scenario.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			if sc.Kind == scenario.KindHeartbeat {
				continue // its minutes would really pass
			}
			if sc.Lock.Nodes > 1 {
				continue // one Redis is not several
			}
			if slices.ContainsFunc(sc.Schedule, func(m scenario.Move) bool { return m.Fault != nil || m.Until > 0 }) {
				continue // nobody is there to do it
			}
			if slices.ContainsFunc(sc.Faults, func(f scenario.Fault) bool { return f.Timed }) {
				continue
			}
			if lasts(t, sc) > longest {
				continue // its seconds would really pass, three times over
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var unexpected []string
				for _, slow := range slower {
					run, err := engine.Start(t.Context(), sc, engine.Options{External: external, Slow: slow})
					if err != nil {
						t.Fatal(err)
					}
					if err := run.Wait(); err != nil {
						t.Fatal(err)
					}
					events, _ := run.Log().Since(0)
					if unexpected = engine.Unexpected(sc.Expect, events); len(unexpected) == 0 {
						return
					}
					t.Logf("%d times slower: %s", slow, strings.Join(unexpected, "; "))
				}
				t.Errorf("also at the slowest: %s", strings.Join(unexpected, "; "))
			})
		}
	})
	if left, err := external.Client().DBSize(t.Context()).Result(); err != nil || left != 0 {
		t.Errorf("%d keys are left, %v", left, err)
	}
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
	names, err := fs.Glob(lessons.Scenarios(), "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	broken := map[string]int{}
	for _, name := range names {
		data, err := fs.ReadFile(lessons.Scenarios(), name)
		if err != nil {
			t.Fatal(err)
		}
		sc, err := scenario.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range *sc.Expect.Violations {
			broken[rule]++
		}
	}
	for _, rule := range []string{
		check.MutualExclusion, check.LostUpdate, check.ForeignRelease, check.ForeignRenewal, check.CountMismatch,
		check.Orphan, check.SelfDeadlock, check.TokenRegression, check.Stuck, check.Oversold, check.OverLimit,
	} {
		if broken[rule] < 2 {
			t.Errorf("%d scenarios break %s", broken[rule], rule)
		}
	}
}
