package view

import (
	"slices"

	"relock/engine/check"
	"relock/engine/fault"
	"relock/engine/lock/exhibit"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// broken has the words of the violations in a trace. The trace names the rule,
// the threads and the proof; so the rules look at its events once more.
type broken struct {
	checker *check.Checker
	endless map[string]bool // threads that ask until they have the lock
	over    map[string]bool // threads that have ended, or hang
	open    []check.Finding // found, and not named by the trace yet
	seen    int             // the seq of the last event
	named   int             // the seq of the last violation
	last    check.Finding   // which it was
	times   int             // violations
}

func newBroken(protocol string, endless []string, owners map[string]string) *broken {
	b := &broken{checker: check.New(owners, exhibit.Named(protocol).Guard), endless: map[string]bool{}, over: map[string]bool{}}
	for _, name := range endless {
		b.endless[name] = true
	}
	return b
}

// endlessOf are the threads of a scenario that ask until they have the lock.
func endlessOf(sc *scenario.Scenario) []string {
	var names []string
	for _, t := range sc.Threads {
		if t.Retry.Times == scenario.Unlimited {
			names = append(names, t.Name)
		}
	}
	return names
}

// see takes the next event. One that it has seen already changes nothing.
func (b *broken) see(e trace.Event) {
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

// finding is the violation of an event with its words. A trace from elsewhere
// may name what no rule finds in it; then its own words have to do.
func (b *broken) finding(e trace.Event, v trace.Violation) check.Finding {
	if e.Seq == 0 || e.Seq != b.named {
		b.named, b.last = e.Seq, b.find(e, v)
	}
	return b.last
}

func (b *broken) find(e trace.Event, v trace.Violation) check.Finding {
	if len(v.Threads) > 0 || v.Rule == check.Orphan {
		switch v.Rule {
		case check.Orphan:
			b.open = append(b.open, b.checker.Finish(e.Key)...)
		case check.Stuck:
			b.open = append(b.open, b.checker.Stuck(v.Threads, b.asking(v.Threads)))
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
	return check.Finding{Violation: v, Says: phrase.Plain(v.Detail), Why: why}
}

// asking are those of threads that ask without end and would go on: they have
// not ended, and do not hang.
func (b *broken) asking(threads []string) []string {
	var names []string
	for _, name := range threads {
		if b.endless[name] && !b.over[name] {
			names = append(names, name)
		}
	}
	return names
}
