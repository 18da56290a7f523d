package lock

import (
	"context"
	"time"

	"relock/engine/lock/protocol"
)

// Observer is told what a [Locker] does, for metrics, tracing, or a display.
// What is nil is not called. The functions are called by the goroutine that did
// it, several at once, must return soon, and must not call the Locker.
type Observer struct {
	// Attempted is called after each attempt of a call. Ctx is that of the
	// call, whether or not it has ended; of a renewal, which nobody called, it
	// is the context that Lock was given.
	Attempted func(ctx context.Context, a Attempt)
	// Waiting is called before Lock, or an Unlock that was not answered, sleeps
	// until its next attempt.
	Waiting func(ctx context.Context, w Wait)
	// Lost is called once for each first acquisition whose lease can no longer
	// be relied on, with the context that Lock was given: as soon as that is
	// known, or a hold's context is asked.
	Lost func(ctx context.Context, l Loss)
}

// Attempt is one try of a call and what it came to.
type Attempt struct {
	Call

	Key    string
	Owner  Owner
	Began  time.Time     // by Options.Clock
	Took   time.Duration // until its result was known
	Result Result
	Count  int   // the hold count that Redis answered with, else 0
	Token  int64 // the fencing token that came with the grant, else 0
	// Until is how long what was granted or renewed may be relied on, as
	// [Hold.Until] says it; else the zero time.
	Until time.Time
	Err   error
}

// Call is what an attempt was about.
type Call = protocol.Call

// Names of calls.
const (
	CallLock   = protocol.CallLock
	CallUnlock = protocol.CallUnlock
	CallRenew  = protocol.CallRenew
	CallLeave  = protocol.CallLeave // a waiter goes
)

// Wait is a pause between two attempts.
type Wait struct {
	Key   string
	Owner Owner
	For   time.Duration // at most: a message can end it sooner
}

// Loss is the end of a lease that its owner relied on.
type Loss struct {
	Key    string
	Owner  Owner
	Levels int   // that were held
	Err    error // ErrLost or ErrMaxAge
}

// Result is what an attempt came to.
type Result string

// The results of an [Attempt].
const (
	Acquired    Result = "acquired"    // level 1 entered
	Reentered   Result = "reentered"   // a further level entered
	Refused     Result = "refused"     // another owner holds the lock
	Exhausted   Result = "exhausted"   // no retry is left
	Released    Result = "released"    // level 1 left, the lock deleted
	Decremented Result = "decremented" // a further level left
	Renewed     Result = "renewed"     // the lease begins again
	NotHeld     Result = "not-held"    // nothing was there to unlock
	Lost        Result = "lost"        // the lease was lost
	Failed      Result = "error"       // Redis could not be asked, or said no
)
