package engine

import (
	"context"
	"fmt"

	"relock/engine/explore"
	"relock/engine/explore/mend"
	"relock/engine/panics"
	"relock/engine/scenario"
)

// Explore searches every schedule of sc within the bounds, as explore.Search does,
// and fails like it, or with a *panics.Error where a thread of the scenario has
// panicked.
func Explore(ctx context.Context, sc *scenario.Scenario, b explore.Bounds, o explore.Options) (*explore.Space, error) {
	var space *explore.Space
	err := panics.Catch(func() (err error) {
		space, err = explore.Search(ctx, sc, b, o)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	return space, nil
}

// Mend tries the changes of sc that might mend it within the bounds, as mend.Search
// does, and fails like it.
func Mend(ctx context.Context, sc *scenario.Scenario, b explore.Bounds, o mend.Options) (*mend.Report, error) {
	r, err := mend.Search(ctx, sc, b, o)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	return r, nil
}

// Cured runs sc, whose moves break a rule, or else the smallest order of the report that
// does; and then each of the report's cures with the same moves, in the report's order.
// It fails like Beside.
func Cured(ctx context.Context, sc *scenario.Scenario, r *mend.Report) ([]Played, error) {
	all := []*scenario.Scenario{sc}
	for i := range r.Cures {
		all = append(all, r.Cures[i].Scenario)
	}
	own, err := Beside(ctx, sc, all[:1])
	if err == nil && r.Broken() && len(Broken(own[0].Events)) == 0 {
		sc = r.Before.Example()
		all[0] = sc
		own, err = Beside(ctx, sc, all[:1])
	}
	if err != nil {
		return nil, err
	}
	cured, err := Beside(ctx, sc, all[1:])
	return append(own, cured...), err
}
