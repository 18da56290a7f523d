// Package facts folds a trace into what all who read one ask of it: whose the
// key is, who is inside its critical section, and which event made it so.
package facts

import (
	"slices"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/trace"
)

// Facts is what follows from the events of one run so far. Call Add with each
// of them in order. It is not safe for concurrent use, and what its methods
// return must not be changed.
type Facts struct {
	// Before is the key before the event at hand, and NodesBefore the key on
	// each node where there are several.
	Before      trace.KeyState
	NodesBefore []trace.KeyState

	// The seq of an event by thread, 0 without one: the last of each kind.
	Entered Seqs // it began to be inside its critical section
	Gained  Seqs // its owner came into the key
	Lost    Seqs // its owner left the key
	Counted Seqs // its hold count changed
	Last    Seqs // any event of its own
	Read    Seqs // it read the resource, before the event at hand

	Written trace.Event // the last write that the resource took, before the event at hand

	owners   Owners
	ids      map[string]string // of the threads, as owners
	now      trace.Event
	believed map[string]int
	depth    map[string]int
	dropped  map[string]trace.Millis
	calledIn map[string]bool
}

// Seqs are the numbers of events by thread.
type Seqs map[string]int

// Of are those of threads, in the threads' order.
func (s Seqs) Of(threads ...string) []int {
	list := make([]int, len(threads))
	for i, thread := range threads {
		list[i] = s[thread]
	}
	return list
}

// New returns the facts of a run without events in which owners, by id, are
// threads.
func New(owners map[string]string) *Facts {
	f := &Facts{
		Before: trace.Absent(), Entered: Seqs{}, Gained: Seqs{}, Lost: Seqs{}, Counted: Seqs{}, Last: Seqs{}, Read: Seqs{},
		owners: owners, ids: map[string]string{}, now: trace.Event{Key: trace.Absent()},
		depth: map[string]int{}, dropped: map[string]trace.Millis{}, calledIn: map[string]bool{},
	}
	for id, thread := range owners {
		f.ids[thread] = id
	}
	return f
}

// Add takes the next event, which is the one at hand until the next call.
func (f *Facts) Add(e trace.Event) {
	f.settle()
	f.Before, f.NodesBefore = f.now.Key, f.now.Nodes
	f.followInside(e)
	had, has := f.Holders(f.Before), f.Holders(e.Key)
	for thread, id := range f.ids {
		before, after := slices.Contains(had, thread), slices.Contains(has, thread)
		switch {
		case after && !before:
			f.Gained[thread] = e.Seq
		case before && !after:
			f.Lost[thread] = e.Seq
		}
		if f.Before.Fields[id] != e.Key.Fields[id] {
			f.Counted[thread] = e.Seq
		}
	}
	f.Last[e.Thread] = e.Seq
	for _, thread := range e.Leaving {
		if !slices.Contains(f.now.Leaving, thread) {
			f.calledIn[thread] = slices.Contains(had, thread)
		}
	}
	switch b := e.Body.(type) {
	case trace.Expired:
		for _, thread := range f.Holders(b.Was) {
			f.dropped[thread] = e.At
		}
	case trace.Outcome:
		if b.Call == lock.CallLock {
			delete(f.calledIn, e.Thread)
		}
		if b.Result == trace.Acquired {
			delete(f.dropped, e.Thread)
		}
	}
	f.now = e
}

// settle makes the event at hand one of those before.
func (f *Facts) settle() {
	b, ok := f.now.Body.(trace.Resource)
	switch {
	case !ok:
	case b.Op == trace.OpRead:
		f.Read[f.now.Thread] = f.now.Seq
	case !b.Refused:
		f.Written = f.now
	}
}

// followInside notes who is inside its critical section. What a thread believes
// is another matter: one that has called its outermost unlock, or has forgotten
// it, has left its critical section, also while it acts as if it held the lock.
func (f *Facts) followInside(e trace.Event) {
	struck, _ := e.Body.(trace.Fault)
	outcome, _ := e.Body.(trace.Outcome)
	for thread := range f.ids {
		before := f.depth[thread]
		depth := before + e.Belief[thread] - f.believed[thread]
		switch {
		case e.Belief[thread] == 0 || slices.Contains(e.Leaving, thread):
			depth = 0
		case thread != e.Thread:
		case struck.Do == fault.SkipUnlock:
			depth--
		case outcome.Result == trace.Acquired: // also where it had forgotten one that it has lost since
			depth = 1
		}
		f.depth[thread] = max(depth, 0)
		if before == 0 && depth > 0 {
			f.Entered[thread] = e.Seq
		}
	}
	f.believed = e.Belief
}

// Inside are the threads that are inside their critical sections, by name.
func (f *Facts) Inside() []string {
	var inside []string
	for thread, depth := range f.depth {
		if depth > 0 {
			inside = append(inside, thread)
		}
	}
	slices.Sort(inside)
	return inside
}

// Holders are the threads whose the key is, by name.
func (f *Facts) Holders(key trace.KeyState) []string { return f.owners.Holders(key) }

// Count is a thread's hold count as the key has it, "" without one.
func (f *Facts) Count(key trace.KeyState, thread string) string { return key.Fields[f.ids[thread]] }

// Dropped is when Redis last dropped a thread's key because the lease was
// over, and whether it has, since the thread last acquired the lock.
func (f *Facts) Dropped(thread string) (trace.Millis, bool) {
	at, ok := f.dropped[thread]
	return at, ok
}

// Key is the key at the event at hand.
func (f *Facts) Key() trace.KeyState { return f.now.Key }

// LeftInTime tells whether the key was still a thread's own when it called its
// outermost unlock, the last time.
func (f *Facts) LeftInTime(thread string) bool { return f.calledIn[thread] }
