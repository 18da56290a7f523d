package protocol

import (
	_ "embed" // the scripts
	"strings"
)

var (
	//go:embed sequenced-lock.lua
	sequencedLockSource string
	//go:embed sequenced-unlock.lua
	sequencedUnlockSource string
	//go:embed fenced-lock.lua
	fencedLockSource string
	//go:embed force.lua
	forceSource string

	sequencedLockScript   = NewScript(CallLock, "sequenced-lock.lua", sequencedLockSource)
	sequencedUnlockScript = NewScript(CallUnlock, "sequenced-unlock.lua", sequencedUnlockSource)
	fencedLockScript      = NewScript(CallLock, "fenced-lock.lua", fencedLockSource)
	forceScript           = NewScript(CallForce, "force.lua", forceSource)
)

// Sequenced is Reentrant plus a number for each call, which Redis keeps beside
// the count. A late copy of an earlier call has a smaller number and is
// refused, and so is an owner that comes through another Locker. A release
// deletes the number with the lock. A first acquisition that went unanswered
// may still be on its way then, so in that case the release leaves its own
// number in a key beside the lock's.
//
// Renewals have no number. A late one finds its owner's lock or nothing, and
// extends a lease by at most one lease. Source: this project; sequence numbers
// against duplicates as in TCP (RFC 9293, 3.4).
var Sequenced = &Protocol{
	Name:       "reentrant-sequenced",
	Summary:    "reentrant, and each call has a number: Redis refuses one that comes late",
	Lock:       Run(sequencedLockScript, numberedLock),
	Unlock:     Run(sequencedUnlockScript, numberedRelease),
	Renew:      Run(renewScript, OwnerAndLease),
	Companions: func(key string) []string { return []string{overKey(key)} },
	Scripts:    []Script{sequencedLockScript, sequencedUnlockScript, renewScript},
	Numbered:   true,
	Levels:     true,
	Counts:     true,
}

// overKey is the key that remembers finished calls of which a copy may still
// arrive.
func overKey(key string) string { return Companion(key, "over") }

// IsOver reports whether key is such a key.
func IsOver(key string) bool { return strings.HasSuffix(key, ":over") }

func numberedLock(all []any, r Request) []any {
	return append(all, r.Words.owner, r.Level, r.Words.lease, r.Words.locker, r.Number)
}

func numberedRelease(all []any, r Request) []any {
	return append(all, r.Words.owner, r.Level, r.Words.locker, r.Number, r.Remember.Milliseconds())
}

// Fenced is Sequenced with a token that grows with each first acquisition, in a
// key beside the lock's that never expires. The token comes with the grant, so
// nobody can fetch someone else's. Source: Martin Kleppmann, "How to do
// distributed locking", 2016.
var Fenced = &Protocol{
	Name:       "fenced",
	Summary:    "reentrant-sequenced, and each first acquisition gets a token that only grows",
	Lock:       Run(fencedLockScript, numberedLock),
	Unlock:     Run(sequencedUnlockScript, numberedRelease),
	Renew:      Run(renewScript, OwnerAndLease),
	Companions: func(key string) []string { return []string{overKey(key), TokenKey(key)} },
	Token:      TokenKey,
	Scripts:    []Script{fencedLockScript, sequencedUnlockScript, renewScript},
	Numbered:   true,
	Levels:     true,
	Counts:     true,
}

// TokenKey returns the key that counts the fencing tokens of a lock. In a
// cluster both keys are in one slot.
func TokenKey(key string) string { return Companion(key, "token") }
