package facts

import (
	"relock/engine/lock"
	"relock/engine/trace"
)

// Words folds a trace into the words of memory that spin locks are: who has
// written itself into the word of each process. Processes are by thread. It is
// not safe for concurrent use.
type Words struct {
	Process map[string]string // of each thread

	holders map[string]Word // by process
}

// Word is the word of one process.
type Word struct {
	Thread string // who is in it
	Count  int    // how often it has entered
}

// Add takes the next event of a run whose lock is a word in each process.
func (w *Words) Add(e trace.Event) {
	b, ok := e.Body.(trace.Outcome)
	if !ok {
		return
	}
	if w.holders == nil {
		w.holders = map[string]Word{}
	}
	process := w.Process[e.Thread]
	switch {
	case b.Call == lock.CallLock && (b.Result == trace.Acquired || b.Result == trace.Reentered):
		w.holders[process] = Word{e.Thread, b.Level}
	case b.Call == lock.CallUnlock && b.Result == trace.Decremented:
		w.holders[process] = Word{e.Thread, b.Level - 1}
	case b.Call == lock.CallUnlock && b.Result == trace.Released:
		delete(w.holders, process)
	}
}

// Of returns the word of a process; its Thread is "" while it is free.
func (w *Words) Of(process string) Word { return w.holders[process] }
