package explore_test

import (
	"math"
	"slices"
	"testing"

	"relock/engine/explore"
)

// Of mutex-unsafe's orders with two delays, 115 of 182 break a rule; orders drawn
// at random break the cheapest of these, and the same draws break the same.
func TestDraw(t *testing.T) {
	sc, b := load(t, "mutex-unsafe"), explore.Bounds{Delays: 2}
	first, err := explore.Draw(t.Context(), sc, b, 300)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(first.Rules, "orphan") || first.Broken == 0 || first.Broken == 300 {
		t.Errorf("%+v", first)
	}
	share := float64(first.Broken) / 300
	if first.Low >= share || first.High <= share || first.High-first.Low > 0.15 || first.Odds < 100 {
		t.Errorf("%+v of a share of %v", first, share)
	}
	again, err := explore.Draw(t.Context(), sc, b, 300)
	if err != nil || again.Broken != first.Broken || !slices.Equal(again.Rules, first.Rules) {
		t.Errorf("again %+v, %v", again, err)
	}
	sound, err := explore.Draw(t.Context(), load(t, "two-threads"), b, 100)
	if err != nil || sound.Broken != 0 || sound.High <= 0 || math.Abs(sound.High-0.037) > 0.001 {
		t.Errorf("nothing in 100 draws leaves 3.7 %% open: %+v, %v", sound, err)
	}
}

// The same bounds come to the same on any number of workers, to the schedule.
func TestWorkersChangeNothing(t *testing.T) {
	for _, name := range []string{"mutex-unsafe", "naive", "fair"} {
		var first string
		for _, workers := range []int{1, 2, 5} {
			space := search(t, name, explore.Bounds{Delays: 2, MaxStates: 900}, workers)
			text := told(space)
			for _, r := range space.Rules() {
				for _, m := range r.Schedule {
					b, err := m.MarshalJSON()
					if err != nil {
						t.Fatal(err)
					}
					text += " " + string(b)
				}
			}
			if first == "" {
				first = text
			}
			if text != first || space.States() > 900 {
				t.Errorf("%s on %d workers: %s, on 1: %s", name, workers, text, first)
			}
		}
	}
}
