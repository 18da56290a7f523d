package logs

import (
	"encoding/json"
	"slices"

	"relock/engine/effects"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/verdict"
)

// unplayed are the notes about lines that name the key and that were not played.
var unplayed = []string{NoteEarlier, NoteCallers, NoteUntold, NoteScripts, NoteUnknown, NoteLeftOut, NoteUnanswered, NoteNodes, NoteNobody, NoteTokens}

// Evidence returns what we know about the lock in a trace before its first event: in a
// log's, a lab's, or one of our own runs'.
func Evidence(h trace.Header, sc *scenario.Scenario) *verdict.Evidence {
	if !h.Framed() {
		return verdict.Of(sc, nil)
	}
	e := &verdict.Evidence{Shared: sc.Lock.Kind.Shared(), Each: sc.Locks != nil, Advice: verdict.Advice{
		NoKey:  phrase.Say("Name the lock's key: -lock KEY."),
		Nobody: phrase.Say("Take a longer log, or one with marks (ECHO relock:enter, ECHO relock:leave)."),
		One:    phrase.Say("Take a longer log, in which two threads hold the lock."),
		Failed: phrase.Say("Let the lab play the client: playground lab."),
	}}
	e.Kind, e.Kinds = kindIn(h)
	if h.Log == nil {
		return e
	}
	for _, n := range h.Log.Notes {
		switch {
		case n.What == NoteEven && e.Kind.IsZero():
			e.Kind, e.Kinds = Says(n), phrase.Say("Add the logs of the others, or say that these are all: -nodes %d.", n.Count)
		case n.What == NoteAbsent:
			e.Kind, e.Kinds = Says(n), phrase.Say("Add the log of each server.")
		case n.What == NoteSameValue:
			e.Kind, e.Kinds = Says(n), phrase.Say("For a lock of a majority, only values of one thread each can be judged so far.")
		}
		if slices.Contains(unplayed, n.What) {
			e.Unplayed = append(e.Unplayed, Says(n))
		}
	}
	return e
}

// kindIn reads from a header why the kind of lock is not known; "" if it is. A header
// made by hand cannot put words into it.
func kindIn(h trace.Header) (says, helps phrase.Wording) {
	for _, raw := range h.Unjudged {
		var lack struct {
			Reason verdict.Reason
			Says   string
		}
		if json.Unmarshal(raw, &lack) == nil && lack.Reason == verdict.KindUnknown {
			return effects.KindSaid(lack.Says)
		}
	}
	return phrase.Wording{}, phrase.Wording{}
}

// judge returns what we can say about the lock in a trace.
func judge(h trace.Header, sc *scenario.Scenario, events []trace.Event) verdict.Judgement {
	w := verdict.Watching(Evidence(h, sc))
	for i := range events {
		w.See(events[i])
	}
	return w.Judge()
}

