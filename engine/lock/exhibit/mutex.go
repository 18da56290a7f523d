package exhibit

import (
	"context"
	_ "embed" // the scripts

	"relock/engine/lock/protocol"
)

// Mutex is a string with the owner as its value, set with its expiry by one
// command and deleted only by its owner. It is not reentrant: a holder that
// asks again is refused like anyone else. Source: the pattern of redis.io's
// "Distributed Locks with Redis", with a watchdog that checks the owner.
var Mutex = &protocol.Protocol{
	Name:    "mutex",
	Summary: "SET NX PX with a random value, deleted by its owner only: not reentrant",
	Lock:    setNXPX,
	Unlock:  protocol.Run(protocol.MutexUnlock),
	Renew:   protocol.Run(protocol.MutexRenew),
	Keep:    protocol.Run(protocol.MutexKeep),
	Scripts: []protocol.Script{protocol.MutexUnlock, protocol.MutexRenew},
	First:   map[string]string{protocol.CallLock: "SET"},
	Plain:   map[string]string{protocol.CallLock: plainSetNXPX},
}

// MutexDelex is the mutex without a script for its release: DELEX IFEQ compares
// and deletes in one command. Redis has it since 8.4, Valkey since 9.2; any other
// refuses each release, and the key stays for its lease. Source: the
// documentation of DELEX, which names this use.
var MutexDelex = &protocol.Protocol{
	Name:    "mutex-delex",
	Summary: "SET NX PX, released by DELEX IFEQ: one command and no script, from Redis 8.4 on",
	Lock:    setNXPX,
	Unlock: func(ctx context.Context, r protocol.Request) (protocol.Reply, error) {
		n, err := r.Int(ctx, "DELEX", r.Key, "IFEQ", r.Owner)
		return protocol.Reply{Code: protocol.Code(n*2 - 1)}, err // 1 deleted, -1 it had no key there
	},
	Renew:   protocol.Run(protocol.MutexRenew),
	Scripts: []protocol.Script{protocol.MutexRenew},
	First:   map[string]string{protocol.CallLock: "SET", protocol.CallUnlock: "DELEX"},
	Plain: map[string]string{
		protocol.CallLock:   plainSetNXPX,
		protocol.CallUnlock: `DELEX(key, 'IFEQ', owner)`,
	},
}

var (
	//go:embed own-value-lock.lua
	ownValueLockSource string

	ownValueLockScript = protocol.NewScript(protocol.CallLock, "own-value-lock.lua", ownValueLockSource,
		func(all []any, r protocol.Request) []any { return append(protocol.OwnerAndLease(all, r), r.Level) })
)

// MutexOwnValue is the mutex whose SET NX also succeeds if the value that refuses it is
// its own: a lost reply, or a request that the client sent again by itself, does no harm.
// A nested call is still refused: libraries draw a new value for each acquisition, and
// here the level stands for that. Source: bsm/redislock and redlock-rb, which compare the
// value in a script.
var MutexOwnValue = &protocol.Protocol{
	Name:    "mutex-own-value",
	Summary: "SET NX PX in a script that lets its own value in: a lost reply is harmless",
	Lock:    protocol.Run(ownValueLockScript),
	Unlock:  protocol.Run(protocol.MutexUnlock),
	Renew:   protocol.Run(protocol.MutexRenew),
	Scripts: []protocol.Script{ownValueLockScript, protocol.MutexUnlock, protocol.MutexRenew},
}

const plainSetNXPX = `SET(key, owner, 'NX', 'PX', lease)`

func setNXPX(ctx context.Context, r protocol.Request) (protocol.Reply, error) {
	set, err := r.Text(ctx, "SET", r.Key, r.Owner, "NX", "PX", r.Lease.Milliseconds())
	return protocol.Taken(set == "OK"), err
}

// pexpire renews the lease, no matter who holds it.
func pexpire(ctx context.Context, r protocol.Request) (protocol.Reply, error) {
	n, err := r.Int(ctx, "PEXPIRE", r.Key, r.Lease.Milliseconds())
	return protocol.Reply{Code: protocol.Code(n*2 - 1)}, err // 1 renewed, -1 there was no key
}

