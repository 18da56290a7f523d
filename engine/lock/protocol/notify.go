package protocol

import _ "embed" // the scripts

var (
	//go:embed notify-wake.lua
	notifyWakeSource string
	//go:embed notify-lock.lua
	notifyLockSource string
	//go:embed notify-unlock.lua
	notifyUnlockSource string
	//go:embed notify-leave.lua
	notifyLeaveSource string
	//go:embed notify-force.lua
	notifyForceSource string

	notifyLockScript   = NewScript(CallLock, "notify-lock.lua", numberedLockSource+notifyLockSource, notifiedLock)
	notifyUnlockScript = NewScript(CallUnlock, "notify-unlock.lua", numberedUnlockSource+notifyWakeSource+notifyUnlockSource, numberedRelease)
	notifyLeaveScript  = NewScript(CallLeave, "notify-leave.lua", notifyWakeSource+notifyLeaveSource, waiterOnly)
	notifyForceScript  = NewScript(CallForce, "notify-force.lua", notifyWakeSource+notifyForceSource, nothing)
)

// Notify is Sequenced, waking one waiter by a message when the lock is free,
// the longest waiting first. That waiter asks again, and may find that someone
// was faster. Waiters that hear nothing ask after the usual retry interval. Package lock,
// on the system's clock, lets them rest: they ask when the lease can end, and ever more
// rarely before, down to once in a tenth of their lease, which is the most that a lost
// message costs.
// Source: Redisson's RLock, except that one waiter is woken instead of all.
var Notify = &Protocol{
	Name:       "reentrant-notify",
	Summary:    "reentrant-sequenced, and the releasing script wakes one waiter by a message",
	Lock:       runOn(notifyLockScript, outermost(3)),
	Unlock:     apart(runOn(notifyUnlockScript, outermost(3))),
	Renew:      Run(numberedRenewScript),
	RenewAll:   RunAll(numberedRenewScript),
	Leave:      Run(notifyLeaveScript),
	Force:      Run(notifyForceScript),
	Companions: func(key string) []string { return []string{overKey(key), waitersKey(key)} },
	Waiters:    waitersKey,
	Scripts:    []Script{notifyLockScript, notifyUnlockScript, notifyLeaveScript, numberedRenewScript},
	First:      map[string]string{CallLock: "EXISTS", CallUnlock: "HMGET", CallLeave: "ZREM"},
	Inner:      numberedInner,
	Numbered:   true,
	Levels:     true,
	Counts:     true,
}

func notifiedLock(all []any, r Request) []any {
	return append(numberedLock(all, r), notifyWaiter(r), r.Patience.Milliseconds())
}

func waiterOnly(all []any, r Request) []any { return append(all, notifyWaiter(r)) }

// notifyWaiter identifies the caller among the waiters.
func notifyWaiter(r Request) string { return r.Owner + " " + r.Inbox }

var waitersKey = beside("waiters")
