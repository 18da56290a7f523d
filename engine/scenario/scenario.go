// Package scenario reads and writes scenarios: which threads make which
// business call under which lock, what goes wrong, and what result is expected.
//
// A scenario is YAML, or JSON with the same keys. A bad one is rejected as a
// whole, with all its mistakes.
package scenario

import (
	"cmp"
	"math"
	"slices"
	"time"

	"relock/engine/check"
	"relock/engine/lock/protocol"
)

// Limits, each with its reason.
const (
	MaxScript    = 16 << 10       // bytes of a script: ten times the longest lock's
	MaxArgs      = 16             // of a script: twice as many as any lock's
	MaxKeys      = 9              // of a script
	MaxWord      = 64             // characters of an argument or a reply that is given as it is: a cell of the table
	MaxBytes     = 64 << 10       // of a file: a thousand times the usual size, and still cheap to parse
	MaxThreads   = 16             // columns that a person can still follow
	MaxName      = 12             // characters of a thread's name: the head of a column
	MaxTitle     = 120            // characters: a line
	MaxKey       = 64             // characters of the lock's key: a cell of the table
	MaxDepth     = 16             // levels: deeper recursion shows nothing new
	MaxRepeat    = 100            // rounds of a thread
	MaxRetries   = 1000           // of one acquisition
	MaxResends   = 20             // of a request, by the client itself: what ioredis does
	MaxInterval  = time.Minute    // between retries, and of their jitter
	MaxDuration  = time.Hour      // of a lease, of work, of a start: within a run's limits
	MaxFaults    = 64             // the list is written by hand
	MaxDecisions = 10_000         // of a schedule: as many as the longest runs have
	MaxChoice    = 255            // every thread, its watchdog, and its request to each node
	MaxPassage   = 24 * time.Hour // by which a person lets time pass at once
	MaxDelays    = 8              // of explored schedules: two dozen decisions and eight delays make more orders than anybody waits for
	MaxStruck    = 4              // faults of explored schedules
	MaxExplored  = 8              // claims of a scenario
	MaxNodes     = 9              // of a quorum: more show nothing new
	MaxSize      = 1_000_000      // of a resource and its limit
	MaxSeed      = 1<<63 - 1      // survives every JSON reader
	MaxDrift     = 50 * Percent   // of a clock, either way: far beyond any that is not broken
)

// MaxSchedule is the last instant of a run, 146 years after its beginning: a lease of
// MaxDuration that a lock takes for a million times as much ends before it. Nothing
// happens later, so the instants of every order that a search finds can be written down.
const MaxSchedule = math.MaxInt64 / 2 / time.Hour * time.Hour

// Values of Scenario.Policy.
const (
	PolicyInOrder = "in-order"
	PolicyRandom  = "random"
)

// Values of Thread.OnLost.
const (
	OnLostIgnore = "ignore"
	OnLostStop   = "stop"
)

// Values of Retry.Wait.
const (
	WaitPoll   = "poll"   // ask again after an interval
	WaitNotify = "notify" // wait for a message, and ask again after an interval
)

// Unlimited as Retry.Times means asking until the lock is granted.
const Unlimited = -1

// NoKey is the key of a lock that is not known: of others' clients, whose lock nobody has
// named, and none was seen.
const NoKey = "?"

// Scenario says what to run. Parse returns it; it is not changed afterwards. The tags of
// its fields and of its parts' name their keys, in the order in which JSON has them; what
// is tagged omitzero is rare.
type Scenario struct {
	Title    string    `json:"title,omitzero"`
	Kind     string    `json:"kind,omitzero"` // KindLock or KindHeartbeat
	Lock     Lock      `json:"lock"`
	Locks    []string  `json:"locks,omitzero"`    // the keys of several locks that are all like Lock, 2 to MaxLocks, whose key is the first; nil: there is one lock
	Resource *Resource `json:"resource,omitzero"` // what the lock protects, or nil
	Threads  []Thread  `json:"threads"`           // with the scenario's defaults filled in
	Faults   []Fault   `json:"faults,omitzero"`
	Seed     uint64    `json:"seed"`              // 0 to MaxSeed
	Policy   string    `json:"policy"`            // PolicyInOrder or PolicyRandom
	Schedule []Move    `json:"schedule,omitzero"` // made before the policy's choices
	Expect   *Expect   `json:"expect,omitzero"`

	scriptLines map[string]int // by call: the line of the text before its script
}

