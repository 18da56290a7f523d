package sched_test

import (
	"slices"
	"testing"

	"relock/engine/sched"
)

func choices(p sched.Policy, n, times int) []int {
	var out []int
	for decision := range times {
		out = append(out, p.Choose(decision, n))
	}
	return out
}

func TestPolicies(t *testing.T) {
	if got := choices(sched.InOrder{}, 3, 3); !slices.Equal(got, []int{0, 0, 0}) {
		t.Errorf("in order: %v", got)
	}
	first := choices(sched.Random(7), 3, 3000)
	if !slices.Equal(first, choices(sched.Random(7), 3, 3000)) {
		t.Error("the same seed chose differently")
	}
	for n := range 3 {
		// 1,000 of 3,000 are expected, with a deviation of 26.
		if got := count(first, n); got < 850 || got > 1150 {
			t.Errorf("%d of 3000 random choices of 3 are %d", got, n)
		}
	}
	if slices.Equal(first, choices(sched.Random(8), 3, 3000)) {
		t.Error("another seed chose the same")
	}
	if sched.Random(7).Choose(1234, 3) != first[1234] {
		t.Error("a choice depends on those before it")
	}
}

func count(list []int, of int) int {
	n := 0
	for _, v := range list {
		if v == of {
			n++
		}
	}
	return n
}
