package lock

import (
	"errors"
	"fmt"

	"relock/engine/lock/protocol"
)

// Errors that a caller may want to act on; test for them with [errors.Is].
var (
	// ErrNotAcquired: the lock was not acquired. It comes with the reason that
	// the last attempt met (ErrHeld, ErrUnknown, ErrRefused, …), and with the
	// context's error if that ended the wait.
	ErrNotAcquired = errors.New("lock: not acquired")
	// ErrHeld: another owner holds the lock, or the same owner through another
	// Locker. It comes with ErrNotAcquired.
	ErrHeld = errors.New("lock: held by another owner")
	// ErrSelf: the call would wait for itself. Its context derives from a hold of the
	// same key that another owner has or another Locker made, and ends when that is
	// released. It comes with ErrNotAcquired, is also an ErrHeld, and nothing was sent.
	ErrSelf = fmt.Errorf("lock: this context holds it already: %w", ErrHeld)
	// errInside is the ErrHeld of a Do that waits for another under the same hold.
	errInside error = insideError{}
	// ErrNotHeld: the hold to unlock is not held. Nothing was changed.
	ErrNotHeld = errors.New("lock: not held")
	// ErrLost: the lease expired, or the lock was taken away, while this owner
	// still relied on it. ErrLost is also an ErrNotHeld.
	ErrLost = fmt.Errorf("lock: lease lost (%w)", ErrNotHeld)
	// ErrMaxAge: the watchdog stopped renewing because the hold was older than
	// Options.MaxAge. ErrMaxAge is also an ErrLost.
	ErrMaxAge = fmt.Errorf("lock: older than the watchdog's maximum age: %w", ErrLost)
	// ErrInnerHeld: an inner level is still held; levels must be left from the
	// inside out. Nothing was changed.
	ErrInnerHeld = errors.New("lock: an inner level is still held")
	// ErrUnknown: Redis did not answer, so the outcome of the call is unknown.
	// It comes with the client's error.
	ErrUnknown = errors.New("lock: no answer from Redis, fate unknown")
	// ErrRefused: Redis answered, and refused to run the call: it is loading its
	// data, busy, full or a replica, or the user has no right to. It comes with Redis'
	// own message. Nothing was changed.
	ErrRefused = protocol.ErrRefused
	// ErrUnsynced, with ErrUnknown, fails a call of a Synced protocol that Redis has
	// carried out and too few of its replicas have acknowledged.
	ErrUnsynced = protocol.ErrUnsynced
	// ErrWrongType: the key holds something other than a lock, or a lock of
	// another protocol. Nothing was changed.
	ErrWrongType = protocol.ErrWrongType
	// ErrReleased is the cause of a hold's context after Unlock.
	ErrReleased = errors.New("lock: released")
	// ErrClosed: the Locker is closed. It comes with ErrNotAcquired.
	ErrClosed = errors.New("lock: the Locker is closed")
	// ErrOwner: Lock was given an invalid [Owner]. It comes with
	// ErrNotAcquired; nothing was sent.
	ErrOwner = errors.New("lock: bad owner")
	// ErrKey: Lock was given an invalid key. It comes with ErrNotAcquired;
	// nothing was sent.
	ErrKey = errors.New("lock: bad key")
	// ErrOptions: New or Lock was given options outside their ranges.
	ErrOptions = errors.New("lock: bad options")
)

type insideError struct{}

// Error implements error.
func (insideError) Error() string { return "lock: another Do of this hold is inside" }

// Unwrap returns ErrHeld.
func (insideError) Unwrap() error { return ErrHeld }
