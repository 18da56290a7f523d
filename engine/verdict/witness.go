package verdict

import (
	"slices"

	"relock/engine/lock"
	"relock/engine/trace"
)

// Witness watches the events of one order, or of a part of it. The zero value has
// seen none. It is not safe for concurrent use.
type Witness struct {
	Key    bool            // the lock's key was there
	Alone  map[string]bool // threads that were inside while no other was
	Inside map[string]bool // threads that were inside
	Named  map[Stay]bool   // of several locks whose names marks tell: who was inside which
	Shared bool            // the key says itself that several may be inside at once
	Struck map[string]bool // faults by name; one of a thread also as "fault of thread"
	Ran    map[Line]bool   // lines of scripts, of unlock calls
}

// Stay is a thread that was inside a lock.
type Stay struct{ Lock, Thread string }

// Line is a line of a script.
type Line struct {
	Script string // its file name
	Number int    // from 1; 0 where Redis does not say which
}

// See takes the next event. A thread is inside while it believes that it holds the
// lock and is not leaving, or works without one.
func (w *Witness) See(e trace.Event) {
	w.Key = w.Key || e.Key.Exists() || slices.ContainsFunc(e.Nodes, trace.KeyState.Exists)
	switch b := e.Body.(type) {
	case trace.Command:
		if b.Call == lock.CallUnlock && b.Script != "" {
			note(&w.Ran, Line{b.Script, b.Line})
		}
	case trace.Fault:
		note(&w.Struck, b.Do)
		note(&w.Struck, of(b.Do, e.Thread))
	case trace.Work:
		if b.State == trace.WorkBegin && b.Name != "" {
			note(&w.Named, Stay{b.Name, e.Thread})
		}
		if b.State == trace.WorkBegin && len(e.Belief) == 0 {
			note(&w.Alone, e.Thread)
			note(&w.Inside, e.Thread)
		}
	}
	if _, mode := e.Key.Fields[trace.Mode]; mode {
		w.Shared = true
	}
	for thread, levels := range e.Belief {
		if levels > 0 && !slices.Contains(e.Leaving, thread) {
			note(&w.Inside, thread)
		}
	}
	inside := ""
	for thread, levels := range e.Belief {
		switch {
		case levels <= 0 || slices.Contains(e.Leaving, thread):
		case inside != "":
			return
		default:
			inside = thread
		}
	}
	if inside != "" {
		note(&w.Alone, inside)
	}
}

func note[T comparable](set *map[T]bool, name T) {
	if *set == nil {
		*set = map[T]bool{}
	}
	(*set)[name] = true
}

// Join adds what another witness has seen: of another part of the order, or of another
// order, whose threads then count as if they had been inside in the same.
func (w *Witness) Join(o *Witness) {
	w.Key = w.Key || o.Key
	for thread := range o.Alone {
		note(&w.Alone, thread)
	}
	for thread := range o.Inside {
		note(&w.Inside, thread)
	}
	for stay := range o.Named {
		note(&w.Named, stay)
	}
	w.Shared = w.Shared || o.Shared
	for fault := range o.Struck {
		note(&w.Struck, fault)
	}
	for line := range o.Ran {
		note(&w.Ran, line)
	}
}

// OfEach is what a judgement of several locks needs, given a witness of each: all keys were
// there, and of the lock that fewest threads had, those who had it.
func OfEach(locks []Witness) Witness {
	w := Witness{Key: true}
	for i, one := range locks {
		for stay := range one.Named {
			note(&w.Named, stay)
		}
		w.Key = w.Key && one.Key
		if i == 0 || len(one.Alone) < len(w.Alone) {
			w.Alone = one.Alone
		}
		if i == 0 {
			w.Struck, w.Ran = one.Struck, one.Ran
		}
	}
	return w
}

func of(fault, thread string) string { return fault + " of " + thread }

// Add adds what one order has shown.
func (e *Evidence) Add(w *Witness) {
	e.Key = e.Key || w.Key
	e.Inside = max(e.Inside, len(w.Alone))
	if e.Shared || w.Shared {
		e.Inside = max(e.Inside, len(w.Inside))
	}
	inside := map[string]int{}
	for stay := range w.Named {
		inside[stay.Lock]++
	}
	for name, n := range inside {
		if e.Named == nil {
			e.Named = map[string]int{}
		}
		e.Named[name] = max(e.Named[name], n)
	}
	e.Unreached = slices.DeleteFunc(e.Unreached, func(r Release) bool {
		return w.Ran[r.Line] || w.Ran[Line{Script: r.Script}]
	})
	e.Unstruck = slices.DeleteFunc(e.Unstruck, func(u Unstruck) bool {
		if u.Thread != "" {
			return w.Struck[of(u.Fault, u.Thread)]
		}
		return w.Struck[u.Fault]
	})
}
