package infer

import (
	"slices"

	"relock/engine/check"
	"relock/engine/trace"
	"relock/engine/verdict"
)

// account is what a fold has told so far: events, and the rules that they break. It is not
// safe for concurrent use.
type account struct {
	checker *check.Checker // nil where others find what is broken
	events  []trace.Event
	forgets bool // of the events only the last is kept: nobody asks for the others
	seq     int  // events so far
	broken  []check.Finding
	harms   bool // only rules about what the lock protects count
	witness verdict.Witness
}

func (a *account) note(e trace.Event) {
	if a.seq++; a.forgets {
		a.events = a.events[:0]
	}
	a.events = append(a.events, e)
	a.witness.See(e)
}

// violate notes a broken rule, which happened at the last event.
func (a *account) violate(f check.Finding, first trace.Event) {
	if a.harms && !check.Harms(f.Rule) {
		return
	}
	if f.Threads == nil {
		f.Threads = []string{}
	}
	a.broken = append(a.broken, f)
	last := first
	if n := len(a.events); n > 0 {
		last = a.events[n-1]
	}
	last.Seq, last.Body, last.Thread, last.Lock = a.seq+1, f.Violation, "", f.Lock
	a.note(last)
	if a.checker != nil {
		a.checker.Observe(last)
	}
}

// OnlyHarms leaves out rules about the lock, whose kind is not known.
func (a *account) OnlyHarms() { a.harms = true }

// Forget keeps only the last event from now on.
func (a *account) Forget() { a.forgets = true }

// Events returns the events of the records so far, or after Forget only the last.
func (a *account) Events() []trace.Event { return a.events }

// Broken returns the broken rules so far in words, in their order.
func (a *account) Broken() []check.Finding { return a.broken }

// Rules returns the names of the rules that were broken, in the order of Rules.
func (a *account) Rules() []string { return broken(a.broken) }

// Witness returns what a judgement needs of the records so far. Nobody may change it.
func (a *account) Witness() *verdict.Witness { return &a.witness }

// broken returns the names of the rules in findings, each once.
func broken(found []check.Finding) []string {
	var list []string
	for _, name := range Rules() {
		if slices.ContainsFunc(found, func(f check.Finding) bool { return f.Rule == name }) {
			list = append(list, name)
		}
	}
	return list
}

// register is the owner ids in a lock's keys, and whose they are. It is not safe for
// concurrent use.
type register struct {
	owners map[string]string // the thread of each: grows
	named  []string          // ids, in the order in which they became somebody's or nobody's
}

// registerOf returns that of threads which have used no id: each is its own.
func registerOf(threads []string) register {
	r := register{owners: map[string]string{}}
	for _, t := range threads {
		r.owners[t] = t
	}
	return r
}

// Owners returns the thread of each owner id in the keys. It grows with the records.
func (r *register) Owners() map[string]string { return r.owners }

// Named returns the owner ids of Owners in the order in which they came to it, or left it.
func (r *register) Named() []string { return r.named }
