package explore_test

import (
	"fmt"
	"testing"
	"time"

	"relock/engine/explore"
)

func TestCounts(t *testing.T) {
	for _, name := range []string{"two-threads", "lease-expiry", "mutex-unsafe", "value", "naive"} {
		for d := range 4 {
			began := time.Now()
			space, err := explore.Search(t.Context(), load(t, name), explore.Bounds{Delays: d}, 1, nil)
			if err != nil {
				t.Fatal(err)
			}
			all, broken, by := space.Schedules()
			fmt.Println(name, d, space.States(), all, broken, by, time.Since(began), space.Repeated())
		}
	}
}
