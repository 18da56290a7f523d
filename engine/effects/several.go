package effects

import (
	"slices"
	"time"

	"relock/engine/check"
	"relock/engine/phrase"
	"relock/engine/trace"
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
	}
	return r
}

// Several folds the records of one order of several locks, each of which one thread holds at
// a time: what breaks of one is read as if it were alone, and a deadlock of all. Marks do
// not say which lock they are of, so beliefs come from effects. It is not safe for
// concurrent use.
type Several struct{ locks []*Reading }

// NewSeveral returns the reading of no records yet, of locks by their keys; the rest is as
// for New.
func NewSeveral(threads, keys []string, resource string, known Roles) *Several {
	s := &Several{}
	for i, key := range keys {
		if i > 0 { // it is read once
			resource = ""
		}
		s.locks = append(s.locks, New(threads, Lock{Key: key, Kind: check.Kind{Exclusive: true}}, resource, false, known))
	}
	return s
}

// See takes the next record.
func (s *Several) See(r Record) {
	for i, j := range s.locks {
		j.See(r.Of(i))
	}
}

// Finish judges the end of an order.
func (s *Several) Finish(over Over) {
	for i, j := range s.locks {
		one := over
		if i > 0 && i <= len(over.Also) {
			one.Key = over.Also[i-1]
		}
		j.Finish(one)
	}
}

// From says from which instant the records count.
func (s *Several) From(t time.Time) {
	for _, j := range s.locks {
		j.From(t)
	}
}

// OnlyHarms leaves out rules about the locks, where the kind of one is not known.
func (s *Several) OnlyHarms() {
	for _, j := range s.locks {
		j.OnlyHarms()
	}
}

// Forget keeps only the last event from now on.
func (s *Several) Forget() {
	for _, j := range s.locks {
		j.Forget()
	}
}

// Kind says why the kind of a lock is not known, a sentence, and what helps; "" if all are.
func (s *Several) Kind() (says, helps phrase.Wording) {
	for _, j := range s.locks {
		if says, helps = j.Kind(); !says.IsZero() {
			return says, helps
		}
	}
	return phrase.Wording{}, phrase.Wording{}
}

// Broken returns the broken rules so far in words, lock by lock.
func (s *Several) Broken() []check.Finding {
	var list []check.Finding
	for _, j := range s.locks {
		for _, f := range j.Broken() {
			if !slices.ContainsFunc(list, func(o check.Finding) bool { return o.Rule == f.Rule && o.Says.String() == f.Says.String() }) {
				list = append(list, f)
			}
		}
	}
	return list
}

// Rules returns the names of the rules that were broken, in the order of Rules.
func (s *Several) Rules() []string { return broken(s.Broken()) }

// Worst returns which lock breaks the first of some rules that any breaks, from 0.
func (s *Several) Worst(rules []string) int {
	for _, rule := range rules {
		for i, j := range s.locks {
			if slices.Contains(j.Rules(), rule) {
				return i
			}
		}
	}
	return 0
}

// Witness returns what a judgement needs of the records so far: all keys were there, and of
// the lock that fewest threads had, those who had it.
func (s *Several) Witness() *verdict.Witness {
	w := verdict.Witness{Key: true}
	for i, j := range s.locks {
		one := j.Witness()
		w.Key = w.Key && one.Key
		if i == 0 || len(one.Alone) < len(w.Alone) {
			w.Alone = one.Alone
		}
		if i == 0 {
			w.Struck = one.Struck
		}
	}
	return &w
}

// Misread reports whether a script was taken for something else before it did what it does.
func (s *Several) Misread() bool {
	return slices.ContainsFunc(s.locks, (*Reading).Misread)
}

// Stands reports whether the key of any lock existed after the last record.
func (s *Several) Stands() bool { return slices.ContainsFunc(s.locks, (*Reading).Stands) }

// Events returns the events of the first lock so far, or after Forget only the last.
func (s *Several) Events() []trace.Event { return s.locks[0].Events() }

// Owners returns the thread of each owner id in the key of the first lock.
func (s *Several) Owners() map[string]string { return s.locks[0].Owners() }

// Named returns the owner ids of Owners in the order in which they came to it, or left it.
func (s *Several) Named() []string { return s.locks[0].Named() }
