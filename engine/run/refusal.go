package run

import (
	"time"

	"relock/engine/phrase"
	"relock/engine/scenario"
)

// Reason says why a move is refused.
type Reason string

// The reasons of a [Refusal].
const (
	IsOver     Reason = "over"        // the run has ended
	NoChoice   Reason = "no-choice"   // fewer can move than the choice wants
	IsPast     Reason = "past"        // time does not go back
	HasEnded   Reason = "ended"       // the thread has ended
	Waits      Reason = "waits"       // the thread waits until At
	IsPaused   Reason = "paused"      // the thread is paused until At
	AfterOther Reason = "after-other" // another moves before the thread does
	Hangs      Reason = "hangs"       // the thread hangs for ever
	AwaitsOwn  Reason = "awaits-own"  // the thread waits for its own watchdog
	AwaitsNode Reason = "awaits-node" // the thread waits for nodes that it asks
	AwaitsLate Reason = "awaits-late" // the thread waits for the answer to a request
	NeverMoves Reason = "never"       // nothing happens any more
	NoExpiry   Reason = "no-expiry"   // no key runs out
	IsArmed    Reason = "armed"       // the same fault waits for its moment already
	NoWatchdog Reason = "no-watchdog" // the lock renews nothing
	NoKey      Reason = "no-key"      // there is nothing to evict
	NoScripts  Reason = "no-scripts"  // Redis has no scripts to forget
	NothingYet Reason = "nothing-yet" // Redis is empty
	IsDown     Reason = "is-down"     // Redis is down already
	IsUp       Reason = "is-up"       // Redis is up already
	IsSplit    Reason = "is-split"    // the thread is with the old one of two masters already
	Answers    Reason = "answers"     // Redis already answers this way
	NotAhead   Reason = "not-ahead"   // the thread comes to no more of Place
	NoData     Reason = "no-data"     // Redis has no data to lose
	LastUnlock Reason = "last-unlock" // the thread is in its last unlock already
	OnItsWay   Reason = "on-its-way"  // what the thread sent arrives at At

	NotLive     Reason = "not-live"     // only a run on the wall clock can be steered while it goes on
	IsSuspended Reason = "suspended"    // the thread is paused already
	GoesOn      Reason = "goes-on"      // the thread is not paused
	IsGated     Reason = "gated"        // its calls wait already
	IsNotGated  Reason = "not-gated"    // its calls do not wait
	NobodyWaits Reason = "nobody-waits" // no call of it waits at its gate
	NoAction    Reason = "no-action"    // there is no such action
)

// Refusal is the error of a move that was not made. A fault is refused where
// it would change nothing.
type Refusal struct {
	Reason  Reason
	Thread  string        // whom it is about, or ""
	At      time.Duration // an instant of the run
	Other   string        // the thread that is before this one
	Choice  int           // what was asked for, of
	Choices int           // so many
	Place   string        // where a fault was to strike: fault.AtLock, …
}

// Error says it in English.
func (r *Refusal) Error() string { return r.Says().String() }

// What is said of a reason that says all, and of one that a thread is named with.
var (
	plainly = map[Reason]phrase.Text{
		IsOver:     "the run has ended",
		NeverMoves: "nothing more happens by itself",
		NoExpiry:   "there is no key with an expiry",
		NoWatchdog: "the lock of this scenario has no watchdog",
		NoKey:      "there is no key that Redis could evict",
		NoScripts:  "Redis has no cached scripts to forget",
		NothingYet: "Redis has nothing to lose",
		IsDown:     "Redis is down already",
		IsSplit:    "that thread is with the old master already",
		Answers:    "Redis already answers this way",
		IsUp:       "Redis is up",
		NoData:     "Redis has no data to lose",
		NotLive:    "a thread can be steered only while its run goes on, on the wall clock",
		NoAction:   "allowed are pause, resume, crash, gate, ungate and admit",
	}
	ofThread = map[Reason]phrase.Text{
		HasEnded:    "%s has ended",
		Hangs:       "%s hangs for ever",
		AwaitsOwn:   "%s waits for its own watchdog",
		AwaitsNode:  "%s waits for the nodes that it asks",
		AwaitsLate:  "%s waits for the answer to a request",
		IsArmed:     "the same fault is waiting in %s already",
		LastUnlock:  "%s is in its last unlock already",
		IsSuspended: "%s is paused already",
		GoesOn:      "%s is not paused",
		IsGated:     "the calls of %s already wait",
		IsNotGated:  "the calls of %s do not wait",
		NobodyWaits: "no call of %s waits at its gate",
	}
)

// Says implements [phrase.Speaker].
func (r *Refusal) Says() phrase.Wording {
	switch r.Reason {
	case NoChoice:
		if r.Choices == 1 {
			return phrase.Say("choice %d cannot be made: only 0 can move", r.Choice)
		}
		return phrase.Say("choice %d cannot be made: only 0 to %d can move", r.Choice, r.Choices-1)
	case IsPast:
		return phrase.Say("it is already %s, and time does not go back", r.At)
	case Waits:
		return phrase.Say("%s waits until %s", r.Thread, r.At)
	case IsPaused:
		return phrase.Say("%s is paused until %s", r.Thread, r.At)
	case AfterOther:
		return phrase.Say("%s moves at %s, after %s", r.Thread, r.At, r.Other)
	case NotAhead:
		return phrase.Say("%s has no %s ahead of it", r.Thread, r.Place)
	case OnItsWay:
		return phrase.Say("what %s sent arrives at %s", r.Thread, r.At)
	}
	if text, ok := plainly[r.Reason]; ok {
		return phrase.Say(text)
	}
	if text, ok := ofThread[r.Reason]; ok {
		return phrase.Say(text, r.Thread)
	}
	return phrase.Say("that move cannot be made (%s)", string(r.Reason))
}

// Pointless is a fault that would change nothing now, and why.
type Pointless struct {
	Fault *scenario.Fault // shared: not to be changed
	Why   Refusal
}
