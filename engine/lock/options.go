package lock

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"relock/engine/clock"
)

// NoWatchdog as Options.Renew leaves every lease to run out.
const NoWatchdog time.Duration = -1

// DefaultMaxAge is how long a watchdog keeps a hold alive at most. A watchdog
// proves that the process lives, not that its work gets on.
const DefaultMaxAge = time.Hour

// Options say how a [Locker] takes and keeps locks.
type Options struct {
	// Protocol is how the lock is kept; "" is Reentrant.
	Protocol Protocol
	// Nodes are the independent Redises that Redlock asks, the client that New
	// is given being the first of them.
	Nodes []Redis
	// NodesInTurn has Redlock ask its nodes one after the other instead of at
	// once. A virtual clock needs it: there each is a step of its own.
	NodesInTurn bool
	// Memory is where Spin keeps its locks: those of one process share it.
	// Nil is one of the Locker's own.
	Memory *Memory
	// Lease is how long a lock lives in Redis without renewal: whole
	// milliseconds, at least one.
	Lease time.Duration
	// Renew is the watchdog's interval; 0 is a third of the lease, NoWatchdog
	// is none.
	Renew time.Duration
	// MaxAge is how old a hold may grow by renewals; 0 is DefaultMaxAge.
	MaxAge time.Duration

	// Retries is how often Lock tries again after its first attempt. What it
	// tries because of a message does not count, nor does it put off the next
	// retry. ReentrantFair keeps a waiter's place for Retries × Interval,
	// however often it asks meanwhile.
	Retries int
	// Interval lies between two attempts, plus a random time from JitterMin
	// to JitterMax.
	Interval             time.Duration
	JitterMin, JitterMax time.Duration

	// Margin is how long before the lease's end, by the client's clock, a
	// hold's context ends. 0 is a hundredth of the lease and two
	// milliseconds, and at most half of the lease: room for clocks that run
	// at unequal speed.
	Margin time.Duration
	// Limit is how long a call is waited for that no context of the caller
	// bounds: the settling of an acquisition, and a release. 0 is the lease.
	Limit time.Duration

	// Messenger is how ReentrantNotify and ReentrantFair hear that it is their
	// turn, and Inbox the channel on which this Locker listens: text without
	// white space and control characters, its own alone; "" is a random one.
	// Both are unused elsewhere.
	Messenger Messenger
	Inbox     string

	// Clock is where all time comes from; nil is the system's.
	Clock clock.Clock
	// Random draws from [0, n); nil is the system's source.
	Random func(n int64) int64
	// Observer, if set, is told what every attempt came to.
	Observer Observer
}

// Observer watches a [Locker], for metrics or a display. Its methods are
// called by the goroutine that made the attempt and must not call the Locker.
type Observer interface {
	// Attempted is called after each attempt of a call.
	Attempted(Attempt)
	// Waiting is called before Lock sleeps until its next attempt.
	Waiting(d time.Duration)
}

// Result is what an attempt came to.
type Result string

// The results of an [Attempt].
const (
	Acquired    Result = "acquired"    // level 1 entered
	Reentered   Result = "reentered"   // a further level entered
	Refused     Result = "refused"     // another owner holds the lock
	Exhausted   Result = "exhausted"   // no retry is left
	Released    Result = "released"    // level 1 left, the lock deleted
	Decremented Result = "decremented" // a further level left
	Renewed     Result = "renewed"     // the lease begins again
	NotHeld     Result = "not-held"    // nothing was there to unlock
	Lost        Result = "lost"        // the lease was lost
	Failed      Result = "error"       // Redis could not be asked, or said no
)

// Attempt is one try of a call and what it came to.
type Attempt struct {
	Call
	Result Result
	Count  int   // the hold count that Redis answered with, else 0
	Token  int64 // the fencing token that came with the grant, else 0
	Err    error
}

func (o Options) withDefaults() (Options, error) {
	bad := func(what string, given any) (Options, error) {
		return o, fmt.Errorf("%w: %s, given %v", ErrOptions, what, given)
	}
	if o.Protocol == "" {
		o.Protocol = Reentrant
	}
	if o.Inbox == "" {
		o.Inbox = "lock:inbox:" + string(NewOwner())
	}
	p, known := protocols()[o.Protocol]
	switch {
	case !known:
		return bad("Protocol must be one of the package's", o.Protocol)
	case p.leave != nil && o.Messenger == nil:
		return bad("Messenger must be given for this Protocol", o.Protocol)
	case o.Protocol == ReentrantFair && onCluster(o.Messenger):
		return bad("ReentrantFair needs one Redis or a fail-over pair: a cluster's PUBLISH counts the listeners of one node only, and so one lock could be granted twice", "a cluster")
	case !word(o.Inbox):
		return bad("Inbox must have no white space and no control characters", strconv.Quote(o.Inbox))
	case o.Lease < time.Millisecond || o.Lease%time.Millisecond != 0:
		return bad("Lease must be whole milliseconds, at least 1ms", o.Lease)
	case o.Renew < 0 && o.Renew != NoWatchdog:
		return bad("Renew must be 0, NoWatchdog or longer than 0", o.Renew)
	case o.Retries < 0:
		return bad("Retries must be 0 or more", o.Retries)
	case o.Interval < 0, o.JitterMin < 0, o.JitterMax < o.JitterMin:
		return bad("Interval and 0 ≤ JitterMin ≤ JitterMax must hold", []time.Duration{o.Interval, o.JitterMin, o.JitterMax})
	case o.MaxAge < 0, o.Margin < 0, o.Limit < 0, o.Margin >= o.Lease:
		return bad("MaxAge, Margin and Limit must be 0 or more, Margin below Lease", []time.Duration{o.MaxAge, o.Margin, o.Limit})
	}
	if o.Renew == 0 {
		o.Renew = (o.Lease / 3).Round(time.Microsecond)
	}
	if p.renew == nil {
		o.Renew = NoWatchdog
	}
	if o.MaxAge == 0 {
		o.MaxAge = DefaultMaxAge
	}
	if o.Margin == 0 {
		o.Margin = min(o.Lease/100+2*time.Millisecond, o.Lease/2)
	}
	if o.Limit == 0 {
		o.Limit = o.Lease
	}
	if o.Memory == nil {
		o.Memory = &Memory{}
	}
	if o.Clock == nil {
		o.Clock = &alarms{}
	}
	if o.Random == nil {
		o.Random = rand.Int64N
	}
	return o, nil
}
