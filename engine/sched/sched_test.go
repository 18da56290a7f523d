package sched_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"relock/engine/sched"
)

func choices(t *testing.T, p sched.Policy, n, times int) []int {
	t.Helper()
	var out []int
	for range times {
		c, err := p.Choose(n)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

func TestPolicies(t *testing.T) {
	if got := choices(t, sched.InOrder{}, 3, 3); !slices.Equal(got, []int{0, 0, 0}) {
		t.Errorf("in order: %v", got)
	}
	first, second := choices(t, sched.Random(7), 3, 100), choices(t, sched.Random(7), 3, 100)
	if !slices.Equal(first, second) {
		t.Error("the same seed chose differently")
	}
	for n := range 3 {
		if !slices.Contains(first, n) {
			t.Errorf("a hundred random choices of 3 without %d", n)
		}
	}
	if slices.Equal(first, choices(t, sched.Random(8), 3, 100)) {
		t.Error("another seed chose the same")
	}
	if got := choices(t, sched.Replay([]int{2, 1}, sched.InOrder{}), 3, 4); !slices.Equal(got, []int{2, 1, 0, 0}) {
		t.Errorf("replay, then in order: %v", got)
	}
}

func TestReplayTellsWhereItParted(t *testing.T) {
	for _, bad := range []int{3, -1} {
		p := sched.Replay([]int{0, bad}, sched.InOrder{})
		if _, err := p.Choose(3); err != nil {
			t.Fatal(err)
		}
		_, err := p.Choose(3)
		if !errors.Is(err, sched.ErrDiverged) || !strings.Contains(err.Error(), "decision 2") {
			t.Errorf("choice %d of 3: %v", bad, err)
		}
	}
}
