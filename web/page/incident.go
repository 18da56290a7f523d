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

// Moment is a row of a run, and the moves that lead to it.
type Moment struct {
	Scenario *scenario.Scenario // with the moves as its schedule
	Row      int                // from 1; 0: the start, without moves
}

// GoesWrong returns where the scenario of an incident goes wrong: the rule of its symptom is broken,
// or else another one, or else a thread ends without what it came for. If nothing does, it is the
// start. It is played once, and is safe for concurrent use; the scenario must not be changed.
func GoesWrong(id, rule string, sc *scenario.Scenario) (Moment, error) {
	once, _ := wentWrong.LoadOrStore(id, sync.OnceValues(func() (Moment, error) { return goesWrong(context.Background(), rule, sc) }))
	return once.(func() (Moment, error))()
}

func goesWrong(ctx context.Context, rule string, sc *scenario.Scenario) (Moment, error) {
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
		at, err := momentOf(ctx, sc, wrong)
		if err != nil {
			return at, fmt.Errorf("page: an incident: %w", err)
		}
		if at.Row > 0 {
			return at, nil
		}
	}
	return Moment{Scenario: sc}, nil
}

// AtRow returns the moment of a row of a scenario's run.
func AtRow(ctx context.Context, sc *scenario.Scenario, row int) (Moment, error) {
	at, err := momentOf(ctx, sc, func(_ *facts.Facts, e trace.Event) bool { return e.Step == row })
	if err != nil {
		return at, fmt.Errorf("page: T%d: %w", row, err)
	}
	return at, nil
}

func momentOf(ctx context.Context, sc *scenario.Scenario, seen func(*facts.Facts, trace.Event) bool) (Moment, error) {
	moves, row, err := movesUntil(ctx, sc, seen)
	return Moment{sc.WithSchedule(moves), row}, err
}
