package run

import (
	"fmt"
	"time"

	"relock/engine/scenario"
)

// Why says why a move is refused.
type Why string

// The reasons of a [Refusal].
const (
	IsOver     Why = "over"        // the run has ended
	NoChoice   Why = "no-choice"   // fewer can move than the choice wants
	IsPast     Why = "past"        // time does not go back
	HasEnded   Why = "ended"       // the thread has ended
	Waits      Why = "waits"       // the thread waits until At
	IsPaused   Why = "paused"      // the thread stands still until At
	AfterOther Why = "after-other" // another moves before the thread does
	Hangs      Why = "hangs"       // the thread hangs for ever
	AwaitsOwn  Why = "awaits-own"  // the thread waits for its own watchdog
	AwaitsNode Why = "awaits-node" // the thread waits for nodes that it asks
	AwaitsLate Why = "awaits-late" // the thread waits for the answer to a delayed request
	NeverMoves Why = "never"       // nothing happens any more
	NoExpiry   Why = "no-expiry"   // no key runs out
	IsArmed    Why = "armed"       // the same fault waits for its moment already
	NoWatchdog Why = "no-watchdog" // the lock renews nothing
	NoKey      Why = "no-key"      // there is nothing to evict
	NoScripts  Why = "no-scripts"  // Redis has no scripts to forget
	NothingYet Why = "nothing-yet" // Redis is empty
	IsDown     Why = "is-down"     // Redis is down already
	IsUp       Why = "is-up"       // Redis is up already
	NotAhead   Why = "not-ahead"   // the thread comes to no more of Place
	NoData     Why = "no-data"     // Redis has no data to lose
	LastUnlock Why = "last-unlock" // the thread is in its last unlock already
	OnItsWay   Why = "on-its-way"  // a late copy of what the thread sent arrives at At

	NotLive     Why = "not-live"     // only a run on the wall clock can be steered while it goes on
	IsSuspended Why = "suspended"    // the thread is paused already
	GoesOn      Why = "goes-on"      // the thread is not paused
	IsGated     Why = "gated"        // its calls wait already
	IsNotGated  Why = "not-gated"    // its calls do not wait
	NobodyWaits Why = "nobody-waits" // no call of it waits at its gate
	NoAction    Why = "no-action"    // there is no such action
)

// Refusal is the error of a move that was not made. A fault is refused where
// it would change nothing.
type Refusal struct {
	Why     Why
	Thread  string        // whom it is about, or ""
	At      time.Duration // an instant of the run
	Other   string        // the thread that is before this one
	Choice  int           // what was asked for, of
	Choices int           // so many
	Place   string        // where a fault was to strike: scenario.AtLock, …
}

// Error says it in a sentence.
func (r *Refusal) Error() string {
	at := scenario.Duration(r.At)
	switch r.Why {
	case IsOver:
		return "the run has ended"
	case NoChoice:
		if r.Choices == 1 {
			return fmt.Sprintf("choice %d cannot be made: only 0 can move", r.Choice)
		}
		return fmt.Sprintf("choice %d cannot be made: only 0 to %d can move", r.Choice, r.Choices-1)
	case IsPast:
		return "it is " + at + " already, and time does not go back"
	case HasEnded:
		return r.Thread + " has ended"
	case Waits:
		return r.Thread + " waits until " + at
	case IsPaused:
		return r.Thread + " stands still until " + at
	case AfterOther:
		return r.Thread + " moves at " + at + ", after " + r.Other
	case Hangs:
		return r.Thread + " hangs for ever"
	case AwaitsOwn:
		return r.Thread + " waits for its own watchdog"
	case AwaitsNode:
		return r.Thread + " waits for the nodes that it asks"
	case AwaitsLate:
		return r.Thread + " waits for the answer to a request that is under way"
	case NeverMoves:
		return "nothing happens any more by itself"
	case NoExpiry:
		return "no key with an expiry is there"
	case IsArmed:
		return "the same fault waits for its moment in " + r.Thread + " already"
	case NoWatchdog:
		return "the lock of this scenario has no watchdog"
	case NoKey:
		return "there is no key that Redis could evict"
	case NoScripts:
		return "Redis has no cached scripts to forget"
	case NothingYet:
		return "there is nothing in Redis that could be lost"
	case IsDown:
		return "Redis is down already"
	case IsUp:
		return "Redis is up"
	case NotAhead:
		return r.Thread + " has no " + r.Place + " ahead of it"
	case NoData:
		return "Redis holds no data that could be lost"
	case LastUnlock:
		return r.Thread + " is in its last unlock already"
	case OnItsWay:
		return "the late copy of what " + r.Thread + " sent arrives at " + at
	case NotLive:
		return "only a thread of a run that goes on, on the wall clock, can be steered"
	case IsSuspended:
		return r.Thread + " is paused already"
	case GoesOn:
		return r.Thread + " is not paused"
	case IsGated:
		return "the calls of " + r.Thread + " wait already"
	case IsNotGated:
		return "the calls of " + r.Thread + " do not wait"
	case NobodyWaits:
		return "no call of " + r.Thread + " waits at its gate"
	case NoAction:
		return "allowed are pause, resume, crash, gate, ungate and admit"
	default:
		return string(r.Why)
	}
}
