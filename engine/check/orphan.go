package check

import (
	"fmt"
	"time"

	"relock/engine/phrase"
	"relock/engine/trace"
)

// Orphan is the rule that no key is left behind: a lease after every thread has
// ended, the key is gone.
const Orphan = "orphan"

// Finish checks the key, a lease or more after every thread has ended; or at once,
// where nobody can know how long a lease is, and nobody believes that it holds the lock.
func (c *Checker) Finish(key trace.KeyState) []Finding {
	if !key.Exists() {
		return nil
	}
	holders := c.facts.Holders(key)
	events := append(c.facts.Gained.Of(holders...), c.facts.Last.Of(holders...)...)
	says := phrase.Say("every thread ended at least a lease ago, and the key has no expiry")
	left := time.Duration(key.PTTL) * time.Millisecond
	if key.PTTL >= 0 {
		says = phrase.Say("every thread ended at least a lease ago, and the key stays for another %s", left)
	}
	var why phrase.Wording
	at := c.ended == c.now && left > 0 // a lease or more after it, time has passed
	if at {
		says = phrase.Say("every thread has ended, nobody believes that it holds the lock, and the key stands for another %s", left)
	}
	switch {
	case at && len(holders) > 0:
		why = phrase.Say("%s's key is left behind: no thread believes that it holds the lock, and all others wait for another %s.", holders[0], left)
	case at:
		why = phrase.Say("A key is left behind: no thread believes that it holds the lock, and all others wait for another %s.", left)
	case len(holders) == 0:
		why = phrase.Say("At least a lease after every thread has ended, Redis still has a key.")
	case key.PTTL < 0:
		why = phrase.Say("%s's key is left behind: at least a lease after every thread has ended, it is there without an expiry.", holders[0])
	default:
		why = phrase.Say("%s's key is left behind: at least a lease after every thread has ended, it stays for another %s.", holders[0], left)
	}
	one := found(Orphan, holders, proof(events...), says, why)
	if key.PTTL >= 0 {
		one.Detail = fmt.Sprintf(string(says.Text), fmt.Sprint(key.PTTL, " ms"))
	}
	return []Finding{one}
}
