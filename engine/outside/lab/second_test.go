package lab_test

import (
	"slices"
	"strings"
	"testing"

	"relock/engine/racetest"
	"relock/engine/recall"
	"relock/engine/verdict"
)

// What scripts answer here is asked of a Redis of this machine, too: where it answers
// otherwise, nothing can be said of the lock.
func TestASecondRedisIsAskedWhatScriptsAnswer(t *testing.T) {
	racetest.Skip(t)
	second, err := recall.NewSecond(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	})
	for worker, want := range map[string]struct{ same, differs bool }{
		"a lease of the key": {same: true},
		"one token":          {},           // sends no script
		"own clock":          {same: true}, // but for its instants, which are of another clock
		"odd numbers":        {differs: true},
	} {
		t.Run(worker, func(t *testing.T) {
			o := options(t, worker)
			o.Second = second
			found := search(t, o)
			got := found.Checked
			if got.Same.IsZero() == want.same || got.Differs.IsZero() == want.differs || (got.On != "") != (want.same || want.differs) {
				t.Errorf("%+v", got)
			}
			unlike := slices.ContainsFunc(found.Judgement().Unjudged, func(l verdict.Lack) bool {
				return strings.Contains(l.Says.String(), "otherwise. In the state")
			})
			if unlike != want.differs || want.differs && found.Judgement().Verdict == verdict.Unbroken {
				t.Errorf("%s: %v", found.Judgement().Verdict, found.Judgement().Unjudged)
			}
			o.Second = nil
			if alone := search(t, o); len(alone.Rules) != len(found.Rules) || alone.Orders != found.Orders {
				t.Errorf("%d orders and %d rules, and %d and %d where no other is asked", found.Orders, len(found.Rules), alone.Orders, len(alone.Rules))
			}
		})
	}
}
