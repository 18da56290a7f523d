package lock

import (
	"context"
	"errors"
	"time"

	"relock/engine/lock/protocol"
)

// Lead runs f under the lock of key, again and again until ctx ends: of all that lead by one
// key, only one is inside at a time. F is for continuous work, like that of the one server
// that starts the jobs. It gets the hold's context, and must return when that ends: once the
// lease is lost, and at Options.MaxAge, when the leader steps down. Then, and also while
// another holds the lock, or Redis does not answer or cannot run anything just now, Lead
// tries to come back.
//
// If f returns while its context goes on, Lead returns f's error: nil if its work is done.
// Otherwise it fails with ctx's cause once ctx has ended, and, like Lock, with errors that
// no further try would mend: ErrRefused for a user without the right to, ErrWrongType,
// ErrKey, ErrOptions, ErrSelf, ErrClosed.
func (l *Locker) Lead(ctx context.Context, key string, f func(ctx context.Context) error, options ...LockOption) error {
	for failed := 0; ; {
		over, err := l.term(ctx, key, f, options)
		switch {
		case over:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			failed = 0
			continue
		}
		failed++
		if l.o.Clock.Sleep(ctx, max(pause(l.o.Interval, failed), time.Millisecond)) != nil {
			return context.Cause(ctx)
		}
	}
}

// term is one term of a leader. Over says that no other follows; else an error says why it
// did not begin.
func (l *Locker) term(ctx context.Context, key string, f func(ctx context.Context) error, options []LockOption) (over bool, err error) {
	hold, err := l.Lock(ctx, key, NewOwner(), options...)
	if err != nil {
		mends := errors.Is(err, ErrUnknown) || errors.Is(err, ErrLost) || errors.Is(err, ErrHeld) && !errors.Is(err, ErrSelf) || protocol.Passing(err)
		return !mends && ctx.Err() == nil, err
	}
	defer func() { _ = hold.leave(ctx) }() // if it stays unknown, the end of the lease frees the lock
	work := hold.Context()
	err = f(work)
	if work.Err() == nil {
		return true, err
	}
	return false, nil
}
