// Package sched decides who moves next. A policy sees only how many can move,
// in the order in which they became ready, so that its choices are a list of
// small numbers: a schedule.
package sched

import "math/rand/v2"

// Policy chooses who moves. Policies have no state: the choice at a decision
// depends on nothing that was chosen before, so that a run that was cut and
// goes on makes the choices that it would have made. They are safe for
// concurrent use.
type Policy interface {
	// Choose makes decision 0, 1, … among n ≥ 1 tasks, 0 being the one that
	// has been ready longest.
	Choose(decision, n int) int
}

// InOrder lets the task move that has been ready longest.
type InOrder struct{}

// Choose returns 0.
func (InOrder) Choose(int, int) int { return 0 }

// Random chooses evenly, the same way for the same seed.
type Random uint64

// Choose draws a number of its own for each decision.
func (seed Random) Choose(decision, n int) int {
	return rand.New(rand.NewPCG(uint64(seed), uint64(decision))).IntN(n)
}
