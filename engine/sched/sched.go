// Package sched decides who moves next. A policy sees only how many can move,
// in the order in which they became ready, so that its choices are a list of
// small numbers: a schedule.
package sched

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// Policy chooses among n ≥ 1 tasks, 0 being the one that has been ready
// longest. A Policy has state and is not safe for concurrent use.
type Policy interface {
	Choose(n int) (int, error)
}

// InOrder lets the task move that has been ready longest.
type InOrder struct{}

// Choose returns 0.
func (InOrder) Choose(int) (int, error) { return 0, nil }

type random struct{ r *rand.Rand }

// Random chooses evenly, the same way for the same seed.
func Random(seed uint64) Policy {
	return random{rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // must repeat, not be secret
}

func (p random) Choose(n int) (int, error) { return p.r.IntN(n), nil }

// ErrDiverged is returned where a schedule does not fit what can move.
var ErrDiverged = errors.New("the schedule does not fit the scenario")

type replay struct {
	schedule []int
	next     int
	then     Policy
}

// Replay makes the choices of schedule and then those of then. It fails with
// ErrDiverged at the first choice that cannot be made.
func Replay(schedule []int, then Policy) Policy {
	return &replay{schedule: schedule, then: then}
}

func (p *replay) Choose(n int) (int, error) {
	if p.next >= len(p.schedule) {
		return p.then.Choose(n)
	}
	c := p.schedule[p.next]
	p.next++
	if c < 0 || c >= n {
		return 0, fmt.Errorf("%w: decision %d chooses %d, but only 0 to %d can move", ErrDiverged, p.next, c, n-1)
	}
	return c, nil
}
