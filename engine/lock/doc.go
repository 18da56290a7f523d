// Package lock is a reentrant distributed lock on Redis.
//
//	locker, err := lock.New(client, lock.Options{})
//	err = locker.Do(ctx, "invoice:7", func(ctx context.Context) error {
//		return work(ctx) // ctx ends as soon as the lease cannot be relied on
//	})
//
// A lock is one hash, {owner: hold count}, with an expiry, the lease, which a
// watchdog renews. An [Owner] is a value that the caller carries, because Go has
// no thread identity; the same owner may enter a lock again and must leave it as
// often:
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
// While Redis keeps its data and its clock runs evenly, at most one owner
// holds a lock at any instant of Redis' time. An acquisition, a release and a
// renewal are one script each, and the caller names the level that it enters
// or leaves: a command that Redis got twice counts once, and re-entry after a
// lost lease is refused with [ErrLost] instead of starting again at 1. Only
// the owner renews or releases, and a renewal never shortens a lease.
//
// The context of a [Hold] ends, with a cause, as soon as a renewal is told
// that the lock is another's, and in any case before the lease can have ended
// in Redis, by the client's own clock: Options.Margin before the moment of
// sending plus the lease. Whoever asks it (Err, [context.Cause], [Hold.Until])
// is answered by the clock at that instant, also in a partition, on a machine
// that is too busy to run its timers, and in a process that was stopped.
//
// # The fate of a call that was not answered
//
// A command without a reply may have been run, may still be on its way, or
// may never arrive. An acquisition is then sent again, level and all, as far
// as the retries go; when they end, and when the caller's context ends first,
// the level is given back on a context of its own ([context.WithoutCancel],
// limited by Options.Limit), after the reply where one comes. A release is
// sent again until it is answered or the limit is over. When the answer to
// such a second release is "not held" and the lease cannot have ended yet,
// the first one did it. What stays unknown is [ErrUnknown], and the lease
// ends it.
//
// A copy of a call may reach Redis when its owner has long gone on. Each call
// therefore has a number, which its retries keep, and Redis keeps the last one
// beside the count: what comes with a smaller one is refused. A first
// acquisition that went unanswered is remembered beyond its lock's end, in
// {key}:over and for a quarter of an hour, so that its copy cannot make a lock
// that nobody holds. That holds for all protocols but [Reentrant] and
// [Redlock], as soon as Redis has answered the release that ended the call;
// where Redis answers nothing at all until everybody has given up, a copy can
// hold the lock for one lease.
//
// # Other protocols
//
// Options.Protocol chooses how the lock is kept. [ReentrantFair] serves first
// who asked first: the releasing script hands the lock to the head of a queue
// and tells it by a message. [ReentrantNotify] wakes one waiter, which asks
// again. Both listen from the first Lock until [Locker.Close], and lose no more
// than time with a message that is lost. [Fenced] gives a token with each first
// acquisition ([Hold.Token]) for a resource that refuses older ones. [Redlock]
// takes a lock on a majority of Options.Nodes, and waits for the others hardly
// longer than for those. [Reentrant] keeps {owner: hold count} and nothing
// else, as articles draw it, and has their hole: a late copy of an unlock
// leaves a level that was entered anew.
//
// # What no lease can
//
// A holder that stands still (garbage collection, a stopped machine) for
// longer than its lease goes on as if it held the lock until it looks at its
// context; a write that it had already sent may arrive later still. Redis
// that loses data (a restart without persistence, a fail-over to a replica
// that lags, eviction) or whose clock jumps, loses locks. Where that would do
// harm, the resource itself must refuse late writes, with a fencing token or
// a version.
//
// # Redis client
//
// Any client of go-redis will do: commands are sent once, whatever its
// MaxRetries, and end with their context, whatever its ContextTimeoutEnabled.
// Without ContextTimeoutEnabled each call takes a goroutine, and one that is
// not answered lives until the client's own timeouts end it: set it.
package lock
