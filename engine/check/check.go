// Package check finds broken rules in a run's events. Each rule is a small automaton in
// its own file, together with its words. It sees one event after another, and does not
// know where they come from.
package check

import (
	"maps"
	"slices"
	"time"

	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// Finding is a broken rule, in words.
type Finding struct {
	trace.Violation

	Says phrase.Wording // what happened, as a clause; Violation.Detail is the part common to all guards
	Why  phrase.Wording // what it means, a sentence of at most 140 characters
	Lock string         // of several, the one whose rule is broken, by its key; else ""
}

// rules are all rules in the order in which they are explained, which is also
// the order of findings from the same event.
var rules = []struct {
	name  string
	title phrase.Text                          // what a person calls it when it is broken, a few words
	means phrase.Text                          // what it asks for, a sentence
	watch func(protocol.Guard, Kind) automaton // nil: judged once nothing can move any more
	harms bool                                 // what the lock protects: otherwise it is about the lock alone
}{
	{MutualExclusion, "two inside at once", "At most one thread may be in its critical section.", func(g protocol.Guard, k Kind) automaton { return &mutualExclusion{guard: g, kind: k} }, false},
	{LostUpdate, "lost update", "No write may overwrite one that its thread has not seen.", func(protocol.Guard, Kind) automaton { return lostUpdate{} }, true},
	{ForeignRelease, "another's lock released", "A thread may delete the key only while it is its own.", func(protocol.Guard, Kind) automaton { return foreignRelease{} }, false},
	{Replaced, "another's lock replaced", "No thread may put its own name over that of another who holds the lock, as a SET without NX does, or a SET XX.", func(protocol.Guard, Kind) automaton { return replaced{} }, false},
	{ForeignRenewal, "another's lease renewed", "A thread may renew only its own lease: its watchdog, and also a call that is refused.", func(_ protocol.Guard, k Kind) automaton { return foreignRenewal{kind: k} }, false},
	{CountMismatch, "wrong hold count", "The hold count must equal the number of levels entered.", func(protocol.Guard, Kind) automaton { return newCountMismatch() }, false},
	{ShutOut, "shut out", "Where nobody is inside, whoever comes must get in: at once or, after a crash, when the lease of the dead thread ends.", nil, false},
	{SelfDeadlock, "waits for itself", "A thread must not be refused a lock that it holds itself.", func(protocol.Guard, Kind) automaton { return selfDeadlock{} }, false},
	{TokenRegression, "token went back", "Each fencing token must be larger than every earlier one.", func(protocol.Guard, Kind) automaton { return &tokenRegression{} }, false},
	{Deadlock, "deadlock", "Threads must not wait for one another's keys in a circle: each has one that another waits for.", nil, false},
	{Oversold, "oversold", "Threads may not take more than there was.", func(protocol.Guard, Kind) automaton { return &oversold{} }, true},
	{DoneTwice, "done twice", "An effect that must happen once must not happen again; one that is due once in a period, such as a tick, must not happen twice in it.", func(protocol.Guard, Kind) automaton { return &doneTwice{} }, true},
	{OverLimit, "over the limit", "No user may buy more often than the limit allows.", func(protocol.Guard, Kind) automaton { return overLimit{} }, true},
}

// Harms reports whether what the lock protects comes to harm where a rule is broken.
// The other rules are about the lock alone.
func Harms(rule string) bool {
	rule, _ = Named(rule)
	for _, r := range rules {
		if r.name == rule {
			return r.harms
		}
	}
	return false
}

// Names returns the rules' names in scenarios and traces, in the order in which
// they are explained.
func Names() []string {
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = r.name
	}
	return names
}

// Title returns what a person calls a rule when it is broken: "lost update".
// Of a rule that only a foreign trace knows it is the identifier.
func Title(rule string) phrase.Wording {
	rule, _ = Named(rule)
	for _, r := range rules {
		if r.name == rule {
			return phrase.Say(r.title)
		}
	}
	return phrase.Plain(rule)
}

// Means returns what a rule asks for, a sentence; "" of an unknown one.
func Means(rule string) phrase.Wording {
	rule, _ = Named(rule)
	for _, r := range rules {
		if r.name == rule {
			return phrase.Say(r.means)
		}
	}
	return phrase.Plain("")
}

// automaton watches one run for one rule.
type automaton interface {
	// observe looks at the event the facts are about. A state that stays broken
	// is reported once.
	observe(f *facts.Facts, e trace.Event) (Finding, bool)
	// clone returns an automaton in the same state that goes its own way.
	clone() automaton
	// append writes all on which later findings depend, but no seqs: they are
	// proof and decide nothing. now is since the run began; as returns by which
	// name each thread goes.
	append(b []byte, now time.Duration, as naming) []byte
}

// naming returns by which name a thread goes. Those of two are never the same.
type naming func(thread string) string

// stateless is the part of an automaton that remembers nothing.
type stateless struct{}

func (stateless) append(b []byte, _ time.Duration, _ naming) []byte { return b }

// appendSet writes the names of the threads in a set, in order.
func appendSet(b []byte, set map[string]bool, as naming) []byte {
	set = named(set, as)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if set[name] {
			b = append(append(b, name...), ' ')
		}
	}
	return append(b, ';')
}

