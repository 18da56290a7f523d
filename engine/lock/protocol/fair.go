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

	fairLockScript   = NewScript(CallLock, "fair-lock.lua", queued(numberedLockSource+fairLockSource, 8), fairLock)
	fairUnlockScript = NewScript(CallUnlock, "fair-unlock.lua", queued(numberedUnlockSource+fairUnlockSource, 6), fairRelease)
	fairLeaveScript  = NewScript(CallLeave, "fair-leave.lua", queued(fairLeaveSource, 3), fairLeaving)
	fairForceScript  = NewScript(CallForce, "fair-force.lua", queued(fairForceSource, 1), grantOnly)
)

// queued returns a script of the fair lock, prefixed with the part they all
// share. The argument number grant is its grant.
func queued(source string, grant int) string {
	return strings.ReplaceAll(fairQueueSource, "GRANT", "ARGV["+strconv.Itoa(grant)+"]") + source
}

// Fair is Sequenced, first come first served. The releasing script hands the
// lock to the head of the queue and notifies it, so nobody races for it, and an
// acquisition under contention costs two commands. A grant lasts only a third
// of the lease until its receiver's watchdog renews it, and a place in the queue
// as long after its waiter has asked: waiters that died hold up the others no longer
// than that, all of them together. Deadlines are by Redis' own clock. Lost messages
// and unclaimed grants are covered by a safety timer: each waiter asks every quarter
// of the lease, and when the lease or the grant ahead of it ends. Source: this
// project; direct hand-over as in java.util.concurrent's fair locks.
//
// If nobody receives the message (PUBLISH answers 0), the turn passes on. In a
// cluster PUBLISH counts the receivers on one node only, so a waiter that was
// passed over could still take its message for a grant: do not use Fair on a
// cluster.
var Fair = &Protocol{
	Name:     "reentrant-fair",
	Summary:  "reentrant-sequenced, first come first served: the releasing script hands the lock on",
	Lock:     Run(fairLockScript),
	Unlock:   Run(fairUnlockScript),
	Renew:    Run(numberedRenewScript),
	RenewAll: RunAll(numberedRenewScript),
	Leave:    Run(fairLeaveScript),
	Force:    Run(fairForceScript),
	Companions: func(key string) []string {
		return []string{overKey(key), queueKey(key), waitersKey(key)}
	},
	Waiters:  queueKey,
	Scripts:  []Script{fairLockScript, fairUnlockScript, fairLeaveScript, numberedRenewScript},
	Numbered: true,
	Granting: true,
	OneRedis: true,
	Levels:   true,
	Counts:   true,
}

func fairLock(all []any, r Request) []any {
	return append(numberedLock(all, r), fairWaiter(r), r.Patience.Milliseconds(), Grant(r.Lease).Milliseconds())
}

func fairRelease(all []any, r Request) []any {
	return append(numberedRelease(all, r), Grant(r.Lease).Milliseconds())
}

func fairLeaving(all []any, r Request) []any {
	return append(all, r.Words.owner, fairWaiter(r), Grant(r.Lease).Milliseconds(), r.Words.locker, r.Number)
}

func grantOnly(all []any, r Request) []any { return append(all, Grant(r.Lease).Milliseconds()) }

var queueKey = beside("queue")

// fairWaiter identifies the caller in the queue.
func fairWaiter(r Request) string {
	return r.Owner + " " + r.Inbox + " " + r.Locker + " " + strconv.FormatInt(r.Number, 10)
}

// Grant returns how long the fair lock is kept for a waiter that has not
// renewed.
func Grant(lease time.Duration) time.Duration {
	return max((lease / 3).Truncate(time.Millisecond), time.Millisecond)
}
