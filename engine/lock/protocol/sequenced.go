package protocol

import (
	"context"
	_ "embed" // the scripts
	"strings"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed numbered-lock.lua
	numberedLockSource string
	//go:embed numbered-unlock.lua
	numberedUnlockSource string
	//go:embed numbered-renew.lua
	numberedRenewSource string
	//go:embed sequenced-lock.lua
	sequencedLockSource string
	//go:embed sequenced-unlock.lua
	sequencedUnlockSource string
	//go:embed sequenced-over.lua
	sequencedOverSource string
	//go:embed fenced-lock.lua
	fencedLockSource string
	//go:embed force.lua
	forceSource string

	sequencedLockScript   = NewScript(CallLock, "sequenced-lock.lua", numberedLockSource+sequencedLockSource, numberedLock)
	sequencedUnlockScript = NewScript(CallUnlock, "sequenced-unlock.lua", numberedUnlockSource+sequencedUnlockSource, numberedRelease)
	sequencedOverScript   = NewScript(CallUnlock, "sequenced-over.lua", numberedUnlockSource+sequencedOverSource, numberedRelease)
	fencedLockScript      = NewScript(CallLock, "fenced-lock.lua", numberedLockSource+fencedLockSource, fencedLock)
	numberedRenewScript   = NewScript(CallRenew, "numbered-renew.lua", numberedRenewSource, numberedRenewal)
	forceScript           = NewScript(CallForce, "force.lua", forceSource, nothing)
)

// Sequenced is Reentrant plus a number for each call, which Redis keeps beside
// the count. A late copy of an earlier call has a smaller number and is
// refused, and so is an owner that comes through another Locker. A release
// deletes the number with the lock. A first acquisition that went unanswered
// may still be on its way then, so in that case the release leaves its own
// number in a key beside the lock's.
//
// A renewal has the number of its owner's last call. If more than the lease is left,
// because Redis' clock was set back, it sets the lease again, unless a call with a larger
// number came: a late renewal finds its owner's lock or nothing, and extends a lease by
// at most one lease. Source: this project; sequence numbers against duplicates as in TCP
// (RFC 9293, 3.4).
var Sequenced = &Protocol{
	Name:       "reentrant-sequenced",
	Summary:    "reentrant, and each call has a number: Redis refuses one that comes late",
	Lock:       runOn(sequencedLockScript, outermost(2)),
	Unlock:     apart(sequencedRelease),
	Renew:      Run(numberedRenewScript),
	RenewAll:   RunAll(numberedRenewScript),
	Companions: func(key string) []string { return []string{overKey(key)} },
	Scripts:    []Script{sequencedLockScript, sequencedUnlockScript, numberedRenewScript},
	First:      numberedFirst,
	Inner:      numberedInner,
	Numbered:   true,
	Levels:     true,
	Counts:     true,
}

// overKey is the key that remembers finished calls of which a copy may still
// arrive.
var overKey = beside("over")

// IsOver reports whether key is such a key.
func IsOver(key string) bool { return strings.HasSuffix(key, ":over") }

func numberedLock(all []any, r Request) []any {
	return append(all, r.Words.owner, r.Level, r.Words.lease, r.Words.locker, r.Number)
}

// nothing appends no arguments.
func nothing(all []any, _ Request) []any { return all }

func fencedLock(all []any, r Request) []any {
	return append(numberedLock(all, r), max(r.TokenTTL, r.Lease).Milliseconds()) // longer than the lock, which may be asked for again
}

func numberedRenewal(all []any, r Request) []any {
	return append(OwnerAndLease(all, r), r.Words.locker, r.Number)
}

func numberedRelease(all []any, r Request) []any {
	return append(all, r.Words.owner, r.Level, r.Words.locker, r.Number, r.Remember.Milliseconds())
}

// The first commands of numbered calls: in their scripts the shared functions
// come before what is run first.
var (
	numberedFirst = map[string]string{CallLock: "EXISTS", CallUnlock: "HMGET"}
	numberedInner = map[string]string{CallLock: "HMGET"}
)

// outermost returns how many keys a call needs: so many at level 1, and further
// in the lock's alone.
func outermost(n int) func(Request) int {
	return func(r Request) int {
		if r.Level > 1 {
			return 1
		}
		return n
	}
}

var sequencedRelease = runOn(sequencedUnlockScript, func(r Request) int {
	if r.Remember > 0 {
		return 2
	}
	return 1
})

// apart returns the release that goes on key by key where a cluster is moving
// the slot: there Redis answers TRYAGAIN to several keys of which one is
// missing, and serves each alone. Waiters are then not woken: they ask by
// themselves.
func apart(release Step) Step {
	return func(ctx context.Context, r Request) (Reply, error) {
		reply, err := release(ctx, r)
		if err == nil || !redis.HasErrorPrefix(refusal(err), "TRYAGAIN") {
			return reply, err
		}
		if r.Remember > 0 {
			over := r
			over.Keyed = keyed(overKey(r.Key))
			if _, err := sequencedOver(ctx, over); err != nil {
				return Reply{}, err
			}
			r.Remember = 0
		}
		return sequencedRelease(ctx, r)
	}
}

var sequencedOver = Run(sequencedOverScript)

// Fenced is Sequenced with a token that grows with each first acquisition: at
// least Redis' time in microseconds, and more than the last one, which a key
// beside the lock's keeps for Request.TokenTTL from when the clock shows it. So tokens
// grow even where Redis lost that key (a restart without data, a fail-over to a lagging
// replica) or it has expired, as far as the servers' clocks agree. The token comes with
// the grant, so nobody can fetch someone else's. Source: Martin Kleppmann, "How to do distributed locking",
// 2016; the time as in hybrid logical clocks (Kulkarni et al., 2014).
var Fenced = &Protocol{
	Name:       "fenced",
	Summary:    "reentrant-sequenced, and each first acquisition gets a token that only grows",
	Lock:       runOn(fencedLockScript, outermost(3)),
	Unlock:     apart(sequencedRelease),
	Renew:      Run(numberedRenewScript),
	RenewAll:   RunAll(numberedRenewScript),
	Companions: func(key string) []string { return []string{overKey(key), TokenKey(key)} },
	Token:      TokenKey,
	Scripts:    []Script{fencedLockScript, sequencedUnlockScript, numberedRenewScript},
	First:      numberedFirst,
	Inner:      numberedInner,
	Numbered:   true,
	Levels:     true,
	Counts:     true,
}

// TokenKey returns the key that keeps the last fencing token of a lock. In a
// cluster both keys are in one slot.
var TokenKey = beside("token")
