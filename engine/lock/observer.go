package lock

import (
	"context"
	"time"

	"relock/engine/lock/protocol"
)

// Observer is notified of what a [Locker] does, for metrics, tracing or
// display. Nil functions are skipped. They run on the goroutine of the call, possibly
// several at once; they must return quickly and must not call the Locker. If one panics,
// the Locker gives back what the call has taken before the panic goes on.
type Observer struct {
	// Attempted is called after each attempt of a call. Ctx is the call's,
	// whether or not it has ended; for a renewal, which has no caller, it is
	// the context given to Lock.
	Attempted func(ctx context.Context, a Attempt)
	// Waiting is called before Lock, Lead, or an Unlock without an answer, sleeps until its
	// next attempt, and before a Do waits for another Do of the same hold.
	Waiting func(ctx context.Context, w Wait)
	// Lost is called once for each first acquisition whose lease nobody can rely on any
	// more, with the context given to Lock: as soon as the Locker knows, or when somebody
	// checks the hold's context. So is it for a hold that nothing in the program refers to
	// any more, and then with context.Background: its own went with it.
	Lost func(ctx context.Context, l Loss)
}

// unless, deferred, calls f if a program's call has not come to its end, because an
// Observer panicked or ended the goroutine. It leaves alone a run's own panics, and the
// ends of its processes: they end the run, or strike its clients like a crash.
func (s *session) unless(done *bool, f func()) {
	if !*done && s.l.windows != nil {
		f()
	}
}

// Attempt is one attempt of a call and its outcome.
type Attempt struct {
	Call

	Key    string
	Owner  Owner
	Label  string        // of WithLabel
	Since  time.Time     // when its call began, by Options.Clock
	Began  time.Time     // when it began
	Took   time.Duration // until its result was known
	Result Result
	Count  int   // the hold count in Redis' answer, else 0
	Token  int64 // the fencing token that came with the grant, else 0
	// Lease is the expiry that a lock or a renewal asks for, or that came with a message
	// to a waiter; otherwise 0.
	Lease time.Duration
	// Until is how long you can rely on the granted or renewed lease, as in [Hold.Until];
	// otherwise the zero time.
	Until time.Time
	// Err is why the attempt failed. With Released it is an ErrRefused: Redis refused the
	// message to the next waiter, which asks by itself.
	Err error
}

// Call says which call an attempt belongs to.
type Call = protocol.Call

// Names of calls.
const (
	CallLock   = protocol.CallLock
	CallUnlock = protocol.CallUnlock
	CallRenew  = protocol.CallRenew
	CallLeave  = protocol.CallLeave // a waiter stops waiting
)

// Wait is a pause between two attempts.
type Wait struct {
	Key   string
	Owner Owner
	For   time.Duration // at most; a message can end it sooner; 0: until another Do returns
	Err   error         // why: what the last attempt met
}

// Loss is the end of a lease that its owner relied on.
type Loss struct {
	Key    string
	Owner  Owner
	Label  string // of WithLabel
	Levels int    // how many were held
	Err    error  // ErrLost or ErrMaxAge
}

// Result is the outcome of an attempt.
type Result string

// The results of an [Attempt].
const (
	Acquired    Result = "acquired"    // level 1 entered
	Reentered   Result = "reentered"   // a further level entered
	Refused     Result = "refused"     // another owner holds the lock
	Exhausted   Result = "exhausted"   // no retry is left
	Released    Result = "released"    // level 1 left, the lock deleted
	Decremented Result = "decremented" // a further level left
	Renewed     Result = "renewed"     // the lease starts again
	Aged        Result = "aged"        // the hold has reached Options.MaxAge: its lease is not renewed any more
	NotHeld     Result = "not-held"    // there was nothing to unlock
	Lost        Result = "lost"        // the lease was lost
	Failed      Result = "error"       // Redis could not be reached, or answered with an error
)
