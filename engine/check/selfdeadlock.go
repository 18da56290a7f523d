package check

import (
	"maps"
	"slices"
	"time"

	"relock/engine/lock"
	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// SelfDeadlock is the rule that no thread is refused a lock that is its own in
// Redis and that it believes it holds.
const SelfDeadlock = "self-deadlock"

// selfDeadlock records the threads already reported.
type selfDeadlock map[string]bool

func (s selfDeadlock) clone() automaton { return maps.Clone(s) }

func (s selfDeadlock) append(b []byte, _ time.Duration, as naming) []byte {
	return appendSet(b, s, as)
}

func (s selfDeadlock) observe(f *facts.Facts, e trace.Event) (Finding, bool) {
	b, ok := e.Body.(trace.Outcome)
	if !ok || b.Call != lock.CallLock {
		return Finding{}, false
	}
	own := slices.Contains(f.Held(), e.Thread) && e.Belief[e.Thread] > 0
	if b.Result != trace.Refused || !own || f.Aside(e.Thread) {
		delete(s, e.Thread)
		return Finding{}, false
	}
	if s[e.Thread] {
		return Finding{}, false
	}
	s[e.Thread] = true
	return found(SelfDeadlock, []string{e.Thread}, proof(f.Gained[e.Thread], e.Seq),
		phrase.Say("%s is refused a lock that it holds itself", e.Thread),
		phrase.Say("%s blocks itself: it holds the lock, and this kind does not let its owner in again.", e.Thread)), true
}
