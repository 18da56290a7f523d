package film_test

import (
	"reflect"
	"testing"

	"relock/web/film"
)

// Of a long table the first three places of each rule are picked, each with its surroundings, once.
func TestStretches(t *testing.T) {
	t.Parallel()
	rows := make([]film.Row, 1000)
	breaks := func(rule string, at ...int) {
		for _, i := range at {
			rows[i].Violations = append(rows[i].Violations, film.Violation{Rule: rule})
		}
	}
	check := func(want ...film.Stretch) {
		t.Helper()
		if got := film.Stretches(rows); !reflect.DeepEqual(got, want) {
			t.Errorf("%v\nwant %v", got, want)
		}
	}
	check(film.Stretch{To: 11}, film.Stretch{From: 989, To: 1000})
	breaks("a", 5, 100, 121, 400) // the fourth is none
	breaks("b", 121, 500, 521)
	breaks("a", 995)
	check(film.Stretch{To: 16, Broken: []int{5}}, film.Stretch{From: 90, To: 132, Broken: []int{100, 121}},
		film.Stretch{From: 490, To: 532, Broken: []int{500, 521}}, film.Stretch{From: 989, To: 1000})
	breaks("c", 995)
	check(film.Stretch{To: 16, Broken: []int{5}}, film.Stretch{From: 90, To: 132, Broken: []int{100, 121}},
		film.Stretch{From: 490, To: 532, Broken: []int{500, 521}}, film.Stretch{From: 985, To: 1000, Broken: []int{995}})
}
