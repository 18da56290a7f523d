// Package turn shares a machine's work among addresses: whoever asks least is
// not held up by whoever asks most.
package turn

import (
	"context"
	"slices"
	"sync"
	"time"
)

// slice is how long one works, at most, before others have their turn who wait.
const slice = 20 * time.Millisecond

// Turns hands out turns to work, a few at once. They go round the addresses
// that wait, so that an address gets as much as any other, however many of its
// requests are in line; and one address has never more than its share. Within
// an address, three of four go to what a person waits for, as long as anything
// of that kind is in line, and the fourth to what goes on by itself. It is safe
// for concurrent use.
type Turns struct {
	mu    sync.Mutex
	free  int
	each  int            // that one address has at most
	taken map[string]int // by address
	lines map[string]*lines
	round []string // addresses that wait, the next first
}

// lines are those who wait at an address, of each kind the longest first.
type lines struct {
	of    [2][]chan struct{} // by kind
	given int                // turns, since there were lines
}

// The kinds of work.
const (
	awaited = iota // a person waits for it
	byItself
)

// outOf is how many turns go to both kinds, of which byItself has one.
const outOf = 4

func (l *lines) empty() bool { return len(l.of[awaited])+len(l.of[byItself]) == 0 }

// next is the kind whose turn it is.
func (l *lines) next() int {
	switch {
	case len(l.of[awaited]) == 0:
		return byItself
	case len(l.of[byItself]) == 0:
		return awaited
	case l.given%outOf == outOf-1:
		return byItself
	default:
		return awaited
	}
}

// New returns n turns, of which one address has at most each; both are at least
// one.
func New(n, each int) *Turns {
	return &Turns{free: max(n, 1), each: max(each, 1), taken: map[string]int{}, lines: map[string]*lines{}}
}

// Take waits for a turn for what a person waits for; Done gives it back. It
// fails with ctx's cause.
func (t *Turns) Take(ctx context.Context, address string) error {
	return t.take(ctx, address, awaited)
}

// TakeLater waits for a turn for what goes on by itself; Done gives it back. It
// fails with ctx's cause.
func (t *Turns) TakeLater(ctx context.Context, address string) error {
	return t.take(ctx, address, byItself)
}

func (t *Turns) take(ctx context.Context, address string, kind int) error {
	t.mu.Lock()
	l := t.lines[address]
	if t.free > 0 && t.taken[address] < t.each && l == nil {
		t.give(address)
		t.mu.Unlock()
		return nil
	}
	if l == nil {
		l = &lines{}
		t.lines[address] = l
		t.round = append(t.round, address)
	}
	mine := make(chan struct{})
	l.of[kind] = append(l.of[kind], mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(l.of[kind], mine); i >= 0 {
		l.of[kind] = slices.Delete(l.of[kind], i, i+1)
		t.leave(address, l)
		return context.Cause(ctx)
	}
	t.back(address) // it was given at the last moment
	return context.Cause(ctx)
}

// Done gives a turn back.
func (t *Turns) Done(address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.back(address)
}

// Pause lets others work who wait, and returns when it is the address' turn
// again, at once where nobody waits. It fails with ctx's cause, and then the
// turn is given back.
func (t *Turns) Pause(ctx context.Context, address string) error {
	return t.pause(ctx, address, awaited)
}

func (t *Turns) pause(ctx context.Context, address string, kind int) error {
	t.mu.Lock()
	alone := len(t.round) == 0
	t.mu.Unlock()
	if alone && ctx.Err() == nil {
		return nil
	}
	t.Done(address)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return t.take(ctx, address, kind)
}

// give counts a turn. The caller holds mu.
func (t *Turns) give(address string) {
	t.free--
	t.taken[address]++
}

// back takes a turn back, and hands on what is free. The caller holds mu.
func (t *Turns) back(address string) {
	t.free++
	if t.taken[address]--; t.taken[address] == 0 {
		delete(t.taken, address)
	}
	for i := 0; t.free > 0 && i < len(t.round); {
		next := t.round[i]
		if t.taken[next] >= t.each {
			i++
			continue
		}
		l := t.lines[next]
		kind := l.next()
		first := l.of[kind][0]
		l.of[kind][0] = nil
		l.of[kind] = l.of[kind][1:]
		l.given++
		if !t.leave(next, l) { // it goes to the end of the round
			t.round = append(append(t.round[:i:i], t.round[i+1:]...), next)
		}
		t.give(next)
		close(first)
	}
}

// leave takes an address out of the round if nobody waits there. The caller
// holds mu.
func (t *Turns) leave(address string, l *lines) bool {
	if !l.empty() {
		return false
	}
	delete(t.lines, address)
	t.round = slices.DeleteFunc(t.round, func(one string) bool { return one == address })
	return true
}

// Seat is a piece of work that has a turn, or not. It is used by one goroutine
// at a time.
type Seat struct {
	of      *Turns
	address string
	kind    int
	taken   bool
	since   time.Time
}

// Seat returns a seat of an address, without a turn, for what a person waits
// for.
func (t *Turns) Seat(address string) *Seat { return &Seat{of: t, address: address} }

// SeatLater is Seat for what goes on by itself.
func (t *Turns) SeatLater(address string) *Seat {
	return &Seat{of: t, address: address, kind: byItself}
}

// Take waits for a turn, unless the seat has one. It fails with ctx's cause.
func (s *Seat) Take(ctx context.Context) error {
	if s.taken {
		return nil
	}
	if err := s.of.take(ctx, s.address, s.kind); err != nil {
		return err
	}
	s.taken, s.since = true, time.Now()
	return nil
}

// Done gives the turn back, if the seat has one.
func (s *Seat) Done() {
	if s.taken {
		s.taken = false
		s.of.Done(s.address)
	}
}

// Pause lets others go first who wait, where the seat has had its turn for long
// enough; a seat without a turn takes one. It fails with ctx's cause, and then
// the seat has no turn.
func (s *Seat) Pause(ctx context.Context) error {
	switch {
	case !s.taken:
		return s.Take(ctx)
	case time.Since(s.since) < slice:
		return nil
	}
	if err := s.of.pause(ctx, s.address, s.kind); err != nil {
		s.taken = false
		return err
	}
	s.since = time.Now()
	return nil
}

// Away does what waits for somebody else, such as for who reads an answer, and
// has no turn meanwhile. It has one again after that, if it had one before,
// unless ctx has ended.
func (s *Seat) Away(ctx context.Context, wait func()) {
	had := s.taken
	s.Done()
	wait()
	if had {
		_ = s.Take(ctx) // whoever works on without a visitor will find that out
	}
}
