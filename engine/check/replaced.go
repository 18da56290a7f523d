package check

import (
	"slices"

	"relock/engine/journal"
	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// Replaced is the rule that no thread puts its own name in the place of another's: nobody
// overwrites a lock that somebody holds.
const Replaced = "replaced"

type replaced struct{ stateless }

func (r replaced) clone() automaton { return r }

func (replaced) observe(f *facts.Facts, e trace.Event) (Finding, bool) {
	b, ok := e.Body.(trace.Command)
	if !ok || len(b.Args) == 0 || !journal.Writes(b.Args[0]) {
		return Finding{}, false
	}
	held, now := f.HeldOn(b.Node)
	holders := phrase.Names(held)
	if len(holders) == 0 || slices.Contains(holders, e.Thread) || !slices.Equal(now, []string{e.Thread}) {
		return Finding{}, false
	}
	who, whose := e.Thread, holders[0]
	why := phrase.Say("%[1]s has put its own name in the place of %[2]s's: the lock was %[2]s's, and %[2]s is not told.", who, whose)
	if _, after := f.On(b.Node); !f.Names(after) {
		why = phrase.Say("%[1]s has put its own lock in the place of %[2]s's: the lock was %[2]s's, and %[2]s is not told.", who, whose)
	}
	return found(Replaced, append([]string{who}, holders...), proof(append(f.Gained.Of(holders...), e.Seq)...),
		phrase.Say("%s replaced the lock of %s", who, holders), why), true
}
