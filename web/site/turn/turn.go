// Package turn shares a machine's work fairly among addresses: an address that
// asks for much does not hold up one that asks for little.
package turn

import (
	"context"
	"slices"
	"sync"
	"time"
)

// slice is how long work may go on while others wait.
const slice = 20 * time.Millisecond

// Turns grants turns to work, a few at a time. They go round the waiting
// addresses, so every address gets the same share however many requests it has
// in line, and none ever has more than its limit. Within an address, three of
// four turns go to work that a person waits for, if there is any, and the
// fourth to background work. Spare work, of all addresses together, gets a single
// turn, as long as nobody else wants it. It is safe for concurrent use.
type Turns struct {
	mu    sync.Mutex
	free  int
	each  int            // limit for one address
	taken map[string]int // by address
	lines map[string]*lines
	round []string  // waiting addresses, the next first
	since time.Time // the last turn given, or, after that, the first who had to wait; zero if nobody had to

	spared bool            // spare work has a turn
	spares []chan struct{} // spare work that waits, the oldest first
}

// lines are the requests waiting at an address, the oldest of each kind first.
type lines struct {
	of    [2][]chan struct{} // by kind
	given int                // turns since the lines formed
}

// The kinds of work.
const (
	awaited = iota // a person waits for it
	byItself
	spare
)

// outOf is how many turns both kinds get together, of which byItself gets one.
const outOf = 4

func (l *lines) empty() bool { return len(l.of[awaited])+len(l.of[byItself]) == 0 }

// next returns the kind whose turn it is.
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

// Take waits for a turn for work a person waits for; Done gives it back. It
// fails with ctx's cause.
func (t *Turns) Take(ctx context.Context, address string) error {
	return t.take(ctx, address, awaited)
}

// TakeLater waits for a turn for background work; Done gives it back. It fails
// with ctx's cause.
func (t *Turns) TakeLater(ctx context.Context, address string) error {
	return t.take(ctx, address, byItself)
}

func (t *Turns) take(ctx context.Context, address string, kind int) error {
	if kind == spare {
		return t.takeSpare(ctx)
	}
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
	if t.since.IsZero() {
		t.since = time.Now()
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
	t.back(address) // granted at the last moment
	return context.Cause(ctx)
}

// takeSpare waits for a turn that nobody else wants.
func (t *Turns) takeSpare(ctx context.Context) error {
	t.mu.Lock()
	if t.free > 0 && !t.spared {
		t.free--
		t.spared = true
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	t.spares = append(t.spares, mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.spares, mine); i >= 0 {
		t.spares = slices.Delete(t.spares, i, i+1)
	} else {
		t.backSpare() // granted at the last moment
	}
	return context.Cause(ctx)
}

// pauseSpare is pause for spare work. It makes way at once for anybody who could
// have its turn, and for other spare work when its time is up.
func (t *Turns) pauseSpare(ctx context.Context, over bool) error {
	t.mu.Lock()
	wanted := slices.ContainsFunc(t.round, func(address string) bool { return t.taken[address] < t.each })
	if ctx.Err() == nil && !wanted && (!over || len(t.spares) == 0) {
		t.mu.Unlock()
		return nil
	}
	t.backSpare()
	t.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return t.takeSpare(ctx)
}

// backSpare takes the turn of spare work back. The caller holds mu.
func (t *Turns) backSpare() {
	t.free++
	t.spared = false
	t.grant()
}

// Done gives a turn back.
func (t *Turns) Done(address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.back(address)
}

// Pause lets waiting others work, and returns when it is the address's turn
// again, at once if nobody waits. It fails with ctx's cause; then the turn is
// given back.
func (t *Turns) Pause(ctx context.Context, address string) error {
	return t.pause(ctx, address, awaited)
}

func (t *Turns) pause(ctx context.Context, address string, kind int) error {
	t.mu.Lock()
	alone := len(t.round) == 0
	if alone {
		t.moved()
	}
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

// Stalled returns for how long nobody has got a turn, and how many wait for one; 0
// if nobody waits. It counts from the first who had to wait, also if that one has
// left since. Work gives way every 20 ms, so seconds mean that it hangs. Spare
// work that waits does not count: it waits until all is quiet.
func (t *Turns) Stalled() (since time.Duration, waiting int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.lines {
		waiting += len(l.of[awaited]) + len(l.of[byItself])
	}
	if waiting == 0 {
		return 0, 0
	}
	return time.Since(t.since), waiting
}

// give counts a turn as taken. The caller holds mu.
func (t *Turns) give(address string) {
	t.free--
	t.taken[address]++
	t.moved()
}

// moved notes that work goes on: a turn was given, or would have been if
// somebody waited. The caller holds mu.
func (t *Turns) moved() {
	if t.since = (time.Time{}); len(t.round) > 0 {
		t.since = time.Now()
	}
}

// back takes a turn back, and grants what is free. The caller holds mu.
func (t *Turns) back(address string) {
	t.free++
	if t.taken[address]--; t.taken[address] == 0 {
		delete(t.taken, address)
	}
	t.grant()
}

// grant grants what is free. The caller holds mu.
func (t *Turns) grant() {
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
	if t.free > 0 && !t.spared && len(t.spares) > 0 {
		t.free--
		t.spared = true
		close(t.spares[0])
		t.spares = slices.Delete(t.spares, 0, 1)
	}
	if len(t.round) == 0 {
		t.since = time.Time{}
	}
}

// leave removes an address from the round if nobody waits there. The caller
// holds mu.
func (t *Turns) leave(address string, l *lines) bool {
	if !l.empty() {
		return false
	}
	delete(t.lines, address)
	t.round = slices.DeleteFunc(t.round, func(one string) bool { return one == address })
	return true
}

// Seat is a piece of work that may have a turn. It is used by one goroutine at
// a time.
type Seat struct {
	of      *Turns
	address string
	kind    int
	taken   bool
	since   time.Time
}

// Seat returns a seat of an address, without a turn, for work a person waits
// for.
func (t *Turns) Seat(address string) *Seat { return &Seat{of: t, address: address} }

// SeatLater is Seat for background work.
func (t *Turns) SeatLater(address string) *Seat {
	return &Seat{of: t, address: address, kind: byItself}
}

// SeatSpare is Seat for work that nobody must notice: it works only while nobody else
// wants its turn, no matter whom it is for.
func (t *Turns) SeatSpare(whose string) *Seat { return &Seat{of: t, address: whose, kind: spare} }

// Whose is the address that the work is done for.
func (s *Seat) Whose() string { return s.address }

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
	if !s.taken {
		return
	}
	s.taken = false
	if s.kind != spare {
		s.of.Done(s.address)
		return
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.backSpare()
}

// Pause lets waiting others go first once the seat has had its turn for long
// enough; a seat without a turn takes one. It fails with ctx's cause; then the
// seat has no turn.
func (s *Seat) Pause(ctx context.Context) error {
	switch {
	case !s.taken:
		return s.Take(ctx)
	case s.kind == spare:
		return s.pauseSpare(ctx)
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

func (s *Seat) pauseSpare(ctx context.Context) error {
	over := time.Since(s.since) >= slice
	if err := s.of.pauseSpare(ctx, over); err != nil {
		s.taken = false
		return err
	}
	if over {
		s.since = time.Now()
	}
	return nil
}

// Away runs something that waits for someone else, like a client reading an answer,
// without holding a turn. A turn held before is taken again afterwards, unless ctx has
// ended.
func (s *Seat) Away(ctx context.Context, wait func()) {
	had := s.taken
	s.Done()
	wait()
	if had {
		_ = s.Take(ctx) // work without a visitor notices by itself
	}
}
