package explore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"relock/engine/explore"
	"relock/engine/racetest"
	"relock/engine/run"
	"relock/engine/scenario"
)

// Every order of lease-expiry ends alike, the latest when a delay has kept the
// last thread; with a crash, A or B may be gone.
func TestEnds(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct {
		b    explore.Bounds
		want string
	}{
		{explore.Bounds{}, "[lost done] 300ms"},
		{explore.Bounds{Delays: 1}, "[lost done] 410ms"},
		{explore.Bounds{Kinds: []string{"crash"}, MaxFaults: 1}, "[lost done] 300ms; [crashed done] 300ms; [lost crashed] 300ms"},
	} {
		var got [2]string
		for i, workers := range []int{1, 3} {
			space := search(t, "lease-expiry", c.b, workers)
			var list []string
			for _, e := range space.Ends() {
				list = append(list, fmt.Sprint(e.Results, e.At))
				moves, err := space.Moves(t.Context(), e)
				if err != nil {
					t.Fatal(err)
				}
				r, err := run.New(space.Scenario().WithSchedule(moves), run.Options{})
				if err != nil {
					t.Fatal(err)
				}
				st, err := r.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				err = st.Replay(t.Context(), moves, func(scenario.Move) error { return nil })
				results, at := st.Ended()
				st.Close(nil)
				if err != nil || !slices.Equal(results, e.Results) || at != e.At {
					t.Errorf("%+v: %v ends with %v at %v, %v; want %v at %v", c.b, moves, results, at, err, e.Results, e.At)
				}
			}
			got[i] = strings.Join(list, "; ")
		}
		if got[0] != c.want || got[1] != c.want {
			t.Errorf("%+v: %q and %q, want %q", c.b, got[0], got[1], c.want)
		}
	}
}
