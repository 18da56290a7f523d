package session

import (
	"time"

	"relock/engine"
	"relock/engine/phrase"
)

// Limits bound what visitors can use up.
type Limits struct {
	Running           int           // scenarios running at once, in all
	RunningPerAddress int           // and from one address
	StartsPerMinute   int           // runs, steppers, files and short links begun from one address
	Kept              int           // runs kept, ended ones too; the oldest ended one goes first
	KeptBytes         int           // bytes all runs may hold, ended or not, as Session.size counts them; one address may hold two thirds of it
	Idle              time.Duration // a run that nobody has looked at for so long is dropped
	Longest           time.Duration // a run that takes longer is stopped
	Stepping          int           // scenarios stepped through at once, in all: 0.3 MB each at first, 60 MB at most, and together BytesOfAll
	SteppingAddress   int           // and from one address
}

// DefaultLimits returns limits for one small machine and a class of three
// hundred behind one address, who may all come at once, come back after a
// restart, and run something besides.
func DefaultLimits() Limits {
	return Limits{
		Running: 512, RunningPerAddress: 400, StartsPerMinute: 900, Kept: 1000, KeptBytes: 600 << 20,
		Idle: 30 * time.Minute, Longest: 10 * time.Minute, Stepping: 1024, SteppingAddress: 400,
	}
}

// usualAfter is how soon it makes sense to ask for room again.
const usualAfter = 10 * time.Second

// Limit is a limit that a visitor can meet. It is the error that errors.Is
// finds in a *LimitError.
type Limit struct {
	Name string // in metrics and logs: the flag that sets it, if there is one
	Own  bool   // it limits one address, while others are let in

	says phrase.Text // its number is how many there may be
}

// Error returns the limit's name.
func (l *Limit) Error() string { return l.Name }

// met returns the error of a visitor who meets the limit at most.
func (l *Limit) met(most int) error { return &LimitError{Met: l, most: most} }

// The limits of Start, Allow and Enter, and those of Account.Hold, in
// megabytes.
var (
	ErrTooFast     = &Limit{"max-starts", true, "your address has begun as many runs, files and links within a minute as it may (-max-starts=%d); wait a moment"}
	ErrTooMany     = &Limit{"max-running", false, "this server runs as many scenarios as it may (-max-running=%d); try again in a moment"}
	ErrTooManyKept = &Limit{"max-kept", false, "this server keeps as many runs as it may, and all are still going on (-max-kept=%d); try again in a moment"}
	ErrTooManyOwn  = &Limit{"max-running-per-address", true, "your address runs as many scenarios as it may (-max-running-per-address=%d); wait until one has ended"}
	ErrStepping    = &Limit{"max-stepping", false, "as many scenarios are stepped through on this server as may be (-max-stepping=%d); try again in a moment"}
	ErrSteppingOwn = &Limit{"max-stepping-per-address", true, "your address steps through as many scenarios as it may (-max-stepping-per-address=%d). Close a tab, or ask the operator of this server for a larger limit"}
	ErrFullAddress = &Limit{"held-per-address", true, "what is open from your address takes as much memory as it may (%d MB); drop branches or close a tab, or try again when somebody has left"}
	ErrFullServer  = &Limit{"held", false, "what is open on this server takes as much memory as it may (%d MB); try again when somebody has left"}

	ErrWaitingAddress = &Limit{"waiting-per-address", true, "as much as may (%d MB) is on its way between this server and your address; try again when some of it has arrived"}
	ErrWaiting        = &Limit{"waiting", false, "as much as may (%d MB) is on its way between this server and slow lines; try again in a moment"}
)

// ErrClosed is returned once the registry is closed.
var ErrClosed error = &LimitError{Met: &Limit{Name: "shutdown", says: engine.ErrClosed.Says().Text}}

// LimitError says which limit was met, and what to do.
type LimitError struct {
	Met *Limit

	most int // 0 if nothing is counted
}

// Error implements error.
func (e *LimitError) Error() string { return e.Says().String() }

// Says implements phrase.Speaker.
func (e *LimitError) Says() phrase.Wording {
	if e.most == 0 {
		return phrase.Say(e.Met.says)
	}
	return phrase.Say(e.Met.says, e.most)
}

// After returns how long to wait before the next try.
func (e *LimitError) After() time.Duration {
	if e.Met != ErrTooFast {
		return usualAfter // first somebody must leave, or a run must end
	}
	return (time.Minute / time.Duration(e.most)).Truncate(time.Second) + time.Second // starts become free at this pace
}

// Unwrap returns the limit.
func (e *LimitError) Unwrap() error { return e.Met }

// Is tells a run that ErrClosed ends that its server shuts down.
func (e *LimitError) Is(target error) bool {
	return error(e) == ErrClosed && target == error(engine.ErrClosed)
}

// Limit returns the limit's name.
func (e *LimitError) Limit() string { return e.Met.Name }
