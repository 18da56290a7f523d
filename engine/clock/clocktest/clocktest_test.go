package clocktest

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Attempts take from lates how late timers were, and each fails but the one at passes.
func TestOnlyALateFailureIsRepeated(t *testing.T) {
	const latest = 10 * time.Millisecond
	for _, c := range []struct {
		name   string
		lates  []time.Duration
		passes int // an attempt, from 1
		fails  bool
		runs   int
	}{
		{"it passes", []time.Duration{0}, 1, false, 1},
		{"it passes, late", []time.Duration{time.Second}, 1, false, 1},
		{"it fails in time", []time.Duration{latest - 1}, 2, true, 1},
		{"it fails late, then passes", []time.Duration{latest, 0}, 2, false, 2},
		{"it fails late, then in time", []time.Duration{latest, 0}, 3, true, 2},
		{"it passes at last", []time.Duration{latest, latest, latest}, 3, false, 3},
		{"it fails late for good", []time.Duration{latest, latest, latest}, 4, true, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			runs, cleaned, line := 0, 0, 0
			watch := func() func() time.Duration { return func() time.Duration { return c.lates[runs-1] } }
			outer := try(t, func(t testing.TB) {
				repeat(t, latest, watch, func(t testing.TB) {
					if runs != cleaned {
						t.Error("the last attempt was not cleaned up")
					}
					runs++
					t.Cleanup(func() {
						if t.Context().Err() == nil {
							t.Error("the context lives on")
						}
						cleaned++
					})
					if runs != c.passes {
						_, _, line, _ = runtime.Caller(0)
						helper(t, runs) // the next line
					}
				})
			})
			if outer.failed != c.fails || runs != c.runs || cleaned != runs {
				t.Errorf("failed: %v, %d runs, %d cleanups: %q", outer.failed, runs, cleaned, outer.said)
			}
			if told := strings.Join(outer.said, "\n"); c.fails && (!strings.Contains(told, fmt.Sprintf("run %d is wrong", runs)) || strings.Count(told, fmt.Sprintf("clocktest_test.go:%d: run", line+1)) != runs) {
				t.Error("it says ", told)
			}
		})
	}
}

func helper(t testing.TB, run int) {
	t.Helper()
	t.Fatalf("run %d is wrong", run)
}

func TestLatenessIsThatOfTheWorstTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lateness := watch(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		<-ctx.Done()
		if late := lateness(); late > 0 {
			t.Errorf("timers that are never late were late by %v", late)
		}
	})
}

func TestATimedTestIsNamedSo(t *testing.T) {
	a := try(t, func(t testing.TB) { Punctual(t, time.Second, func(testing.TB) {}) })
	if !a.failed {
		t.Error("it may have any name")
	}
}

func TestSkipped(t *testing.T) {
	outer := try(t, func(t testing.TB) {
		repeat(t, 1, func() func() time.Duration { return func() time.Duration { return 1 } }, func(t testing.TB) { t.Skip("no Redis") })
	})
	if !outer.skipped || outer.failed {
		t.Errorf("%+v", outer.said)
	}
}
