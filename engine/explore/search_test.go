package explore_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"relock/engine/explore"
)

// told is a space in one line: "schedules, broken: rule n, rule n".
func told(s *explore.Space) string {
	by := map[string]string{}
	for _, r := range s.Rules() {
		by[r.Name] = r.Schedules.String()
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(by)) {
		list = append(list, name+" "+by[name])
	}
	return fmt.Sprintf("%s %s, %s broken: %s", s.Ending(), s.Schedules(), s.Broken(), strings.Join(list, ", "))
}

func search(t testing.TB, name string, b explore.Bounds, workers int) *explore.Space {
	t.Helper()
	space, err := explore.Search(t.Context(), load(t, name), b, explore.Options{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	return space
}

// The counts are those of an enumeration that merges nothing; see
// TestCountsAreThoseOfEverySchedule. Up to two delays they were counted
// independently before, by a prototype.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		name string
		want []string // by delays
	}{
		{"two-threads", []string{"4, 0 broken: ", "124, 0 broken: ", "1574, 0 broken: "}},
		{"lease-expiry", []string{
			"1, 1 broken: mutual-exclusion 1", "12, 9 broken: mutual-exclusion 9",
			"53, 38 broken: mutual-exclusion 38", "144, 105 broken: mutual-exclusion 105",
		}},
		{"mutex-unsafe", []string{
			"1, 0 broken: ", "15, 1 broken: orphan 1",
			"182, 115 broken: foreign-release 6, lost-update 3, mutual-exclusion 3, orphan 109",
			"915, 728 broken: foreign-release 47, lost-update 25, mutual-exclusion 25, orphan 678",
		}},
		{"value", []string{
			"1, 0 broken: ", "10, 0 broken: ",
			"40, 3 broken: lost-update 3, mutual-exclusion 3", "99, 20 broken: lost-update 20, mutual-exclusion 20",
		}},
		{"naive", []string{"1, 0 broken: ", "29, 0 broken: ", "463, 0 broken: "}},
	} {
		for delays, want := range c.want {
			if got := told(search(t, c.name, explore.Bounds{Delays: delays}, 0)); got != "exhausted "+want {
				t.Errorf("%s, %d delays: %s, want %s", c.name, delays, got, want)
			}
		}
	}
}
