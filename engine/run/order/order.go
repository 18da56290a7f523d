// Package order puts the reports of a run on the wall clock into the order in
// which the events happened in Redis, while requests are still in flight. It
// knows no clock and starts no goroutine: its caller says what time it is.
package order

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Call is a call of a thread. It makes one at a time.
type Call struct{ Thread, Name string }

// Key says what a script found where the key should have been.
type Key int

// The things a script can tell about the key before it ran.
const (
	Unknown Key = iota // its first command wrote
	Stood              // its first command read the key
	Gone               // its first command read that there is none
)

// Entry is what happened at one instant, since the run began.
type Entry[T any] struct {
	At     time.Duration
	Script bool // Redis ran it, and so knew whether the key had expired
	Found  Key  // of a script
	Lapse  bool // the key expired; it has no What
	What   T
}

// Lease is what we know about the key's expiry from the events released so far.
type Lease struct {
	At    time.Duration // its end
	Known bool          // the key is there, and has an expiry
}

// Queue holds entries back until nothing earlier can still arrive. The zero
// value is empty and ready to use. It is not safe for concurrent use.
type Queue[T any] struct {
	pending  []Entry[T] // by At; of the same instant, as they came
	inFlight map[int]time.Duration
	untold   map[Call]time.Duration
	sent     int
	lost     bool
}

// Send notes that a request goes to Redis, which runs it at the instant from or
// later. The queue waits for it until Answer is called with its number.
func (q *Queue[T]) Send(from time.Duration) (number int) {
	if q.inFlight == nil {
		q.inFlight = map[int]time.Duration{}
	}
	q.sent++
	q.inFlight[q.sent] = from
	return q.sent
}

// Answer notes that a request was answered, or never will be. Add what its scripts did
// before taking anything else from the queue.
func (q *Queue[T]) Answer(number int) { delete(q.inFlight, number) }

// Ran notes that a script of a call ran at an instant, and that the call's
// outcome, of the same instant, is still to come.
func (q *Queue[T]) Ran(c Call, at time.Duration) {
	if q.untold == nil {
		q.untold = map[Call]time.Duration{}
	}
	q.untold[c] = at
}

// Told returns when the last script of a call ran, and no longer waits for the call's
// outcome.
func (q *Queue[T]) Told(c Call) (ran time.Duration, ok bool) {
	ran, ok = q.untold[c]
	delete(q.untold, c)
	return ran, ok
}

// Leave stops waiting for any outcome of a thread's.
func (q *Queue[T]) Leave(thread string) {
	maps.DeleteFunc(q.untold, func(c Call, _ time.Duration) bool { return c.Thread == thread })
}

// Lose notes that Redis no longer answers: from now on nobody can say whether a lease has
// ended.
func (q *Queue[T]) Lose() { q.lost = true }

// Idle tells whether nothing is in flight and nothing is held back.
func (q *Queue[T]) Idle() bool { return len(q.inFlight) == 0 && len(q.pending) == 0 }

// Add gives the queue an entry. Of the same instant, what came first happened
// first, but for a lapse: what a client did then waits for it.
func (q *Queue[T]) Add(e Entry[T]) {
	n, _ := slices.BinarySearchFunc(q.pending, e, func(have, want Entry[T]) int {
		if c := cmp.Compare(have.At, want.At); c != 0 {
			return c
		}
		return -1 // after those of the same instant
	})
	for e.Lapse && n > 0 && q.pending[n-1].At == e.At && !q.pending[n-1].Script {
		n--
	}
	q.pending = slices.Insert(q.pending, n, e)
}

// Next takes the first entry from the queue, if nothing can precede it any
// more; with all, whatever may. If the lease ended before that entry, it returns that the
// key has expired instead.
func (q *Queue[T]) Next(lease Lease, all bool) (next Entry[T], ok bool) {
	for len(q.pending) > 0 {
		first := q.pending[0]
		if !all && q.mayPrecede(first.At) {
			return next, false
		}
		switch lapsed, known := q.lapsed(lease, first, all); {
		case !known:
			return next, false
		case lapsed:
			return Entry[T]{At: lease.At, Lapse: true}, true
		}
		q.pending = q.pending[1:]
		if !first.Lapse || lease.Known && lease.At == first.At { // else the lease was renewed meanwhile
			return first, true
		}
	}
	return next, false
}

// mayPrecede tells whether something that happened before at may still be heard
// of: a script in flight, or the outcome of one that ran.
func (q *Queue[T]) mayPrecede(at time.Duration) bool {
	for _, from := range q.inFlight {
		if from <= at {
			return true
		}
	}
	for _, ran := range q.untold {
		if ran < at {
			return true
		}
	}
	return false
}

// lapsed tells whether the key had expired before e. An event within a client does not
// tell: it waits until somebody asks Redis, or until everything is released. A script
// that wrote first, after the lease's end, found no key.
func (q *Queue[T]) lapsed(lease Lease, e Entry[T], all bool) (lapsed, known bool) {
	switch {
	case !lease.Known, lease.At > e.At, e.Lapse, q.lost:
		return false, true
	case !e.Script:
		return all, all
	default:
		return e.Found != Stood, true
	}
}
