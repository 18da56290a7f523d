package lock

import (
	"context"
	_ "embed" // the scripts
)

var (
	//go:embed mutex-unlock.lua
	mutexUnlockSource string
	//go:embed mutex-renew.lua
	mutexRenewSource string

	mutexUnlockScript = newScript(CallUnlock, "mutex-unlock.lua", mutexUnlockSource)
	mutexRenewScript  = newScript(CallRenew, "mutex-renew.lua", mutexRenewSource)
)

// mutex is a string with the owner as its value, set with its expiry by one
// command and deleted by its owner only. It is not reentrant: whoever holds it
// and asks again is refused like everybody else. Source: the SETNX mutex with
// a watchdog of the article "Golang+Redis distributed mutex" (2021), and the
// pattern of redis.io's "Distributed Locks with Redis".
func mutex() protocol {
	return protocol{
		lock: func(ctx context.Context, at steps) (reply, error) {
			set, err := at.text(ctx, "SET", at.key, at.owner, "NX", "PX", at.lease.Milliseconds())
			return taken(set == "OK"), err
		},
		unlock:  scripted(mutexUnlockScript, lockKey, ownerOnly),
		renew:   scripted(mutexRenewScript, lockKey, ownerAndLease),
		scripts: []Script{mutexUnlockScript, mutexRenewScript},
		first:   map[string]string{CallLock: "SET"},
	}
}

// taken is the reply of a lock that has no levels.
func taken(is bool) reply {
	if is {
		return reply{code: codeGranted, count: 1}
	}
	return reply{code: codeRefused}
}

// mutexUnsafe is what many write first: three commands, between each of which
// the client may die, and a delete that asks nobody whose lock it is.
func mutexUnsafe() protocol {
	return protocol{
		lock: func(ctx context.Context, at steps) (reply, error) {
			n, err := at.number(ctx, "SETNX", at.key, at.owner)
			if err != nil || n == 0 {
				return reply{}, err
			}
			_, err = at.number(ctx, "PEXPIRE", at.key, at.lease.Milliseconds())
			return taken(err == nil), err
		},
		unlock: func(ctx context.Context, at steps) (reply, error) {
			n, err := at.number(ctx, "DEL", at.key)
			return reply{code: n*2 - 1}, err // 1 deleted, -1 there was no key
		},
		first: map[string]string{CallLock: "SETNX", CallUnlock: "DEL"},
		most:  map[string]int{CallLock: 2},
		naive: true,
	}
}
