package protocol

import (
	"context"
	"fmt"
)

// Call says what a Redis command is sent for.
type Call struct {
	Name    string // CallLock, CallUnlock, CallRenew or CallLeave
	Level   int    // the level entered, left or held
	Attempt int    // 1, 2, … within the call
	Number  int64  // the same for all attempts of the call; 0 if the protocol has none

	// GivesBack is set for an unlock of a level that may never have been
	// granted: the outcome of its lock call is unknown, or came too late.
	GivesBack bool
}

// Names of calls.
const (
	CallLock   = "lock"
	CallUnlock = "unlock"
	CallRenew  = "renew"
	CallLeave  = "leave" // a waiter stops waiting
	CallForce  = "force-unlock"
)

// String describes the call for people.
func (c Call) String() string {
	if c.Attempt > 1 {
		return fmt.Sprintf("%s, level %d, attempt %d", c.Name, c.Level, c.Attempt)
	}
	return fmt.Sprintf("%s, level %d", c.Name, c.Level)
}

type callKey struct{}

// CallOf returns the call that commands sent with ctx belong to.
func CallOf(ctx context.Context) (Call, bool) {
	c, ok := ctx.Value(callKey{}).(Call)
	return c, ok
}

// WithCall returns a context for the commands of a call.
func WithCall(ctx context.Context, c Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}
