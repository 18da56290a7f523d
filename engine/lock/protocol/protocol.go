// Package protocol is how a lock can be kept in Redis: the commands and
// scripts of each call, without anything that waits, renews or remembers. That
// is package lock, which takes a [Protocol] and runs it; package exhibit has
// further protocols, to be seen failing. Nobody needs this package to use a
// lock.
package protocol

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
	"relock/engine/phrase"
)

// Step sends what one call consists of, and reads the answer.
type Step func(context.Context, Request) (Reply, error)

// Protocol is how a lock is kept: what each call sends, and what follows from
// that for whoever uses it. It is not changed once it is made, and so safe for
// concurrent use.
type Protocol struct {
	Name    string
	Summary phrase.Text // what it is, in a line
	Guard   Guard

	Lock, Unlock Step
	Renew        Step // nil: leases are not renewed
	Leave        Step // stops waiting for a message; nil where waiters poll
	Force        Step // takes the lock from whoever holds it; nil: it deletes the key

	// Companions are all keys beside a lock's own; nil is none.
	Companions func(key string) []string
	// Waiters is where those wait who are told; nil where waiters poll.
	Waiters func(key string) string
	// Scripts are those that the calls run, in the order of Call names.
	Scripts []Script
	// First is the first command of the calls whose scripts' sources do not
	// begin with it, "" for calls that ask no Redis.
	First map[string]string
	// Most is the most commands that an attempt of a call sends to one node,
	// where that is not one.
	Most map[string]int
	// Plain are the calls that run no script, as one would write them in one.
	Plain map[string]string

	// Drift is how far clocks may part during a lease: so long before its end,
	// unless told otherwise, a holder stops relying on it. Nil is a hundredth of
	// the lease and two milliseconds.
	Drift func(lease time.Duration) time.Duration

	Nodes    int  // how many nodes it has unless told, 0 where it cannot have several
	Parallel bool // all nodes are asked at once, each in a task called AskingNode
	Numbered bool // each call has a number, and Redis refuses a smaller one
	Granting bool // the lock is handed to the next waiter, and not raced for
	Naive    bool // it believes for ever what it was told once
	Hasty    bool // it pauses after each retry, not before: the first comes at once, the last pause is for nothing
	OneWatch bool // an owner's watchdog runs for the first of its holds only
	Levels   bool // it names levels, so that sending a call again does no harm
	Counts   bool // its key is a hash of hold counts
	OneRedis bool // in a cluster it could be granted twice

	// Token is the key that counts its fencing tokens and never expires; nil
	// where a grant has none.
	Token func(key string) string
}

// Guard is what is between the threads that share a lock.
type Guard int

// The guards.
const (
	InRedis   Guard = iota // a key in Redis
	InProcess              // a word in the memory of each process
	Nothing                // no lock at all
)

// Request is what one attempt of a call is about.
type Request struct {
	Words

	Client Redis
	Nodes  []Redis // Client is the first
	Lanes  *Lanes  // the owner's to the nodes; nil for calls of nobody's
	Key    string
	Owner  string
	Level  int
	Lease  time.Duration // whole milliseconds
	Clock  clock.Clock

	// Retries and Interval are the Locker's, for steps that ask nodes again.
	Retries  int
	Interval time.Duration

	// Locker tells the Locker of the call from all others, and Number the call
	// from its other calls: each has a larger one. Only where Numbered.
	Locker string
	Number int64
	// Remember is for how long Redis keeps the number of a call that ends a
	// hold: as long as a copy of an earlier call can be late. 0 where no call
	// went unanswered.
	Remember time.Duration

	// Inbox is where a waiter hears messages, and Patience for how long it may
	// go without asking; 0 where it does not wait.
	Inbox    string
	Patience time.Duration
}

// Reply is what Redis answered.
type Reply struct {
	Code  Code
	Count int           // the hold count
	Token int64         // the fencing token; 0 is none
	Now   int64         // by Redis' clock, in milliseconds, where the script says so
	PTTL  time.Duration // of the lock, where the script says so
}

// Code is the first part of a script's answer.
type Code int64

// What a script answers.
const (
	Granted Code = 1
	Refused Code = 0
	NotHeld Code = -1 // the level, or what is outside of it, is not the owner's
	Stale   Code = -2 // a call with a larger number came before: nothing was changed
)

// HasWatchdog tells whether leases are renewed.
func (p *Protocol) HasWatchdog() bool { return p.Renew != nil }

// Keys are all keys that belong to a lock's key, that one first.
func (p *Protocol) Keys(key string) []string {
	keys := []string{key}
	if p.Companions != nil {
		keys = append(keys, p.Companions(key)...)
	}
	return keys
}

