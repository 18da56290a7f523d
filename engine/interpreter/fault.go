package interpreter

import (
	"errors"
	"strconv"
)

// Errors of a script. All come as a [*Fault], which says more.
var (
	// ErrSyntax is of a text that does not compile.
	ErrSyntax = errors.New("the script does not compile")
	// ErrEndless is of a script that took more than its time.
	ErrEndless = errors.New("the script does not end")
	// ErrSteps is of a script whose patterns took more than their Steps.
	ErrSteps = errors.New("the script's patterns take too many steps")
	// ErrTooLarge is of a script that took more than its memory, or whose texts,
	// reply or keys are larger than allowed.
	ErrTooLarge = errors.New("the script takes too much memory")
)

// Fault is what is wrong with a script.
type Fault struct {
	Kind  error  // one of the errors of a script
	Lines Lines  // where it was, and from where that was called; empty if not known
	What  string // what Lua says of a text that does not compile, and which size was too large, in English; or ""
}

// Error returns a sentence with the first line.
func (f *Fault) Error() string {
	text := f.Kind.Error()
	if len(f.Lines) > 0 {
		text = "line " + strconv.Itoa(f.Lines[0]) + ": " + text
	}
	if f.What != "" {
		text += ": " + f.What
	}
	return text
}

// Unwrap returns Kind.
func (f *Fault) Unwrap() error { return f.Kind }

// Lines are the active lines of a script's whole text, from 1: the innermost first,
// then the one that called it.
type Lines []int

// Below returns the innermost line below the one given, or 0: the lines down to
// that one are a prelude before the script.
func (l Lines) Below(line int) int {
	for _, n := range l {
		if n > line {
			return n
		}
	}
	return 0
}
