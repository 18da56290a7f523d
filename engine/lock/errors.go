package lock

import (
	"errors"
	"fmt"

	"relock/engine/lock/protocol"
)

// Errors that a caller may want to decide on, with [errors.Is].
var (
	// ErrNotAcquired: the lock was not had. It is joined with the context's
	// error where that ended the waiting.
	ErrNotAcquired = errors.New("lock: not acquired")
	// ErrHeld: another owner holds the lock, or the same owner through another
	// Locker. It comes with ErrNotAcquired.
	ErrHeld = errors.New("lock: held by another owner")
	// ErrNotHeld: what was to be unlocked is not held. Nothing was changed.
	ErrNotHeld = errors.New("lock: not held")
	// ErrLost: the lease ended, or the lock was taken away, while this owner
	// still believed in it. ErrLost is also an ErrNotHeld.
	ErrLost = fmt.Errorf("lock: lease lost (%w)", ErrNotHeld)
	// ErrMaxAge: the watchdog stopped renewing because the hold was older
	// than Options.MaxAge. It is also an ErrLost.
	ErrMaxAge = fmt.Errorf("lock: older than the watchdog's maximum age: %w", ErrLost)
	// ErrInnerHeld: an inner level is still held; levels are left from the
	// inside out. Nothing was changed.
	ErrInnerHeld = errors.New("lock: an inner level is still held")
	// ErrUnknown: Redis did not answer, so that the fate of the call is not
	// known. It is joined with the client's error.
	ErrUnknown = errors.New("lock: no answer from Redis, fate unknown")
	// ErrWrongType: the key holds something that is no lock, or a lock of
	// another protocol. Nothing was changed.
	ErrWrongType = protocol.ErrWrongType
	// ErrReleased is the cause with which a hold's context ends at Unlock.
	ErrReleased = errors.New("lock: released")
	// ErrClosed: the Locker was closed. It comes with ErrNotAcquired.
	ErrClosed = errors.New("lock: the Locker is closed")
	// ErrOwner: an [Owner] that Lock cannot take. It comes with
	// ErrNotAcquired; nothing was sent.
	ErrOwner = errors.New("lock: bad owner")
	// ErrKey: a key that Lock cannot take. It comes with ErrNotAcquired;
	// nothing was sent.
	ErrKey = errors.New("lock: bad key")
	// ErrOptions: New or Lock was given options outside their ranges.
	ErrOptions = errors.New("lock: bad options")
)
