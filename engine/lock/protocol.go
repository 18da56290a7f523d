package lock

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
)

// Protocol names how a lock is kept. Only Reentrant and the ones built on it
// are for use; the others are here because they are in use, to be seen failing.
type Protocol string

// The protocols. See their files for what each is, and for its source.
const (
	Reentrant       Protocol = "reentrant"        // the package's own; the zero value means it
	ReentrantNotify Protocol = "reentrant-notify" // Reentrant, one waiter woken by a message
	ReentrantFair   Protocol = "reentrant-fair"   // Reentrant, first come first served
	Fenced          Protocol = "fenced"           // Reentrant, with a fencing token for each first acquisition
	ReentrantNaive  Protocol = "reentrant-naive"  // a hash lock that trusts its watchdog
	Mutex           Protocol = "mutex"            // SET NX PX and an owner-checked delete: not reentrant
	MutexUnsafe     Protocol = "mutex-unsafe"     // SETNX, PEXPIRE and DEL
	Value           Protocol = "value"            // equal value means mine: re-entry without a count
	SetnxHash       Protocol = "setnx-hash"       // SETNX, and a hash on the same key
	Redlock         Protocol = "redlock"          // Mutex on a majority of independent nodes
	Spin            Protocol = "spin"             // compare and swap in the memory of one process
	None            Protocol = "none"             // no lock
)

// protocol is what a call of each kind does to Redis.
type protocol struct {
	lock, unlock, renew func(context.Context, steps) (reply, error) // renew is nil without a watchdog
	scripts             []Script
	first               map[string]string // the first command of each call that runs no script
	most                map[string]int    // the most commands that a call sends to a node, where that is not one
	naive               bool              // it believes for ever what it was told once

	// For protocols whose waiters are told.
	leave func(context.Context, steps) (reply, error) // stops waiting; nil for those that poll
	keys  func(steps) []string
	fair  bool // the lock is given, and not raced for
}

// steps is what a call is about.
type steps struct {
	client Redis
	key    string
	owner  string
	level  int
	lease  time.Duration
	memory *Memory
	nodes  []Redis
	clock  clock.Clock

	inbox    string
	patience time.Duration
}

func protocols() map[Protocol]protocol {
	return map[Protocol]protocol{
		Reentrant: reentrant(), ReentrantNotify: notify(), ReentrantFair: fair(), Fenced: fenced(), ReentrantNaive: reentrantNaive(),
		Mutex: mutex(), MutexUnsafe: mutexUnsafe(), Value: value(), SetnxHash: setnxHash(), Redlock: redlock(), Spin: spin(), None: none(),
	}
}

// Scripts returns the scripts that a protocol sends, and none for one that
// does not exist.
func (p Protocol) Scripts() []Script { return protocols()[p].scripts }

var commandOf = regexp.MustCompile(`redis\.call\('([A-Z]+)'`)

// HasWatchdog tells whether the protocol renews leases.
func (p Protocol) HasWatchdog() bool { return protocols()[p].renew != nil }

// First is the first Redis command of a call, whatever it finds: "EXISTS"; ""
// where the call needs none.
func (p Protocol) First(call string) string {
	found := protocols()[p]
	if name, ok := found.first[call]; ok {
		return name
	}
	for _, s := range found.scripts {
		if s.call == call {
			return commandOf.FindStringSubmatch(s.Source)[1]
		}
	}
	return ""
}

// Commands is the most commands that one attempt of a call sends to this many
// nodes, a script being one command; 0 where the call needs no Redis, or the
// protocol has no such call.
func (p Protocol) Commands(call string, nodes int) int {
	if p.First(call) == "" {
		return 0
	}
	if most, ok := protocols()[p].most[call]; ok {
		return most * nodes
	}
	return nodes
}

// scripted is a call that runs one script.
func scripted(s Script, keys func(steps) []string, args func(steps) []any) func(context.Context, steps) (reply, error) {
	return func(ctx context.Context, at steps) (reply, error) {
		return s.run(ctx, at.client, keys(at), args(at)...)
	}
}

func lockKey(at steps) []string { return []string{at.key} }

func ownerOnly(at steps) []any { return []any{at.owner} }

func ownerAndLease(at steps) []any { return []any{at.owner, at.lease.Milliseconds()} }

func ownerLevelAndLease(at steps) []any { return []any{at.owner, at.level, at.lease.Milliseconds()} }

func ownerAndLevel(at steps) []any { return []any{at.owner, at.level} }

// number sends one command outside of any script, and reads the number that
// it answers with.
func (at steps) number(ctx context.Context, args ...any) (int64, error) {
	n, err := at.client.Do(ctx, args...).Int64()
	if err != nil {
		return 0, fmt.Errorf("lock: %v on %q: %w", args[0], at.key, err)
	}
	return n, nil
}

// text sends one command and reads the text that it answers with, "" for nil.
func (at steps) text(ctx context.Context, args ...any) (string, error) {
	answer, err := at.client.Do(ctx, args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("lock: %v on %q: %w", args[0], at.key, err)
	}
	s, _ := answer.(string) // else nil
	return s, nil
}