var commandOf = regexp.MustCompile(`redis\.call\('([A-Z]+)'`)

// FirstCommand is the first Redis command of a call, whatever it finds:
// "EXISTS"; "" where the call asks no Redis, and for calls that do not exist.
func (p *Protocol) FirstCommand(call string) string {
	if name, ok := p.First[call]; ok {
		return name
	}
	for _, s := range p.Scripts {
		if s.Call == call {
			return commandOf.FindStringSubmatch(s.Source)[1]
		}
	}
	return ""
}

// Commands is the most commands that one attempt of a call sends to this many
// nodes, a script being one command; 0 where the call asks no Redis, or does
// not exist.
func (p *Protocol) Commands(call string, nodes int) int {
	if p.FirstCommand(call) == "" {
		return 0
	}
	if most, ok := p.Most[call]; ok {
		return most * nodes
	}
	return nodes
}

// Margin is how long before a lease's end a holder stops relying on it, unless
// told otherwise: at most half of the lease.
func (p *Protocol) Margin(lease time.Duration) time.Duration {
	drift := lease/100 + 2*time.Millisecond
	if p.Drift != nil {
		drift = p.Drift(lease)
	}
	return min(drift, lease/2)
}

// AsksRedis tells whether the lock is kept in Redis at all.
func (p *Protocol) AsksRedis() bool { return p.FirstCommand(CallLock) != "" }

// Args appends the arguments of a script to all.
type Args func(all []any, r Request) []any

// direct is a client that takes a command's words as they are, the name and the
// keys with them, and keeps them.
type direct interface {
	Send(ctx context.Context, all []any) *redis.Cmd
}

// Run makes the step that runs one script on all keys of the lock.
func Run(s Script, args Args) Step {
	const most = 9 // arguments of a script
	return func(ctx context.Context, r Request) (Reply, error) {
		w := &r.Words
		all := make([]any, 0, 2+len(w.keys)+most)
		all = append(append(all, "evalsha", s.sha), w.keys...)
		given := len(all)
		all = args(all, r)
		var cmd *redis.Cmd
		if c, ok := r.Client.(direct); ok {
			cmd = c.Send(ctx, all)
		} else {
			cmd = r.Client.EvalSha(ctx, s.SHA, w.Keys, all[given:]...)
		}
		return s.read(ctx, r.Client, w.Keys, cmd, all[given:])
	}
}

// Keyed is what all calls for one key send. It is safe for concurrent use.
type Keyed struct {
	Keys []string // of the lock, its own first

	keys []any // how many there are, and they
}

// Keyed makes what all calls for a key send.
func (p *Protocol) Keyed(key string) *Keyed {
	k := &Keyed{Keys: p.Keys(key)}
	k.keys = make([]any, 0, 1+len(k.Keys))
	k.keys = append(k.keys, len(k.Keys))
	for _, one := range k.Keys {
		k.keys = append(k.keys, one)
	}
	return k
}

// Words are what all calls of one hold send, made once.
type Words struct {
	*Keyed

	owner, lease, locker any
}

// Words makes what the calls of an owner send, through a locker, with a lease of
// whole milliseconds.
func (k *Keyed) Words(owner, locker string, lease time.Duration) Words {
	return Words{Keyed: k, owner: owner, lease: lease.Milliseconds(), locker: locker}
}

// Int sends one command outside of any script, and reads the number that
// it answers with.
func (r Request) Int(ctx context.Context, args ...any) (int64, error) {
	n, err := r.Client.Do(ctx, args...).Int64()
	if err != nil {
		return 0, fmt.Errorf("lock: %v on %q: %w", args[0], r.Key, classify(err))
	}
	return n, nil
}

// Text sends one command and reads the text that it answers with, "" for nil.
func (r Request) Text(ctx context.Context, args ...any) (string, error) {
	answer, err := r.Client.Do(ctx, args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("lock: %v on %q: %w", args[0], r.Key, classify(err))
	}
	s, _ := answer.(string) // else nil
	return s, nil
}

// Taken is the reply of a lock that has no levels.
func Taken(is bool) Reply {
	if is {
		return Reply{Code: Granted, Count: 1}
	}
	return Reply{Code: Refused}
}

// OwnerOnly are the arguments of a script that asks whose lock it is.
func OwnerOnly(all []any, r Request) []any { return append(all, r.Words.owner) }

// OwnerAndLease are those of a script that sets an expiry as well.
func OwnerAndLease(all []any, r Request) []any { return append(all, r.Words.owner, r.Words.lease) }
