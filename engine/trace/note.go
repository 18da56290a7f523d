package trace

import (
	"slices"
	"strings"

	"relock/engine/phrase"
)

// The things that a log does not say, or not for sure: a LogNote's What. What each means, it says.
const (
	NoteClocks     = "clocks"
	NoteAbsent     = "absent"
	NoteEven       = "even"
	NoteSameValue  = "same-value"
	NoteReplies    = "replies"
	NoteOrder      = "order"
	NoteWithin     = "within"
	NoteInstants   = "instants"
	NoteNames      = "names"
	NoteBefore     = "before"
	NotePrefix     = "prefix"
	NotePrefixes   = "prefixes"
	NoteComments   = "comments"
	NoteElse       = "else"
	NoteCommands   = "commands"
	NoteLease      = "lease"
	NoteUnanswered = "unanswered"
	NoteNodes      = "nodes"
	NoteNobody     = "nobody"
	NoteSilent     = "silent"
	NoteOther      = "other"
	NoteInside     = "inside"
	NoteNothing    = "nothing"
	NoteUntold     = "untold"
	NoteScripts    = "scripts"
	NoteUnknown    = "unknown"
	NoteClose      = "close"
	NoteDatabases  = "databases"
	NoteLanes      = "lanes"
	NoteBegun      = "begun"
	NoteCut        = "cut"
	NoteEarlier    = "earlier"
	NoteCallers    = "callers"
	NoteBackwards  = "backwards"
	NoteLeftOut    = "left-out"
	NoteWaits      = "waits"
	NoteSameOwners = "same-owner"
)

// note is what a LogNote says: a sentence, with its Count and then its Line where it has numbers.
type note struct {
	what     string
	says     phrase.Text
	unplayed bool // lines that name the key were not played
}

// notes are all, in the order in which a person reads them.
var notes = []note{
	{NoteClocks, "Its instants are from the clocks of %d servers. Where these disagree, the order of commands on different servers may be wrong.", false},
	{NoteAbsent, "Servers without a log: %d. Nobody knows what happened there.", false},
	{NoteEven, "A lock of a majority mostly has an odd number of servers, and these are %d: there may be others.", false},
	{NoteSameValue, "Several connections write one value on the same server, and it does not say whose it is.", false},
	{NoteReplies, "It has no replies: they are recomputed. It does not say when a lease ended.", false},
	{NoteOrder, "Its instants are the client's, and its order is the order of sending; Redis may have run the commands in another order.", false},
	{NoteWithin, "Its instants are the clients': when an attempt began and ended. Redis ran it in between: Relock places it where the answers fit.", false},
	{NoteInstants, "It has no instants: time passes only where an answer shows that it did.", false},
	{NoteNames, "It has no client names.", false},
	{NoteBefore, "It does not say whether the key was there before its first command.", false},
	{NotePrefix, "Dropped a prefix of %d characters from each line of a command.", false},
	{NotePrefixes, "Dropped a prefix of at most %d characters from each line of a command.", false},
	{NoteComments, "Comments and blank lines: %d, the first in line %d. They are left out.", false},
	{NoteElse, "Lines of other programs: %d, the first in line %d. They are left out.", false},
	{NoteCommands, "Attempts without commands, or of a lock that hands over to waiters: %d, the first in line %d. Each runs again as an attempt of the reentrant lock; its outcome is the log's.", false},
	{NoteLease, "Attempts without a lease: %d, the first in line %d. It is assumed to last until another owner is granted the lock.", false},
	{NoteUnanswered, "Attempts without an answer: %d, the first in line %d. They are left out: it is unknown whether Redis ran them.", true},
	{NoteNodes, "Commands to nodes other than the first: %d, the first in line %d. They are left out.", true},
	{NoteNobody, "Attempts without a key or an owner: %d, the first in line %d. They are left out.", true},
	{NoteSilent, "Holds that ended with their lease and whose thread never came back: %d. The log does not say whether these threads still worked.", false},
	{NoteOther, "Answers that differ from the recomputed ones: %d, the first in line %d. The log counts.", false},
	{NoteInside, "Scripts that ran other commands than the recomputed ones: %d, the first in line %d. The log counts.", false},
	{NoteNothing, "Scripts without commands: %d, the first in line %d. Redis did not know them (NOSCRIPT), or they did nothing. They are left out.", false},
	{NoteUntold, "Scripts that cannot be run again: %d, the first in line %d. They are left out.", true},
	{NoteScripts, "Scripts that do not run here: %d, the first in line %d. \"playground import\" runs them.", true},
	{NoteUnknown, "Commands that the embedded Redis does not have: %d, the first in line %d. They are left out.", true},
	{NoteClose, "Commands within 2 ms of the end of the lease: %d, the first in line %d. It is uncertain which came first.", false},
	{NoteDatabases, "Commands that name a key of this name in another database: %d, the first in line %d. They are left out.", false},
	{NoteLanes, "Threads that stand for several owners in turn: %d.", false},
	{NoteBegun, "Its first line is incomplete and left out.", false},
	{NoteCut, "Its last line is incomplete and left out.", false},
	{NoteEarlier, "Threads that release or renew what they took before it began: %d, the first in line %d. It does not say whether another was inside with them.", true},
	{NoteCallers, "Commands of scripts whose own line (EVAL, EVALSHA) is missing: %d, the first in line %d. It does not say who ran them: take every line of MONITOR.", true},
	{NoteBackwards, "Instants earlier than the line above: %d, the first in line %d.", false},
	{NoteLeftOut, "Commands left out because there are too many: %d, from line %d on.", true},
	{NoteWaits, "Commands that waited for a token: %d, the first in line %d. Redis serves the longest waiter first: that is recomputed.", false},
	{NoteSameOwners, "The key itself names its holder: no other way of reading it fits.", false},
}

// noteOf is what a note says; nothing if it is unknown.
func noteOf(what string) note {
	i := slices.IndexFunc(notes, func(n note) bool { return n.what == what })
	if i < 0 {
		return note{}
	}
	return notes[i]
}

// Says is what a note says, a sentence; "" of an unknown one.
func (n LogNote) Says() phrase.Wording {
	text := noteOf(n.What).says
	return phrase.Say(text, []any{n.Count, n.Line}[:strings.Count(string(text), "%d")]...)
}

// Unplayed reports whether a note is about lines that name the key and that were not played.
func (n LogNote) Unplayed() bool { return noteOf(n.What).unplayed }

// InOrder returns one note of each kind that there is, in the order in which a person reads them.
func InOrder(of map[string]*LogNote) []LogNote {
	var list []LogNote
	for _, n := range notes {
		if one := of[n.what]; one != nil {
			list = append(list, *one)
		}
	}
	return list
}
