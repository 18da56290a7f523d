package check

import (
	"relock/engine/phrase"
)

// Deadlock is the rule that no threads wait for one another's keys in a circle.
const Deadlock = "deadlock"

// Waits is a thread that has one key and waits for another.
type Waits struct{ Thread, Has, For string }

// Deadlock returns the finding for threads that wait in a circle, at least two: each for
// a key that the next one has, and the last for one of the first.
func (c *Checker) Deadlock(circle []Waits) Finding {
	var threads phrase.Names
	var says phrase.Wording
	for i, w := range circle {
		threads = append(threads, w.Thread)
		one := phrase.Say("%[1]s has %[2]s and waits for %[3]s", w.Thread, w.Has, w.For)
		if i == 0 {
			says = one
			continue
		}
		says = phrase.Say("%[1]s; %[2]s", says, one)
	}
	return found(Deadlock, threads, proof(c.facts.Last.Of(threads...)...), says,
		phrase.Say("%s wait for one another: each has a key that another of them wants, and gives it back only once it has its own.", threads))
}
