// Package lock implements a reentrant distributed lock on Redis.
//
//	locker, err := lock.New(client, lock.Options{})
//	err = locker.Do(ctx, "invoice:7", func(ctx context.Context) error {
//		return work(ctx) // ctx ends as soon as the lease cannot be relied on
//	})
//
// A lock is one hash, {owner: hold count}, with an expiry, called the lease,
// that a watchdog renews. Go has no thread identity, so the caller carries an
// [Owner]. The same owner may enter a lock again, and must leave it as many
// times:
//
//	owner := lock.NewOwner()
//	hold, err := locker.Lock(ctx, "invoice:7", owner)
//	if err != nil {
//		return err
//	}
//	defer hold.Unlock(ctx)
//	return work(hold.Context())
//
// # What it guarantees
//
// While Redis keeps its data and its clock runs evenly, at most one owner holds
// a lock at any instant of Redis' time. Acquiring, releasing and renewing are
// one script each, and the caller names the level it enters or leaves. So a
// command that reaches Redis twice counts once, and re-entry after a lost lease
// fails with [ErrLost] instead of starting again at 1. Only the owner renews or
// releases, and a renewal never shortens a lease.
//
// The context of a [Hold] ends, with a cause, as soon as a renewal learns that
// someone else has the lock. In any case it ends before the lease can have
// expired in Redis: by the client's own clock, Options.Margin before the lease
// counted from the moment the command was sent. Err, [context.Cause] and
// [Hold.Until] read the clock when they are called, so they are right during a
// partition, on a machine too busy to run its timers, and in a process that was
// stopped.
//
// # Calls without an answer
//
// A command without a reply may have run, may still be on its way, or may never
// arrive. An acquisition is sent again, with the same level, for as long as
// retries are left. When they run out, or the caller's context ends first, the
// level is given back on a context of its own ([context.WithoutCancel], limited
// by Options.Limit), after the reply if one comes. A release is sent again
// until it is answered or the limit is reached. If a repeated release is
// answered "not held" while the lease cannot have expired yet, an earlier copy
// released the lock, and the call succeeds. If the outcome stays unknown, the
// call fails with [ErrUnknown], and the lease cleans up.
//
// A copy of a call may reach Redis long after its owner has moved on. So each
// call has a number, which its retries share, and Redis keeps the latest one
// beside the count and refuses anything with a smaller one. A first acquisition
// that went unanswered is remembered after its lock is gone, in {key}:over for
// a quarter of an hour, so that a late copy cannot create a lock nobody holds.
// This is true of every protocol except [Reentrant] and [Redlock], from the
// moment Redis answers the release that ended the call. If Redis answers
// nothing until everyone has given up, a late copy can hold the lock for one
// lease.
//
// # Other protocols
//
// Options.Protocol chooses how the lock is kept. [ReentrantFair] serves waiters
// in the order they asked: the releasing script hands the lock to the head of a
// queue and notifies it. [ReentrantNotify] wakes one waiter, which then asks
// again. Both listen from the first Lock until [Locker.Close]; a lost message
// costs them only time. [Fenced] issues a token with each first acquisition
// ([Hold.Token]), for a resource that rejects older ones. [Redlock] takes a
// lock on a majority of Options.Nodes, and barely waits for the rest.
// [Reentrant] keeps {owner: hold count} and nothing else, as articles draw it,
// and has the flaw they share: a late copy of an unlock leaves a level that has
// been entered again since.
//
// # What no lease can do
//
// A holder that stalls for longer than its lease (garbage collection, a
// suspended machine) carries on as if it held the lock until it checks its
// context, and a write it has already sent may arrive later still. Redis loses
// locks when it loses data (a restart without persistence, a failover to a
// lagging replica, eviction) or when its clock jumps. Where that would do harm,
// the resource itself must reject late writes, by a fencing token or a version.
//
// # Redis client
//
// Any go-redis client will do. Commands are sent once, whatever its MaxRetries,
// and end with their context, whatever its ContextTimeoutEnabled. Set
// ContextTimeoutEnabled: without it each call costs a goroutine, and one
// without an answer lives until the client's own timeouts end it.
package lock
