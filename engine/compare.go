package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/panics"
	"relock/engine/phrase"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Limits of Compare.
const (
	MinCompared = 2
	MaxCompared = 4 // columns a person can compare side by side
)

// ErrCompared is returned by Compare for protocols it cannot compare.
var ErrCompared = phrase.New("compare %d to %d different locks", MinCompared, MaxCompared)

// Played is how a scenario went with one protocol.
type Played struct {
	Protocol string
	Scenario *scenario.Scenario
	Header   trace.Header
	Events   []trace.Event
	Own      int           // moves of the schedule that its policy would not have made
	Fitted   int           // how many of these could be made here too, counted from the first
	Parted   time.Duration // if Fitted < Own: when the first was due that could not
	Err      error         // what ended the run early, or nil
}

// Compare runs a scenario on the virtual clock once with each protocol.
//
// A choice in a schedule is an index into those that can move, so it means a
// different thread with a lock that needs more decisions, or fewer. Compare
// therefore plays the schedule with the scenario's own protocol first, and
// takes to the others only what the person wanted and the policy would not have
// done: this thread moves now, before its turn; nobody moves until then; this
// fault strikes. Each is done at the same instant as there, after the threads
// that the policy had moved at that instant before it, if they can move. The
// policy makes all other moves. With the scenario's own protocol, the result is
// the run of its schedule, event by event. A fault that a protocol cannot have
// is left out. From the first move that does not fit, for example because its
// thread cannot move at that instant, the policy goes on alone: Played.Parted
// says when that was.
//
// It fails with ErrCompared, with ctx's error, or with a *panics.Error.
func Compare(ctx context.Context, sc *scenario.Scenario, protocols []string) ([]Played, error) {
	known := exhibit.Names()
	if sc.Lock.Own() {
		known = append(known, protocol.Own)
	}
	if len(protocols) < MinCompared || len(protocols) > MaxCompared {
		return nil, fmt.Errorf("%w: %w", ErrCompared, phrase.New("%d to %d are wanted, given %d", MinCompared, MaxCompared, len(protocols)))
	}
	for i, p := range protocols {
		if !slices.Contains(known, p) {
			return nil, fmt.Errorf("%w: %w", ErrCompared, phrase.New("there is no %q; there are %s", p, strings.Join(known, ", ")))
		}
		if sc.Locks != nil && !slices.Contains(scenario.Several(), p) {
			return nil, fmt.Errorf("%w (%w)", phrase.New("a scenario has one lock %s; there can be several of %s", p, strings.Join(scenario.Several(), ", ")), ErrCompared)
		}
		if slices.Contains(protocols[:i], p) {
			return nil, fmt.Errorf("%w: %w", ErrCompared, phrase.New("%s is named twice", p))
		}
	}
	others := make([]*scenario.Scenario, len(protocols))
	for i, p := range protocols {
		others[i] = sc.With(p)
	}
	return Beside(ctx, sc, others)
}

// Beside runs other scenarios with the moves of sc, taken to them as Compare does:
// scenarios with the threads of sc, whatever else is changed in them. It fails with
// ctx's error, or with a *panics.Error.
func Beside(ctx context.Context, sc *scenario.Scenario, others []*scenario.Scenario) ([]Played, error) {
	own, err := ownMoves(ctx, sc)
	if err != nil {
		return nil, err
	}
	out := make([]Played, len(others))
	for i, other := range others {
		if out[i], err = play(ctx, other, possible(other, own)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ownMoves returns the moves in the scenario's schedule that the person chose.
func ownMoves(ctx context.Context, sc *scenario.Scenario) ([]run.Own, error) {
	if len(sc.Schedule) == 0 {
		return nil, nil
	}
	r, err := run.New(sc.WithSchedule(nil), run.Options{})
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	live, err := r.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("engine: compare: %w", err)
	}
	defer live.Close(nil)
	var own []run.Own
	err = panics.Catch(func() error {
		own, err = live.Own(ctx, sc.Schedule)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("engine: compare: %w", err)
	}
	return own, nil
}

// possible returns own without the faults that cannot strike in a scenario.
func possible(sc *scenario.Scenario, own []run.Own) []run.Own {
	return slices.DeleteFunc(slices.Clone(own), func(one run.Own) bool {
		return len(sc.WithSchedule([]scenario.Move{one.Move}).With(sc.Lock.Protocol).Schedule) == 0
	})
}

func play(ctx context.Context, sc *scenario.Scenario, own []run.Own) (Played, error) {
	r, err := run.New(sc.WithSchedule(nil), run.Options{})
	if err != nil {
		return Played{}, fmt.Errorf("engine: %w", err)
	}
	live, err := r.Begin(ctx)
	if err != nil {
		return Played{}, fmt.Errorf("engine: compare: %w", err)
	}
	fitted := 0
	err = panics.Catch(func() (err error) {
		fitted, err = live.Play(ctx, own)
		return err
	})
	live.Close(err)
	if errors.As(err, new(*panics.Error)) {
		return Played{}, fmt.Errorf("engine: compare: %w", err)
	}
	if ctx.Err() != nil {
		return Played{}, fmt.Errorf("engine: compare: %w", context.Cause(ctx))
	}
	events, _ := r.Log().Since(0)
	p := Played{Protocol: sc.Lock.Protocol, Scenario: sc, Header: r.Header(), Events: events, Own: len(own), Fitted: fitted, Err: err}
	if fitted < len(own) {
		p.Parted = own[fitted].At
	}
	return p, nil
}
