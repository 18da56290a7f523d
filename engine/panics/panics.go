// Package panics turns a panic into an error, so that it ends only the work it
// happened in, not the whole program.
package panics

import (
	"fmt"
	"runtime/debug"
)

// Error is a caught panic.
type Error struct {
	Value any    // what was panicked with
	Stack []byte // of the goroutine that panicked
}

// Error returns the value and the stack: it is meant for developers.
func (e *Error) Error() string { return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack) }

// Unwrap returns the value if it is an error.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Of returns the error for what recover returned, on the goroutine that
// panicked; nil for nil. An *Error from another goroutine is returned as it is.
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

// Try calls f, and returns its panic or nil. [runtime.Goexit] passes through.
func Try(f func()) (caught *Error) {
	defer func() { caught = Of(recover()) }()
	f()
	return nil
}

// Catch calls f, and returns its error; a panic becomes an *Error.
func Catch(f func() error) (err error) {
	if caught := Try(func() { err = f() }); caught != nil {
		return caught
	}
	return err
}
