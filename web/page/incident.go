package page

import (
	"context"
	"fmt"
	"sync"

	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// What GoesWrong and GoesWell return for each incident, by its ID.
var wentWrong, wentWell sync.Map

// Moment is a row of a run, and the moves that lead to it.
type Moment struct {
	Scenario *scenario.Scenario // with the moves as its schedule
	Row      int                // from 1; 0: the start, without moves
	At       trace.Millis       // when the row is
}

// Staged is an incident on the page for stepping.
type Staged struct {
	ID, Library string
	Mended      bool // it is its cure
	Cured       bool // there is one
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

// GoesWell returns the moment of an incident's cured run at which the run without the cure goes
// wrong: its last row until then, but not its end. It is like GoesWrong, which returned wrong, otherwise.
func GoesWell(id string, wrong Moment, cured *scenario.Scenario) (Moment, error) {
	once, _ := wentWell.LoadOrStore(id, sync.OnceValues(func() (Moment, error) {
		row := 0
		if _, err := momentOf(context.Background(), cured, func(_ *facts.Facts, e trace.Event) bool {
			if _, ends := e.Body.(trace.End); e.At <= wrong.At && !(ends && e.Thread == "") {
				row = max(row, e.Step)
			}
			return e.At > wrong.At
		}); err != nil {
			return Moment{}, fmt.Errorf("page: a cured incident: %w", err)
		}
		return AtRow(context.Background(), cured, row)
	}))
	return once.(func() (Moment, error))()
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
	var at trace.Millis
	moves, row, err := movesUntil(ctx, sc, func(f *facts.Facts, e trace.Event) bool {
		at = e.At
		return seen(f, e)
	})
	return Moment{sc.WithSchedule(moves), row, at}, err
}
