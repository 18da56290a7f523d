package trace

import (
	"errors"
	"fmt"
	"slices"
)

// ErrMalformed is returned by Check.
var ErrMalformed = errors.New("malformed trace")

// Limits of Check: those of a run, with some room.
const (
	maxOwners = 64
	maxOwner  = 256 // bytes of an owner's id
	maxNodes  = 64
)

// Check verifies that events from outside are consistent, so that code that
// displays them can rely on it. Threads are the scenario's thread names. It
// fails with ErrMalformed, naming the line and the reason.
func Check(h Header, events []Event, threads []string) error {
	wrong := func(line int, format string, args ...any) error {
		return fmt.Errorf("%w: line %d: %s", ErrMalformed, line, fmt.Sprintf(format, args...))
	}
	if len(h.Owners) > maxOwners {
		return wrong(1, "%d owners, at most %d", len(h.Owners), maxOwners)
	}
	for id, thread := range h.Owners {
		if id == "" || len(id) > maxOwner || !slices.Contains(threads, thread) {
			return wrong(1, "the owner %.60q of thread %.60q", id, thread)
		}
	}
	step := 0
	for i, e := range events {
		line := i + 2
		command, _ := e.Body.(Command)
		switch {
		case e.Seq != i+1:
			return wrong(line, "seq %d, and not %d", e.Seq, i+1)
		case e.Step < step || e.Step < 1 || e.Step > step+1:
			return wrong(line, "step %d after step %d", e.Step, step)
		case e.Thread != "" && !slices.Contains(threads, e.Thread):
			return wrong(line, "the thread %.60q, which the scenario does not have", e.Thread)
		case e.Kind() == KindCommand && (len(command.Args) == 0 || e.Thread == ""):
			return wrong(line, "a command of nobody, or without a name")
		case len(e.Nodes) > maxNodes:
			return wrong(line, "%d nodes, at most %d", len(e.Nodes), maxNodes)
		}
		step = e.Step
	}
	return nil
}
