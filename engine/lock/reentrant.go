package lock

import (
	_ "embed" // the scripts
	"strings"
)

var (
	//go:embed lock.lua
	lockSource string
	//go:embed unlock.lua
	unlockSource string
	//go:embed renew.lua
	renewSource string
	//go:embed fenced-lock.lua
	fencedLockSource string

	lockScript       = newScript(CallLock, "lock.lua", lockSource)
	unlockScript     = newScript(CallUnlock, "unlock.lua", unlockSource)
	renewScript      = newScript(CallRenew, "renew.lua", renewSource)
	fencedLockScript = newScript(CallLock, "fenced-lock.lua", fencedLockSource)
)

// reentrant is this package's own lock: see the package comment.
func reentrant() protocol {
	return protocol{
		lock:    scripted(lockScript, lockKey, ownerLevelAndLease),
		unlock:  scripted(unlockScript, lockKey, ownerAndLevel),
		renew:   scripted(renewScript, lockKey, ownerAndLease),
		scripts: []Script{lockScript, unlockScript, renewScript},
	}
}

// fenced is reentrant with a token that grows with each first acquisition, in
// a key beside the lock's that never expires. The token comes with the grant,
// so that nobody can ask for somebody else's. Source: Martin Kleppmann, "How
// to do distributed locking", 2016.
func fenced() protocol {
	p := reentrant()
	p.lock = scripted(fencedLockScript, func(at steps) []string { return []string{at.key, TokenKey(at.key)} }, ownerLevelAndLease)
	p.scripts = []Script{fencedLockScript, unlockScript, renewScript}
	return p
}

// TokenKey is the key that counts the fencing tokens of a lock's key. In a
// cluster both are in one slot.
func TokenKey(key string) string { return companion(key, "token") }

// companion is a key beside a lock's, in the same slot of a cluster.
func companion(key, name string) string {
	if open := strings.IndexByte(key, '{'); open >= 0 && strings.IndexByte(key[open:], '}') > 1 {
		return key + ":" + name
	}
	return "{" + key + "}:" + name
}
