// Package lock is a reentrant distributed lock on Redis.
//
// A lock is one hash, {owner: hold count}, with an expiry, the lease. An
// [Owner] is a value that the caller carries, because Go has no thread
// identity; the same owner may enter a lock again and must leave it as often:
//
//	locker, err := lock.New(client, lock.Options{Lease: 30 * time.Second})
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
// in Redis, by the client's own monotonic clock: Options.Margin before the
// moment of sending plus the lease. That holds in a partition as well.
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
// A release that was not answered can do harm in one case: a copy of it is
// held up on its way until the same owner has entered the same lock anew, and
// leaves that hold, which its holder hears of at the next renewal. The copy
// would have to name the acquisition that it releases, and Redis would have to
// know that name: but a lock is {owner: hold count} and nothing else, and the
// only part of it that can carry a name is the owner. A second field or a key
// beside it would be one more thing that can expire, be evicted or lag alone.
// So the owner is the name: where requests can be held up so long, use a new
// [Owner] for each first acquisition, and a late copy finds nothing of its
// own. Without that, the hole is as long as a request can be held up.
//
// # Other protocols
//
// [Protocol] chooses how the lock is kept. [ReentrantFair] serves first who
// asked first: the releasing script hands the lock to the head of a queue and
// tells it by a message, and Retries × Interval is how long Lock waits.
// [ReentrantNotify] wakes one waiter, which asks again. Both want a
// [Messenger], listen from the first Lock until [Locker.Close], and lose no
// more than time with a message that is lost. [Fenced] gives a token with each
// first acquisition ([Hold.Token]) for a resource that refuses older ones.
// [Redlock] takes a lock on a majority of Options.Nodes, no one of which is
// waited for longer than a twentieth of the lease. The rest are here to be
// seen failing.
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
// Use a go-redis client with ContextTimeoutEnabled, so that a context cuts a
// call short, and with MaxRetries -1, so that nothing is sent again behind
// this package's back.
package lock
