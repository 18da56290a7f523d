package facts

import (
	"slices"
	"strconv"

	"relock/engine/trace"
)

// Owners maps owner ids to a run's threads.
type Owners map[string]string

// Holders returns the threads whose ids the key has, by name.
func (o Owners) Holders(key trace.KeyState) []string {
	threads := []string{}
	if key.Value != nil {
		if thread, ok := o[*key.Value]; ok {
			threads = append(threads, thread)
		}
	}
	for id := range key.Fields {
		if thread, ok := o[id]; ok && holds(key, id) {
			threads = append(threads, thread)
		}
	}
	slices.Sort(threads)
	return slices.Compact(threads)
}

// Hold reports whether the key has an id of the thread.
func (o Owners) Hold(key trace.KeyState, thread string) bool {
	if key.Value != nil && o[*key.Value] == thread {
		return true
	}
	for id := range key.Fields {
		if o[id] == thread && holds(key, id) {
			return true
		}
	}
	return false
}

// holds reports whether a field of the key stands for somebody who holds the lock: not a
// hold count below 1.
func holds(key trace.KeyState, id string) bool {
	count, err := strconv.Atoi(key.Fields[id])
	return key.Type != trace.TypeHash || err != nil || count > 0
}

// Names reports whether a key says itself whose it is.
func (o Owners) Names(key trace.KeyState) bool {
	if key.Value != nil && o[*key.Value] != "" {
		return true
	}
	for id := range key.Fields {
		if o[id] != "" {
			return true
		}
	}
	return false
}

// Holding is whose the lock's key is: whom it names or, if it names none, who put what it
// holds. Call Add with each event in order. It is not safe for concurrent use, and what
// its methods return must not be changed.
type Holding struct {
	owners   Owners
	key      trace.KeyState // after the last event
	put, had Put            // at the last event, and before it
}

// NewHolding returns that of a run without events. Owners maps owner ids to threads.
func NewHolding(owners map[string]string) Holding {
	return Holding{owners: owners, key: trace.Absent()}
}

// Add takes the next event.
func (h *Holding) Add(e trace.Event) {
	h.had, h.put = h.put, h.put.next(h.key, e)
	h.key = e.Key
}

// Holders returns the threads that hold a key as the last event left it, by name.
func (h *Holding) Holders(key trace.KeyState) []string { return h.of(key, h.put) }

// Held returns the threads that held a key as the last event found it, by name.
func (h *Holding) Held(key trace.KeyState) []string { return h.of(key, h.had) }

func (h *Holding) of(key trace.KeyState, put Put) []string {
	threads := h.owners.Holders(key)
	if len(threads) == 0 && !h.owners.Names(key) && key.Exists() {
		threads = append(threads, put.Threads()...)
	}
	return threads
}

// Hold reports whether a thread holds a key as the last event left it; "", which stands
// for Redis itself, holds none.
func (h *Holding) Hold(key trace.KeyState, thread string) bool {
	switch {
	case thread == "" || !key.Exists():
		return false
	case h.owners.Names(key):
		return h.owners.Hold(key, thread)
	default:
		return h.put.by(thread)
	}
}

// Names reports whether a key says itself whose it is.
func (h *Holding) Names(key trace.KeyState) bool { return h.owners.Names(key) }

// Of returns the thread of the value that the key holds, or of the field of that name: the
// one with this id or, if the key names none, who put it there; "" where that is not known.
func (h *Holding) Of(key trace.KeyState, id string) string {
	switch {
	case h.owners.Names(key):
		return h.owners[id]
	case key.Value != nil:
		return h.put.Value
	default:
		return h.put.Fields[id]
	}
}
