// Package protocol has the ways to keep a lock in Redis: the commands and
// scripts of each call, without anything that waits, renews or remembers.
// Package lock does that for a [Protocol]. Package exhibit has more protocols,
// made to show how locks fail. To use a lock you do not need this package.
package protocol

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
	"relock/engine/phrase"
)

// Step sends the commands of one call and reads the answer.
type Step func(context.Context, Request) (Reply, error)

// Protocol describes how a lock is kept: what each call sends, and what its
// users need to know. It is never changed once made, and so is safe for
// concurrent use.
type Protocol struct {
	Name    string
	Summary phrase.Text // what it is, in one line
	Guard   Guard
	Base    *Protocol // of the lock [Own]: the one whose calls it has; else nil

	Lock, Unlock Step
	Renew        Step // nil: leases are not renewed
	RenewAll     All  // Renew for several locks of one server at once; nil: it cannot
	Leave        Step // stops waiting for a message; nil where waiters poll
	Force        Step // takes the lock from its holder; nil: it deletes the key
	Keep         Step // leaves the key for as long as the request's lease instead of Unlock; nil: it cannot. See Kept

	// Companions returns all keys beside a lock's own; nil if there are none.
	Companions func(key string) []string
	// Waiters returns the key that lists the waiters; nil if waiters poll.
	Waiters func(key string) string
	// Scripts are the scripts of the calls, in the order of Call names.
	Scripts []Script
	// First is the first command of the calls whose source does not begin with
	// it, "" for calls that send nothing.
	First map[string]string
	// Inner is First for the levels above 1, of the calls that begin otherwise
	// there.
	Inner map[string]string
	// Most is the most commands that one attempt of a call sends to one node,
	// where that is not one.
	Most map[string]int
	// Plain has what calls send beside their scripts, written as if in one.
	Plain map[string]string
	// Begin is a script that a user's lock can begin with if this one has none: it does
	// what the call does.
	Begin map[string]string

	// Drift is how far clocks may diverge during a lease: by default a holder
	// stops relying on its lease this long before the end. Nil means a
	// hundredth of the lease plus two milliseconds.
	Drift func(lease time.Duration) time.Duration

	// Replicas is how many of its Redis' replicas must have acknowledged a lock or a
	// renewal before it is trusted; 0: none. See Synced.
	Replicas int

	Nodes    int  // the default number of nodes, 0 if it cannot have several
	Parallel bool // nodes are asked at once, each in a task named AskingNode
	Numbered bool // each call has a number, and Redis refuses a smaller one
	Once     bool // a release that gets no answer is not sent again
	Granting bool // the lock is handed to the next waiter instead of raced for
	Levels   bool // calls name levels, so sending one again does no harm
	Counts   bool // its key is a hash of hold counts
	OneRedis bool // in a cluster it could be granted twice, so it needs a single Redis

	// Token returns the key that keeps its last fencing token, for Request.TokenTTL;
	// nil if it issues none.
	Token func(key string) string
}

// Guard is what keeps the threads that share a lock apart.
type Guard int

// The guards.
const (
	InRedis   Guard = iota // a key in Redis
	InProcess              // a word in the memory of each process
	Nothing                // no lock at all
)

// Request is what one attempt of a call needs.
type Request struct {
	Words

	Client Redis
	Nodes  []Redis // Client first
	Lanes  *Lanes  // the owner's to the nodes; nil for calls without an owner
	node   int     // which of Nodes it goes to
	Key    string
	Owner  string
	Level  int
	Lease  time.Duration // whole milliseconds
	Clock  clock.Clock

	// GivesBack is set for an unlock of a level under which nothing was done: it may never
	// have been granted, or nobody waited for it any more.
	GivesBack bool

	// Retries and Interval are the Locker's, for steps that ask nodes again.
	Retries  int
	Interval time.Duration

	// Locker identifies the Locker of the call, and Number the call within it:
	// later calls have larger numbers. A renewal has the number of the owner's last call.
	// Used only if the protocol is Numbered.
	Locker string
	Number int64
	// Remember is how long Redis keeps the number of a call that ends a hold:
	// as long as a copy of an earlier call can be late. 0 if every call was
	// answered.
	Remember time.Duration

	// TokenTTL is how long Redis keeps the last fencing token without another lock, at
	// least for the lease. Used only if the protocol has tokens.
	TokenTTL time.Duration

	// Inbox is the channel on which a waiter gets messages, and Patience how
	// long it may go without asking; 0 if it does not wait.
	Inbox    string
	Patience time.Duration
}

