package run

import "math/rand/v2"

// policy chooses who moves next. It sees only how many can, in the order in which
// they became ready, so that its choices are a list of small numbers: a
// schedule. Policies have no state: the choice at a decision
// depends on nothing that was chosen before, so that a run that was cut and
// goes on makes the choices that it would have made. They are safe for
// concurrent use.
type policy interface {
	// choose makes decision 0, 1, … among n ≥ 1 tasks, 0 being the one that
	// has been ready longest.
	choose(decision, n int) int
}

// inOrder lets the task move that has been ready longest.
type inOrder struct{}

func (inOrder) choose(int, int) int { return 0 }

// random chooses evenly, the same way for the same seed.
type random uint64

// choose draws a separate number for each decision.
func (seed random) choose(decision, n int) int {
	return rand.New(rand.NewPCG(uint64(seed), uint64(decision))).IntN(n)
}
