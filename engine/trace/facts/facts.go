// Package facts folds a trace into what every reader of one needs: who holds
// the key, who is in its critical section, and which event made it so.
package facts

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/trace"
)

// Facts is what follows from a run's events so far. Call Add with each of them
// in order. It is not safe for concurrent use, and what its methods return must
// not be changed.
type Facts struct {
	Before trace.KeyState // the key before the current event

	// The latest event of each kind, by thread: its seq, or 0.
	Entered Seqs // entered its critical section
	Gained  Seqs // its owner appeared in the key
	Lost    Seqs // its owner disappeared from the key
	Counted Seqs // its hold count changed
	Last    Seqs // any event of its own
	Read    Seqs // read the resource, before the current event

	Written trace.Event // the last write the resource accepted, before the current event

	holding  Holding
	ids      map[string][]string // of the threads, as owners
	now      trace.Event
	nodes    []trace.KeyState // the key on each node before the current event, if there are several
	before   trace.Millis     // when the event before the current one was
	held     []string         // who holds the key at the current event
	believed map[string]int
	depth    map[string]int
	dropped  map[string]trace.Millis
	calledIn map[string]bool
	aside    map[string]bool
	works    map[string][]trace.Work // of threads that have said which lock they are inside, or that they read
	modes    map[string]string       // what the key said of readers and a writer when the thread came in
}

// Seqs maps threads to numbers of events.
type Seqs map[string]int

// Of returns the numbers of threads, in their order.
func (s Seqs) Of(threads ...string) []int {
	list := make([]int, len(threads))
	for i, thread := range threads {
		list[i] = s[thread]
	}
	return list
}

// New returns the facts of a run without events. Owners maps owner ids to
// threads.
func New(owners map[string]string) *Facts {
	f := &Facts{
		Before: trace.Absent(), Entered: Seqs{}, Gained: Seqs{}, Lost: Seqs{}, Counted: Seqs{}, Last: Seqs{}, Read: Seqs{},
		holding: NewHolding(owners), ids: map[string][]string{}, now: trace.Event{Key: trace.Absent()},
		depth: map[string]int{}, dropped: map[string]trace.Millis{}, calledIn: map[string]bool{}, aside: map[string]bool{}, modes: map[string]string{},
	}
	for id, thread := range owners {
		f.ids[thread] = append(f.ids[thread], id)
	}
	return f
}

// Clone returns facts of the same events that go their own way.
func (f *Facts) Clone() *Facts {
	c := *f
	for _, m := range []*Seqs{&c.Entered, &c.Gained, &c.Lost, &c.Counted, &c.Last, &c.Read} {
		*m = maps.Clone(*m)
	}
	c.works = maps.Clone(f.works)
	c.depth, c.dropped, c.calledIn, c.aside, c.modes = maps.Clone(f.depth), maps.Clone(f.dropped), maps.Clone(f.calledIn), maps.Clone(f.aside), maps.Clone(f.modes)
	return &c
}

// AppendState writes what rules depend on, but no seqs, no words, and nothing
// that the next event tells again. Each thread goes by the name that as returns for
// its own.
func (f *Facts) AppendState(b []byte, as func(thread string) string) []byte {
	names := make(map[string]string, len(f.ids))
	for thread := range f.ids {
		names[as(thread)] = thread
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		thread := names[name]
		b = fmt.Appendf(b, "%s%d %t %t;", name, f.depth[thread], f.calledIn[thread], f.aside[thread])
		for _, w := range f.works[thread] {
			b = fmt.Appendf(b, "%q %t;", w.Name, w.Reads)
		}
		if f.depth[thread] > 0 && f.Shares(thread) {
			b = append(b, "shares;"...)
		}
	}
	writer := f.Written.Thread
	if r, ok := f.now.Body.(trace.Resource); ok && r.Op == trace.OpWrite && !r.Refused {
		writer = f.now.Thread
	}
	b = append(b, as(writer)...)
	if f.now.Key.Exists() && !f.Names(f.now.Key) { // the key does not say whose it is
		b = f.holding.put.append(append(b, ';'), as)
	}
	return b
}