// Says is what a note says, a sentence; "" of an unknown one.
func Says(n trace.LogNote) phrase.Wording {
	switch n.What {
	case NoteReplies:
		return phrase.Say("It has no replies: they are recomputed. It does not say when a lease ended.")
	case NoteOrder:
		return phrase.Say("Its instants are the client's, and its order is the order of sending; Redis may have run the commands in another order.")
	case NoteInstants:
		return phrase.Say("It has no instants: time passes only where an answer shows that it did.")
	case NoteNames:
		return phrase.Say("It has no client names.")
	case NoteBefore:
		return phrase.Say("It does not say whether the key was there before its first command.")
	case NoteSilent:
		return phrase.Say("Holds that ended with their lease and whose thread never came back: %d. The log does not say whether these threads still worked.", n.Count)
	case NoteOther:
		return phrase.Say("Answers that differ from the recomputed ones: %d, the first in line %d. The log counts.", n.Count, n.Line)
	case NoteInside:
		return phrase.Say("Scripts that ran other commands than the recomputed ones: %d, the first in line %d. The log counts.", n.Count, n.Line)
	case NoteNothing:
		return phrase.Say("Scripts without commands: %d, the first in line %d. Redis did not know them (NOSCRIPT), or they did nothing. They are left out.", n.Count, n.Line)
	case NoteUntold:
		return phrase.Say("Scripts that cannot be run again: %d, the first in line %d. They are left out.", n.Count, n.Line)
	case NoteScripts:
		return phrase.Say("Scripts that do not run here: %d, the first in line %d. \"playground import\" runs them.", n.Count, n.Line)
	case NoteUnknown:
		return phrase.Say("Commands that the embedded Redis does not have: %d, the first in line %d. They are left out.", n.Count, n.Line)
	case NoteClose:
		return phrase.Say("Commands within 2 ms of the end of the lease: %d, the first in line %d. It is uncertain which came first.", n.Count, n.Line)
	case NoteDatabases:
		return phrase.Say("Commands that name a key of this name in another database: %d, the first in line %d. They are left out.", n.Count, n.Line)
	case NoteLanes:
		return phrase.Say("Threads that stand for several owners in turn: %d.", n.Count)
	case NoteBegun:
		return phrase.Say("Its first line is incomplete and left out.")
	case NoteEarlier:
		return phrase.Say("Threads that release or renew what they took before it began: %d, the first in line %d. It does not say whether another was inside with them.", n.Count, n.Line)
	case NoteCallers:
		return phrase.Say("Commands of scripts whose own line (EVAL, EVALSHA) is missing: %d, the first in line %d. It does not say who ran them: take every line of MONITOR.", n.Count, n.Line)
	case NoteCut:
		return phrase.Say("Its last line is incomplete and left out.")
	case NoteBackwards:
		return phrase.Say("Instants earlier than the line above: %d, the first in line %d.", n.Count, n.Line)
	case NoteStanding:
		return phrase.Say("It ends while the key is still there.")
	case NoteLeftOut:
		return phrase.Say("Commands left out because there are too many: %d, from line %d on.", n.Count, n.Line)
	case NoteWithin:
		return phrase.Say("Its instants are the clients': when an attempt began and ended. Redis ran it in between: Relock places it where the answers fit.")
	case NoteCommands:
		return phrase.Say("Attempts without commands, or of a lock that hands over to waiters: %d, the first in line %d. Each runs again as an attempt of the reentrant lock; its outcome is the log's.", n.Count, n.Line)
	case NoteLease:
		return phrase.Say("Attempts without a lease: %d, the first in line %d. It is assumed to last until another owner is granted the lock.", n.Count, n.Line)
	case NoteUnanswered:
		return phrase.Say("Attempts without an answer: %d, the first in line %d. They are left out: it is unknown whether Redis ran them.", n.Count, n.Line)
	case NoteNodes:
		return phrase.Say("Commands to nodes other than the first: %d, the first in line %d. They are left out.", n.Count, n.Line)
	case NoteNobody:
		return phrase.Say("Attempts without a key or an owner: %d, the first in line %d. They are left out.", n.Count, n.Line)
	case NotePrefix:
		return phrase.Say("Dropped a prefix of %d characters from each line of a command.", n.Count)
	case NotePrefixes:
		return phrase.Say("Dropped a prefix of at most %d characters from each line of a command.", n.Count)
	case NoteComments:
		return phrase.Say("Comments and blank lines: %d, the first in line %d. They are left out.", n.Count, n.Line)
	case NoteElse:
		return phrase.Say("Lines of other programs: %d, the first in line %d. They are left out.", n.Count, n.Line)
	case NoteClocks:
		return phrase.Say("Its instants are from the clocks of %d servers. Where these disagree, the order of commands on different servers may be wrong.", n.Count)
	case NoteEven:
		return phrase.Say("A lock of a majority mostly has an odd number of servers, and these are %d: there may be others.", n.Count)
	case NoteSameValue:
		return phrase.Say("Several connections write one value on the same server, and it does not say whose it is.")
	case NoteAbsent:
		return phrase.Say("Servers without a log: %d. Nobody knows what happened there.", n.Count)
	case NoteWaits:
		return phrase.Say("Commands that waited for a token: %d, the first in line %d. Redis serves the longest waiter first: that is recomputed.", n.Count, n.Line)
	case NoteTokens:
		return phrase.Say("Tokens that were put into the list while none was out: %d, fewer than its permits. The others were there, or taken, before the log began.", n.Count)
	case NoteSameOwners:
		return phrase.Say("The key itself names its holder: no other way of reading it fits.")
	}
	return phrase.Plain("")
}
