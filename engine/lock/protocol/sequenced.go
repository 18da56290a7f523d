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

// Sequenced is Reentrant with a number for each call, which Redis keeps beside
// the count: a copy of an earlier call that comes late has a smaller one and is
// refused, and so is an owner that comes through another Locker. A release
// deletes the number with the lock. Where a first acquisition went unanswered
// it may still be on its way then; so the release leaves its own number in a
// key beside the lock's.
//
// Renewals have no number. A late one finds its owner's lock or nothing, and
// makes a lease at most one lease longer.
// Source: this project; sequence numbers against duplicates as in TCP (RFC 9293,
// 3.4).
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

// overKey is where a lock's calls are noted that are over, and of which a copy
// may be on its way.
func overKey(key string) string { return Companion(key, "over") }

// IsOver tells whether a key is the one beside a lock's in which the calls are
// noted that are over.
func IsOver(key string) bool { return strings.HasSuffix(key, ":over") }

func numberedLock(all []any, r Request) []any {
	return append(all, r.Words.owner, r.Level, r.Words.lease, r.Words.locker, r.Number)
}

func numberedRelease(all []any, r Request) []any {
	return append(all, r.Words.owner, r.Level, r.Words.locker, r.Number, r.Remember.Milliseconds())
}

// Fenced is Sequenced with a token that grows with each first acquisition, in
// a key beside the lock's that never expires. The token comes with the grant,
// so that nobody can ask for somebody else's. Source: Martin Kleppmann, "How
// to do distributed locking", 2016.
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

// TokenKey is the key that counts the fencing tokens of a lock's key. In a
// cluster both are in one slot.
func TokenKey(key string) string { return Companion(key, "token") }
