// Package turn shares a machine's work among addresses: whoever asks least is
// not held up by whoever asks most.
package turn

import (
	"context"
	"sync"
)

// Turns hands out turns to work, a few at once. They go round the addresses
// that wait, so that an address gets as much as any other, however many of its
// requests are in line; and one address never has them all. It is safe for
// concurrent use.
type Turns struct {
	mu      sync.Mutex
	free    int
	each    int                        // that one address has at most
	taken   map[string]int             // by address
	waiting map[string][]chan struct{} // by address, the longest first
	round   []string                   // addresses that wait, the next first
}

// New returns n turns, at least one. One address has at most all but one of
// them, where there are several.
func New(n int) *Turns {
	n = max(n, 1)
	return &Turns{free: n, each: max(n-1, 1), taken: map[string]int{}, waiting: map[string][]chan struct{}{}}
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
	if alone {
		return context.Cause(ctx)
	}
	t.Done(address)
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
	line := append(t.waiting[address][:i:i], t.waiting[address][i+1:]...)
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
