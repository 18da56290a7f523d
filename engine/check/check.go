// Package check finds broken rules in a run's events. Each rule is a small
// automaton in a file of its own, with its words; it looks at one event after
// the other and knows nothing of how they came about.
package check

import (
	"slices"

	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// Finding is a broken rule with its words.
type Finding struct {
	trace.Violation

	Says phrase.Wording // what happened, a clause; Violation.Detail is what of it holds for every guard
	Why  phrase.Wording // what it means, a sentence of at most 140 characters
}

// rules are all of them, in the order in which they are explained, and in
// which those are found that one event breaks.
var rules = []struct {
	name  string
	watch func(protocol.Guard) automaton // nil: it is judged when nothing moves any more
}{
	{MutualExclusion, func(g protocol.Guard) automaton { return &mutualExclusion{guard: g} }},
	{LostUpdate, func(protocol.Guard) automaton { return lostUpdate{} }},
	{ForeignRelease, func(protocol.Guard) automaton { return foreignRelease{} }},
	{ForeignRenewal, func(protocol.Guard) automaton { return foreignRenewal{} }},
	{CountMismatch, func(protocol.Guard) automaton { return newCountMismatch() }},
	{Orphan, nil},
	{SelfDeadlock, func(protocol.Guard) automaton { return selfDeadlock{} }},
	{TokenRegression, func(protocol.Guard) automaton { return &tokenRegression{} }},
	{Stuck, nil},
	{Oversold, func(protocol.Guard) automaton { return &oversold{} }},
	{OverLimit, func(protocol.Guard) automaton { return overLimit{} }},
}

// Names are the rules as scenarios and traces name them, in the order in which
// they are explained.
func Names() []string {
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = r.name
	}
	return names
}

// automaton is one rule's watch over one run.
type automaton interface {
	// observe looks at the event that the facts have at hand. A state that
	// stays broken is found once.
	observe(f *facts.Facts, e trace.Event) (Finding, bool)
}

// Checker looks at the events of one run in order. It is not safe for
// concurrent use.
type Checker struct {
	facts   *facts.Facts
	watches []automaton
}

// New returns a checker for a run in which owners, by id, are threads, with a
// guard between them.
func New(owners map[string]string, g protocol.Guard) *Checker {
	c := &Checker{facts: facts.New(owners)}
	for _, r := range rules {
		if r.watch != nil {
			c.watches = append(c.watches, r.watch(g))
		}
	}
	return c
}

// Observe looks at the next event and returns the rules that it breaks. A
// state that stays broken is found once.
func (c *Checker) Observe(e trace.Event) []Finding {
	c.facts.Add(e)
	var found []Finding
	for _, w := range c.watches {
		if one, ok := w.observe(c.facts, e); ok {
			found = append(found, one)
		}
	}
	return found
}

// found is a finding whose trace says what it says.
func found(rule string, threads []string, events []int, says, why phrase.Wording) Finding {
	return Finding{trace.Violation{Rule: rule, Threads: threads, Detail: says.String(), Events: events}, says, why}
}

// proof puts events in order; 0 is none.
func proof(seqs ...int) []int {
	slices.Sort(seqs)
	return slices.DeleteFunc(slices.Compact(seqs), func(seq int) bool { return seq == 0 })
}