// Lock is the lock that the threads contend for.
type Lock struct {
	Protocol string        `json:"protocol"`          // a name of Protocols
	Key      string        `json:"key"`               // as people see it
	Kind     check.Kind    `json:"kind,omitzero"`     // who may be inside at once, if the file says so
	Lease    time.Duration `json:"lease"`             // whole milliseconds, 1ms to MaxDuration
	Watchdog time.Duration `json:"watchdog"`          // the renewal interval; 0 is off; unused if the protocol does not renew
	MaxHold  time.Duration `json:"max-hold,omitzero"` // the watchdog renews a hold for so long at most, 1ms to MaxDuration; 0: an hour, and an article's for ever
	Keep     time.Duration `json:"keep,omitzero"`     // the last release leaves the key for so long, 1ms to MaxDuration; 0: it deletes it
	Wait     Sync          `json:"wait,omitzero"`     // the replicas that must have acknowledged a lock or a renewal
	// MinReplicas are those that a master must have heard from lately, or it takes no
	// writes; its Of is 0. Source: min-replicas-to-write of redis.conf.
	MinReplicas Sync    `json:"min-replicas,omitzero"`
	Retry       Retry   `json:"retry"`
	Nodes       int     `json:"nodes"`
	Like        string  `json:"-"` // of an own lock, the one that it is like; else ""
	Scripts     Scripts `json:"-"` // of an own lock
	// Convention, of an own lock, says how its scripts are called and what they return,
	// where that is not the usual way.
	Convention protocol.Convention `json:"-"`
	// ReleaseOnce, for a user's own lock: its client does not send a release again if it
	// got no answer.
	ReleaseOnce bool `json:"-"`
}

// Retry says how a refused acquisition is tried again.
type Retry struct {
	Times    int           `json:"times"`    // 0 to MaxRetries, or Unlimited
	Interval time.Duration `json:"interval"` // 1ms to MaxInterval
	Wait     string        `json:"wait"`     // WaitPoll or WaitNotify: what the protocol does
	Jitter   Range         `json:"jitter"`   // added to Interval, 0 to MaxInterval
	// GiveBack, for several locks: a thread that is refused any lock but its first stops
	// asking, releases what it has, waits, and begins again with its first, Times times.
	GiveBack bool `json:"give-back,omitzero"`
}

// Pause returns how long a thread waits between two attempts.
func (r Retry) Pause() Range { return Range{r.Interval + r.Jitter.Min, r.Interval + r.Jitter.Max} }

// Drawn reports whether anything that a person sees is drawn with the seed.
func (s *Scenario) Drawn() bool {
	return s.Policy == PolicyRandom || slices.ContainsFunc(s.Threads, func(t Thread) bool {
		pause := t.Retry.Pause()
		return t.Work.Min < t.Work.Max || pause.Min < pause.Max || t.Depth > 1 && t.After.Min < t.After.Max
	})
}

// Endless returns the names of the threads that ask until they have the lock.
func (s *Scenario) Endless() []string {
	var names []string
	for _, t := range s.Threads {
		if t.Retry.Times == Unlimited {
			names = append(names, t.Name)
		}
	}
	return names
}

// Values of Scenario.Kind.
const (
	KindLock      = "lock"      // threads make a business call under a lock
	KindHeartbeat = "heartbeat" // the first thread is a device that keeps its key alive, the others check it
)

// Values of Resource.Kind.
const (
	KindCounter   = "counter"   // work reads it and writes one more
	KindStock     = "stock"     // work checks whether any is left and takes one
	KindPurchases = "purchases" // work counts its user's purchases and, within the limit, buys once more
	KindEffect    = "effect"    // work looks whether it was done and, if not, does it: an invoice, a mail, the tick of a schedule
)

// Values of Resource.Checks, beside "".
const (
	ChecksToken   = "token"   // it refuses writes with an older fencing token than it has seen
	ChecksVersion = "version" // it refuses writes whose thread has read an older version: compare and set
	ChecksKey     = "key"     // it does once what comes with the same idempotency key
)

// resourceChecks are the checks that a resource of each kind can make, in the order in
// which the kinds are explained. An effect outside, say a mail, has no version that
// somebody could have read; and a key belongs to something to be done once.
var resourceChecks = []struct {
	kind   string
	checks []string
}{
	{KindCounter, []string{ChecksToken, ChecksVersion}},
	{KindStock, []string{ChecksToken, ChecksVersion}},
	{KindPurchases, []string{ChecksToken, ChecksVersion}},
	{KindEffect, []string{ChecksToken, ChecksKey}},
}

// ChecksOf returns the values that Resource.Checks may have for a kind, beside ""; for
// an unknown kind those of all.
func ChecksOf(kind string) []string {
	var all []string
	for _, one := range resourceChecks {
		if one.kind == kind {
			return one.checks
		}
		for _, check := range one.checks {
			if !slices.Contains(all, check) {
				all = append(all, check)
			}
		}
	}
	return all
}

// Resource is what the lock protects: the work of each level reads it at the
// beginning and writes it at the end.
type Resource struct {
	Kind   string `json:"kind"`
	Size   int    `json:"size"`            // its initial value, for purchases that of each user: 0 to MaxSize
	Limit  int    `json:"limit"`           // for KindPurchases, how many each user may buy: 1 to MaxSize; else 0
	Checks string `json:"checks,omitzero"` // what it refuses: one of ChecksOf its kind, or ""

	// Of KindEffect: work does it without looking whether it was done, and how often it
	// is due, once in this time from when it was first done; 0: once.
	Blind   bool          `json:"looks,omitzero"`
	OncePer time.Duration `json:"once-per,omitzero"`
}

