package trace

import (
	"slices"
	"unsafe"
)

// Size estimates the memory an event takes in bytes: itself, in a growing list,
// and what only it refers to. Texts count if they can be large. It was
// calibrated with the most expensive scenarios (BenchmarkHeld…).
func (e Event) Size() int {
	size := int(unsafe.Sizeof(e))*5/4 + e.Key.size() + mapSize(len(e.Belief)) + len(e.Leaving)*stringSize
	for _, k := range e.Nodes {
		size += int(unsafe.Sizeof(k)) + k.size()
	}
	for _, l := range e.Locks {
		size += int(unsafe.Sizeof(l)) + l.Key.size() + mapSize(len(l.Belief))
	}
	switch b := e.Body.(type) {
	case Command:
		size += int(unsafe.Sizeof(b)) + len(b.Error) + valueSize(b.Reply)
		for _, a := range b.Args {
			size += stringSize + len(a)
		}
		if b.Eval != nil {
			size += int(unsafe.Sizeof(*b.Eval))
			for _, a := range slices.Concat(b.Eval.Keys, b.Eval.Argv) {
				size += stringSize + len(a)
			}
		}
		if b.OldKey != nil {
			size += int(unsafe.Sizeof(*b.OldKey)) + b.OldKey.size()
		}
	case Outcome:
		size += int(unsafe.Sizeof(b)) + len(b.Error)
	case End:
		size += int(unsafe.Sizeof(b)) + len(b.Error)
	case Violation:
		size += int(unsafe.Sizeof(b)) + len(b.Detail) + len(b.Events)*8 + len(b.Untold)*stringSize
	case Resource:
		size += int(unsafe.Sizeof(b)) + len(b.Text)
	default:
		size += bodySize
	}
	return size
}

// Sizes in bytes.
const (
	stringSize = 16
	bodySize   = 128 // of a body without lists
	groupSlots = 8   // of a map's group
	slotSize   = 33  // of a map from text to text
	mapHead    = 48
)

// size returns the size of what k refers to.
func (k KeyState) size() int {
	if k.Fields == nil {
		return 0
	}
	return mapSize(len(k.Fields))
}

// mapSize returns the size of a map with n entries, whose groups are half to
// nearly full.
func mapSize(n int) int {
	if n == 0 {
		return 0
	}
	slots := groupSlots
	for slots*7/8 < n && slots != n {
		slots *= 2
	}
	return mapHead + slots*slotSize
}

func valueSize(v any) int {
	switch v := v.(type) {
	case string:
		return stringSize + len(v)
	case []any:
		size := 24
		for _, one := range v {
			size += stringSize + valueSize(one)
		}
		return size
	default:
		return 8
	}
}