// Add takes the next event, which is the current one until the next call.
func (f *Facts) Add(e trace.Event) {
	f.settle()
	f.Before, f.nodes, f.before = f.now.Key, f.now.Nodes, f.now.At
	f.followInside(e)
	f.holding.Add(e)
	had, has := f.held, f.Holders(e.Key)
	for thread, ids := range f.ids {
		before, after := slices.Contains(had, thread), slices.Contains(has, thread)
		switch {
		case after && !before:
			f.Gained[thread] = e.Seq
		case before && !after:
			f.Lost[thread] = e.Seq
		}
		if slices.ContainsFunc(ids, func(id string) bool { return f.Before.Fields[id] != e.Key.Fields[id] }) {
			f.Counted[thread] = e.Seq
		}
	}
	f.Last[e.Thread] = e.Seq
	for thread := range f.ids {
		if slices.Contains(e.Leaving, thread) && !slices.Contains(f.now.Leaving, thread) {
			f.calledIn[thread] = slices.Contains(had, thread)
		}
	}
	switch b := e.Body.(type) {
	case trace.Fault:
		switch b.Do {
		case fault.TwoMasters:
			f.aside[b.Thread] = true
		case fault.OneMaster:
			delete(f.aside, b.Thread)
		}
	case trace.Expired:
		for _, thread := range f.holding.Held(b.Was) {
			f.dropped[thread] = e.At
		}
	case trace.Outcome:
		switch {
		case b.Call == lock.CallLock:
			delete(f.calledIn, e.Thread)
		case b.Call == lock.CallUnlock && b.Level > 1 && !b.GivesBack && slices.Contains(e.Leaving, e.Thread):
			f.calledIn[e.Thread] = b.Result != trace.Failed && slices.Contains(has, e.Thread) // it calls the next one now, or this one again
		}
		if b.Result == trace.Acquired {
			delete(f.dropped, e.Thread)
		}
	}
	f.now, f.held = e, has
}

// settle turns the current event into a past one.
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

// followInside tracks who is in its critical section: who has work to do there.
// That is not what a thread believes: once it is on its way out, or has
// forgotten to unlock, it has left its critical section even while it acts as if
// it held the lock.
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
		case outcome.Result == trace.Acquired: // even if it had forgotten an earlier hold and lost it since
			depth = 1
		}
		if f.depth[thread] = max(depth, 0); depth <= 0 {
			delete(f.works, thread)
		}
		if before == 0 && depth > 0 {
			f.Entered[thread] = e.Seq
			f.modes[thread] = e.Key.Mode()
		}
	}
	f.believed = e.Belief
	if w, ok := e.Body.(trace.Work); ok && (w.Name != "" || w.Reads || f.works[e.Thread] != nil) {
		f.followWork(e.Thread, w)
	}
}

// followWork takes that a thread has entered a lock that it names, or as a reader, or has left.
func (f *Facts) followWork(thread string, w trace.Work) {
	list := slices.Clone(f.works[thread])
	if w.State == trace.WorkBegin {
		list = append(list, w)
	} else {
		for i, one := range slices.Backward(list) {
			if one.Name == w.Name {
				list = slices.Delete(list, i, i+1)
				break
			}
		}
	}
	if f.works == nil {
		f.works = map[string][]trace.Work{}
	}
	f.works[thread] = list
}

// unnamed is the one lock where nobody names one.
var unnamed = []string{""}

