package page

import (
	"context"
	"fmt"
	"sync"

	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// wentWrong has for each incident what GoesWrong returns, by its ID.
var wentWrong sync.Map

// GoesWrong returns the scenario of an incident with the moves that lead to where it goes wrong: the
// rule of its symptom is broken, or else another one, or else a thread ends without what it came for.
// Where nothing does, it has no moves. It is played once, and is safe for concurrent use; the scenario
// must not be changed.
func GoesWrong(id, rule string, sc *scenario.Scenario) (*scenario.Scenario, error) {
	once, _ := wentWrong.LoadOrStore(id, sync.OnceValues(func() (*scenario.Scenario, error) { return goesWrong(context.Background(), rule, sc) }))
	return once.(func() (*scenario.Scenario, error))()
}

func goesWrong(ctx context.Context, rule string, sc *scenario.Scenario) (*scenario.Scenario, error) {
	for _, wrong := range []func(*facts.Facts, trace.Event) bool{
		func(_ *facts.Facts, e trace.Event) bool {
			b, ok := e.Body.(trace.Violation)
			return ok && b.Rule == rule
		},
		func(_ *facts.Facts, e trace.Event) bool { return e.Kind() == trace.KindViolation },
		func(_ *facts.Facts, e trace.Event) bool {
			b, ok := e.Body.(trace.End)
			return ok && e.Thread != "" && b.Result != trace.Done && b.Result != trace.Crashed
		},
	} {
		moves, step, err := movesUntil(ctx, sc, wrong)
		if err != nil {
			return nil, fmt.Errorf("page: an incident: %w", err)
		}
		if step > 0 {
			return sc.WithSchedule(moves), nil
		}
	}
	return sc, nil
}

// Until returns a scenario with the moves that lead to a row of its run.
func Until(ctx context.Context, sc *scenario.Scenario, row int) (*scenario.Scenario, error) {
	moves, _, err := movesUntil(ctx, sc, func(_ *facts.Facts, e trace.Event) bool { return e.Step == row })
	if err != nil {
		return nil, fmt.Errorf("page: the moves until T%d: %w", row, err)
	}
	return sc.WithSchedule(moves), nil
}
