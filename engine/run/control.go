package run

import "relock/engine/lock"

// Control is how a thread on the wall clock is steered.
type Control struct {
	Thread    string
	Suspended bool      // paused by hand
	Gated     bool      // each lock and unlock of its business waits to be let through
	At        lock.Call // the call that waits, or none
	Ended     bool
}

// Action is what is done to a thread of a run on the wall clock.
type Action string

// The actions of Steer.
const (
	Suspend Action = "pause"  // it stands still, its watchdog too, until Resume
	Resume  Action = "resume" // it goes on
	Crash   Action = "crash"  // it is gone, its watchdog too; nothing is released
	Gate    Action = "gate"   // each lock and unlock of its business waits for Admit; its watchdog goes on
	Ungate  Action = "ungate" // its calls no longer wait
	Admit   Action = "admit"  // the call that waits may pass
)
