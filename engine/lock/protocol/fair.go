package protocol

import (
	_ "embed" // the scripts
	"strconv"
	"strings"
	"time"
)

var (
	//go:embed fair-queue.lua
	fairQueueSource string
	//go:embed fair-lock.lua
	fairLockSource string
	//go:embed fair-unlock.lua
	fairUnlockSource string
	//go:embed fair-leave.lua
	fairLeaveSource string
	//go:embed fair-force.lua
	fairForceSource string

	fairLockScript   = NewScript(CallLock, "fair-lock.lua", queued(fairLockSource, 4))
	fairUnlockScript = NewScript(CallUnlock, "fair-unlock.lua", queued(fairUnlockSource, 3))
	fairLeaveScript  = NewScript(CallLeave, "fair-leave.lua", queued(fairLeaveSource, 3))
	fairForceScript  = NewScript(CallForce, "fair-force.lua", queued(fairForceSource, 1))
)

// queued is a script of the fair lock with what all of them share before it.
// Its grant is the argument at that place.
func queued(source string, grant int) string {
	return strings.ReplaceAll(fairQueueSource, "GRANT", "ARGV["+strconv.Itoa(grant)+"]") + source
}

// Fair is Sequenced, first come first served: the releasing script gives the
// lock to the head of the queue and tells it, so that nobody races for it and
// an acquisition under contention costs two commands. A grant is short, a
// third of the lease, until its receiver renews it, which its watchdog does: a
// waiter that died holds up the queue no longer than that. Deadlines are by
// Redis' own clock. A safety timer, which has each waiter ask every quarter of
// the lease and when the lease or the grant before it ends, covers a message
// that was lost and a grant that was not taken. Source: this project; the idea
// of direct hand-over as in java.util.concurrent's fair locks.
//
// A message to nobody (PUBLISH answers 0) passes the turn on. In a cluster
// PUBLISH counts the receivers of one node only, and a waiter that was passed
// over would take the message for a grant all the same: not for a cluster.
var Fair = &Protocol{
	Name:    "reentrant-fair",
	Summary: "reentrant-sequenced, first come first served: the releasing script hands the lock on",
	Lock: Run(fairLockScript, func(all []any, r Request) []any {
		return append(all, r.Words.owner, r.Level, r.Words.lease, Grant(r.Lease).Milliseconds(), r.Words.locker, r.Number,
			fairWaiter(r), r.Patience.Milliseconds())
	}),
	Unlock: Run(fairUnlockScript, func(all []any, r Request) []any {
		return append(all, r.Words.owner, r.Level, Grant(r.Lease).Milliseconds(), r.Words.locker, r.Number, r.Remember.Milliseconds())
	}),
	Renew: Run(renewScript, OwnerAndLease),
	Leave: Run(fairLeaveScript, func(all []any, r Request) []any {
		return append(all, r.Words.owner, fairWaiter(r), Grant(r.Lease).Milliseconds(), r.Words.locker, r.Number)
	}),
	Force: Run(fairForceScript, func(all []any, r Request) []any { return append(all, Grant(r.Lease).Milliseconds()) }),
	Companions: func(key string) []string {
		return []string{overKey(key), queueKey(key), waitersKey(key)}
	},
	Waiters:  queueKey,
	Scripts:  []Script{fairLockScript, fairUnlockScript, fairLeaveScript, renewScript},
	Numbered: true,
	Granting: true,
	OneRedis: true,
	Levels:   true,
	Counts:   true,
}

func queueKey(key string) string { return Companion(key, "queue") }

// fairWaiter is the caller as the queue knows it.
func fairWaiter(r Request) string {
	return r.Owner + " " + r.Inbox + " " + r.Locker + " " + strconv.FormatInt(r.Number, 10)
}

// Grant is how long the fair lock is kept for a waiter that has not renewed.
func Grant(lease time.Duration) time.Duration {
	return max((lease / 3).Truncate(time.Millisecond), time.Millisecond)
}
