package check

import (
	"relock/engine/phrase"
	"relock/engine/trace"
)

// Taken returns the finding of a rule about another's lock where what the lock is made of says so,
// whatever its key is: who broke it, whose the lock is, and the events that prove it. Of other
// rules there is none.
func Taken(rule, who string, whose phrase.Names, events ...int) (Finding, bool) {
	threads := append([]string{who}, whose...)
	switch rule {
	case ForeignRelease:
		return found(rule, threads, proof(events...), phrase.Say("%s deleted the lock of %s", who, whose),
			phrase.Say("%[1]s has taken away what %[2]s had put there before it went in, and %[2]s is not told.", who, whose[0])), true
	case Replaced:
		return found(rule, threads, proof(events...), phrase.Say("%s replaced the lock of %s", who, whose),
			phrase.Say("%[1]s has put its own lock in the place of %[2]s's: the lock was %[2]s's, and %[2]s is not told.", who, whose[0])), true
	case ForeignRenewal:
		return found(rule, threads, proof(events...), phrase.Say("%s renewed the lease of %s", who, whose),
			phrase.Say("%[1]s is not inside, and lets a key live on that is %[2]s's.", who, whose[0])), true
	}
	return Finding{}, false
}

// ofTrace is Taken of a violation of a trace.
func ofTrace(v trace.Violation) (Finding, bool) {
	if len(v.Threads) < 2 {
		return Finding{}, false
	}
	return Taken(v.Rule, v.Threads[0], v.Threads[1:], v.Events...)
}
