package lock

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
	"relock/engine/lock/protocol"
)

// NoWatchdog as Options.Renew disables renewal: every lease runs out.
const NoWatchdog time.Duration = -1

// NoRetry as Options.Retries limits Lock to one attempt.
const NoRetry = -1

// Defaults of [Options].
const (
	DefaultLease    = 30 * time.Second
	DefaultInterval = 50 * time.Millisecond
	DefaultJitter   = 25 * time.Millisecond // at most, and only together with DefaultInterval
	// DefaultMaxAge is how long a watchdog keeps a hold alive. A watchdog
	// proves that the process is alive, not that its work makes progress.
	DefaultMaxAge = time.Hour
	// DefaultReleaseWait is how long a caller waits for a release: longer than Redis takes to
	// fail over or to finish a slow command, and short enough for a request.
	DefaultReleaseWait = 2 * time.Second
	// DefaultTokenTTL is how long Redis keeps the last fencing token of a lock that
	// nobody takes.
	DefaultTokenTTL = 24 * time.Hour
)

// lateAtMost is how long Redis keeps the number of a call whose earlier copies
// may still arrive: as long as Linux keeps retransmitting what a closed
// connection had left to send (tcp_retries2).
const lateAtMost = 15 * time.Minute

// Protocol is how a lock is kept in Redis: one of this package's variables.
type Protocol = *protocol.Protocol

// The protocols to choose from. Package protocol documents what each is and
// where it comes from.
var (
	Sequenced       Protocol = protocol.Sequenced // the default: reentrant, and safe against late copies of calls
	Reentrant       Protocol = protocol.Reentrant // {owner: hold count} and nothing else, as articles draw it
	ReentrantNotify Protocol = protocol.Notify    // Sequenced, waking one waiter by a message
	ReentrantFair   Protocol = protocol.Fair      // Sequenced, first come first served
	Fenced          Protocol = protocol.Fenced    // Sequenced, with a fencing token for each first acquisition
	Redlock         Protocol = protocol.Redlock   // a mutex on a majority of independent nodes: not reentrant
)

// Options configure how a [Locker] takes and keeps locks. The zero value is
// ready to use.
type Options struct {
	// Protocol is how the lock is kept; nil means Sequenced. Everyone who uses
	// a key must use the same one.
	Protocol Protocol
	// Nodes are the independent Redis servers of Redlock besides the client
	// given to New, which is the first.
	Nodes []Redis
	// Lease is how long a lock lives in Redis without renewal, in whole
	// milliseconds, at least one; 0 means DefaultLease.
	Lease time.Duration
	// Renew is the watchdog's interval; 0 means a third of the lease,
	// NoWatchdog no renewal.
	Renew time.Duration
	// MaxAge is how long renewals keep a hold alive; 0 means DefaultMaxAge.
	MaxAge time.Duration

	// Retries is how often Lock tries again after its first attempt; 0 means
	// until its context ends, NoRetry never. A waiter of ReentrantNotify or
	// ReentrantFair waits for Retries times the Interval (ReentrantNotify's with the
	// mean of the jitter), however often it asks meanwhile. With your own Clock,
	// ReentrantNotify asks exactly Retries times, and attempts prompted by a message do
	// not count.
	Retries int
	// Interval is the pause between two attempts, to which a random time from
	// JitterMin to JitterMax is added. 0 means DefaultInterval, together with
	// DefaultJitter unless JitterMax is given.
	Interval             time.Duration
	JitterMin, JitterMax time.Duration

	// Margin is how long before the lease's end, by the client's clock, a
	// hold's context ends: room for clocks that run at different speeds. 0
	// means a hundredth of the lease plus two milliseconds, and at most half of
	// the lease.
	Margin time.Duration
	// ReleaseWait is how long Unlock and Do wait for the release of level 1. If Redis has not
	// carried it out by then, it goes on in the background, until Limit, and the call fails
	// with ErrUnknown or ErrRefused. TryLock waits as long for its answer, unless you have
	// your own Clock. 0 means DefaultReleaseWait or, with your own Clock, the Limit.
	ReleaseWait time.Duration
	// Limit bounds calls that the caller's context does not: settling an acquisition, and
	// a release, with all its attempts. 0 means the lease.
	Limit time.Duration

	// TokenTTL is how long Redis keeps the key of a lock's last fencing token after a
	// first acquisition, in milliseconds, at least one, and no shorter than the lease; 0
	// means DefaultTokenTTL. Without that key the next token is Redis' time alone, which
	// is smaller if the clock was set back by more than TokenTTL.
	TokenTTL time.Duration

	// Messenger delivers the messages of ReentrantNotify and ReentrantFair; nil
	// means PubSub of the client, if that is a go-redis client. Inbox is the channel this
	// Locker listens on, which no other must share: text without white space or control
	// characters; "" means a random one. Other protocols use neither.
	Messenger Messenger
	Inbox     string
	// ID distinguishes this Locker from every other that locks the same keys at
	// the same time: text without white space, control characters, / and #. "" means a
	// random one, which suits a program. A Locker with the ID of an earlier one numbers
	// its calls above that one's: numbers begin at the system clock's microseconds, so
	// nobody must have set that clock back.
	ID string

	// Clock is the source of all time; nil means the system's clock.
	Clock clock.Clock
	// Random returns a number in [0, n); nil means the system's source.
	Random func(n int64) int64
	// Observer hears what the Locker does.
	Observer Observer
}

