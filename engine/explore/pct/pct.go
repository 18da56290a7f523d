// Package pct draws schedules at random so that it draws a rare break with a
// known probability: each task has a random priority, the highest moves, and at
// a few random decisions something else happens, after which the task that was
// about to move has the lowest. Source: Burckhardt et al., "A randomized
// scheduler with probabilistic guarantees of finding bugs" (ASPLOS 2010).
package pct

import (
	"math"
	"math/rand/v2"
)

// Priorities are the priorities of one schedule's tasks. They are not safe for concurrent
// use.
type Priorities struct {
	Random *rand.Rand // draws them, and whatever else is drawn for the schedule

	Of map[string]float64 // by task, drawn when it can first move
}

// New returns the priorities of the nth schedule that is drawn with a seed: the
// same arguments draw the same.
func New(seed, nth uint64) *Priorities {
	return &Priorities{Random: rand.New(rand.NewPCG(seed, nth)), Of: map[string]float64{}}
}

// First returns which of the tasks that can move has the highest priority, as an
// index. There must be one.
func (p *Priorities) First(ready []string) int {
	for _, task := range ready {
		if _, ok := p.Of[task]; !ok {
			p.Of[task] = 1 + p.Random.Float64()
		}
	}
	first := 0
	for i, task := range ready {
		if p.Of[task] > p.Of[ready[first]] {
			first = i
		}
	}
	return first
}

// Lower gives a task the lowest priority of all. Decision counts from 0, and must
// grow from one call to the next.
func (p *Priorities) Lower(task string, decision int) { p.Of[task] = -float64(decision) }

// Tasks returns how many tasks could move so far.
func (p *Priorities) Tasks() int { return len(p.Of) }

// Places draws n of so many decisions, which may repeat.
func (p *Priorities) Places(n, decisions int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = p.Random.IntN(decisions)
	}
	return list
}

// Wilson is the interval in which a share lies with 95 % confidence that was found
// in so many draws. Source: E. B. Wilson, "Probable inference" (1927).
func Wilson(share, draws float64) (low, high float64) {
	if draws <= 0 {
		return 0, 1
	}
	const z = 1.959964
	middle := (share + z*z/(2*draws)) / (1 + z*z/draws)
	half := z / (1 + z*z/draws) * math.Sqrt(share*(1-share)/draws+z*z/(4*draws*draws))
	return max(middle-half, 0), min(middle+half, 1)
}
