package run

import (
	"slices"
	"testing"
)

func choices(p policy, n, times int) []int {
	var out []int
	for decision := range times {
		out = append(out, p.choose(decision, n))
	}
	return out
}

func TestPolicies(t *testing.T) {
	if got := choices(inOrder{}, 3, 3); !slices.Equal(got, []int{0, 0, 0}) {
		t.Errorf("in order: %v", got)
	}
	first := choices(random(7), 3, 3000)
	if !slices.Equal(first, choices(random(7), 3, 3000)) {
		t.Error("the same seed chose differently")
	}
	for n := range 3 {
		// 1,000 of 3,000 are expected, with a deviation of 26.
		if got := howMany(first, n); got < 850 || got > 1150 {
			t.Errorf("%d of 3000 random choices of 3 are %d", got, n)
		}
	}
	if slices.Equal(first, choices(random(8), 3, 3000)) {
		t.Error("another seed chose the same")
	}
	if random(7).choose(1234, 3) != first[1234] {
		t.Error("a choice depends on those before it")
	}
}

func howMany(list []int, of int) int {
	n := 0
	for _, v := range list {
		if v == of {
			n++
		}
	}
	return n
}