// named returns what we know about each thread, by the name that it goes by.
func named[T any](byThread map[string]T, as naming) map[string]T {
	list := make(map[string]T, len(byThread))
	for thread, one := range byThread {
		list[as(thread)] = one
	}
	return list
}

// Checker checks the events of one run in order. It is not safe for concurrent
// use.
type Checker struct {
	facts   *facts.Facts
	watches []automaton
	kind    Kind

	end end

	// With several locks: one for each, which looks at its own lock's events, and one for
	// who waits for which. Then there are no watches.
	locks   []*Checker
	keys    []string
	waiting waiting
}

// New returns a checker for a run whose owners map to threads as in owners,
// with a guard between them, a lock of this kind. Of several locks, keys are theirs, in
// the order of the events' Locks.
func New(owners map[string]string, g protocol.Guard, k Kind, keys ...string) *Checker {
	c := &Checker{facts: facts.New(owners), kind: k, keys: keys}
	if len(keys) > 0 {
		for range keys {
			c.locks = append(c.locks, New(owners, g, k))
		}
		return c
	}
	for _, r := range rules {
		if r.watch != nil {
			c.watches = append(c.watches, r.watch(g, k))
		}
	}
	return c
}

// Observe takes the next event and returns the rules it breaks. A state that
// stays broken is reported once.
func (c *Checker) Observe(e trace.Event) []Finding {
	if c.locks != nil {
		return c.observeSeveral(e)
	}
	c.facts.Add(e)
	c.end.see(e)
	var found []Finding
	for _, w := range c.watches {
		if one, ok := w.observe(c.facts, e); ok {
			found = append(found, one)
		}
	}
	return found
}

// observeSeveral is Observe for several locks.
func (c *Checker) observeSeveral(e trace.Event) []Finding {
	c.facts.Last[e.Thread] = e.Seq
	var found []Finding
	for i, one := range c.locks[:min(len(c.locks), len(e.Locks))] { // of a foreign trace, an event may have fewer
		if mine, ok := e.Of(i); ok {
			for _, f := range one.Observe(mine) {
				found = append(found, f.Of(c.keys[i]))
			}
		}
	}
	if circle := c.waiting.observe(e, c.holder); circle != nil {
		found = append(found, c.Deadlock(circle))
	}
	return found
}

// Of returns a finding that names its lock, of several.
func (f Finding) Of(lock string) Finding {
	f.Lock = lock
	f.Says, f.Why = phrase.Say("%[1]s: %[2]s", lock, f.Says), phrase.Say("%[1]s: %[2]s", lock, f.Why)
	f.Detail = lock + ": " + f.Detail
	return f
}

// holder returns the thread that has a lock of several in Redis, "" for none.
func (c *Checker) holder(lock string) string {
	for i, key := range c.keys {
		if held := c.locks[i].facts.Held(); key == lock && len(held) > 0 {
			return held[0]
		}
	}
	return ""
}

// Holders returns the threads that hold the key as the last event left it, by name.
func (c *Checker) Holders(key trace.KeyState) []string { return c.facts.Holders(key) }

// HoldersOf is Holders of one of several locks, by its place.
func (c *Checker) HoldersOf(lock int, key trace.KeyState) []string {
	if c.locks == nil {
		return c.Holders(key)
	}
	return c.locks[lock].Holders(key)
}

// Put returns who put what the key holds since the last event.
func (c *Checker) Put() facts.Put { return c.facts.Put() }

// Clone returns a checker in the same state that goes its own way.
func (c *Checker) Clone() *Checker {
	clone := &Checker{facts: c.facts.Clone(), watches: make([]automaton, len(c.watches)), kind: c.kind, end: c.end.clone(), keys: c.keys, waiting: c.waiting.clone()}
	for _, one := range c.locks {
		clone.locks = append(clone.locks, one.Clone())
	}
	for i, w := range c.watches {
		clone.watches[i] = w.clone()
	}
	return clone
}

// AppendState writes all on which later findings depend, at now since the run
// began: two checkers that write the same find the same rules broken by the same
// events. Each thread goes by the name that as returns for its own, and so does
// whom it buys for where it goes by the thread's name.
func (c *Checker) AppendState(b []byte, now time.Duration, as func(thread string) string) []byte {
	if c.locks != nil {
		for _, one := range c.locks {
			b = one.AppendState(b, now, as)
		}
		return c.waiting.append(b, as)
	}
	b = c.facts.AppendState(b, as)
	for _, w := range c.watches {
		b = w.append(b, now, as)
	}
	return c.end.append(b, as)
}

// found returns a finding whose trace text is the same as its own.
func found(rule string, threads []string, events []int, says, why phrase.Wording) Finding {
	return Finding{trace.Violation{Rule: rule, Threads: threads, Detail: says.String(), Events: events}, says, why, ""}
}

// proof sorts events, without the zeros.
func proof(seqs ...int) []int {
	slices.Sort(seqs)
	return slices.DeleteFunc(slices.Compact(seqs), func(seq int) bool { return seq == 0 })
}
