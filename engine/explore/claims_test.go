package explore_test

import (
	"fmt"
	"slices"
	"testing"

	"relock/engine/explore"
	"relock/lessons/lessonstest"
)

// What bundled scenarios say of every order within some bounds is so: sound
// locks break where no client can help it, and nowhere else.
func TestClaimsOfScenariosHold(t *testing.T) {
	claims := 0
	for _, name := range lessonstest.Names(t) {
		sc := lessonstest.Scenario(t, name)
		if sc.Expect == nil {
			continue
		}
		for i, c := range sc.Expect.Explore {
			claims++
			t.Run(fmt.Sprint(name, "/", i+1), func(t *testing.T) {
				t.Parallel()
				b := explore.Bounds{Delays: c.Delays, Kinds: c.Faults, MaxFaults: c.MaxFaults}
				space, err := explore.Search(t.Context(), sc, b, explore.Options{Workers: 1})
				if err != nil {
					t.Fatal(err)
				}
				var broken []string
				for _, r := range space.Rules() {
					broken = append(broken, r.Name)
				}
				slices.Sort(broken)
				if want := slices.Sorted(slices.Values(c.Violations)); space.Ending() != explore.Exhausted || !slices.Equal(broken, want) {
					t.Errorf("%s: %v are broken, the scenario says %v", space.Ending(), broken, want)
				}
			})
		}
	}
	if claims < 20 {
		t.Errorf("%d claims: the sound locks say nothing any more", claims)
	}
}