// Reply is Redis' answer.
type Reply struct {
	Code  Code
	Count int           // the hold count
	Token int64         // the fencing token; 0 is none
	Now   int64         // by Redis' clock, in milliseconds; only of a Granting protocol's lock
	PTTL  time.Duration // of the lock; 0 if the script does not tell
	// Unsent is why Redis refused to send a message to a waiter, an ErrRefused;
	// else nil. The call itself was carried out.
	Unsent error
}

// Code is the first part of a script's answer.
type Code int64

// Answers of scripts.
const (
	Granted Code = 1
	Refused Code = 0
	NotHeld Code = -1 // the level, or a level outside it, is not the owner's
	Stale   Code = -2 // a later call came first: nothing was changed
)

// HasWatchdog reports whether leases are renewed.
func (p *Protocol) HasWatchdog() bool { return p.Renew != nil }

// Keys returns all keys of a lock, its own first.
func (p *Protocol) Keys(key string) []string {
	keys := []string{key}
	if p.Companions != nil {
		keys = append(keys, p.Companions(key)...)
	}
	return keys
}

var commandOf = regexp.MustCompile(`redis\.call\('([A-Z]+)'`)

// FirstCommand returns the first Redis command of a call at a level, such as "EXISTS"; ""
// if the call sends nothing or does not exist.
func (p *Protocol) FirstCommand(call string, level int) string {
	if name, ok := p.Inner[call]; ok && level > 1 {
		return name
	}
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

// Commands returns the most commands that one attempt of a call sends to so
// many nodes, a script counting as one; 0 if the call sends nothing or does not
// exist.
func (p *Protocol) Commands(call string, nodes int) int {
	if p.FirstCommand(call, 1) == "" {
		return 0
	}
	if most, ok := p.Most[call]; ok {
		return most * nodes
	}
	return nodes
}

// Margin returns how long before a lease's end a holder stops relying on it by
// default: at most half of the lease.
func (p *Protocol) Margin(lease time.Duration) time.Duration {
	drift := lease/100 + 2*time.Millisecond
	if p.Drift != nil {
		drift = p.Drift(lease)
	}
	return min(drift, lease/2)
}

// AsksRedis reports whether the lock is kept in Redis at all.
func (p *Protocol) AsksRedis() bool { return p.FirstCommand(CallLock, 1) != "" }

// All sends the commands of several calls in one round trip, to a client that is
// [Together], and reads the answer to each.
type All func(context.Context, Redis, []Request) []Outcome

// Outcome is what came of one of several calls.
type Outcome struct {
	Reply Reply
	Err   error
}

// Args appends the arguments of a script to all.
type Args func(all []any, r Request) []any

// direct is a client that sends a command's words, including name and keys, as
// they are, and keeps them.
type direct interface {
	Send(ctx context.Context, all []any) *redis.Cmd
}

// Run returns the step that runs a script on the keys that it names, the lock's
// own first.
func Run(s Script) Step {
	return runOn(s, func(Request) int { return s.keys })
}

// runOn is Run on only so many of the lock's keys: a cluster that is moving a
// slot serves a script with one key, and no other.
func runOn(s Script, keys func(Request) int) Step {
	return func(ctx context.Context, r Request) (Reply, error) {
		answer, err := s.askOn(ctx, r, min(keys(r), len(r.Words.Keys)))
		if err != nil {
			return Reply{}, err
		}
		return s.reply(answer, r.Key)
	}
}

// ask has Redis run the script on the keys that it names.
func (s Script) ask(ctx context.Context, r Request) (any, error) {
	return s.askOn(ctx, r, min(s.keys, len(r.Words.Keys)))
}

// words returns what has Redis run the script on the first n of the lock's keys, and how
// many of it come before the arguments.
func (s Script) words(r Request, n int, how string, script any) (all []any, given int) {
	const most = 9 // arguments of a script
	words := r.Words.sent[n-1]
	all = make([]any, 0, 2+len(words)+most)
	all = append(append(all, how, script), words...)
	given = len(all)
	return s.args(all, r), given
}

// askOn has Redis run the script on the first n of the lock's keys.
func (s Script) askOn(ctx context.Context, r Request, n int) (any, error) {
	all, given := s.words(r, n, "evalsha", s.sha)
	var cmd *redis.Cmd
	if c, ok := r.Client.(direct); ok {
		cmd = c.Send(ctx, all)
	} else {
		cmd = r.Client.EvalSha(ctx, s.SHA, r.Words.Keys[:n], all[given:]...)
	}
	return s.read(ctx, r.Client, r.Words.Keys[:n], cmd, all[given:])
}

// Together is a client of one server that can send several commands at once.
type Together interface {
	// SendAll sends commands in one round trip, each given as its words, which it may keep,
	// and returns their answers in the same order.
	SendAll(ctx context.Context, all [][]any) []*redis.Cmd
}

// RunAll is [Run] for several calls at once.
func RunAll(s Script) All {
	return func(ctx context.Context, client Redis, rs []Request) []Outcome {
		outcomes := make([]Outcome, len(rs))
		every := make([]int, len(rs))
		for i := range rs {
			every[i] = i
		}
		unknown := s.sendAll(ctx, client, rs, every, "evalsha", s.sha, outcomes)
		if len(unknown) > 0 { // as Run, once more in full
			s.sendAll(ctx, client, rs, unknown, "eval", s.Source, outcomes)
		}
		return outcomes
	}
}

// sendAll sends some of the calls, puts down their outcomes, and returns those whose script
// Redis did not know.
func (s Script) sendAll(ctx context.Context, client Redis, rs []Request, which []int, how string, script any, outcomes []Outcome) (unknown []int) {
	all := make([][]any, len(which))
	for i, of := range which {
		all[i], _ = s.words(rs[of], min(s.keys, len(rs[of].Words.Keys)), how, script)
	}
	for i, cmd := range client.(Together).SendAll(ctx, all) {
		of := which[i]
		answer, err := cmd.Result()
		switch {
		case err == nil:
			reply, err := s.reply(answer, rs[of].Key)
			outcomes[of] = Outcome{reply, err}
		case redis.HasErrorPrefix(err, "NOSCRIPT"):
			unknown = append(unknown, of)
			fallthrough
		default:
			outcomes[of] = Outcome{Err: s.failed(rs[of].Key, err)}
		}
	}
	return unknown
}

// Keyed holds what all calls for one key send. It is safe for concurrent use.
type Keyed struct {
	Keys []string // the lock's own first

	sent [][]any // by how many keys are sent, less one: their number, then the keys
}

// Keyed returns what all calls for key send.
func (p *Protocol) Keyed(key string) *Keyed { return keyed(p.Keys(key)...) }

func keyed(keys ...string) *Keyed {
	k := &Keyed{Keys: keys, sent: make([][]any, len(keys))}
	for n := range k.sent {
		k.sent[n] = append(k.sent[n], n+1)
		for _, key := range keys[:n+1] {
			k.sent[n] = append(k.sent[n], key)
		}
	}
	return k
}

// Words are what all calls of one hold send, prepared once.
type Words struct {
	*Keyed

	owner, lease, locker any
	hold                 int64 // its number: no other through the locker has it
}

// Owner returns who makes the calls, as Redis gets it.
func (w *Words) Owner() string {
	owner, _ := w.owner.(string)
	return owner
}

// Caller holds what all calls through one locker send. It is safe for
// concurrent use.
type Caller struct {
	locker, lease any
	length        time.Duration
	holds         atomic.Int64 // for which there were words
}

// NewCaller returns what the calls through a locker send, with the lease that
// most of its holds have.
func NewCaller(locker string, lease time.Duration) *Caller {
	return &Caller{locker: locker, lease: lease.Milliseconds(), length: lease}
}

// Words returns what an owner's calls for a key send, with a lease of whole
// milliseconds.
func (c *Caller) Words(k *Keyed, owner string, lease time.Duration) Words {
	w := Words{Keyed: k, owner: owner, lease: c.lease, locker: c.locker, hold: c.holds.Add(1)}
	if lease != c.length {
		w.lease = lease.Milliseconds()
	}
	return w
}

// Int sends one command outside of any script, and returns the number it
// answers with.
func (r Request) Int(ctx context.Context, args ...any) (int64, error) {
	n, err := r.Client.Do(ctx, args...).Int64()
	if err != nil {
		return 0, fmt.Errorf("lock: %v on %q: %w", args[0], r.Key, known(args[0], Classify(err)))
	}
	return n, nil
}

// Text sends one command and returns the text it answers with, "" for nil.
func (r Request) Text(ctx context.Context, args ...any) (string, error) {
	answer, err := r.Client.Do(ctx, args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("lock: %v on %q: %w", args[0], r.Key, known(args[0], Classify(err)))
	}
	s, _ := answer.(string) // "" for nil
	return s, nil
}

// Taken returns the reply of a lock without levels.
func Taken(is bool) Reply {
	if is {
		return Reply{Code: Granted, Count: 1}
	}
	return Reply{Code: Refused}
}

// OwnerOnly appends the arguments of a script that checks the owner.
func OwnerOnly(all []any, r Request) []any { return append(all, r.Words.owner) }

// OwnerAndLease appends those of a script that also sets an expiry.
func OwnerAndLease(all []any, r Request) []any { return append(all, r.Words.owner, r.Words.lease) }
