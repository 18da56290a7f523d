// Package box runs untrusted Lua in a separate process, behind walls. A [Pool] keeps a
// few child processes warm. Each child is this program, started again, and answers
// questions: run this script, in this state of Redis, at this instant. It keeps only
// compiled texts between questions, and serves one owner's judgement at a time.
//
// Three things confine a script: its own interpreter, with Redis' libraries and
// bounds on time and sizes; the limits and filters that the child puts on
// itself before it reads the first question; and the parent, which trusts
// nothing that it reads, and ends a child that is late or talks nonsense.
package box

import (
	"errors"
	"fmt"
	"time"

	"relock/engine/interpreter"
	"relock/engine/store"
)

// Question is one script to run in one state of Redis.
type Question struct {
	Script   string // the whole text: the journal's wrapped text
	Keys     []string
	Args     []string
	Now      time.Time    // Redis' clock, in whole milliseconds
	Items    []store.Item // what Redis holds
	Channels []string     // one for each who listens: PUBLISH answers how many
}

// Answer is its result.
type Answer struct {
	Reply any          // nil, int64, string, or a list of these, as go-redis would return it
	Err   string       // Redis' error as it would be on the wire ("ERR …", "WRONGTYPE …"), or ""
	Lines Lines        // of a script that failed: where the last error was raised, and from where that was called
	Items []store.Item // what Redis holds afterwards, by name; a key without content is not there
}

// Errors of a script. All come as a [*Fault], which says more.
var (
	ErrSyntax   = interpreter.ErrSyntax
	ErrEndless  = interpreter.ErrEndless
	ErrSteps    = interpreter.ErrSteps
	ErrTooLarge = interpreter.ErrTooLarge
	// ErrContents is of a script that leaves a key of a type that is not allowed.
	ErrContents = errors.New("the script leaves a key of a type that is not allowed")
)

// Errors of the box.
var (
	// ErrUnavailable is returned where no script may be run: the kernel lacks a
	// wall, and the error says which, or no child can be started.
	ErrUnavailable = errors.New("scripts cannot be run here")
	// ErrBroken is of a child that ended, or answered nonsense, without saying why.
	// The question may be asked again.
	ErrBroken = errors.New("the process that ran the script broke")
	// ErrClosed is returned by a Pool after Close.
	ErrClosed = errors.New("the box is closed")
	// ErrQuestion is of a question that is larger than a frame.
	ErrQuestion = errors.New("the question is too large")
)

// Fault is what is wrong with a script.
type Fault = interpreter.Fault

// Lines are where that is.
type Lines = interpreter.Lines

// Steps is how many steps a script may take to match its patterns.
const Steps = interpreter.Steps

// Limits of a script.
const (
	maxFrame  = 1 << 20                // bytes of a question, and of an answer
	maxMemory = 128 << 20              // bytes of a child's memory
	busy      = 250 * time.Millisecond // of the processor, until a script is endless
	// Limit is how long a child may take for one question when Options do not
	// say: the wall for what Lua's own clock cannot interrupt.
	Limit = 2 * time.Second
	// Children is how many serve somebody when Options do not say.
	Children = 2
	// idle is how long a child lives that nobody asks.
	idle = time.Minute
)

// Options of a Pool.
type Options struct {
	Children int           // how many serve somebody at a time, 1..4, or 0 for Children; one more waits
	Unwalled bool          // runs without the kernel's walls, for who runs his own scripts on his own machine
	Limit    time.Duration // of one question, or 0 for Limit
}

func (o Options) filled() (Options, error) {
	if o.Children == 0 {
		o.Children = Children
	}
	if o.Limit == 0 {
		o.Limit = Limit
	}
	if o.Children < 1 || o.Children > 4 || o.Limit < 0 {
		return o, fmt.Errorf("box: %d children and a limit of %v: allowed are 1 to 4, and a positive time", o.Children, o.Limit)
	}
	return o, nil
}
