// Package panics turns a panic into an error, so that it ends what it happened
// in, and not the whole program.
package panics

import (
	"fmt"
	"runtime/debug"
)

// Error is a panic that was caught.
type Error struct {
	Value any    // what was panicked with
	Stack []byte // of the goroutine that panicked
}

// Error gives the value and the stack: it is for whoever mends the program.
func (e *Error) Error() string { return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack) }

// Unwrap is the value, where that is an error.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Of is the error of what recover has returned in the goroutine that panicked;
// nil for nil. One that is an *Error already, handed on from another goroutine,
// stays as it is.
func Of(recovered any) *Error {
	switch v := recovered.(type) {
	case nil:
		return nil
	case *Error:
		return v
	default:
		return &Error{v, debug.Stack()}
	}
}

// Try does f, and returns its panic, or nil. [runtime.Goexit] passes.
func Try(f func()) (caught *Error) {
	defer func() { caught = Of(recover()) }()
	f()
	return nil
}

// Catch does f, and returns its error; a panic is an *Error.
func Catch(f func() error) (err error) {
	if caught := Try(func() { err = f() }); caught != nil {
		return caught
	}
	return err
}
