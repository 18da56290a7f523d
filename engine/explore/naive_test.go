package explore_test

import (
	"context"
	"fmt"
	"io/fs"
	"testing"

	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons"
)

func load(t testing.TB, name string) *scenario.Scenario {
	t.Helper()
	text, err := fs.ReadFile(lessons.Scenarios(), name+".yaml")
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scenario.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return sc.WithSchedule(nil)
}

type tally struct {
	schedules, broken int
	rules             map[string]int
	nodes             int
}

func naive(t testing.TB, sc *scenario.Scenario, prefix []scenario.Move, delays int, sum *tally) {
	ctx := context.Background()
	r, err := run.New(sc, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(nil)
	for i, m := range prefix {
		if _, err := s.Decide(ctx); err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(ctx, m); err != nil {
			t.Fatalf("%d %v of %v: %v", i, m, prefix, err)
		}
	}
	sum.nodes++
	for {
		n, err := s.Decide(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if s.Over() {
			sum.schedules++
			seen := map[string]bool{}
			events, _ := r.Log().Since(0)
			for _, e := range events {
				if v, ok := e.Body.(trace.Violation); ok {
					seen[v.Rule] = true
				}
			}
			for rule := range seen {
				sum.rules[rule]++
			}
			if len(seen) > 0 {
				sum.broken++
			}
			return
		}
		if delays > 0 {
			if next, ok := s.NextEvent(); ok {
				naive(t, sc, append(prefix[:len(prefix):len(prefix)], scenario.Move{Until: next}), delays-1, sum)
			}
		}
		for i := 1; i < n; i++ {
			naive(t, sc, append(prefix[:len(prefix):len(prefix)], scenario.Move{Choice: i}), delays, sum)
		}
		m := scenario.Move{Choice: 0}
		if err := s.Apply(ctx, m); err != nil {
			t.Fatal(err)
		}
		prefix = append(prefix[:len(prefix):len(prefix)], m)
		sum.nodes++
	}
}

func TestNaive(t *testing.T) {
	for _, name := range []string{"two-threads", "lease-expiry", "mutex-unsafe", "value", "naive"} {
		for d := range 3 {
			sum := tally{rules: map[string]int{}}
			naive(t, load(t, name), nil, d, &sum)
			fmt.Println(name, d, sum)
		}
	}
}
