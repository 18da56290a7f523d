package engine

import "relock/engine/run"

// Other reasons to end a run early, as the cause of its context: a server sets it, and
// the run's trace has it.
var (
	// ErrHeld ends a run that has become too large to be kept.
	ErrHeld = run.ErrHeld
	// ErrClosed ends the runs of a server that shuts down.
	ErrClosed = run.ErrClosed
)

// TooLongError ends a run that took longer than it may.
type TooLongError = run.TooLongError
