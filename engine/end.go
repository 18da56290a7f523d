package engine

import (
	"errors"
	"strings"
	"time"

	"relock/engine/phrase"
)

// What else ends a run early, as the cause of its context: a server sets it, and
// the run's trace has its text.
var (
	// ErrHeld ends a run that has become too large to be kept.
	ErrHeld = errors.New("the runs that are kept take as much memory as they may")
	// ErrClosed ends the runs of a server that shuts down.
	ErrClosed = phrase.New("the server is shutting down")
)

// TooLongError ends a run that took longer than it may.
type TooLongError struct{ Limit time.Duration }

const tookLonger = "it took longer than "

// Error implements error.
func (e *TooLongError) Error() string { return tookLonger + e.Limit.String() }

// TooLong returns the limit of the [TooLongError] that has this text in a trace,
// and whether it is one.
func TooLong(text string) (time.Duration, bool) {
	length, found := strings.CutPrefix(text, tookLonger)
	limit, err := time.ParseDuration(length)
	return limit, found && err == nil
}
