package page_test

import (
	"testing"

	"relock/engine/explore"
	"relock/engine/scenario"
	"relock/web/page"
	"relock/web/words"
)

// While a search goes on, how many moves the smallest takes is not known.
func TestCostWithoutMoves(t *testing.T) {
	for want, r := range map[string]explore.Rule{
		"…":                    {},
		"1 fault":              {Faults: 1},
		"1 delay and 2 faults": {Delays: 1, Faults: 2},
		"1 move":               {Schedule: make([]scenario.Move, 1)},
		"1 fault and 3 moves":  {Faults: 1, Schedule: make([]scenario.Move, 3)},
	} {
		if got := page.Cost(words.English, r); got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
}
