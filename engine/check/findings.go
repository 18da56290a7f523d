package check

import (
	"slices"

	"relock/engine/fault"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/trace"
)

// Findings have the words of the violations in a trace. The trace names the
// rule, the threads and the proof; so the rules look at its events once more.
// They are not safe for concurrent use.
type Findings struct {
	checker *Checker
	endless map[string]bool // threads that ask until they have the lock
	over    map[string]bool // threads that have ended, or hang
	open    []Finding       // found, and not named by the trace yet
	seen    int             // the seq of the last event
	named   int             // the seq of the last violation
	last    Finding         // which it was
	times   int             // violations
}

// NewFindings returns those of a run without events in which owners, by id, are
// threads, with a guard between them; the endless ones ask until they have the
// lock.
func NewFindings(owners map[string]string, g protocol.Guard, endless []string) *Findings {
	b := &Findings{checker: New(owners, g), endless: map[string]bool{}, over: map[string]bool{}}
	for _, name := range endless {
		b.endless[name] = true
	}
	return b
}

// Times is how often a rule was broken so far.
func (b *Findings) Times() int { return b.times }

// See takes the next event. One that it has seen already changes nothing.
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
	case trace.End:
		b.over[e.Thread] = true
	}
	b.open = append(b.open, b.checker.Observe(e)...)
}

// Of is the violation of an event with its words. A trace from elsewhere
// may name what no rule finds in it; then its own words have to do.
func (b *Findings) Of(e trace.Event, v trace.Violation) Finding {
	if e.Seq == 0 || e.Seq != b.named {
		b.named, b.last = e.Seq, b.find(e, v)
	}
	return b.last
}

func (b *Findings) find(e trace.Event, v trace.Violation) Finding {
	if len(v.Threads) > 0 || v.Rule == Orphan {
		switch v.Rule {
		case Orphan:
			b.open = append(b.open, b.checker.Finish(e.Key)...)
		case Stuck:
			b.open = append(b.open, b.checker.Stuck(v.Threads, b.Asking(v.Threads)))
		}
	}
	for i, f := range b.open {
		if f.Rule == v.Rule && slices.Equal(f.Threads, v.Threads) && slices.Equal(f.Events, v.Events) {
			b.open = slices.Delete(b.open, 0, i+1)
			return f
		}
	}
	why := phrase.Say("Redis and the threads have broken a rule: %s.", v.Rule)
	if len(v.Threads) > 0 {
		why = phrase.Say("%s has broken a rule: %s.", v.Threads[0], v.Rule)
	}
	return Finding{Violation: v, Says: phrase.Plain(v.Detail), Why: why}
}

// Asking are those of threads that ask without end and would go on: they have
// not ended, and do not hang.
func (b *Findings) Asking(threads []string) []string {
	var names []string
	for _, name := range threads {
		if b.endless[name] && !b.over[name] {
			names = append(names, name)
		}
	}
	return names
}
