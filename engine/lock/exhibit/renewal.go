package exhibit

import (
	"context"
	_ "embed" // the scripts

	"relock/engine/clock"
	"relock/engine/lock/protocol"
)

var (
	//go:embed pxat-renew.lua
	pxatRenewSource string

	pxatRenewScript = protocol.NewScript(protocol.CallRenew, "pxat-renew.lua", pxatRenewSource,
		func(all []any, r protocol.Request) []any { return append(all, r.Owner, ends(r)) })
)

// ends is when a lease that begins now ends by the client's clock, in
// milliseconds since the Unix epoch. On a virtual clock, which begins there, that may
// be before it.
func ends(r protocol.Request) int64 { return clock.TimeOfDay(r.Clock).Add(r.Lease).UnixMilli() }

// MutexPXAT is the mutex that tells Redis when its lease ends instead of how long
// it lasts: an instant of the client's clock, which Redis compares with its own.
// Source: rueidislock, which sends SET NX PXAT and PEXPIREAT; ShedLock's tables
// have such an instant, too, unless the time of the database is used.
var MutexPXAT = &protocol.Protocol{
	Name:    "mutex-pxat",
	Summary: "SET NX PXAT: the lease ends at an instant of the client's clock",
	Lock: func(ctx context.Context, r protocol.Request) (protocol.Reply, error) {
		set, err := r.Text(ctx, "SET", r.Key, r.Owner, "NX", "PXAT", ends(r))
		return protocol.Taken(set == "OK"), err
	},
	Unlock:  protocol.Run(protocol.MutexUnlock),
	Renew:   protocol.Run(pxatRenewScript),
	Scripts: []protocol.Script{protocol.MutexUnlock, pxatRenewScript},
	First:   map[string]string{protocol.CallLock: "SET"},
	Plain:   map[string]string{protocol.CallLock: `SET(key, owner, 'NX', 'PXAT', now + lease)`},
}

// MutexTakeBack is the mutex whose renewal takes the lock again where it finds no
// key: that another had it meanwhile, and is done, its holder never learns.
// Source: RedLock.net, issue 48, on a single Redis.
var MutexTakeBack = &protocol.Protocol{
	Name:    "mutex-take-back",
	Summary: "a renewal that finds no key takes the lock again: a loss is never noticed",
	Lock:    setNXPX,
	Unlock:  protocol.Run(protocol.MutexUnlock),
	Renew:   protocol.Run(protocol.MutexRenewOrSet),
	Scripts: []protocol.Script{protocol.MutexUnlock, protocol.MutexRenewOrSet},
	First:   map[string]string{protocol.CallLock: "SET"},
	Plain:   map[string]string{protocol.CallLock: plainSetNXPX},
}

// MutexStrayWatchdog is the mutex whose watchdog outlives its unlock: nobody stops
// it. It asks whose key it is, so that it harms nobody while every release
// reaches Redis. Otherwise it keeps the key alive for a holder that has gone. Source:
// Redisson, issue 7272, where a cancel that comes before the renewal is scheduled finds
// nothing to cancel.
var MutexStrayWatchdog = func() *protocol.Protocol {
	p := *Mutex
	p.Name = "mutex-stray-watchdog"
	p.Keep = nil // its watchdog would renew the key that is kept
	p.Summary = "a mutex whose unlock does not stop its watchdog: it renews for nobody"
	return &p
}()
