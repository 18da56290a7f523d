package check

import (
	"slices"
	"time"

	"relock/engine/fault"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// Findings puts the violations of a trace into words. The trace names only the
// rule, the threads and the proof, so the rules go over its events again. It is
// not safe for concurrent use.
type Findings struct {
	checker *Checker
	endless map[string]bool   // threads that ask until they have the lock
	refused map[string]string // by thread: of several locks, the one that its last call was refused
	over    map[string]bool   // threads that have ended or hang
	open    []Finding         // found, but not yet named by the trace
	seen    int               // the seq of the last event
	named   int               // the seq of the last violation
	last    Finding           // its finding
	times   int               // how many violations
}

// NewFindings returns the findings of a run without events yet. Owners maps
// owner ids to threads, with a guard between them, a lock of this kind; endless are the
// threads that ask until they have the lock, and keys are as for New.
func NewFindings(owners map[string]string, g protocol.Guard, k Kind, endless []string, keys ...string) *Findings {
	b := &Findings{checker: New(owners, g, k, keys...), endless: map[string]bool{}, refused: map[string]string{}, over: map[string]bool{}}
	for _, name := range endless {
		b.endless[name] = true
	}
	return b
}

// Facts returns what follows from the events so far. Nobody may add to them.
func (b *Findings) Facts() *facts.Facts { return b.checker.facts }

// FactsOf is Facts of one of several locks, by its place.
func (b *Findings) FactsOf(lock int) *facts.Facts { return b.checker.locks[lock].facts }

// Times returns how often a rule was broken so far.
func (b *Findings) Times() int { return b.times }

// See takes the next event. Seeing an event again has no effect.
func (b *Findings) See(e trace.Event) {
	if e.Seq != 0 && e.Seq <= b.seen {
		return
	}
	b.seen = e.Seq
	switch body := e.Body.(type) {
	case trace.Violation:
		b.times++
		return
	case trace.Fault:
		b.over[e.Thread] = b.over[e.Thread] || body.Do == fault.Stall
	case trace.Outcome:
		if delete(b.refused, e.Thread); body.Result == trace.Refused && e.Lock != "" {
			b.refused[e.Thread] = e.Lock
		}
	case trace.End:
		b.over[e.Thread] = true
	}
	b.found(b.checker.Observe(e)...)
}

// mostOpen is how many findings wait to be named: a trace names them right after the
// event.
const mostOpen = 64

// found notes findings.
func (b *Findings) found(list ...Finding) {
	b.open = append(b.open, list...)
	b.open = slices.Delete(b.open, 0, max(len(b.open)-mostOpen, 0))
}

// Of returns an event's violation in words. In a foreign trace it may be one
// that no rule finds; then the trace's own text has to do.
func (b *Findings) Of(e trace.Event, v trace.Violation) Finding {
	if e.Seq == 0 || e.Seq != b.named {
		b.named, b.last = e.Seq, b.find(e, v)
	}
	return b.last
}

// take returns the first open finding that is a violation of the trace, and drops those before
// it. The same event breaks the rule; of the earlier ones that prove it a reading of effects
// may have others, as it does not know all owner ids from the beginning.
func (b *Findings) take(v trace.Violation) (Finding, bool) {
	broke := func(events []int) []int { return events[max(len(events)-1, 0):] }
	for i, f := range b.open {
		if f.Rule == v.Rule && slices.Equal(f.Threads, v.Threads) && slices.Equal(broke(f.Events), broke(v.Events)) {
			b.open = slices.Delete(b.open, 0, i+1)
			if len(v.Untold) > 0 {
				f = f.Inferred(v.Untold)
			}
			return f, true
		}
	}
	return Finding{}, false
}

// keysOf are the keys of an event's locks, where there are several, or its key.
func keysOf(e trace.Event) []trace.KeyState {
	if len(e.Locks) == 0 {
		return []trace.KeyState{e.Key}
	}
	keys := make([]trace.KeyState, len(e.Locks))
	for i, one := range e.Locks {
		keys[i] = one.Key
	}
	return keys
}

func (b *Findings) find(e trace.Event, v trace.Violation) Finding {
	name := v.Rule
	v.Rule, _ = Named(name)
	switch { // this rule is judged at the end of a run, not event by event
	case v.Rule != ShutOut:
	case name == leftBehind:
		b.found(b.checker.Finish(keysOf(e)...)...)
	case v.For == trace.NoExpiry:
		b.found(b.left(e, Never)...)
	case v.For != 0:
		b.found(b.left(e, v.For.Duration())...)
	case len(v.Threads) > 0: // a foreign trace may name none
		b.found(b.checker.Stuck(v.Threads, b.Asking(v.Threads)))
	}
	if f, ok := b.take(v); ok {
		return f
	}
	if f, ok := ofTrace(v); ok {
		return f
	}
	if v.Rule == Deadlock && len(v.Threads) > 0 { // of somebody's own client nobody knows whether it waits: it was refused
		if circle := Circle(v.Threads[0], b.refused, b.checker.holder); slices.Equal(Waiters(circle), slices.Sorted(slices.Values(v.Threads))) {
			return InCircle(circle, v.Events)
		}
	}
	why := phrase.Say("Redis and the threads have broken a rule: %s.", v.Rule)
	if len(v.Threads) > 0 {
		why = phrase.Say("%s has broken a rule: %s.", v.Threads[0], v.Rule)
	}
	return Finding{Violation: v, Says: phrase.Plain(v.Detail), Why: why}
}

// left are the findings of each lock by which somebody may be shut out for so long.
func (b *Findings) left(e trace.Event, after time.Duration) []Finding {
	var list []Finding
	for _, one := range b.checker.each(keysOf(e)) {
		list = append(list, one.shutOut(after))
	}
	return list
}

// Asking returns the threads that would ask for ever: they have not ended, and do not
// hang.
func (b *Findings) Asking(threads []string) []string {
	var names []string
	for _, name := range threads {
		if b.endless[name] && !b.over[name] {
			names = append(names, name)
		}
	}
	return names
}