// LockOption configures one call of Lock.
type LockOption func(*lockOptions)

type lockOptions struct {
	lease, wait time.Duration
	label       string
}

// WithLease gives a first acquisition a lease other than Options.Lease: whole
// milliseconds, at least one. The watchdog's interval and the margin scale with
// it. A re-entry keeps the lease of the first acquisition.
func WithLease(d time.Duration) LockOption { return func(o *lockOptions) { o.lease = d } }

// WithWait bounds the wait for the lock, in addition to ctx: after d, which must be
// positive, the call fails as at the end of ctx, with [context.DeadlineExceeded]. The
// hold's context does not end with it. So a request can wait for 300 ms and then work for
// as long as it has.
func WithWait(d time.Duration) LockOption { return func(o *lockOptions) { o.wait = d } }

// WithLabel says who takes the lock, for people: [Locker.Inspect], the Observer and errors
// name it. It is no identity: two owners with one label exclude each other. It is text
// without white space and control characters, and a re-entry keeps the first acquisition's
// label. Redis stores it with the owner, so [Reentrant] and [Redlock] take an owner that
// comes through another Locker with another label for another owner.
func WithLabel(label string) LockOption { return func(o *lockOptions) { o.label = label } }

// lease is what a first acquisition says about its hold: its timing, and who has it.
type lease struct {
	label  string // "" for none
	length time.Duration
	margin time.Duration // not relied on for this long before its end
	renew  time.Duration // between renewals, or NoWatchdog
}

// of returns the lease of a call with options, and how long it waits, 0 if only its context
// limits that. It fails with ErrOptions.
func (o *Options) of(options []LockOption) (mine lease, wait time.Duration, err error) {
	mine = lease{length: o.Lease, margin: o.Margin, renew: o.Renew}
	if len(options) == 0 {
		return mine, 0, nil
	}
	const unbounded = math.MaxInt64
	given := lockOptions{lease: o.Lease, wait: unbounded}
	for _, option := range options {
		option(&given)
	}
	if err := checkLease(given.lease); err != nil {
		return lease{}, 0, err
	}
	switch {
	case given.label != "" && !word(given.label):
		return lease{}, 0, bad("a label must have no white space and no control characters", strconv.Quote(given.label))
	case given.wait <= 0:
		return lease{}, 0, bad("a wait must be positive", given.wait)
	case given.wait < unbounded:
		wait = given.wait
	}
	scale := float64(given.lease) / float64(o.Lease)
	mine = lease{given.label, given.lease, min(time.Duration(float64(o.Margin)*scale)+time.Millisecond, given.lease/2), o.Renew}
	if o.Renew != NoWatchdog {
		mine.renew = max(time.Duration(float64(o.Renew)*scale), time.Microsecond)
	}
	return mine, wait, nil
}

func bad(what string, given any) error {
	return fmt.Errorf("%w: %s, given %v", ErrOptions, what, given)
}

func checkLease(d time.Duration) error {
	if d < time.Millisecond || d%time.Millisecond != 0 {
		return bad("a lease must be whole milliseconds, at least 1ms", d)
	}
	return nil
}

