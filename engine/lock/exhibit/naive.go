package exhibit

import (
	_ "embed" // the scripts

	"relock/engine/lock/protocol"
)

var (
	//go:embed naive-lock.lua
	naiveLockSource string
	//go:embed naive-unlock.lua
	naiveUnlockSource string

	naiveLockScript   = protocol.NewScript(protocol.CallLock, "naive-lock.lua", naiveLockSource, ownerAndNanoseconds)
	naiveUnlockScript = protocol.NewScript(protocol.CallUnlock, "naive-unlock.lua", naiveUnlockSource, protocol.OwnerOnly)
)

// ReentrantNaive is the hash lock of the article "Golang+Redis distributed
// reentrant lock" (2021), with its mistakes: a lease in nanoseconds where Redis
// takes milliseconds; a watchdog that renews at once, then without checking the
// owner, runs once in a lifetime and is stopped after the unlock; and no word
// to the holder when the lease is lost. Unlike the article's, its watchdog keeps
// its beat when a renewal is slow.
var ReentrantNaive = &protocol.Protocol{
	Name:    "reentrant-naive",
	Summary: "the first article's hash lock: a lease in the wrong unit, a watchdog that does not check the owner",
	Lock:    protocol.Run(naiveLockScript),
	Unlock:  protocol.Run(naiveUnlockScript),
	Renew:   pexpire,
	Scripts: []protocol.Script{naiveLockScript, naiveUnlockScript},
	First:   map[string]string{protocol.CallRenew: "PEXPIRE"},
	Plain:   map[string]string{protocol.CallRenew: plainRenewal},
	Counts:  true,
}

// ownerAndNanoseconds makes the article's mistake.
func ownerAndNanoseconds(all []any, r protocol.Request) []any {
	return append(all, r.Owner, r.Lease.Nanoseconds())
}
