package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Limits of Compare.
const (
	MinCompared = 2
	MaxCompared = 4 // columns that a person can hold against each other
)

// ErrCompared is returned by Compare for protocols that it cannot take.
var ErrCompared = errors.New("these locks cannot be compared")

// Played is a scenario as it went with one protocol.
type Played struct {
	Protocol string
	Scenario *scenario.Scenario
	Header   trace.Header
	Events   []trace.Event
	Followed int   // the moves of the schedule that fitted
	Err      error // what ended the run early, or nil
}

// Compare runs a scenario on the virtual clock once with each protocol. A
// schedule that does not fit a protocol is followed as far as it does, and by
// the policy from there. It fails with ErrCompared, or with ctx's error.
func Compare(ctx context.Context, sc *scenario.Scenario, protocols []string) ([]Played, error) {
	var known []string
	for _, p := range scenario.Protocols() {
		known = append(known, p.Name)
	}
	if len(protocols) < MinCompared || len(protocols) > MaxCompared {
		return nil, fmt.Errorf("%w: %d to %d are wanted, given %d", ErrCompared, MinCompared, MaxCompared, len(protocols))
	}
	for i, p := range protocols {
		if !slices.Contains(known, p) {
			return nil, fmt.Errorf("%w: there is no %q; there are %s", ErrCompared, p, joined(known))
		}
		if slices.Contains(protocols[:i], p) {
			return nil, fmt.Errorf("%w: %s is named twice", ErrCompared, p)
		}
	}
	var out []Played
	for _, p := range protocols {
		one, err := play(ctx, sc.With(p))
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

func joined(names []string) string {
	text := ""
	for i, n := range names {
		if i > 0 {
			text += ", "
		}
		text += n
	}
	return text
}

func play(ctx context.Context, sc *scenario.Scenario) (Played, error) {
	moves := sc.Schedule
	for {
		r, err := run.New(sc.WithSchedule(moves), run.Options{})
		if err != nil {
			return Played{}, fmt.Errorf("engine: %w", err)
		}
		err = r.Execute(ctx)
		var parted *run.Divergence
		if errors.As(err, &parted) && parted.Decision <= len(moves) {
			moves = moves[:parted.Decision-1]
			continue
		}
		if ctx.Err() != nil {
			return Played{}, fmt.Errorf("engine: compare: %w", context.Cause(ctx))
		}
		events, _ := r.Log().Since(0)
		return Played{sc.Lock.Protocol, sc, r.Header(), events, len(moves), err}, nil
	}
}
