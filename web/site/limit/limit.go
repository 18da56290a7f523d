// Package limit says how much of the server one visitor may take: the limits,
// as errors that say what to do, and a ledger of the bytes that are held. It
// must not know what holds them.
package limit

import (
	"time"

	"relock/engine/phrase"
)

// usualAfter is how soon it makes sense to ask for room again.
const usualAfter = 10 * time.Second

// Limit is a limit that a visitor can meet. It is the error that errors.Is
// finds in a *Error. It is immutable.
type Limit struct {
	Name      string      // in metrics and logs: the flag that sets it, if there is one
	Own       bool        // it limits one address, while others are let in
	PerMinute bool        // it is met for a part of a minute; others until somebody leaves
	Says      phrase.Text // its number is how many there may be
	Same      error       // that errors.Is finds as well, nil for none
}

// Error returns the limit's name.
func (l *Limit) Error() string { return l.Name }

// Met returns the *Error of a visitor who meets the limit at most; 0 if
// nothing is counted.
func (l *Limit) Met(most int) error { return &Error{Met: l, most: most} }

// The limits of Account.Hold, in megabytes.
var (
	ErrFullAddress    = &Limit{Name: "held-per-address", Own: true, Says: "your address is at its limit of memory (%d MB); drop branches or close a tab, or try again when somebody has left"}
	ErrFullServer     = &Limit{Name: "held", Says: "this server is at its limit of memory (%d MB); try again when somebody has left"}
	ErrWaitingAddress = &Limit{Name: "waiting-per-address", Own: true, Says: "too much (over %d MB) is on its way between this server and your address; try again when some of it has arrived"}
	ErrWaiting        = &Limit{Name: "waiting", Says: "too much (over %d MB) is on its way between this server and slow lines; try again in a moment"}
)

// Error says which limit was met, and what to do.
type Error struct {
	Met *Limit

	most int // 0 if nothing is counted
}

// Error implements error.
func (e *Error) Error() string { return e.Says().String() }

// Says implements phrase.Speaker.
func (e *Error) Says() phrase.Wording {
	if e.most == 0 {
		return phrase.Say(e.Met.Says)
	}
	return phrase.Say(e.Met.Says, e.most)
}

// After returns how long to wait before the next try.
func (e *Error) After() time.Duration {
	if !e.Met.PerMinute {
		return usualAfter // first somebody must leave, or a run must end
	}
	return (time.Minute / time.Duration(e.most)).Truncate(time.Second) + time.Second // starts become free at this pace
}

// Unwrap returns the limit.
func (e *Error) Unwrap() error { return e.Met }

// Is finds the error that the limit is the same as.
func (e *Error) Is(target error) bool { return e.Met.Same != nil && target == e.Met.Same }

// Limit returns the limit's name.
func (e *Error) Limit() string { return e.Met.Name }
