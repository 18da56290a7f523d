package engine_test

import (
	"math"
	"testing"

	"relock/engine"
	"relock/engine/explore"
	"relock/engine/racetest"
	"relock/engine/scenario"
)

// A session that makes the moves of a state's way stands at that state, and the
// smallest schedule of each rule breaks it.
func TestWaysLeadToTheirStates(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct {
		name   string
		bounds explore.Bounds
	}{
		{"lease-expiry", explore.Bounds{Delays: 2}},
		{"mutex-unsafe", explore.Bounds{Delays: 1, MaxFaults: 1, Kinds: []string{"crash", "lose-reply"}}},
		{"two-threads", explore.Bounds{Delays: 1, MaxFaults: 1, Kinds: []string{"evict", "pause"}}},
		{"lease-expiry", explore.Bounds{Delays: 1, MaxFaults: 1, Kinds: []string{"crash"}, From: []scenario.Move{{}, {Until: 20e6}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			space, err := engine.Explore(t.Context(), lesson(t, c.name), c.bounds, explore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			g := space.Graph()
			leaves := 0.0
			for _, w := range g.Ways {
				if w.To < 0 {
					leaves += w.Share
				}
			}
			broken, _ := space.Broken().Float64()
			all, _ := space.Schedules().Float64()
			if math.Abs(leaves-1) > 1e-9 || math.Abs(g.States[0].Broken-broken/all) > 1e-9 {
				t.Errorf("%v of all schedules end, and %v are broken, not %v", leaves, g.States[0].Broken, broken/all)
			}
			for id := 0; id < space.States(); id += 1 + space.States()/60 {
				moves := space.Way(id)
				session, err := engine.Open(t.Context(), space.Scenario().WithSchedule(moves))
				if err != nil {
					t.Fatalf("state %d, %v: %v", id, moves, err)
				}
				b := session.Branches()[0]
				if ids := space.Follow(b.Moves, b.Stands()); ids[len(ids)-1] != id {
					t.Errorf("the way to state %d at %v, %+v, leads to %v", id, g.States[id].At, moves, ids)
				}
				session.Close()
			}
			for _, r := range space.Rules() {
				if _, _, err := space.Play(t.Context(), r); err != nil {
					t.Errorf("%s: %v", r.Name, err)
				}
			}
		})
	}
}
