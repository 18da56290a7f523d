package explore_test

import (
	"fmt"
	"testing"

	"relock/engine/explore"
	"relock/engine/racetest"
	"relock/lessons/lessonstest"
)

// The claims of bundled scenarios about every order within some bounds are true: sound
// locks break if no client can help it, and never otherwise.
func TestClaimsOfScenariosHold(t *testing.T) {
	racetest.Skip(t)
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
				if testing.Short() && c.Delays > 0 && (len(c.Faults) > 5 || len(c.Faults) > 0 && sc.Lock.Wait.Count > 0) {
					t.Skip("long: make soak does it")
				}
				space, err := explore.Search(t.Context(), sc, b, explore.Options{Workers: 1})
				if err != nil {
					t.Fatal(err)
				}
				if difference := space.Unexpected(c); !difference.IsZero() {
					t.Error(difference)
				}
			})
		}
	}
	if claims < 20 {
		t.Errorf("%d claims: the sound locks say nothing any more", claims)
	}
}
