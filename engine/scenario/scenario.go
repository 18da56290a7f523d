// Package scenario reads and writes scenarios: which threads make which
// business call on which lock, what goes wrong, and what must come of it.
//
// A scenario is YAML, or JSON with the same keys. It is taken whole or not at
// all: a bad one is refused with all its mistakes.
package scenario

import (
	"cmp"
	"time"
)

// Limits, each named with its reason.
const (
	MaxBytes     = 64 << 10       // of a file: a thousand times the usual, and little to parse
	MaxThreads   = 16             // columns that a person can still follow
	MaxName      = 12             // characters of a thread's name: the head of a column
	MaxTitle     = 120            // characters: a line
	MaxKey       = 64             // characters of the lock's key: a cell of the table
	MaxDepth     = 16             // levels: deeper recursion shows nothing new
	MaxRepeat    = 100            // rounds of a thread
	MaxRetries   = 1000           // of one acquisition
	MaxInterval  = time.Minute    // between retries, and of their jitter
	MaxDuration  = time.Hour      // of a lease, of work, of a start: within a run's limits
	MaxFaults    = 64             // a list that a person wrote
	MaxDecisions = 10_000         // of a schedule: as long as the longest runs
	MaxChoice    = 255            // every thread, its watchdog, and its question to each node
	MaxSchedule  = 24 * time.Hour // an instant in a schedule: beyond any run that ends
	MaxNodes     = 9              // of a quorum: more teach nothing new
	MaxSize      = 1_000_000      // of a resource, and of its limit
	MaxSeed      = 1<<63 - 1      // so that it survives every JSON reader
)

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
	WaitNotify = "notify" // be told, and ask again after an interval
)

// Unlimited as Retry.Times asks until the lock is granted.
const Unlimited = -1

// Scenario says what to run. Values come from Parse and are not changed after.
type Scenario struct {
	Title    string
	Lock     Lock
	Kind     string    // KindLock or KindHeartbeat
	Threads  []Thread  // with the scenario's defaults filled in
	Resource *Resource // what the lock protects, or nil
	Faults   []Fault
	Seed     uint64 // 0 to MaxSeed
	Policy   string // PolicyInOrder or PolicyRandom
	Schedule []Move // before the policy's choices
	Expect   *Expect
}

// Lock is the lock that the threads contend for.
type Lock struct {
	Protocol string        // a name of Protocols
	Key      string        // as people see it
	Lease    time.Duration // whole milliseconds, 1ms to MaxDuration
	Watchdog time.Duration // renew every …; 0 is off; unused by a protocol that renews nothing
	Retry    Retry
	Nodes    int
}

// Retry says how an acquisition that was refused is tried again.
type Retry struct {
	Times                int           // 0 to MaxRetries, or Unlimited
	Interval             time.Duration // 1ms to MaxInterval
	Wait                 string        // WaitPoll or WaitNotify: what the protocol does
	JitterMin, JitterMax time.Duration // added to Interval, 0 to MaxInterval
}

// Pause is how long a thread waits between two attempts.
func (r Retry) Pause() Range { return Range{r.Interval + r.JitterMin, r.Interval + r.JitterMax} }

// Endless are the threads that ask until they have the lock, by name.
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
	KindHeartbeat = "heartbeat" // the first thread is a device that keeps its key alive, the others look
)

// Values of Resource.Kind.
const (
	KindCounter   = "counter"   // work reads it, and writes one more
	KindStock     = "stock"     // work looks whether any is left, and takes one
	KindPurchases = "purchases" // work looks how often its user has bought, and buys once more within the limit
)

// ChecksToken is the value of Resource.Checks.
const ChecksToken = "token"

// Resource is what the lock protects: the work of each level reads it as it
// begins and writes it as it ends.
type Resource struct {
	Kind   string
	Size   int    // what it holds at first, of purchases for each user: 0 to MaxSize
	Limit  int    // of KindPurchases, what each user may buy: 1 to MaxSize; else 0
	Checks string // ChecksToken: it refuses writes with an older fencing token than it has seen; else ""
}

// Range is a length of time that is drawn from Min to Max, both included.
type Range struct{ Min, Max time.Duration }

// Thread is a virtual thread and its business call.
type Thread struct {
	Name    string
	Start   time.Duration // 0 to MaxDuration
	Depth   int           // acquisitions in all, 1 to MaxDepth
	Work    Range         // per level, 0 to MaxDuration
	Repeat  int           // rounds, 1 to MaxRepeat
	OnLost  string        // OnLostIgnore or OnLostStop
	Process string        // such as a server: threads of one process share its memory, which only spin uses
	User    string        // for whom it buys, which only KindPurchases asks; "": a user of its own, see BuysFor
	Retry   Retry         // the lock's, unless the thread has its own
}

// BuysFor is the user on whose behalf the thread works: one of its own, with
// its name, unless it is told.
func (t Thread) BuysFor() string { return cmp.Or(t.User, t.Name) }

// Fault is what goes wrong, and where: in a thread (Thread, At, Level, Round)
// or to Redis itself (Timed, Time).
type Fault struct {
	Do      string
	Thread  string
	At      string
	Node    int // of a fault of Redis itself, 1 to the lock's nodes
	Level   int // 1 to the thread's depth; 0: any, of a renewal
	Round   int // 1 to the thread's repeat
	Command int // of a call, from 1: which of its commands
	Timed   bool
	Time    time.Duration // since the run began

	For    time.Duration // of a pause, a delay and a late copy
	Scope  string        // of a pause: fault.ScopeAll or fault.ScopeWork
	By     time.Duration // of a clock jump, either way
	Behind int           // of a fail-over: writes that the replica never got
	Keep   bool          // of a restart: with its data
}

// Move is one entry of a schedule: a choice of who moves or, between two
// choices, what a person did.
type Move struct {
	Choice int           // which of those that can move does: 0, who has been ready longest, to MaxChoice
	Until  time.Duration // if positive: nobody moves, and time passes to this instant
	Fault  *Fault        // if not nil: this strikes; it has no Level, Round and Time
}

// Expect is what must come of a run.
type Expect struct {
	Violations *[]string         // exactly these rules are broken; nil: not asked
	Outcome    map[string]string // thread to how it ended
}

// ends are the values that Expect.Outcome may have.
func ends() []string { return []string{"done", "exhausted", "lost", "crashed", "error"} }
