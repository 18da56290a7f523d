package session

import (
	"time"

	"relock/engine/phrase"
)

// Limits bound what visitors can use up.
type Limits struct {
	Running           int           // scenarios running at once, in all
	RunningPerAddress int           // and from one address
	StartsPerMinute   int           // runs started from one address
	Kept              int           // runs kept, ended ones too; the oldest ended one goes first
	KeptBytes         int           // that all runs may hold, those going on too; one address' two thirds of that: see Session.size
	Idle              time.Duration // a run that nobody looked at for so long is forgotten
	Longest           time.Duration // a run that takes longer is stopped
	Stepping          int           // scenarios stepped through at once, in all: 0.3 MB each at first, 60 MB at most, and together BytesOfAll
	SteppingAddress   int           // and from one address
}

// DefaultLimits suit one small machine and a class of three hundred behind one
// address, who may all come at once, come back after a restart, and run
// something besides.
func DefaultLimits() Limits {
	return Limits{
		Running: 512, RunningPerAddress: 400, StartsPerMinute: 900, Kept: 1000, KeptBytes: 600 << 20,
		Idle: 30 * time.Minute, Longest: 10 * time.Minute, Stepping: 1024, SteppingAddress: 400,
	}
}

// Limit is a limit that a visitor can meet. It is the error that errors.Is
// finds in a *LimitError.
type Limit struct {
	Name string // in metrics and logs: the flag that sets it, where there is one
	Own  bool   // it bounds one address, while others are let in

	says phrase.Text // with how many there may be
}

// Error is the limit's name.
func (l *Limit) Error() string { return l.Name }

// met is the error of one who has met the limit, and finds so many there.
func (l *Limit) met(most int) error { return &LimitError{l, []any{most}} }

// The limits that Start, Allow and Enter enforce, and those of Account.Hold in
// megabytes.
var (
	ErrTooFast     = &Limit{"max-starts", true, "too many runs were started from your address in the last minute (%d may be); wait a moment"}
	ErrTooMany     = &Limit{"max-running", false, "the server is running as many scenarios as it can (%d); try again in a moment"}
	ErrTooManyOwn  = &Limit{"max-running-per-address", true, "your address has as many scenarios running as it may (%d); wait until one has ended"}
	ErrStepping    = &Limit{"max-stepping", false, "as many people step through scenarios as this server can serve (%d); try again in a moment"}
	ErrSteppingOwn = &Limit{"max-stepping-per-address", true, "your address has %d steppers already, as many as it may have. Close a tab, or ask whoever runs this server for a larger -max-stepping-per-address"}
	ErrFullAddress = &Limit{"held-per-address", true, "what is open from your address takes as much memory as it may (%d MB); drop branches or close a tab, or try again when somebody has left"}
	ErrFullServer  = &Limit{"held", false, "what is open on this server takes as much memory as it may (%d MB); try again when somebody has left"}
)

// ErrClosed is returned once the registry is closed.
var ErrClosed error = &LimitError{&Limit{Name: "shutdown", says: "the server is shutting down"}, nil}

// LimitError says which limit was met, and what to do.
type LimitError struct {
	Met *Limit

	args []any
}

// Error says it in English.
func (e *LimitError) Error() string { return e.Says().String() }

// Says implements phrase.Speaker.
func (e *LimitError) Says() phrase.Wording { return phrase.Say(e.Met.says, e.args...) }

// Unwrap returns the limit.
func (e *LimitError) Unwrap() error { return e.Met }

// Limit is the limit's name.
func (e *LimitError) Limit() string { return e.Met.Name }
