package exhibit

import (
	"context"
	_ "embed" // the script

	"relock/engine/lock/protocol"
)

var (
	//go:embed value-lock.lua
	valueLockSource string

	valueLockScript = protocol.NewScript(protocol.CallLock, "value-lock.lua", valueLockSource, protocol.OwnerAndLease)
)

// Value admits anyone who finds its own value in the key, and counts nothing:
// any unlock, even an inner one, releases everything. Re-entry does not renew
// the lease, and there is no watchdog. Source: the Java and Lua lock of the
// article on re-entry by equal values (2019); its local spin lock is [Spin].
var Value = &protocol.Protocol{
	Name:    "value",
	Summary: "equal value means mine: re-entry without a count, any unlock releases all",
	Lock:    protocol.Run(valueLockScript),
	Unlock:  protocol.Run(protocol.MutexUnlock),
	Scripts: []protocol.Script{valueLockScript, protocol.MutexUnlock},
}

// SetnxHash is a string that is set and then used as a hash, which Redis
// refuses: the first acquisition ends in WRONGTYPE and leaves the key behind.
// Source: the Python lock of the article on SETNX with HSET.
var SetnxHash = &protocol.Protocol{
	Name:    "setnx-hash",
	Summary: "SETNX of a string, then a hash on the same key: WRONGTYPE",
	Lock: func(ctx context.Context, r protocol.Request) (protocol.Reply, error) {
		n, err := r.Int(ctx, "SETNX", r.Key, r.Owner)
		if err != nil {
			return protocol.Reply{}, err
		}
		if n == 1 {
			if _, err = r.Int(ctx, "PEXPIRE", r.Key, r.Lease.Milliseconds()); err != nil {
				return protocol.Reply{}, err
			}
			_, err = r.Int(ctx, "HSET", r.Key, "count", 1)
			return protocol.Taken(err == nil), err
		}
		holder, err := r.Text(ctx, "GET", r.Key)
		if err != nil || holder != r.Owner {
			return protocol.Reply{}, err
		}
		count, err := r.Int(ctx, "HINCRBY", r.Key, "count", 1)
		return protocol.Reply{Code: protocol.Granted, Count: int(count)}, err
	},
	Unlock: func(ctx context.Context, r protocol.Request) (protocol.Reply, error) {
		count, err := r.Int(ctx, "HINCRBY", r.Key, "count", -1)
		if err != nil || count > 0 {
			return protocol.Reply{Code: protocol.Granted, Count: int(count)}, err
		}
		_, err = r.Int(ctx, "DEL", r.Key)
		return protocol.Reply{Code: protocol.Granted}, err
	},
	First: map[string]string{protocol.CallLock: "SETNX", protocol.CallUnlock: "HINCRBY"},
	Most:  map[string]int{protocol.CallLock: 3, protocol.CallUnlock: 2},
	Plain: map[string]string{
		protocol.CallLock: `if SETNX(key, owner) == 1 then
  PEXPIRE(key, lease)
  HSET(key, 'count', 1)
elseif GET(key) == owner then
  HINCRBY(key, 'count', 1)
end`,
		protocol.CallUnlock: `if HINCRBY(key, 'count', -1) <= 0 then
  DEL(key)
end`,
	},
	Begin: map[string]string{protocol.CallUnlock: `-- Leaves one level of the lock: its two commands, in one script.
-- KEYS[1]  the lock
if redis.call('HINCRBY', KEYS[1], 'count', -1) <= 0 then
  redis.call('DEL', KEYS[1])
end
return 1
`},
}

// None admits everybody.
var None = &protocol.Protocol{
	Name:    "none",
	Summary: "no lock at all",
	Guard:   protocol.Nothing,
	Lock: func(_ context.Context, r protocol.Request) (protocol.Reply, error) {
		return protocol.Reply{Code: protocol.Granted, Count: r.Level}, nil
	},
	Unlock: func(_ context.Context, r protocol.Request) (protocol.Reply, error) {
		return protocol.Reply{Code: protocol.Granted, Count: r.Level - 1}, nil
	},
	First: map[string]string{protocol.CallLock: "", protocol.CallUnlock: ""},
}
