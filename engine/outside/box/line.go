package box

import (
	"slices"
	"time"
)

// slice is how long one may keep a child while others wait: changing hands costs a child,
// so the line does not do it with each question.
const slice = 50 * time.Millisecond

// line shares out the processes, address by address. The turns go round those for whom
// somebody waits, so each gets the same share however many of its judgements are in
// line. Work that is for nobody in particular counts as one, without bounds of its
// own. It is not safe for concurrent use.
type line struct {
	children int
	proven   func(whose string) bool
	refuses  func(whose string, by any, now time.Time) error // who runs no script now
	places   []*place
	waiting  map[string][]*waiter // the oldest first
	round    []string             // for whom somebody waits, the next first
}

// place is a child, or one that is about to be started.
type place struct {
	whose string
	by    any
	child *child // nil until it is started, and with busy
	busy  bool
	free  time.Time // since when nobody asks it
}

// waiter is a question that waits for a child.
type waiter struct {
	whose   string
	by      any
	runs    bool // a script, and does not just compile it
	since   time.Time
	granted chan *place // holds one; nil if it is refused
	refused error       // before that is granted
}

func newLine(children int, r record) line {
	return line{children: children, proven: r.proven, refuses: r.suspended, waiting: map[string][]*waiter{}}
}

// of returns the places of a judgement.
func (l *line) of(by any) (list []*place) {
	for _, one := range l.places {
		if one.by == by {
			list = append(list, one)
		}
	}
	return list
}

// own returns a judgement's place that is free, busy from now on, or nil if it has
// none, or others have waited for it long enough.
func (l *line) own(by any, now time.Time) *place {
	for _, one := range l.of(by) {
		if one.busy {
			continue
		}
		for _, whose := range l.round {
			if now.Sub(l.waiting[whose][0].since) >= slice && l.fits(whose, one) {
				return nil
			}
		}
		one.busy = true
		return one
	}
	return nil
}

// wait puts a question into the line.
func (l *line) wait(whose string, by any, runs bool, now time.Time) *waiter {
	w := &waiter{whose: whose, by: by, runs: runs, since: now, granted: make(chan *place, 1)}
	if len(l.waiting[whose]) == 0 {
		l.round = append(l.round, whose)
	}
	l.waiting[whose] = append(l.waiting[whose], w)
	return w
}

// waits reports whether somebody waits.
func (l *line) waits() bool { return len(l.round) > 0 }

// leave takes a question out of the line. It reports false if that is no longer in the
// line.
func (l *line) leave(w *waiter) bool {
	all := l.waiting[w.whose]
	n := slices.Index(all, w)
	if n < 0 {
		return false
	}
	if l.waiting[w.whose] = slices.Delete(all, n, n+1); len(all) == 1 {
		delete(l.waiting, w.whose)
		l.round = slices.DeleteFunc(l.round, func(one string) bool { return one == w.whose })
	}
	return true
}

// grant gives places to those whose turn it is, and returns the children that make
// room for that. It refuses those who may not run a script now.
func (l *line) grant(now time.Time) (freed []*child) {
	for n := 0; n < len(l.round); {
		whose := l.round[n]
		w := l.waiting[whose][0]
		if w.runs {
			if w.refused = l.refuses(whose, w.by, now); w.refused != nil {
				l.leave(w)
				w.granted <- nil
				continue
			}
		}
		at, old := l.placeFor(w, now)
		if at == nil {
			n++
			continue
		}
		if old != nil {
			freed = append(freed, old.child)
		}
		l.leave(w)
		if n < len(l.round) && l.round[n] == whose { // more of it wait: behind the others
			l.round = append(slices.Delete(l.round, n, n+1), whose)
		}
		w.granted <- at
		n = 0
	}
	return freed
}

// placeFor returns a place for a question, and the one that it takes the place of, if
// it can have one.
func (l *line) placeFor(w *waiter, now time.Time) (at, old *place) {
	for _, one := range l.of(w.by) {
		if !one.busy {
			one.busy = true
			return one, nil
		}
	}
	if !l.fits(w.whose, nil) {
		quiet := now.Add(-slice)
		if now.Sub(w.since) >= slice {
			quiet = now
		}
		for _, one := range l.places {
			if !one.busy && !one.free.After(quiet) && (old == nil || one.free.Before(old.free)) && l.fits(w.whose, one) {
				old = one
			}
		}
		if old == nil {
			return nil, nil
		}
		l.drop(old)
	}
	at = &place{whose: w.whose, by: w.by, busy: true}
	l.places = append(l.places, at)
	return at, old
}

// fits reports whether there is room for somebody's child, without a place that is
// there.
func (l *line) fits(whose string, without *place) bool {
	all, own, unproven := 0, 0, 0
	for _, one := range l.places {
		switch {
		case one == without:
			continue
		case one.whose == whose:
			own++
		}
		if one.whose != "" && !l.proven(one.whose) {
			unproven++
		}
		all++
	}
	few := max(1, l.children-1)
	return all < l.children && (whose == "" || own < few && (l.proven(whose) || unproven < few))
}

// drop takes a place away.
func (l *line) drop(at *place) {
	l.places = slices.DeleteFunc(l.places, func(one *place) bool { return one == at })
}
