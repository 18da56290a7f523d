package trace

import (
	"errors"
	"slices"

	"relock/engine/bound"
	"relock/engine/phrase"
)

// ErrMalformed is returned by Check.
var ErrMalformed = errors.New("malformed trace")

// lineError is what is wrong with a line of a trace, for a person.
type lineError struct {
	of   error
	line int
	why  phrase.Wording
}

// Error says it in English.
func (e *lineError) Error() string { return e.Says().String() }

// Says implements phrase.Speaker.
func (e *lineError) Says() phrase.Wording { return phrase.Say("line %d: %s", e.line, e.why) }

// Unwrap returns the sentinel, or the decoder's error.
func (e *lineError) Unwrap() error { return e.of }

// MaxOwners is how many owner ids a header names at most: a log has as many as it
// has values of the key.
const MaxOwners = 4096

// Further limits of Check: those of a run, with some room.
const (
	maxOwner = 256 // bytes of an owner's id
	maxNodes = 64
	maxLocks = 16
)

// Check verifies that events from outside are consistent, so that code that
// displays them can rely on it. Threads are the scenario's thread names. It
// fails with ErrMalformed, naming the line and the reason.
func Check(h Header, events []Event, threads []string) error {
	wrong := func(line int, why phrase.Text, args ...any) error {
		return &lineError{ErrMalformed, line, phrase.Say(why, args...)}
	}
	if len(h.Owners) > MaxOwners {
		return wrong(1, "it names %d owners; allowed: at most %d", len(h.Owners), MaxOwners)
	}
	for id, thread := range h.Owners {
		if id == "" || len(id) > maxOwner || !slices.Contains(threads, thread) {
			return wrong(1, "it says that the owner %.60q is thread %.60q; allowed: owners of the scenario's threads", id, thread)
		}
	}
	step := 0
	for i, e := range events {
		line := i + 2
		command, _ := e.Body.(Command)
		switch {
		case e.Seq != i+1:
			return wrong(line, "its seq is %d; allowed: %d, one for each line", e.Seq, i+1)
		case e.Step < step || e.Step < 1 || e.Step > step+1:
			return wrong(line, "it is of step %d, and the line before it of step %d; allowed: the same or the next one", e.Step, step)
		case e.Thread != "" && !slices.Contains(threads, e.Thread):
			return wrong(line, "its thread %.60q is not in the scenario", e.Thread)
		case e.Kind() == KindCommand && (len(command.Args) == 0 || e.Thread == ""):
			return wrong(line, "it is a command without a thread or without a name")
		case !within(command.Reply, bound.Depth):
			return wrong(line, "its reply has lists within lists, more than %d deep; allowed: %d", bound.Depth, bound.Depth)
		case len(e.Locks) > maxLocks:
			return wrong(line, "it names %d locks; allowed: at most %d", len(e.Locks), maxLocks)
		case !e.namesItsLock():
			return wrong(line, "its lock %.60q is not one of its locks; allowed: one of them, each with a name of its own of at most %d bytes", e.Lock, maxOwner)
		case len(e.Nodes) > maxNodes:
			return wrong(line, "it names %d nodes; allowed: at most %d", len(e.Nodes), maxNodes)
		}
		step = e.Step
	}
	return nil
}

// namesItsLock reports whether the lock that the event is about is one of its locks, if there
// are several, and whether each of these has a name that can be shown.
func (e Event) namesItsLock() bool {
	found := e.Lock == ""
	for i, one := range e.Locks {
		if one.Lock == "" || len(one.Lock) > maxOwner || slices.ContainsFunc(e.Locks[:i], func(o LockState) bool { return o.Lock == one.Lock }) {
			return false
		}
		found = found || one.Lock == e.Lock
	}
	return found
}

// within reports whether a reply's lists are nested at most depth times.
func within(reply any, depth int) bool {
	list, ok := reply.([]any)
	return !ok || depth > 0 && !slices.ContainsFunc(list, func(one any) bool { return !within(one, depth-1) })
}
