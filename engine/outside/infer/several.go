package infer

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/check"
	"relock/engine/lock"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/trace/facts"
	"relock/engine/verdict"
)

// Change is a further lock's key before and after a record.
type Change struct {
	Before, After trace.KeyState
	Lapsed        *trace.KeyState // it has expired before, or nil
}

// Of returns the record as it is of the nth lock, from 0: the first is the record's own.
func (r Record) Of(nth int) Record {
	if nth > 0 && nth <= len(r.Also) {
		c := r.Also[nth-1]
		r.Before, r.After, r.Lapsed = c.Before, c.After, c.Lapsed
		if len(r.Tx) > 0 { // the states in it are of the first
			r.Inner = nil
		}
	}
	return r
}

// Several folds the records of one order of several locks, each of which one thread holds at
// a time, into the events of all: what breaks of one is read as if it were alone, and a
// deadlock of all. Marks do not say which lock they are of, so beliefs come from effects. It
// is not safe for concurrent use.
type Several struct {
	account
	register // of all locks

	locks  []*ofSeveral
	states []trace.LockState // after the last event
	last   facts.Seqs        // the last event of each thread
	circle circle
	step   int
	at     time.Duration
}

// ofSeveral is the reading of one of several locks, and how far it was taken over.
type ofSeveral struct {
	*Reading

	name  string
	seqs  []int // of its events: the seq of each among all events
	broke int   // of its findings, how many were taken over
}

// NewSeveral returns the reading of no records yet, of locks by their keys; the rest is as
// for New.
func NewSeveral(threads, keys []string, resource string, known Roles) *Several {
	s := &Several{register: registerOf(threads), last: facts.Seqs{}}
	for i, name := range NamesOfLocks(keys) {
		if i > 0 { // it is read once
			resource = ""
		}
		one := New(threads, Lock{Key: keys[i], Kind: check.Kind{Exclusive: true}}, resource, false, known)
		one.among = true
		s.locks = append(s.locks, &ofSeveral{Reading: one, name: name})
		s.states = append(s.states, trace.LockState{Lock: name, Key: trace.Absent(), Belief: map[string]int{}})
	}
	return s
}

// NamesOfLocks returns what a trace calls locks, by their keys: each by its key as a scenario
// may have it, and no two alike.
func NamesOfLocks(keys []string) []string {
	var names []string
	for i, key := range keys {
		name := cmp.Or(frameKey(key), "?")
		if slices.Contains(names, name) {
			number := "#" + strconv.Itoa(i+1)
			name = Short(name, scenario.MaxKey-len(number)) + number
		}
		names = append(names, name)
	}
	return names
}

// See takes the next record.
func (s *Several) See(r Record) {
	s.step++
	s.at = max(s.at, r.At)
	had := s.seq
	lists := make([][]trace.Event, len(s.locks))
	for i, one := range s.locks {
		named := len(one.named)
		one.events = one.events[:0]
		one.Reading.See(r.Of(i))
		lists[i] = one.events
		s.join(one, named)
	}
	s.deadlock(s.circle.stand(r.Asking)) // they waited until then
	s.merge(lists)
	if s.seq == had { // it is about none of them
		s.step--
	}
	s.deadlock(s.circle.see(r))
}

// deadlock takes threads that wait for one another.
func (s *Several) deadlock(waits []check.Waits) {
	if waits != nil {
		s.violate(check.InCircle(waits, s.last.Of(check.Waiters(waits)...)))
	}
}

// join takes over the owners that one lock has come to know since it knew so many.
func (s *Several) join(one *ofSeveral, named int) {
	for _, id := range one.named[named:] {
		switch owner, known := one.owners[id]; {
		case !known || s.owners[id] != "" && s.owners[id] != owner: // a value that everybody writes
			delete(s.owners, id)
		default:
			s.owners[id] = owner
		}
		s.named = append(s.named, id)
	}
}

