package check

import (
	"slices"

	"relock/engine/journal"
	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// ForeignRelease is the rule that only its owner deletes a lock.
const ForeignRelease = "foreign-release"

type foreignRelease struct{ stateless }

func (r foreignRelease) clone() automaton { return r }

func (foreignRelease) observe(f *facts.Facts, e trace.Event) (Finding, bool) {
	b, ok := e.Body.(trace.Command)
	if !ok {
		return Finding{}, false
	}
	before, after := f.On(b.Node)
	if !before.Exists() || after.Exists() || b.Reply == int64(0) || len(b.Args) == 0 || !journal.Writes(b.Args[0]) {
		return Finding{}, false // it deletes nothing
	}
	if journal.Sweeps(b.Args[0]) {
		return Finding{}, false // it drops expired members, no matter who put them there
	}
	held, _ := f.HeldOn(b.Node)
	holders := phrase.Names(held)
	if len(holders) == 0 || slices.Contains(holders, e.Thread) {
		return Finding{}, false
	}
	who, whose := e.Thread, holders[0]
	why := phrase.Say("%s has deleted a key that was not its own: it was %s's, and %s is not told.", who, whose, whose)
	if !f.Names(before) {
		why = phrase.Say("%[1]s has deleted %[2]s's key: its value does not say whose it is, but %[2]s put it there.", who, whose)
	}
	if f.LeftInTime(who) {
		why = phrase.Say("%[1]s has deleted %[2]s's key: its unlock came late. When %[1]s called it, the key was still its own.", who, whose)
	}
	return found(ForeignRelease, append([]string{who}, holders...), proof(append(f.Gained.Of(holders...), e.Seq)...),
		phrase.Say("%s deleted the lock of %s", who, holders), why), true
}
