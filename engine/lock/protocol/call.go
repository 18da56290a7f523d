package protocol

import (
	"context"
	"fmt"
)

// Call says on whose behalf a Redis command is sent.
type Call struct {
	Name    string // CallLock, CallUnlock, CallRenew or CallLeave
	Level   int    // the level entered, left, or held
	Attempt int    // 1, 2, … within the call
	Number  int64  // of the call, the same for all its attempts; 0 where calls have none

	// GivesBack is set for an unlock of a level that was not granted for
	// certain: the fate of its lock call is not known, or came too late.
	GivesBack bool
}

// Names of calls.
const (
	CallLock   = "lock"
	CallUnlock = "unlock"
	CallRenew  = "renew"
	CallLeave  = "leave" // a waiter goes
	CallForce  = "force-unlock"
)

// String words the call for people.
func (c Call) String() string {
	if c.Attempt > 1 {
		return fmt.Sprintf("%s, level %d, attempt %d", c.Name, c.Level, c.Attempt)
	}
	return fmt.Sprintf("%s, level %d", c.Name, c.Level)
}

type callKey struct{}

// CallOf returns the call that a Redis command with this context is part of.
func CallOf(ctx context.Context) (Call, bool) {
	c, ok := ctx.Value(callKey{}).(Call)
	return c, ok
}

// WithCall says on whose behalf the commands that are sent with a context are.
func WithCall(ctx context.Context, c Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}