// Range is a duration drawn from Min to Max, both included.
type Range struct{ Min, Max time.Duration }

// Thread is a virtual thread and its business call.
type Thread struct {
	Name    string        `json:"name"`
	Start   time.Duration `json:"start"`            // 0 to MaxDuration
	Takes   Takes         `json:"takes,omitzero"`   // of several locks, which ones and in which order: one at each level
	Depth   int           `json:"depth"`            // acquisitions in all, 1 to MaxDepth; of several locks as many as it takes
	Work    Range         `json:"work"`             // per level, before it makes its nested call if it makes one, 0 to MaxDuration
	After   Range         `json:"after,omitzero"`   // per level but the innermost, when its nested call has returned, 0 to MaxDuration
	Calls   string        `json:"calls,omitzero"`   // names of its functions, outermost first, with spaces between; levels beyond have none
	Repeat  int           `json:"repeat"`           // rounds, 1 to MaxRepeat
	OnLost  string        `json:"on-lost"`          // OnLostIgnore or OnLostStop
	Process string        `json:"process,omitzero"` // such as a server; its threads share memory, which only spin uses
	User    string        `json:"user,omitzero"`    // whom it buys for, used only by KindPurchases; "" means a user of its own, see BuysFor
	Drift   Drift         `json:"drift,omitzero"`   // of its clock, -MaxDrift to MaxDrift

	// ClientRetries is how often its client sends a request again by itself while
	// nobody answers, 0 to MaxResends.
	ClientRetries int   `json:"client-retries,omitzero"`
	Retry         Retry `json:"retry"` // the lock's unless the thread has its own
}

// BuysFor returns the user the thread buys for: by default its own, named like
// the thread.
func (t Thread) BuysFor() string { return cmp.Or(t.User, t.Name) }

// Fault is what goes wrong, and where: in a thread (Thread, At, Level, Round)
// or to Redis itself (Timed, Time).
type Fault struct {
	Thread  string        `json:"thread"`
	At      string        `json:"at"`
	Level   int           `json:"level"`   // 1 to the thread's depth; 0: any, of a renewal
	Round   int           `json:"round"`   // 1 to the thread's repeat
	Command int           `json:"command"` // of a call, from 1: which of its commands
	Timed   bool          `json:"-"`
	Time    time.Duration `json:"time"` // since the run began
	Do      string        `json:"do"`

	Error  string        `json:"error"`  // of an answer with an error: its code, one of fault.Codes
	For    time.Duration `json:"for"`    // of a pause, a delay, a late copy and an outage; 0 of an outage: until it is up
	Scope  string        `json:"scope"`  // of a pause: fault.ScopeAll or fault.ScopeWork
	By     time.Duration `json:"by"`     // of a clock jump, either way
	Behind int           `json:"behind"` // of a fail-over: writes that the replica never got
	// Replica is of a fail-over where the lock waits for replicas: the one that takes
	// over, 1 to Lock.Wait.Of; the first Lock.Wait.Count have what was acknowledged.
	Replica int           `json:"replica"`
	Node    int           `json:"node"` // of a fault of Redis itself, 1 to the lock's nodes
	Keep    bool          `json:"keep"` // of a restart: with its data
	Lose    time.Duration `json:"lose"` // of a restart that does not keep them: only what was written in the last so long is gone; 0: all
}

// Move is one entry of a schedule: a choice of who moves or, between two
// choices, something a person did.
type Move struct {
	Choice int           // which of the tasks that can move does, 0 (ready longest) to MaxChoice
	Until  time.Duration // if positive: nobody moves, and time passes to this instant
	Fault  *Fault        // if not nil: this fault strikes; it has no Level, Round or Time
}

// Expect is the expected result of a run, and of exploring its schedules.
type Expect struct {
	Violations *[]string         `json:"violations,omitzero"` // exactly these rules are broken; nil: not checked
	Outcome    map[string]string `json:"outcome,omitzero"`    // thread to how it ended
	Explore    []Explored        `json:"explore,omitzero"`    // what comes of all schedules within some bounds
}

// Explored says which rules some schedule within bounds breaks; all others, no
// schedule does.
type Explored struct {
	Delays     int      `json:"delays"`              // 0 to MaxDelays
	Faults     []string `json:"faults,omitzero"`     // kinds that may strike
	MaxFaults  int      `json:"max-faults,omitzero"` // that strike, 0 to MaxStruck; with Faults and nothing said 1
	Violations []string `json:"violations"`          // exactly these
}

// ends returns the values Expect.Outcome may have.
func ends() []string { return []string{"done", "exhausted", "lost", "crashed", "error"} }
