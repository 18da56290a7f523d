package run

import (
	"maps"
	"slices"
	"strings"

	"relock/engine/lock"
	"relock/engine/trace"
)

// beliefs is what each thread thinks of the lock: how many levels it acts as
// if it held, and whether it is on its way out. A thread enters a level when
// it is told so, and has left it when Redis runs its unlock or when it hears
// what became of that.
type beliefs struct {
	levels  map[string]int
	unlocks map[string]unlock // under way
}

// unlock is a call of Unlock that a thread has made.
type unlock struct {
	level int  // of the hold
	last  bool // of the business call: with it the thread has left its critical section
}

func newBeliefs() beliefs {
	return beliefs{levels: map[string]int{}, unlocks: map[string]unlock{}}
}

// calls notes that a thread has called an unlock, whatever becomes of it.
func (b beliefs) calls(thread string, u unlock) { b.unlocks[thread] = u }

// returns notes that its unlock has returned.
func (b beliefs) returns(thread string) { delete(b.unlocks, thread) }

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
		if under && v.Call == lock.CallUnlock && !v.GivesBack && v.Level == u.level && (name == "HINCRBY" || name == "DEL") {
			b.atMost(thread, v.Level-1)
		}
	case trace.Outcome:
		switch {
		case v.Result == trace.Acquired || v.Result == trace.Reentered:
			b.levels[thread] = v.Level
			b.returns(thread)
		case v.Call == lock.CallUnlock && !v.GivesBack:
			b.atMost(thread, v.Level-1)
			if v.Result != trace.Failed { // else it may be sent again
				b.returns(thread)
			}
		}
	case trace.End:
		b.atMost(thread, 0)
		b.returns(thread)
	}
	for name, u := range b.unlocks {
		if u.last {
			leaving = append(leaving, name)
		}
	}
	slices.Sort(leaving)
	return maps.Clone(b.levels), leaving
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
