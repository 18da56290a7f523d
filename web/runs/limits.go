package runs

import (
	"time"

	"relock/engine"
	"relock/web/site/limit"
)

// Limits bound what visitors can use up.
type Limits struct {
	Running           int           // scenarios running at once, in all
	RunningPerAddress int           // and from one address
	StartsPerMinute   int           // runs, steppers, files and short links begun from one address
	Kept              int           // runs kept, ended ones too; the oldest ended one goes first
	KeptBytes         int           // bytes all runs may hold, ended or not, as Live.size counts them; one address may hold two thirds of it
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

// The limits of Start, Allow and Enter.
var (
	ErrTooFast     = &limit.Limit{Name: "max-starts", Own: true, PerMinute: true, Says: "your address has begun too many runs, files and links within a minute (-max-starts=%d); wait a moment"}
	ErrTooMany     = &limit.Limit{Name: "max-running", Says: "this server is at its limit of running scenarios (-max-running=%d); try again in a moment"}
	ErrTooManyKept = &limit.Limit{Name: "max-kept", Says: "this server is at its limit of runs, and all of them are still running (-max-kept=%d); try again in a moment"}
	ErrTooManyOwn  = &limit.Limit{Name: "max-running-per-address", Own: true, Says: "your address is at its limit of running scenarios (-max-running-per-address=%d); wait until one has ended"}
	ErrStepping    = &limit.Limit{Name: "max-stepping", Says: "this server is at its limit of scenarios being stepped through (-max-stepping=%d); try again in a moment"}
	ErrSteppingOwn = &limit.Limit{Name: "max-stepping-per-address", Own: true, Says: "your address is at its limit of scenarios being stepped through (-max-stepping-per-address=%d). Close a tab, or ask the operator of this server for a larger limit"}
)

// ErrClosed is returned once the registry is closed. It is the engine's, too, so
// that a run which it ends says that its server shuts down.
var ErrClosed error = (&limit.Limit{Name: "shutdown", Says: engine.ErrClosed.Says().Text, Same: engine.ErrClosed}).Met(0)
