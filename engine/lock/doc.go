// Package lock implements a reentrant distributed lock on Redis.
//
//	locker, err := lock.New(client, lock.Options{}) // one for the whole program
//	err = locker.Do(ctx, "invoice:7", func(ctx context.Context) error {
//		return work(ctx)
//	})
//
// What [Locker.Do] promises:
//
//   - It waits until the lock is free or ctx ends, calls the function, and releases the lock
//     when that returns or panics. [WithWait] bounds the wait alone.
//   - While Redis keeps its data and its clock runs evenly, nobody else is inside.
//   - The lock has a lease, 30 seconds, which is renewed as long as the process lives, for an
//     hour at most. If the process dies, the lock is free when the lease is over.
//   - The function's context ends before anybody else can get in: stop working then.
//   - A Do of the same key inside, with the function's context, enters the same lock.
//   - Errors tell what happened: [ErrHeld] somebody else has the lock, [ErrUnknown] Redis does
//     not answer, [ErrRefused] Redis says no, [ErrLost] the function was not alone to its end.
//
// What it cannot do:
//
//   - Stop work that does not mind its context, or a write that was sent before that ended.
//     Where that would do harm, the resource must refuse it: see Fencing tokens.
//   - Keep a lock that Redis loses: in a restart without persistence, a failover to a replica
//     that lags, or an eviction.
//
// # Which call fits
//
//	// A request waits briefly, and then works for as long as it has.
//	err := locker.Do(r.Context(), "invoice:7", pay, lock.WithWait(300*time.Millisecond), lock.WithLabel(host))
//
//	// A job that each pod starts at three: one does it, the others go on.
//	hold, err := locker.TryLock(ctx, "report", lock.NewOwner())
//	if errors.Is(err, lock.ErrHeld) {
//		return nil
//	}
//	if err != nil {
//		return err
//	}
//	defer hold.Unlock(ctx)
//
//	// One server of several works until somebody stops it, and another takes over.
//	err := locker.Lead(ctx, "scheduler", schedule)
//
//	// Only one instance of a program runs, and a second one says so and ends.
//	err := locker.Do(ctx, "my-program", run, lock.WithWait(time.Second))
//
// TryLock asks once, and waits for no other owner. [WithLabel] tells people who the caller
// is: they read it in [Locker.Inspect] and in errors. [Locker.Lead] steps down when the
// lease is lost and at Options.MaxAge, and comes back. The others return [ErrHeld] if
// another owner has the lock, and [ErrUnknown] if Redis does not answer: you will want to
// treat the two differently.
//
// Let Do have the hold of a guard like the last one. A hold that was dropped,
//
//	_, err := locker.Lock(ctx, "my-program", lock.NewOwner()) // wrong
//
// is renewed until the garbage collector finds that nothing refers to it any more. Then its
// lease runs out, the Observer hears of the loss, and the next instance gets in. For the same
// reason a program that runs for longer than an hour sets Options.MaxAge, and its run must
// return when its context ends.
//
// # Without Do
//
// A lock is one hash, {owner: hold count}, with an expiry, called the lease, that a watchdog
// renews. Go has no thread identity, so the caller carries an [Owner], a new one for each
// flow of work. The same owner may enter a lock again, and must leave it as many times:
//
//	owner := lock.NewOwner()
//	hold, err := locker.Lock(ctx, "invoice:7", owner)
//	if err != nil {
//		return err
//	}
//	defer hold.Unlock(ctx)
//	return work(hold.Context())
//
// # Who re-enters
//
// A flow of work that holds a lock and asks for it again gets in one level deeper, where
// another owner would wait. [Locker.Do] finds the hold in the context: a Do of the same
// key inside it goes one level deeper, one at a time; a Do of another key, or with a
// context that outlives the hold, is a separate owner. A call that would wait for its own
// context's hold fails with [ErrSelf]; [Redlock] has one level, so any call inside does.
//
//	Do(ctx, "batch", f)                        owner 1, level 1
//	├─ go Do(ctx, "customer:7", …)             owner 2
//	├─ go Do(ctx, "customer:7", …)             owner 3, waits for owner 2
//	├─ Do(ctx, "batch", …)                     owner 1, level 2
//	├─ go Do(ctx, "batch", …)                  owner 1, waits until level 2 is left
//	├─ Lock(ctx, "batch", NewOwner())          ErrSelf
//	└─ go Do(WithoutCancel(ctx), "batch", …)   owner 4, waits until f has returned
//
// Inside level 2 use the context of level 2. With that of level 1 a Do looks like one of
// another goroutine: it waits for level 2, and so for itself. The Observer hears that it
// waits because another Do of this hold is inside, and so says the error.
//
// # What it guarantees
//
// While Redis keeps its data and its clock runs evenly, at most one owner holds
// a lock at any instant of Redis' time. Acquiring, releasing and renewing are
// one script each, and the caller names the level it enters or leaves. So a
// command that reaches Redis twice counts once, and re-entry after a lost lease
// fails with [ErrLost] instead of starting again at 1. Only the owner renews or releases,
// and a renewal shortens a lease only if it is longer than the owner asked for.
//
// The context of a [Hold] ends, with a cause, as soon as a renewal learns that
// someone else has the lock. In any case it ends before the lease can have
// expired in Redis: by the client's own clock, Options.Margin before the lease
// counted from the moment the command was sent. Err, [context.Cause] and
// [Hold.Until] read the clock when they are called, so they are right during a
// partition, on a machine too busy to run its timers, and in a process that was
// stopped.
//
// # Calls without an answer, and refused ones
//
// A command without a reply may have run, may still be on its way, or may never
// arrive. One that Redis refuses for the moment (LOADING, BUSY, TRYAGAIN,
// READONLY, MASTERDOWN, CLUSTERDOWN and the like) did not run. The Locker sends both
// again, with growing pauses if Redis refused them: an acquisition with the same level,
// for as long as retries are left; a renewal until nobody can rely on the lease any more;
// a release until Options.Limit, though its caller waits no longer than
// Options.ReleaseWait. Any other refusal (a user without the right to, a full Redis) ends
// the call.
//
// If the client got no connection, it sent no command: there is nothing to give back, and
// the owners of a Locker try again in turn, a thousand of them some 330 times a second,
// whether they wait, unlock or are renewed. When one of them is answered, all ask at once.
// What is left to do when callers have gone is done by 16 goroutines at most.
//
// If an acquisition fails without an answer, the Locker gives it back, on a separate
// context ([context.WithoutCancel], limited by Options.Limit), after the reply if one
// comes. If Redis answers a repeated release with "not held" while the lease cannot have
// expired yet, an earlier copy released the lock, and the call succeeds. If the outcome
// stays unknown, the call fails with [ErrUnknown], and the lease cleans up. [ErrHeld],
// ErrUnknown and [ErrRefused] tell apart a busy lock, a dead Redis and a Redis that says
// no, even when a context ended the wait.
//
// A full Redis (OOM) has no room for another lock, but renews and releases all the same:
// the last release deletes at once, and leaving an inner level does not count down, which
// the next call makes up for.
//
// A copy of a call may reach Redis long after its owner has moved on. So each
// call has a number, which its retries share, and Redis keeps the latest one
// beside the count and refuses anything with a smaller one. If a first acquisition went
// unanswered, Redis remembers it after its lock is gone, in {key}:over for a quarter of
// an hour, so that a late copy cannot create a lock that nobody holds. This is true of
// every protocol except [Reentrant] and [Redlock], from the moment Redis answers the
// release that ended the call. If Redis answers nothing until everyone has given up, a
// late copy can hold the lock for one lease.
//
// # Fencing tokens
//
// [Fenced] issues a token with each first acquisition, for a resource that
// rejects older ones: it keeps the largest token it has seen and refuses a
// write with a smaller one, in one step with the write. In SQL,
//
//	UPDATE invoice SET state = $1, token = $2 WHERE id = $3 AND token <= $2
//
// and no row updated means that the lease was lost. [Hold.Token] returns the token;
// inside [Locker.Do], ask the hold that [HoldOf] returns. A token is larger than the last
// one, and at least Redis' time in microseconds. So tokens grow even after a restart
// without data or a failover to a lagging replica, as far as the servers' clocks agree: a
// new master whose clock is behind by more than it took to fail over may issue smaller
// ones until its clock has caught up.
//
// Redis keeps the last token of a key for Options.TokenTTL, a day: longer only if its
// clock was set back, until the clock has caught up with the token. After a day without
// the lock tokens go on from Redis' time, so they grow as long as no clock is a day
// behind the one that issued the last. If that can happen, keep them longer: each takes
// some 100 bytes.
//
// # Other protocols
//
// Options.Protocol chooses how the lock is kept. [ReentrantFair] serves waiters
// in the order they asked: the releasing script hands the lock to the head of a
// queue and notifies it. A waiter that does not ask for a third of the lease, say because
// its process was stopped, loses its place. [ReentrantNotify] wakes one waiter, which then
// asks again. Both listen from the first Lock until [Locker.Close], and ask at once when
// their subscription was lost and is there again; a lost message costs them only time: at
// most a tenth of the lease with ReentrantNotify. While the lock stays held they hardly
// ask: with the default lease, ten idle waiters of ReentrantNotify send some 10 commands a
// second, and 160 with Sequenced. [Redlock] takes a lock on a majority of Options.Nodes,
// and barely waits for the rest. [Reentrant] keeps {owner: hold count} and nothing else,
// as articles draw it, and has the flaws they share: a late copy of an unlock leaves a
// level that the owner has entered again since, and it takes an owner that comes through a
// second Locker for the same flow of work.
//
// Fenced.Synced(1, 50*time.Millisecond), and so with any other protocol in one
// Redis, follows each acquisition and each renewal with WAIT, on the same connection: the
// Locker relies on it once a replica has acknowledged it; otherwise the attempt fails
// with [ErrUnsynced], and the Locker asks again. A failover to that replica keeps the
// lock; a failover to any other replica loses it all the same. Its users need +wait.
//
// # Many locks
//
// If the renewals of several locks fall due at about the same time, within a sixteenth of
// their interval, a Locker sends them in one round trip, a thousand at most: Redis runs a
// script for each and answers each. Ten thousand locks with a lease of 3 seconds take some
// 25 round trips a second; one by one they would take 10,000. On a cluster or a ring it
// renews each lock by itself, and also with [Redlock], a Synced protocol, a client that is
// not go-redis' or your own Clock.
//
// # What no lease can do
//
// A holder that stalls for longer than its lease (garbage collection, a
// suspended machine) carries on as if it held the lock until it checks its
// context, and a write it has already sent may arrive later still. Redis loses
// locks when it loses data (a restart without persistence, a failover to a
// lagging replica, eviction) or when its clock is set forward. If that would do harm, the
// resource itself must reject late writes, by a fencing token or a version.
//
// A Redis whose clock is set back keeps its locks for that much longer. The next renewal
// gives a lock the lease that its owner asked for; a lock that nobody renews any more,
// and any lock of [Reentrant], stays until somebody releases it or the clock gets there.
//
// A client whose wall clock is set forward ends the holds whose leases are over
// by that clock: it cannot tell a clock that was set from a machine that slept.
// Nothing is lost but the work; the locks stay until they are unlocked or
// expire.
//
// A watchdog proves that the process is alive, not that its work makes
// progress: after Options.MaxAge, an hour, it stops renewing.
//
// # Redis client
//
// Any go-redis client will do, with Redis 6 or newer. The Locker sends commands once, whatever the
// client's MaxRetries, and they end with their context, whatever its ContextTimeoutEnabled. Set
// ContextTimeoutEnabled: without it each call costs a goroutine, and one without an answer lives
// until the client's own timeouts end it.
// So it is with a client that wraps one of go-redis. A hook of the client may give keys a
// prefix: locks under different prefixes are different locks.
//
// A name must not be one under which Redis keeps something of another lock: that of a lock
// with a {tag}, followed by :over, :token, :queue or :waiters ([ErrKey]).
//
// On a cluster a lock and its companions share a slot. While Redis moves the slot, a held
// lock stays held, and its owner can renew and release it, because those calls name one
// key; a first acquisition waits until the slot has moved. [ReentrantFair] needs a single
// Redis.
//
// # Rights in Redis
//
// The companions of a key invoice:7 are {invoice:7}:over, …:token, …:queue and
// …:waiters; those of a key with a {tag} are key:over and so on. So a user that
// locks invoices needs both patterns, and these commands:
//
//	ACL SETUSER app ~invoice:* ~{invoice:*
//	ACL SETUSER app +eval +evalsha +exists +hexists +hget +hmget +hgetall +hset +hdel +hincrby +pexpire +pttl +del +time
//
// with Fenced
//
//	ACL SETUSER app +incr +set +get
//
// with ReentrantNotify and ReentrantFair, which send messages,
//
//	ACL SETUSER app &lock:inbox:* +subscribe +publish
//	ACL SETUSER app +zadd +zrem +zpopmin +zscore +rpush +lpush +lpop +lrem
//
// with Redlock
//
//	ACL SETUSER app +eval +evalsha +set +get +del +pexpire
//
// and for [Locker.Inspect]
//
//	ACL SETUSER app +type +get +llen +zcard
//
// A Lock whose user has no right to listen for messages, or to send them, fails with
// ErrRefused. If Redis refuses the message of a release (somebody took the right away
// meanwhile), it is still a release: the Observer gets the refusal, and waiters ask by
// themselves.
package lock
