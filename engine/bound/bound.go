// Package bound says what one input from outside may cost (a log, a trace, a
// lesson, a link), and what one file made of it may. Readers and writers keep
// these bounds inside their loops: a few bytes can name a huge number, and be
// nested as deep as they are long.
package bound

import (
	"context"
	"time"

	"relock/engine/pause"
	"relock/engine/phrase"
)

// The bounds. The bounds on incoming bytes are where the bytes come in: for a request in
// package site, for a scenario in package scenario.
const (
	Work    = 10 * time.Second // of a processor, to read an input, or to write a file
	Depth   = 100              // lists within lists of an answer in a log: a lock's have two
	Held    = 64 << 20         // bytes in memory of a trace that is made of a log
	Written = 20 << 20         // bytes of a file that is written: an answer waits in memory for its visitor's line
)

// Bounds that are met: each is the error, and its sentence.
var (
	ErrWork    = phrase.New("it takes more than %d seconds of processor time; allowed: a part of it", int(Work/time.Second))
	ErrHeld    = phrase.New("its trace takes more than %d MB; allowed: the part of it that shows what went wrong", Held>>20)
	ErrWritten = phrase.New("the file has more than %d MB; allowed: another format, or a shorter run", Written>>20)
)

// Within returns a context whose work ends after Work: pause.Here fails with ErrWork
// then. It bounds the goroutine that calls it, until done; see pause.Within.
func Within(ctx context.Context) (within context.Context, done func()) {
	return pause.Within(ctx, Work, ErrWork)
}
