package explore_test

import (
	"errors"
	"strings"
	"testing"

	"relock/engine/explore"
	"relock/engine/racetest"
)

// Threads that give back their locks without a bound may give way to one another for ever. A
// search ends all the same, says why it has not seen every order, and counts none of the
// endless ones among those that end; with a bound on the retries it sees them all.
func TestAnEndlessGiveBackEnds(t *testing.T) {
	racetest.Skip(t)
	const text = "lock: {protocol: mutex, lease: 30s, retry: {times: TIMES, interval: 50ms, give-back: true}}\nlocks: [a, b]\n" +
		"threads: [{name: A, takes: [a, b], work: 50ms}, {name: B, takes: [b, a], work: 50ms}]"
	sc := parsed(t, strings.Replace(text, "TIMES", "unlimited", 1))
	space, err := explore.Search(t.Context(), sc, explore.Bounds{MaxStates: 20_000}, explore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if why := space.Why().String(); space.Ending() != explore.Bound || !strings.Contains(why, "start over") || space.States() > 10_000 {
		t.Errorf("it ended as %s, with %d states: %s", space.Ending(), space.States(), why)
	}
	for _, e := range space.Ends() {
		if e.Results[0] == "" || e.Results[1] == "" {
			t.Errorf("an order that is cut ends as %v", e.Results)
		}
	}
	if j := space.Judgement(nil); len(j.Unjudged) == 0 || !strings.Contains(j.Unjudged[0].Helps.String(), "times: N") {
		t.Errorf("the verdict is %+v", j)
	}
	sample, err := explore.Draw(t.Context(), sc, explore.Bounds{}, 20, 1_000_000)
	if err != nil || sample.Endless+sample.Drawn != 20 {
		t.Errorf("drawn: %+v, %v", sample, err)
	}
	if _, err := explore.Probe(t.Context(), sc, explore.Bounds{}, 200, 1_000_000); !errors.Is(err, explore.ErrEndless) {
		t.Errorf("probed: %v", err)
	}
	bounded := parsed(t, strings.Replace(text, "TIMES", "2", 1))
	if space, err = explore.Search(t.Context(), bounded, explore.Bounds{}, explore.Options{}); err != nil || space.Ending() != explore.Exhausted {
		t.Errorf("with a bound: %v, %s", err, space.Why())
	}
}