// ofOne reports whether an event is about one of several locks alone: the readings of the
// others do not have it.
func ofOne(e trace.Event) bool {
	switch b := e.Body.(type) {
	case trace.Expired, trace.Outcome, trace.Violation, trace.Resource:
		return true
	case trace.Fault:
		return e.Thread == "" && b.Do != ""
	}
	return false
}

// merge makes one list of those that each lock has read from one record.
func (s *Several) merge(lists [][]trace.Event) {
	early := false // the end of a lease that is of a step before
	for i, one := range s.locks {
		for len(lists[i]) > 0 && lists[i][0].Step < one.Reading.step {
			s.alone(i, lists[i][0], false)
			lists[i], early = lists[i][1:], true
		}
	}
	if early {
		s.step++
	}
	called := slices.ContainsFunc(lists, func(list []trace.Event) bool {
		return slices.ContainsFunc(list, func(e trace.Event) bool {
			b, ok := e.Body.(trace.Outcome)
			return ok && b.Call != ""
		})
	})
	for {
		for i := range lists {
			for len(lists[i]) > 0 && ofOne(lists[i][0]) {
				s.alone(i, lists[i][0], called)
				lists[i] = lists[i][1:]
			}
		}
		heads := map[int]trace.Event{}
		for i := range lists {
			if len(lists[i]) > 0 {
				heads[i], lists[i] = lists[i][0], lists[i][1:]
			}
		}
		if len(heads) == 0 {
			return
		}
		s.together(heads)
	}
}

// alone takes an event of one lock. Called says that some lock was called.
func (s *Several) alone(i int, e trace.Event, called bool) {
	one := s.locks[i]
	was := s.states[i]
	s.states[i].Key, s.states[i].Belief = e.Key, believed(e)
	name := one.name
	switch b := e.Body.(type) {
	case trace.Violation:
		f := one.broken[one.broke]
		one.broke++
		for n, seq := range f.Events {
			if seq > 0 && seq <= len(one.seqs) {
				f.Events[n] = one.seqs[seq-1]
			}
		}
		switch {
		case f.Rule != check.ShutOut, f.For != 0:
			s.violate(f.Of(name))
		case i == 0: // it is of all locks
			s.violate(f)
		}
	case trace.Expired:
		if b.Was.Exists() {
			s.add(e, name)
		}
	case trace.Fault: // an eviction, of the one that was there
		if was.Key.Exists() && !e.Key.Exists() {
			s.add(e, name)
		}
	case trace.Outcome:
		switch {
		case b.Call != "":
			b.Level += s.beside(i, e.Thread)
			e.Body = b
			s.add(e, name)
		case i == 0 && !called: // of no lock
			s.add(e, "")
		}
	default:
		s.add(e, "")
	}
	one.seqs = append(one.seqs, s.seq)
}

// together takes what all locks have seen, each as it is to it.
func (s *Several) together(heads map[int]trace.Event) {
	var of []int // the locks that it is about
	for _, i := range slices.Sorted(maps.Keys(heads)) {
		s.states[i].Key, s.states[i].Belief = heads[i].Key, believed(heads[i])
		switch b := heads[i].Body.(type) {
		case trace.Command:
			if Touches(b.Args).Names(s.locks[i].key) {
				of = append(of, i)
			}
		case trace.Fault:
			if b.At != "" {
				of = append(of, i)
			}
		}
	}
	said, name := slices.Min(slices.Collect(maps.Keys(heads))), ""
	if len(of) > 0 {
		said = of[0]
	}
	if len(of) == 1 {
		name = s.locks[of[0]].name
	}
	e := heads[said]
	switch b := e.Body.(type) {
	case trace.Command:
		for _, i := range of { // one of them may know what it is for
			if one, ok := heads[i].Body.(trace.Command); ok && b.Call == other {
				b = one
			}
		}
		if b.Call == lock.CallLock || b.Call == lock.CallUnlock || b.Call == lock.CallRenew {
			b.Level += s.beside(said, e.Thread)
		}
		e.Body = b
	case trace.Fault:
		if b.At != "" {
			b.Level += s.beside(said, e.Thread)
			e.Body = b
		}
	}
	s.add(e, name)
	for i := range heads {
		s.locks[i].seqs = append(s.locks[i].seqs, s.seq)
	}
}

