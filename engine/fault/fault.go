// Package fault is what can go wrong in a run, in a thread, on its way to Redis,
// and in Redis itself.
package fault

// Places in a thread's business call.
const (
	AtStart  = "start"  // before the first call
	AtLock   = "lock"   // as the lock of a level is asked for
	AtWork   = "work"   // as the work of a level begins
	AtUnlock = "unlock" // as a level is left
	AtRenew  = "renew"  // as the watchdog renews
)

// The faults, as scenarios and traces name them.
const (
	Pause       = "pause"
	Crash       = "crash"
	Panic       = "panic"
	Stall       = "stall"
	SkipUnlock  = "skip-unlock"
	ExtraUnlock = "extra-unlock"
	LoseRequest = "lose-request"
	LoseReply   = "lose-reply"
	LoseMessage = "lose-message"
	Delay       = "delay"
	LateCopy    = "late-copy"
	Restart     = "restart"
	FailOver    = "fail-over"
	Evict       = "evict"
	ClockJump   = "clock-jump"
	Down        = "down"
	Up          = "up"
	ScriptFlush = "script-flush"
)

// What a pause stops.
const (
	ScopeAll  = "all"  // the whole thread, its watchdog too
	ScopeWork = "work" // the watchdog goes on
)