// withDefaults fills in defaults, some of which depend on client, and checks
// the result.
func (o Options) withDefaults(client Redis) (Options, error) {
	if o.Protocol == nil {
		o.Protocol = Sequenced
	}
	if o.Lease == 0 {
		o.Lease = DefaultLease
	}
	if o.Interval == 0 {
		o.Interval = DefaultInterval
		if o.JitterMin == 0 && o.JitterMax == 0 {
			o.JitterMax = DefaultJitter
		}
	}
	if o.ID == "" {
		o.ID = random()
	}
	if o.Inbox == "" {
		o.Inbox = "lock:inbox:" + o.ID
	}
	if any, ok := client.(redis.UniversalClient); ok && o.Messenger == nil && o.Protocol.Leave != nil {
		o.Messenger = PubSub(any)
	}
	if err := o.check(client); err != nil {
		return o, err
	}
	switch o.Retries {
	case 0:
		o.Retries = math.MaxInt
	case NoRetry:
		o.Retries = 0
	}
	if o.Renew == 0 {
		o.Renew = (o.Lease / 3).Round(time.Microsecond)
	}
	if !o.Protocol.HasWatchdog() {
		o.Renew = NoWatchdog
	}
	if o.MaxAge == 0 {
		o.MaxAge = DefaultMaxAge
	}
	if o.TokenTTL == 0 {
		o.TokenTTL = DefaultTokenTTL
	}
	if o.Margin == 0 {
		o.Margin = o.Protocol.Margin(o.Lease)
	}
	if o.Limit == 0 {
		o.Limit = o.Lease
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if _, own := o.Clock.(clock.System); o.ReleaseWait == 0 && own {
		o.ReleaseWait = DefaultReleaseWait
	} else if o.ReleaseWait == 0 {
		o.ReleaseWait = o.Limit
	}
	o.ReleaseWait = min(o.ReleaseWait, o.Limit)
	if o.Random == nil {
		o.Random = rand.Int64N
	}
	return o, nil
}

// check rejects options outside their ranges.
func (o *Options) check(client Redis) error {
	switch {
	case o.Protocol.Leave != nil && o.Messenger == nil:
		return bad("Messenger must be given for this Protocol and client", o.Protocol.Name)
	case o.Protocol.Granting && (spreads(client) || spreads(behind(o.Messenger))):
		return bad("ReentrantFair needs one Redis or a fail-over pair: a cluster's PUBLISH counts the listeners of one node only, "+
			"and so one lock could be granted twice", "a cluster or a ring")
	case o.Protocol.Replicas > 0 && spreads(client):
		return bad("a Synced protocol needs one Redis or a fail-over pair: WAIT is about one connection", "a cluster or a ring")
	case o.Protocol.Leave != nil && (isRing(client) || isRing(behind(o.Messenger))):
		return bad("a redis.Ring sends messages to another shard than its scripts: use a cluster, or a protocol without messages", o.Protocol.Name)
	case !word(o.Inbox):
		return bad("Inbox must have no white space and no control characters", strconv.Quote(o.Inbox))
	case !word(o.ID) || strings.ContainsAny(o.ID, "/#"):
		return bad("ID must have no white space, no control characters, no / and no #", strconv.Quote(o.ID))
	case o.Renew < 0 && o.Renew != NoWatchdog:
		return bad("Renew must be 0, NoWatchdog or longer than 0", o.Renew)
	case o.Retries < NoRetry:
		return bad("Retries must be 0, NoRetry or more than 0", o.Retries)
	case o.Interval < 0, o.JitterMin < 0, o.JitterMax < o.JitterMin:
		return bad("0 ≤ Interval and 0 ≤ JitterMin ≤ JitterMax must hold", []time.Duration{o.Interval, o.JitterMin, o.JitterMax})
	case o.TokenTTL != 0 && o.TokenTTL < time.Millisecond:
		return bad("TokenTTL must be 0 or at least 1ms", o.TokenTTL)
	case o.ReleaseWait < 0:
		return bad("ReleaseWait must be 0 or more", o.ReleaseWait)
	case o.MaxAge < 0, o.Margin < 0, o.Limit < 0, o.Margin >= o.Lease && o.Lease > 0:
		return bad("MaxAge, Margin and Limit must be 0 or more, Margin below Lease", []time.Duration{o.MaxAge, o.Margin, o.Limit})
	}
	return checkLease(o.Lease)
}