// beside is how many locks a thread believes that it holds beside the ith: each is a level.
func (s *Several) beside(i int, thread string) int {
	n := 0
	for other, one := range s.states {
		if other != i {
			n += one.Belief[thread]
		}
	}
	return n
}

// believed is who believes that it holds the lock of an event.
func believed(e trace.Event) map[string]int {
	if e.Belief == nil {
		return map[string]int{}
	}
	return e.Belief
}

// add appends an event with the states of all locks.
func (s *Several) add(e trace.Event, name string) {
	e.Seq, e.Step, e.At, e.Lock = s.seq+1, s.step, trace.MillisOf(s.at), name
	e.Locks, e.Key, e.Belief = slices.Clone(s.states), s.states[0].Key, map[string]int{}
	for _, one := range s.states {
		for thread, levels := range one.Belief {
			e.Belief[thread] += levels
		}
	}
	if e.Thread != "" {
		s.last[e.Thread] = e.Seq
	}
	s.note(e)
}

func (s *Several) violate(f check.Finding) {
	s.account.violate(f, trace.Event{Step: 1, Key: s.states[0].Key, Locks: slices.Clone(s.states), Belief: map[string]int{}})
}

// Finish judges the end of an order.
func (s *Several) Finish(over Over) {
	s.deadlock(s.circle.stand(over.Asking))
	lists := make([][]trace.Event, len(s.locks))
	for i, one := range s.locks {
		mine := over
		if i > 0 && i <= len(over.Also) {
			mine.Key = over.Also[i-1]
		}
		had := len(one.events)
		one.Finish(mine)
		for _, e := range one.events[had:] {
			e.Step = one.Reading.step // one violation of the last step is not a separate step
			lists[i] = append(lists[i], e)
		}
	}
	s.step++
	s.merge(lists)
}

// SetStart says from which instant the records count.
func (s *Several) SetStart(t time.Time) {
	for _, one := range s.locks {
		one.SetStart(t)
	}
}

// OnlyHarms leaves out rules about the locks, where the kind of one is not known.
func (s *Several) OnlyHarms() {
	s.account.OnlyHarms()
	for _, one := range s.locks {
		one.OnlyHarms()
	}
}

// Kind says why the kind of a lock is not known, a sentence, and what helps; "" if all are.
func (s *Several) Kind() (says, helps phrase.Wording) {
	for _, one := range s.locks {
		if says, helps = one.Kind(); !says.IsZero() {
			return says, helps
		}
	}
	return phrase.Wording{}, phrase.Wording{}
}

// Witness returns what a judgement needs of the records so far: all keys were there, and of
// the lock that fewest threads had, those who had it.
func (s *Several) Witness() *verdict.Witness {
	var list []verdict.Witness
	for _, one := range s.locks {
		list = append(list, *one.Witness())
	}
	w := verdict.OfEach(list)
	return &w
}

// Misread reports whether it took a script for something else before that did what it does.
func (s *Several) Misread() bool {
	return slices.ContainsFunc(s.locks, func(one *ofSeveral) bool { return one.Misread() })
}

// Untried reports whether so is one of the locks.
func (s *Several) Untried() bool {
	return slices.ContainsFunc(s.locks, func(one *ofSeveral) bool { return one.Untried() })
}

// Stands reports whether the key of any lock existed after the last record.
func (s *Several) Stands() bool {
	return slices.ContainsFunc(s.locks, func(one *ofSeveral) bool { return one.Stands() })
}

// frameKey is a key as a scenario may have it.
func frameKey(key string) string { return Short(strings.Map(plain, key), scenario.MaxKey) }
