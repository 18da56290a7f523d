package lock

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Lead runs f under the lock of key, again and again until ctx ends: of all that lead by one
// key, only one is inside at a time. F is for continuous work, like that of the one server
// that starts the jobs. It gets the hold's context, and must return when that ends: once the
// lease is lost, and at Options.MaxAge, when the leader steps down. Then Lead tries to come
// back, and it goes on trying through all that time can mend: another leads, Redis does not
// answer, is full, restarts, or lets the user in no more. The pauses between its tries grow
// to a quarter of a second; the Observer hears of each try, and of each pause with its reason.
//
// If f returns while its context goes on, Lead returns f's error: nil if its work is done.
// Otherwise it fails with ctx's cause once ctx has ended (context.Canceled, if a program
// ends that way), and, like Lock, with errors that no further try would mend: ErrKey,
// ErrWrongType, ErrSelf, ErrClosed, ErrOptions.
func (l *Locker) Lead(ctx context.Context, key string, f func(ctx context.Context) error, options ...LockOption) error {
	for failed := 0; ; {
		owner := NewOwner()
		over, err := l.term(ctx, key, owner, f, options)
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
		d := max(pause(l.o.Interval, failed), time.Millisecond)
		l.tellWait(ctx, Wait{Key: key, Owner: owner, For: d, Err: err})
		if l.o.Clock.Sleep(ctx, d) != nil {
			return context.Cause(ctx)
		}
	}
}

// term is one term of a leader. Over says that no other follows; else an error says why it
// did not begin.
func (l *Locker) term(ctx context.Context, key string, owner Owner, f func(ctx context.Context) error, options []LockOption) (over bool, err error) {
	hold, err := l.Lock(ctx, key, owner, options...)
	if err != nil {
		stays := func(reason error) bool { return errors.Is(err, reason) }
		return slices.ContainsFunc([]error{ErrKey, ErrWrongType, ErrSelf, ErrClosed, ErrOptions}, stays) && ctx.Err() == nil, err
	}
	defer func() { _ = hold.leave(ctx) }() // if it stays unknown, the end of the lease frees the lock
	work := hold.Context()
	err = f(work)
	if work.Err() == nil {
		return true, err
	}
	return false, nil
}
