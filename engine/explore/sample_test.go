package explore_test

import (
	"slices"
	"testing"

	"relock/engine/explore"
	"relock/engine/racetest"
	"relock/engine/scenario"
)

// Of mutex-unsafe's orders with two delays, 115 of 182 break a rule; orders drawn
// at random break the cheapest of these, and the same draws break the same.
func TestDraw(t *testing.T) {
	racetest.Skip(t)
	sc, b := load(t, "mutex-unsafe"), explore.Bounds{Delays: 2}
	first, err := explore.Draw(t.Context(), sc, b, 300, 30_000)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(first.Rules, "shut-out") || first.Drawn != 300 || first.Broken == 0 || first.Broken == 300 || first.Endless != 0 || first.Odds < 100 {
		t.Errorf("%+v", first)
	}
	again, err := explore.Draw(t.Context(), sc, b, 300, 30_000)
	if err != nil || again.Broken != first.Broken || !slices.Equal(again.Rules, first.Rules) {
		t.Errorf("again %+v, %v", again, err)
	}
	sound, err := explore.Draw(t.Context(), load(t, "two-threads"), b, 100, 30_000)
	if err != nil || sound.Drawn != 100 || sound.Broken != 0 || len(sound.Rules) > 0 {
		t.Errorf("of a sound lock: %+v, %v", sound, err)
	}
	few, err := explore.Draw(t.Context(), sc, b, 300, 100)
	if err != nil || few.Drawn == 0 || few.Drawn > 15 || few.Endless > 1 {
		t.Errorf("with 100 moves: %+v, %v", few, err)
	}
}

// Each fault is one of all that can strike: that makes a certain one rarer.
func TestOddsCountTheFaults(t *testing.T) {
	racetest.Skip(t)
	sc := load(t, "mutex-unsafe")
	odds := func(kinds ...string) float64 {
		sample, err := explore.Draw(t.Context(), sc, explore.Bounds{MaxFaults: 1, Kinds: kinds}, 50, 5000)
		if err != nil {
			t.Fatal(err)
		}
		return sample.Odds
	}
	if one, many := odds("evict"), odds("evict", "crash", "lose-reply", "lose-request"); many < 5*one {
		t.Errorf("one in %v with 1 fault, one in %v with several", one, many)
	}
}

// endless is a scenario in which nobody who asks is ever let in, and asks again:
// there is no end of an order to be found.
const endless = `
lock: {lease: 100ms, watchdog: 30ms, retry: {times: unlimited, interval: 20ms}}
defaults: {work: 10ms}
threads: [{name: A}, {name: B, start: 1ms}, {name: C, start: 2ms}]
faults: [{thread: A, at: work, level: 1, do: pause, for: 300ms}, {thread: B, at: work, level: 1, do: stall}]
`

// If no order ends, it counts nothing, estimates nothing, and nobody waits for it.
func TestNoOrderEnds(t *testing.T) {
	racetest.Skip(t)
	sc, err := scenario.Parse([]byte(endless))
	if err != nil {
		t.Fatal(err)
	}
	b := explore.Bounds{MaxStates: 100}
	space, err := explore.Search(t.Context(), sc, b, explore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	place := space.Place(0)
	if space.Ending() != explore.Bound || space.Schedules().Sign() != 0 || place.None() || place.Every() || len(space.Rules()) != 1 {
		t.Errorf("%s of %+v, rules %+v", told(space), place.Prospect, space.Rules())
	}
	for _, s := range space.Graph().States {
		if s.Fate == explore.Sound {
			t.Fatalf("%+v", s)
		}
	}
	sample, err := explore.Draw(t.Context(), sc, b, 1000, 500)
	if err != nil || sample.Drawn != 0 || sample.Endless != 1 {
		t.Errorf("%+v, %v", sample, err)
	}
}

// The same bounds come to the same on any number of workers, to the schedule.
func TestWorkersChangeNothing(t *testing.T) {
	most := 900
	if testing.Short() {
		most = 250
	}
	for _, name := range []string{"mutex-unsafe", "naive", "fair"} {
		var first string
		for _, workers := range []int{1, 2, 5} {
			space := search(t, name, explore.Bounds{Delays: 2, MaxStates: most}, workers)
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
			if text != first || space.States() > most {
				t.Errorf("%s on %d workers: %s, on 1: %s", name, workers, text, first)
			}
		}
	}
}
