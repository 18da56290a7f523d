package facts

import (
	"slices"

	"relock/engine/lock"
	"relock/engine/trace"
)

// Doing is what the innermost call on a thread's stack is at.
type Doing string

// What a call can be at.
const (
	Asking  Doing = "asking"  // for its level of the lock
	Entered Doing = "entered" // it has its level, and its work has not begun
	Working Doing = "working"
	Worked  Doing = "worked"  // its work is done, and its level not left
	Leaving Doing = "leaving" // it has called unlock, and has no answer yet
)

// Stack is the business calls that a thread is in. Each locks: level 1
// has called level 2, and so on.
type Stack struct {
	Levels  int   // how many calls
	Doing   Doing // of the innermost one
	Attempt int   // while Asking: 1, 2, …
}

// Stacks folds a trace into each thread's business calls. Who asks for a level
// is in the call of that level, granted or not. It is not safe for concurrent
// use.
type Stacks map[string]Stack

// Add takes the next event.
func (s Stacks) Add(e trace.Event) {
	if e.Thread == "" {
		return
	}
	now, levels := s[e.Thread], e.Belief[e.Thread]
	switch b := e.Body.(type) {
	case trace.Command:
		switch {
		case b.Late || b.GivesBack:
			return
		case b.Call == lock.CallLock:
			now = Stack{b.Level, Asking, b.Attempt}
		case b.Call == lock.CallUnlock:
			now = Stack{b.Level, Leaving, 0}
		default:
			return // its watchdog is no call of its business
		}
	case trace.Outcome:
		switch {
		case b.GivesBack || b.Call != lock.CallLock && b.Call != lock.CallUnlock:
			return
		case b.Call == lock.CallLock && (b.Result == trace.Acquired || b.Result == trace.Reentered):
			now = Stack{b.Level, Entered, 0}
		case b.Call == lock.CallLock && b.Result == trace.Refused:
			now = Stack{b.Level, Asking, b.Attempt}
		default: // it has left its level, or never got it
			now = Stack{levels, Worked, 0}
		}
	case trace.Work:
		now = Stack{b.Level, Working, 0}
		if b.State == trace.WorkEnd {
			now.Doing = Worked
		}
	case trace.End:
		now = Stack{}
	default:
		return
	}
	if now.Levels <= 0 {
		delete(s, e.Thread)
		return
	}
	s[e.Thread] = now
}

// Threads returns the threads that are in a business call, by name.
func (s Stacks) Threads() []string {
	var names []string
	for name := range s {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
