package lock

import (
	"context"
	_ "embed" // the scripts
)

var (
	//go:embed naive-lock.lua
	naiveLockSource string
	//go:embed naive-unlock.lua
	naiveUnlockSource string

	naiveLockScript   = newScript(CallLock, "naive-lock.lua", naiveLockSource)
	naiveUnlockScript = newScript(CallUnlock, "naive-unlock.lua", naiveUnlockSource)
)

// reentrantNaive is the hash lock of the article "Golang+Redis distributed
// reentrant lock" (2021), with its mistakes: a lease in nanoseconds where
// Redis takes milliseconds, a watchdog that renews at once and then asks
// nobody whose lock it is, that runs once in a lifetime and is stopped after
// the unlock, and no word to the holder when the lease was lost.
func reentrantNaive() protocol {
	return protocol{
		lock: scripted(naiveLockScript, lockKey, func(at steps) []any {
			return []any{at.owner, at.lease.Nanoseconds()} // the article's mistake
		}),
		unlock: scripted(naiveUnlockScript, lockKey, ownerOnly),
		renew: func(ctx context.Context, at steps) (reply, error) {
			n, err := at.number(ctx, "PEXPIRE", at.key, at.lease.Milliseconds())
			return reply{code: n*2 - 1}, err // 1 renewed, -1 there was no key
		},
		scripts: []Script{naiveLockScript, naiveUnlockScript},
		first:   map[string]string{CallRenew: "PEXPIRE"},
		naive:   true,
	}
}
