package facts

import (
	"slices"

	"relock/engine/trace"
)

// Owners are the threads of a run by the ids that they have as owners of the
// lock.
type Owners map[string]string

// Holders are the threads whose the key is, by name.
func (o Owners) Holders(key trace.KeyState) []string {
	threads := []string{}
	for id, thread := range o {
		if _, ok := key.Fields[id]; ok || key.Value != nil && *key.Value == id {
			threads = append(threads, thread)
		}
	}
	slices.Sort(threads)
	return slices.Compact(threads)
}

// Hold tells whether the key is a thread's.
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
