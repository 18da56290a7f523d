package facts

import (
	"slices"

	"relock/engine/trace"
)

// Owners maps owner ids to a run's threads.
type Owners map[string]string

// Holders returns the threads that hold the key, by name.
func (o Owners) Holders(key trace.KeyState) []string {
	threads := []string{}
	if key.Value != nil {
		if thread, ok := o[*key.Value]; ok {
			threads = append(threads, thread)
		}
	}
	for id := range key.Fields {
		if thread, ok := o[id]; ok {
			threads = append(threads, thread)
		}
	}
	slices.Sort(threads)
	return slices.Compact(threads)
}

// of returns the threads that hold the key, by name: whom it names or, if it names
// none, who put what it holds.
func (o Owners) of(key trace.KeyState, put Put) []string {
	threads := o.Holders(key)
	if len(threads) == 0 && key.Exists() {
		threads = append(threads, put.Threads()...)
	}
	return threads
}

// Hold reports whether a thread holds the key.
func (o Owners) Hold(key trace.KeyState, thread string) bool {
	if key.Value != nil && o[*key.Value] == thread {
		return true
	}
	for id := range key.Fields {
		if o[id] == thread {
			return true
		}
	}
	return false
}
