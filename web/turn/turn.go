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
// requests are in line; and one address has never more than its share. It is safe for
// concurrent use.
type Turns struct {
	mu      sync.Mutex
	free    int
	each    int                        // that one address has at most
	taken   map[string]int             // by address
	waiting map[string][]chan struct{} // by address, the longest first
	round   []string                   // addresses that wait, the next first
}

// New returns n turns, of which one address has at most each; both are at least
// one.
func New(n, each int) *Turns {
	return &Turns{free: max(n, 1), each: max(each, 1), taken: map[string]int{}, waiting: map[string][]chan struct{}{}}
}

// Take waits for a turn, which Done gives back. It fails with ctx's cause.
func (t *Turns) Take(ctx context.Context, address string) error {
	t.mu.Lock()
	if t.free > 0 && t.taken[address] < t.each && len(t.waiting[address]) == 0 {
		t.give(address)
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	if len(t.waiting[address]) == 0 {
		t.round = append(t.round, address)
	}
	t.waiting[address] = append(t.waiting[address], mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, one := range t.waiting[address] {
		if one == mine {
			t.leave(address, i)
			return context.Cause(ctx)
		}
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
	return t.Take(ctx, address)
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
		first := t.waiting[next][0]
		t.leave(next, 0)
		if len(t.waiting[next]) > 0 { // it goes to the end of the round
			t.round = append(append(t.round[:i:i], t.round[i+1:]...), next)
		}
		t.give(next)
		close(first)
	}
}

// leave takes one out of an address' line. The caller holds mu.
func (t *Turns) leave(address string, i int) {
	line := t.waiting[address]
	if i == 0 {
		line[0], line = nil, line[1:] // thousands may be behind it
	} else {
		line = slices.Delete(line, i, i+1)
	}
	if len(line) > 0 {
		t.waiting[address] = line
		return
	}
	delete(t.waiting, address)
	for n, one := range t.round {
		if one == address {
			t.round = append(t.round[:n:n], t.round[n+1:]...)
			return
		}
	}
}

// Seat is a piece of work that has a turn, or not. It is used by one goroutine
// at a time.
type Seat struct {
	of      *Turns
	address string
	taken   bool
	since   time.Time
}

// Seat returns a seat of an address, without a turn.
func (t *Turns) Seat(address string) *Seat { return &Seat{of: t, address: address} }

// Take waits for a turn, unless the seat has one. It fails with ctx's cause.
func (s *Seat) Take(ctx context.Context) error {
	if s.taken {
		return nil
	}
	if err := s.of.Take(ctx, s.address); err != nil {
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
	if err := s.of.Pause(ctx, s.address); err != nil {
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
