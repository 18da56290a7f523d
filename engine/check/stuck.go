package check

import (
	"relock/engine/phrase"
)

// Stuck is the rule that some thread can always move until all have ended.
const Stuck = "stuck"

// Stuck returns the finding for threads that wait for something that never
// comes. Asking are those among them that keep asking for a lock nobody will
// release; the others hang.
func (c *Checker) Stuck(threads, asking []string) Finding {
	if len(asking) > 0 {
		return c.inVain(threads, asking)
	}
	says := phrase.Say("%s wait for something that can no longer happen", phrase.Names(threads))
	why := phrase.Say("%s waits for something that can no longer happen, and so do others, %d in all.", threads[0], len(threads))
	if len(threads) == 1 {
		says = phrase.Say("%s waits for something that can no longer happen", threads[0])
		why = phrase.Say("%s waits for something that can no longer happen: no other thread can move.", threads[0])
	}
	return found(Stuck, threads, proof(c.facts.Last.Of(threads...)...), says, why)
}

func (c *Checker) inVain(threads, asking []string) Finding {
	holders := c.facts.Held()
	events := append(c.facts.Gained.Of(holders...), c.facts.Last.Of(threads...)...)
	says := phrase.Say("%s will never get in: no thread is left to release the lock", phrase.Names(asking))
	why := phrase.Say("%s will never get in: no thread is left to release the lock.", few(asking))
	if len(holders) > 0 {
		says = phrase.Say("%s will never get in: the key is %s's, it has no expiry, and no thread is left to delete it", phrase.Names(asking), phrase.Names(holders))
		why = phrase.Say("%s will never get in: the key is %s's, has no expiry, and no thread is left to delete it.", few(asking), holders[0])
	}
	return found(Stuck, threads, proof(events...), says, why)
}

// few returns the names, or their number if there are many.
func few(names []string) any {
	if len(names) > 2 {
		return phrase.Say("%s and %d others", names[0], len(names)-1)
	}
	return phrase.Names(names)
}
