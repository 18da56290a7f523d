package lock

import (
	"context"
	_ "embed" // the script
)

var (
	//go:embed value-lock.lua
	valueLockSource string

	valueLockScript = newScript(CallLock, "value-lock.lua", valueLockSource)
)

// value lets in whoever finds its own value in the key, and counts nothing:
// any unlock, an inner one too, releases everything. Re-entry does not renew
// the lease, and there is no watchdog. Source: the Java and Lua lock of the
// article on re-entry by equal values (2019); its local spin lock is Spin.
func value() protocol {
	return protocol{
		lock:    scripted(valueLockScript, lockKey, ownerAndLease),
		unlock:  scripted(mutexUnlockScript, lockKey, ownerOnly),
		scripts: []Script{valueLockScript, mutexUnlockScript},
		naive:   true,
	}
}

// setnxHash is a string that is set and then used as a hash, which Redis
// refuses: the first acquisition ends in WRONGTYPE and leaves the key behind.
// Source: the Python lock of the article on SETNX with HSET.
func setnxHash() protocol {
	return protocol{
		lock: func(ctx context.Context, at steps) (reply, error) {
			n, err := at.number(ctx, "SETNX", at.key, at.owner)
			if err != nil {
				return reply{}, err
			}
			if n == 1 {
				if _, err = at.number(ctx, "PEXPIRE", at.key, at.lease.Milliseconds()); err != nil {
					return reply{}, err
				}
				_, err = at.number(ctx, "HSET", at.key, "count", 1)
				return taken(err == nil), err
			}
			holder, err := at.text(ctx, "GET", at.key)
			if err != nil || holder != at.owner {
				return reply{}, err
			}
			count, err := at.number(ctx, "HINCRBY", at.key, "count", 1)
			return reply{code: codeGranted, count: int(count)}, err
		},
		unlock: func(ctx context.Context, at steps) (reply, error) {
			count, err := at.number(ctx, "HINCRBY", at.key, "count", -1)
			if err != nil || count > 0 {
				return reply{code: codeGranted, count: int(count)}, err
			}
			_, err = at.number(ctx, "DEL", at.key)
			return reply{code: codeGranted}, err
		},
		first: map[string]string{CallLock: "SETNX", CallUnlock: "HINCRBY"},
		most:  map[string]int{CallLock: 3, CallUnlock: 2},
		naive: true,
	}
}

// none lets everybody in.
func none() protocol {
	free := func(_ context.Context, at steps) (reply, error) {
		return reply{code: codeGranted, count: at.level}, nil
	}
	left := func(_ context.Context, at steps) (reply, error) {
		return reply{code: codeGranted, count: at.level - 1}, nil
	}
	return protocol{lock: free, unlock: left, first: map[string]string{CallLock: "", CallUnlock: ""}, naive: true}
}
