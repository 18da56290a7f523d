package run

import (
	"maps"
	"slices"
	"strings"

	"relock/engine/lock"
	"relock/engine/trace"
)

// beliefs is what each thread thinks of the lock: how many levels it acts as
// if it held, and whether it is on its way out. A thread enters a level when it hears so,
// and has left it when Redis runs its unlock or when it hears the outcome of that. It has
// left its critical section before: with the call of the first unlock after which it has
// no work to do.
type beliefs struct {
	levels  map[string]int
	unlocks map[string]unlock // under way
	leaving map[string]bool   // until its outermost unlock is answered
}

// unlock is a call of Unlock that a thread has made.
type unlock struct {
	level  int  // of the hold
	last   bool // of the business call
	leaves bool // no level has work left to do
	stops  bool // the work that is left would not be done once its hold's context has ended
}

func newBeliefs() beliefs {
	return beliefs{levels: map[string]int{}, unlocks: map[string]unlock{}, leaving: map[string]bool{}}
}

func (b beliefs) clone() beliefs {
	return beliefs{maps.Clone(b.levels), maps.Clone(b.unlocks), maps.Clone(b.leaving)}
}

// calls notes that a thread has called an unlock, whatever becomes of it.
func (b beliefs) calls(thread string, u unlock) {
	b.unlocks[thread] = u
	if u.leaves {
		b.leaving[thread] = true
	}
}

// loses notes that the contexts of a thread's holds have ended.
func (b beliefs) loses(thread string) {
	if b.unlocks[thread].stops {
		b.leaving[thread] = true
	}
}

// returns notes that its unlock has returned.
func (b beliefs) returns(thread string) {
	if b.unlocks[thread].last {
		b.isOut(thread)
	}
	delete(b.unlocks, thread)
}

// isOut notes that a thread's business call is over, or begins again.
func (b beliefs) isOut(thread string) {
	delete(b.leaving, thread)
	delete(b.unlocks, thread)
}

// leave are the commands with which an unlock leaves its level.
var leave = []string{"HINCRBY", "DEL", "DELEX"}

// after is what is believed after an event, and who is leaving then.
func (b beliefs) after(thread string, body trace.Body) (levels map[string]int, leaving []string) {
	switch v := body.(type) {
	case trace.Command:
		if v.Late {
			break // it tells its thread nothing, and is of a call that is over for it
		}
		// Of a call that is over, a command may still come: it is about a hold
		// that was left, and not about one that was entered since.
		u, under := b.unlocks[thread]
		name := strings.ToUpper(v.Args[0])
		if under && v.Call == lock.CallUnlock && !v.GivesBack && v.Level == u.level && slices.Contains(leave, name) {
			b.atMost(thread, v.Level-1)
		}
	case trace.Outcome:
		switch {
		case v.Result == trace.Acquired || v.Result == trace.Reentered:
			b.levels[thread] = v.Level
			b.isOut(thread)
		case v.Call == lock.CallUnlock && !v.GivesBack:
			b.atMost(thread, v.Level-1)
			if v.Result != trace.Failed { // else it may be sent again
				b.returns(thread)
			}
		}
	case trace.End:
		b.atMost(thread, 0)
		b.isOut(thread)
	}
	return maps.Clone(b.levels), slices.Sorted(maps.Keys(b.leaving))
}

func (b beliefs) atMost(thread string, levels int) {
	if levels <= 0 {
		delete(b.levels, thread)
		return
	}
	if b.levels[thread] > levels {
		b.levels[thread] = levels
	}
}