// Rooms returns the locks that threads are inside, by the names that they have said, in order:
// "" of a thread that has said none.
func (f *Facts) Rooms() []string {
	if len(f.works) == 0 {
		return unnamed
	}
	var names []string
	for _, thread := range f.Inside() {
		works := f.works[thread]
		for _, w := range works {
			names = append(names, w.Name)
		}
		if f.depth[thread] > len(works) {
			names = append(names, "")
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// InsideOf returns the threads in the critical section of a lock of Rooms, by name.
func (f *Facts) InsideOf(name string) []string {
	inside := f.Inside()
	if len(f.works) == 0 {
		return inside
	}
	return slices.DeleteFunc(inside, func(thread string) bool {
		works := f.works[thread]
		named := slices.ContainsFunc(works, func(w trace.Work) bool { return w.Name == name })
		return !named && (name != "" || f.depth[thread] <= len(works))
	})
}

// Inside returns the threads in their critical sections, by name.
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

// Shares reports whether a thread came in last as a reader, who shares the lock: it has said
// so, or the key has.
func (f *Facts) Shares(thread string) bool {
	if n := len(f.works[thread]); n > 0 {
		return f.works[thread][n-1].Reads
	}
	return f.modes[thread] == trace.ModeRead
}

// SharesOf is Shares of a lock of Rooms.
func (f *Facts) SharesOf(thread, name string) bool {
	for _, w := range slices.Backward(f.works[thread]) {
		if w.Name == name {
			return w.Reads
		}
	}
	return f.modes[thread] == trace.ModeRead
}

// Writes reports whether a thread came in last as a writer beside readers.
func (f *Facts) Writes(thread string) bool { return f.modes[thread] == trace.ModeWrite }

// Believed reports whether a thread believes, after the current event, that it holds the lock.
func (f *Facts) Believed() bool { return len(f.now.Belief) > 0 }

// Holders returns the threads that hold the key as the current event left it, by name:
// whom it names or, if it names none, who put what it holds.
func (f *Facts) Holders(key trace.KeyState) []string { return f.holding.Holders(key) }

// Holding returns whose the key is at the current event.
func (f *Facts) Holding() *Holding { return &f.holding }

// Put returns who put what the key holds at the current event.
func (f *Facts) Put() Put { return f.holding.put }

// Count returns a thread's hold count in the key, "" if it has none: only a hash has. Of a
// thread with several ids there, none is its count.
func (f *Facts) Count(key trace.KeyState, thread string) string {
	if key.Type != trace.TypeHash {
		return ""
	}
	count := ""
	for _, id := range f.ids[thread] {
		switch text, there := key.Fields[id]; {
		case there && count != "":
			return ""
		case there:
			count = text
		}
	}
	return count
}

// Dropped returns when Redis last dropped a thread's key because the lease was
// over, and whether it has since the thread last acquired the lock.
func (f *Facts) Dropped(thread string) (trace.Millis, bool) {
	at, ok := f.dropped[thread]
	return at, ok
}

// Held returns the threads that hold the key at the current event, by name.
func (f *Facts) Held() []string { return f.held }

// HeldOn returns who holds the key before and after the current event as a command's
// node has it, by name.
func (f *Facts) HeldOn(node int) (before, after []string) {
	old, now := f.On(node)
	return f.holding.Held(old), f.holding.Holders(now)
}

// Names reports whether a key says itself whose it is.
func (f *Facts) Names(key trace.KeyState) bool { return f.holding.Names(key) }

// On returns the key before and after the current event as a command's node has
// it. Nodes count from 1; 0 is that of a run with one.
func (f *Facts) On(node int) (before, after trace.KeyState) {
	before, after = f.Before, f.now.Key
	if node > 0 && node <= len(f.nodes) {
		before = f.nodes[node-1]
	}
	if node > 0 && node <= len(f.now.Nodes) {
		after = f.now.Nodes[node-1]
	}
	return before, after
}

// Later reports whether the key, as a command's node has it, lives longer after the current
// event than before, by a millisecond or more: its time is known no better.
func (f *Facts) Later(node int) bool {
	before, after := f.On(node)
	switch {
	case !before.Exists() || !after.Exists() || before.PTTL == trace.NoExpiry:
		return false
	case after.PTTL == trace.NoExpiry:
		return true
	}
	ends := func(at trace.Millis, key trace.KeyState) time.Duration {
		return at.Duration() + time.Duration(key.PTTL)*time.Millisecond
	}
	return ends(f.now.At, after)-ends(f.before, before) >= time.Millisecond
}

// Aside reports whether a thread goes on with the old master of two, so that the key says
// nothing about its answers.
func (f *Facts) Aside(thread string) bool { return f.aside[thread] }

// LeftInTime reports whether a thread still held the key the last time it
// called an unlock on its way out. It is false where that is not known.
func (f *Facts) LeftInTime(thread string) bool { return f.calledIn[thread] }

// Leaves reports whether a thread can be seen to be leaving after an event: it is
// on its way out, and not just between two of its unlocks, the first of which
// has been answered.
func Leaves(e trace.Event, thread string) bool {
	o, _ := e.Body.(trace.Outcome)
	between := e.Thread == thread && o.Call == lock.CallUnlock && o.Result == trace.Decremented
	return !between && slices.Contains(e.Leaving, thread)
}