const plainRenewal = `PEXPIRE(key, lease)`

// MutexBlind is the mutex of the article "Golang+Redis distributed mutex"
// (2021). Its release checks the owner. Its watchdog does not: it renews as
// soon as the lock is taken, ignores every answer, and is stopped after the
// release. A refused caller tries again at once, and pauses after each retry,
// even the last. The article has a lease of 200 ms, renews every 100 ms, and
// retries five times, 50 ms apart.
var MutexBlind = &protocol.Protocol{
	Name:    "mutex-blind",
	Summary: "the second article's mutex: its watchdog renews without asking whose key it is",
	Lock:    setNXPX,
	Unlock:  protocol.Run(protocol.MutexUnlock),
	Renew:   pexpire,
	Scripts: []protocol.Script{protocol.MutexUnlock},
	First:   map[string]string{protocol.CallLock: "SET", protocol.CallRenew: "PEXPIRE"},
	Plain:   map[string]string{protocol.CallLock: plainSetNXPX, protocol.CallRenew: plainRenewal},
}

// MutexGetDel is the flaw that the same article names: it checks the owner and
// deletes the key in two commands, and between them the lock can become
// another's.
var MutexGetDel = &protocol.Protocol{
	Name:    "mutex-get-del",
	Summary: "SET NX PX, released by GET and then DEL: another can get in between",
	Lock:    setNXPX,
	Unlock: func(ctx context.Context, r protocol.Request) (protocol.Reply, error) {
		holder, err := r.Text(ctx, "GET", r.Key)
		if err != nil || holder != r.Owner {
			return protocol.Reply{Code: protocol.NotHeld}, err
		}
		n, err := r.Int(ctx, "DEL", r.Key)
		return protocol.Reply{Code: protocol.Code(n*2 - 1)}, err // 1 deleted, -1 there was no key
	},
	First: map[string]string{protocol.CallLock: "SET", protocol.CallUnlock: "GET"},
	Most:  map[string]int{protocol.CallUnlock: 2},
	Plain: map[string]string{
		protocol.CallLock: plainSetNXPX,
		protocol.CallUnlock: `if GET(key) == owner then
  DEL(key)
end`,
	},
	Begin: map[string]string{protocol.CallLock: `-- Takes the lock if nobody has it.
-- KEYS[1]  the lock
-- ARGV[1]  owner
-- ARGV[3]  lease in milliseconds
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3]) then
  return 1
end
return 0
`},
}

// MutexUnsafe is what many write first: three commands, between any of which
// the client may die, and a delete that does not check the owner.
var MutexUnsafe = &protocol.Protocol{
	Name:    "mutex-unsafe",
	Summary: "SETNX, then PEXPIRE, then a plain DEL: three commands",
	Lock: func(ctx context.Context, r protocol.Request) (protocol.Reply, error) {
		n, err := r.Int(ctx, "SETNX", r.Key, r.Owner)
		if err != nil || n == 0 {
			return protocol.Reply{}, err
		}
		_, err = r.Int(ctx, "PEXPIRE", r.Key, r.Lease.Milliseconds())
		return protocol.Taken(err == nil), err
	},
	Unlock: func(ctx context.Context, r protocol.Request) (protocol.Reply, error) {
		n, err := r.Int(ctx, "DEL", r.Key)
		return protocol.Reply{Code: protocol.Code(n*2 - 1)}, err // 1 deleted, -1 there was no key
	},
	First: map[string]string{protocol.CallLock: "SETNX", protocol.CallUnlock: "DEL"},
	Most:  map[string]int{protocol.CallLock: 2},
	Plain: map[string]string{
		protocol.CallLock: `if SETNX(key, owner) == 1 then
  PEXPIRE(key, lease)
end`,
		protocol.CallUnlock: `DEL(key)`,
	},
	Begin: map[string]string{protocol.CallUnlock: `-- Deletes the lock, whoever has it.
-- KEYS[1]  the lock
return redis.call('DEL', KEYS[1])
`},
}
