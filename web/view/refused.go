package view

import (
	"errors"

	"relock/engine"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/web/words"
)

// Refused is the sentence for a command that was not carried out, and whether
// the error is of that kind at all.
func Refused(l words.Language, err error) (string, bool) {
	var parted *run.Divergence
	var refused *run.Refusal
	switch {
	case errors.As(err, &parted):
		return l.Say("The moves do not fit the scenario at decision %d: %s", parted.Decision, refusal(l, parted.Why)), true
	case errors.As(err, &refused):
		return refusal(l, refused), true
	case errors.Is(err, engine.ErrBranches):
		return l.Say("There are %d branches already; drop one first.", engine.MaxBranches), true
	case errors.Is(err, engine.ErrMoves):
		return l.Say("A branch can have %d moves; run the scenario as a whole instead.", engine.MaxMoves), true
	case errors.Is(err, engine.ErrNoBranch):
		return l.Say("There is no such branch."), true
	case errors.Is(err, engine.ErrNoMove):
		return l.Say("The branch has no such move."), true
	case errors.Is(err, engine.ErrCompared):
		return l.Say("Compare %d to %d different locks of those that there are.", engine.MinCompared, engine.MaxCompared), true
	case errors.Is(err, run.ErrLimit):
		return l.Say("The run reached its limit of %d events.", run.MaxEvents), true
	default:
		return "", false
	}
}

// refusal is the sentence for a move that was not made.
func refusal(l words.Language, r *run.Refusal) string { //nolint:cyclop,funlen // one line a reason
	at := l.Duration(r.At)
	switch r.Why {
	case run.IsOver:
		return l.Say("The run has ended.")
	case run.NoChoice:
		if r.Choices == 1 {
			return l.Say("Choice %d cannot be made: only 0 can move.", r.Choice)
		}
		return l.Say("Choice %d cannot be made: only 0 to %d can move.", r.Choice, r.Choices-1)
	case run.IsPast:
		return l.Say("It is %s already, and time does not go back.", at)
	case run.HasEnded:
		return l.Say("%s has ended.", r.Thread)
	case run.Waits:
		return l.Say("%s waits until %s.", r.Thread, at)
	case run.IsPaused:
		return l.Say("%s stands still until %s.", r.Thread, at)
	case run.AfterOther:
		return l.Say("%s moves at %s, after %s.", r.Thread, at, r.Other)
	case run.Hangs:
		return l.Say("%s hangs for ever.", r.Thread)
	case run.AwaitsOwn:
		return l.Say("%s waits for its own watchdog.", r.Thread)
	case run.AwaitsNode:
		return l.Say("%s waits for the nodes that it asks.", r.Thread)
	case run.AwaitsLate:
		return l.Say("%s waits for the answer to a request that is under way.", r.Thread)
	case run.NeverMoves:
		return l.Say("Nothing happens any more by itself.")
	case run.NoExpiry:
		return l.Say("No key with an expiry is there.")
	case run.IsArmed:
		return l.Say("The same fault waits for its moment in %s already.", r.Thread)
	case run.NoWatchdog:
		return l.Say("The lock of this scenario has no watchdog.")
	case run.NoKey:
		return l.Say("There is no key that Redis could evict.")
	case run.NoScripts:
		return l.Say("Redis has no cached scripts to forget.")
	case run.NothingYet:
		return l.Say("There is nothing in Redis that could be lost.")
	case run.IsDown:
		return l.Say("Redis is down already.")
	case run.IsUp:
		return l.Say("Redis is up.")
	case run.NotAhead:
		return l.Say("%s has no %s ahead of it.", r.Thread, r.Place)
	case run.NoData:
		return l.Say("Redis holds no data that could be lost.")
	case run.LastUnlock:
		return l.Say("%s is in its last unlock already.", r.Thread)
	case run.OnItsWay:
		return l.Say("The late copy of what %s sent arrives at %s.", r.Thread, at)
	case run.NotLive:
		return l.Say("Only a thread of a run that goes on, on the wall clock, can be steered.")
	case run.IsSuspended:
		return l.Say("%s is paused already.", r.Thread)
	case run.GoesOn:
		return l.Say("%s is not paused.", r.Thread)
	case run.IsGated:
		return l.Say("The calls of %s wait already.", r.Thread)
	case run.IsNotGated:
		return l.Say("The calls of %s do not wait.", r.Thread)
	case run.NobodyWaits:
		return l.Say("No call of %s waits at its gate.", r.Thread)
	case run.NoAction:
		return l.Say("Allowed are pause, resume, crash, gate, ungate and admit.")
	default:
		return l.Say("That move cannot be made (%s).", string(r.Why))
	}
}

// NotThere says why a scenario cannot be run where it was to be: so many times
// slower, on the wall clock. The error is Start's.
func NotThere(l words.Language, err error, slow int) (string, bool) {
	var impossible *run.Impossible
	switch {
	case errors.As(err, &impossible) && impossible.Cluster:
		return l.Say("%s needs one Redis: in a cluster PUBLISH counts the listeners of one node only, and the lock could be granted twice.", impossible.Protocol), true
	case errors.As(err, &impossible) && impossible.Fault != "":
		return l.Say("faults[%d]: %s happens to Redis itself, which only the embedded Redis on the virtual clock can have done to it.",
			impossible.Entry, impossible.Fault), true
	case errors.As(err, &impossible) && impossible.Nodes > 0:
		return l.Say("%s has %d nodes, each a Redis of its own, which only the virtual clock has.", impossible.Protocol, impossible.Nodes), true
	case errors.As(err, &impossible):
		return l.Say("schedule[%d]: what a person did step by step can only be repeated on the virtual clock.", impossible.Entry), true
	case errors.Is(err, scenario.ErrSlow):
		return l.Say("In slow motion of %d times, a time of this scenario would be longer than allowed: %s for retries, %s for others.",
			slow, scenario.Duration(scenario.MaxInterval), scenario.Duration(scenario.MaxDuration)), true
	default:
		return "", false
	}
}
