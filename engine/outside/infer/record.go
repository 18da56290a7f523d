package infer

import (
	"time"

	"relock/engine/journal"
	"relock/engine/trace"
)

// Record is the result of one command, or an event of Redis itself.
type Record struct {
	Thread string       // "" of what befell Redis itself
	Node   int          // of several servers, from 1
	Args   []string     // of a command
	Tx     [][]string   // of EXEC: the transaction
	Script string       // the text, where it runs one
	Do     string       // the fault that struck it, or ""
	Late   bool         // its client had given it up
	Mark   string       // a mark, and no command
	Ended  trace.Result // its round is over
	Reply  any          //
	Err    string       // Redis' error
	Vain   bool         // it waited for others in vain
	Before trace.KeyState
	After  trace.KeyState
	Also   []Change      // of further locks, in the order of Lock.Also
	At     time.Duration // since the round began, by Redis' clock
	Passed time.Duration // of a fault: how long Redis' clock went on before
	Inner  []journal.Entry
	Ran    []journal.Entry // what its scripts have run, where it is known; without the keys
	Keys   []Touched       // those that it has changed, where that is known
	Aside  bool            // it is about other keys than the lock's: no row has it
	Asking []string        // of time that passes because nobody can move: the threads that ask in vain
	Gone   []string        // keys that had expired before it, of those that commands have made
	Lapsed *trace.KeyState // the lock's key that has expired before it, or nil
	Owner  string          // the owner id in it, where that is known
	Silent []string        // of the lease's end: threads of which nothing more is known, so that nobody can say what they believe
}

// ran returns the commands of a record with their answers: those of a transaction, with
// scripts those of its script, or else its own. Of a transaction that did not run there are
// none.
func (r Record) ran(scripts bool) []journal.Entry {
	replies, _ := r.Reply.([]any)
	switch {
	case len(r.Tx) > 0 && len(replies) == len(r.Tx):
		list := make([]journal.Entry, len(r.Tx))
		for i, args := range r.Tx {
			list[i] = journal.Entry{Args: args, Reply: replies[i]}
		}
		return list
	case scripts && len(r.Inner) > 0:
		return r.Inner
	case len(r.Tx) > 0:
		return nil
	}
	return []journal.Entry{{Args: r.Args, Reply: r.Reply, Err: r.Err}}
}
