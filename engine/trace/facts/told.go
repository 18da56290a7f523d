package facts

import (
	"maps"

	"relock/engine/trace"
)

// Told is the lock's key after each step, at the instant of which the step
// tells. On the wall clock a step goes on for some milliseconds after its call
// has come to its outcome: the lease runs on in them and nothing else happens,
// so that a figure of later would not be the one that the outcome named.
// The zero value is ready to use. It is not safe for concurrent use.
type Told struct {
	step    int
	outcome trace.KeyState // of the last call that came to one in the step
	some    bool
}

// Add takes the next event, and returns the key after its step so far.
func (t *Told) Add(e trace.Event) trace.KeyState {
	if e.Step != t.step {
		*t = Told{step: e.Step}
	}
	if _, ok := e.Body.(trace.Outcome); ok {
		t.outcome, t.some = e.Key, true
	}
	if t.some && ranOn(t.outcome, e.Key) {
		return t.outcome
	}
	return e.Key
}

// ranOn reports whether all that happened between two states of the key is that
// some of its lease ran out.
func ranOn(before, after trace.KeyState) bool {
	sameValue := before.Value == after.Value || before.Value != nil && after.Value != nil && *before.Value == *after.Value
	return before.Type == after.Type && sameValue && maps.Equal(before.Fields, after.Fields) &&
		after.PTTL >= 0 && after.PTTL <= before.PTTL
}
