package run

import (
	"relock/engine/clock"
	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/trace"
)

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

// Controls tells how every thread is steered. It is safe for concurrent use.
func (r *Run) Controls() []Control {
	list := make([]Control, 0, len(r.threads))
	for _, t := range r.threads {
		t.steering.Lock()
		c := t.control
		t.steering.Unlock()
		c.Thread, c.Ended = t.spec.Name, !t.alive()
		list = append(list, c)
	}
	return list
}

// Steer does something to a thread while the run goes on, on the wall clock;
// of a run that has not begun, it waits for that.
// It is safe for concurrent use, and fails with a *Refusal.
func (r *Run) Steer(thread string, a Action) error {
	t := r.thread(thread)
	if t == nil || r.header.Clock != trace.ClockWall {
		return &Refusal{Reason: NotLive, Thread: thread}
	}
	select {
	case <-r.playing: // else it begins in a moment
	case <-r.finished:
		return &Refusal{Reason: NotLive, Thread: thread}
	}
	if !t.alive() {
		return &Refusal{Reason: HasEnded, Thread: thread}
	}
	why := NotLive // where it ends the run
	r.guard(func() { why = t.steer(a) })
	if why != "" {
		return &Refusal{Reason: why, Thread: thread}
	}
	r.steered()
	return nil
}

func (r *Run) steered() {
	if r.o.Steered != nil {
		r.o.Steered()
	}
}

func (t *thread) steer(a Action) Reason {
	live := t.process.(*clock.Live) //nolint:forcetypeassert // every process of a run on the wall clock is
	t.steering.Lock()
	defer t.steering.Unlock()
	switch a {
	case Suspend:
		if !live.Suspend() {
			return IsSuspended
		}
		t.control.Suspended = true
		t.tell(trace.Fault{Do: fault.Pause})
	case Resume:
		if !live.Resume() {
			return GoesOn
		}
		t.control.Suspended = false
		t.tell(trace.Fault{Do: fault.Resume})
	case Crash:
		if t.ended.Swap(true) {
			return HasEnded
		}
		t.tell(trace.Fault{Do: fault.Crash})
		t.fall()
	case Gate, Ungate:
		if t.control.Gated == (a == Gate) {
			return map[Action]Reason{Gate: IsGated, Ungate: IsNotGated}[a]
		}
		t.control.Gated = a == Gate
		live.SetGate(a == Gate)
	case Admit:
		if (t.control.At == lock.Call{}) {
			return NobodyWaits
		}
		live.Admit()
	default:
		return NoAction
	}
	t.hasAsked() // who starts after this one need not wait for it
	return ""
}

// awaitGate holds the thread before a call until it is let through. It waits
// outside of the call, whose own limits do not run meanwhile.
func (t *thread) awaitGate() {
	live, ok := t.process.(*clock.Live)
	if !ok {
		return
	}
	t.steering.Lock()
	gated := t.control.Gated
	if gated {
		t.control.At = t.next
	}
	t.steering.Unlock()
	if !gated {
		return
	}
	t.r.steered()
	live.AwaitGate()
	t.steering.Lock()
	t.control.At = lock.Call{}
	t.steering.Unlock()
	t.r.steered()
}
