package page

import (
	"net/url"
	"slices"
	"strings"

	"relock/engine/logs"
	"relock/engine/trace"
	"relock/web/words"
)

// LogFormat is what a log is called.
func LogFormat(l words.Language, format string) string {
	switch format {
	case logs.Monitor:
		return l.Say("a MONITOR log")
	case logs.Redisson:
		return l.Say("Redisson's TRACE")
	case logs.RedisCLI:
		return l.Say("a redis-cli transcript")
	case logs.OTLP:
		return l.Say("spans of OpenTelemetry")
	default:
		return l.Say("a log")
	}
}

// LogThreadsBy says who is a thread.
func LogThreadsBy(l words.Language, by string) string {
	switch by {
	case logs.ByOwner:
		return l.Say("threads by owner")
	case logs.ByValue:
		return l.Say("threads by value")
	default:
		return l.Say("threads by connection")
	}
}

// LogLine says what a trace of a log is.
func LogLine(l words.Language, f *trace.FromLog) string {
	if f.Format == logs.OTLP {
		return l.Say("Read from spans of OpenTelemetry: %d attempts for the key %s, %s. The key, its lease and the threads' beliefs are recomputed.", f.Commands, f.Key, LogThreadsBy(l, f.ThreadsBy))
	}
	if f.Commands == 1 {
		return l.Say("Read from %s: 1 command names the key %s, %s. The key, its lease and the threads' beliefs are recomputed.",
			LogFormat(l, f.Format), f.Key, LogThreadsBy(l, f.ThreadsBy))
	}
	return l.Say("Read from %s: %d commands name the key %s, %s. The key, its lease and the threads' beliefs are recomputed.",
		LogFormat(l, f.Format), f.Commands, f.Key, LogThreadsBy(l, f.ThreadsBy))
}

// LogNotes says what a log does not say, a sentence each.
func LogNotes(l words.Language, f *trace.FromLog) []string {
	var list []string
	for _, n := range f.Notes {
		if text := logNote(l, n); text != "" {
			list = append(list, text)
		}
	}
	return list
}

func logNote(l words.Language, n trace.LogNote) string {
	switch n.What {
	case logs.NoteReplies:
		return l.Say("It has no replies: they are recomputed. It does not say when a lease ended.")
	case logs.NoteOrder:
		return l.Say("Its instants are the client's, and its order is the order of sending; Redis may have run the commands in another order.")
	case logs.NoteInstants:
		return l.Say("It has no instants: time passes only where an answer shows it.")
	case logs.NoteNames:
		return l.Say("It has no client names.")
	case logs.NoteBefore:
		return l.Say("It does not say whether the key was there before its first command.")
	case logs.NoteSilent:
		return l.Say("Holds that ended with their lease and whose thread never came back: %d. The log does not say whether these threads still worked.", n.Count)
	case logs.NoteOther:
		return l.Say("Answers that differ from the recomputed ones: %d, the first in line %d. The log counts.", n.Count, n.Line)
	case logs.NoteInside:
		return l.Say("Scripts that ran other commands than the recomputed ones: %d, the first in line %d. The log counts.", n.Count, n.Line)
	case logs.NoteNothing:
		return l.Say("Scripts without commands: %d, the first in line %d. Redis did not know them (NOSCRIPT), or they did nothing. They are left out.", n.Count, n.Line)
	case logs.NoteScripts:
		return l.Say("Scripts that do not run here: %d, the first in line %d. \"playground import\" runs them.", n.Count, n.Line)
	case logs.NoteUnknown:
		return l.Say("Commands that the embedded Redis does not have: %d, the first in line %d. They are left out.", n.Count, n.Line)
	case logs.NoteClose:
		return l.Say("Commands within 2 ms of the end of the lease: %d, the first in line %d. It is uncertain which came first.", n.Count, n.Line)
	case logs.NoteDatabases:
		return l.Say("Commands that name a key of this name in another database: %d, the first in line %d. They are left out.", n.Count, n.Line)
	case logs.NoteLanes:
		return l.Say("Threads that stand for several owners in turn: %d.", n.Count)
	case logs.NoteCut:
		return l.Say("Its last line is incomplete and left out.")
	case logs.NoteBegun:
		return l.Say("Its first line is incomplete and left out.")
	case logs.NoteEarlier:
		return l.Say("Threads that release or renew what they took before it began: %d, the first in line %d.", n.Count, n.Line)
	case logs.NoteBackwards:
		return l.Say("Instants earlier than the line above: %d, the first in line %d.", n.Count, n.Line)
	case logs.NoteStanding:
		return l.Say("It ends while the key is still there.")
	case logs.NoteLeftOut:
		return l.Say("Commands left out because there are too many: %d, from line %d on.", n.Count, n.Line)
	case logs.NoteWithin:
		return l.Say("Its instants are the clients': when an attempt began and ended. Redis ran it in between: Relock places it where the answers fit.")
	case logs.NoteCommands:
		return l.Say("Attempts without commands, or of a lock that hands over to waiters: %d, the first in line %d. Each runs again as an attempt of the reentrant lock; its outcome is the log's.", n.Count, n.Line)
	case logs.NoteLease:
		return l.Say("Attempts without a lease: %d, the first in line %d. It is assumed to last until another owner is granted the lock.", n.Count, n.Line)
	case logs.NoteUnanswered:
		return l.Say("Attempts without an answer: %d, the first in line %d. They are left out: it is unknown whether Redis ran them.", n.Count, n.Line)
	case logs.NoteNodes:
		return l.Say("Commands to nodes other than the first: %d, the first in line %d. They are left out.", n.Count, n.Line)
	case logs.NoteNobody:
		return l.Say("Attempts without a key or an owner: %d, the first in line %d. They are left out.", n.Count, n.Line)
	case logs.NoteSameOwners:
		return l.Say("The key itself names its holder: no other way of reading it fits.")
	}
	return ""
}

// Log is what the page of a trace says of the log that it was read from.
type Log struct {
	Notes   []string
	Threads []LogThread
	By      []LogChoice // who can be a thread; nil where the log is not kept
	Keys    []LogChoice // other keys that could be locks
}

// LogThread says who a thread is.
type LogThread struct{ Name, Who string }

// LogChoice reads the log in another way.
type LogChoice struct {
	Label, URL string
	Current    bool
}

// NewLog returns what there is to say of a log; again is where it is read in another way, or
// "".
func NewLog(l words.Language, f *trace.FromLog, again string) *Log {
	p := &Log{Notes: LogNotes(l, f)}
	for _, t := range f.Threads {
		p.Threads = append(p.Threads, LogThread{l.Say("Thread %s", t.Name), strings.Join(append(slices.Clone(t.Owners), t.Clients...), ", ")})
	}
	if again == "" {
		return p
	}
	natural := logs.ByValue
	if f.ThreadsBy == logs.ByOwner || f.Hash {
		natural = logs.ByOwner
	}
	ways := []string{natural, logs.ByConnection}
	if f.Format == logs.OTLP { // spans know no connection
		ways = nil
	}
	for _, by := range ways {
		p.By = append(p.By, LogChoice{LogThreadsBy(l, by), again + "?threads=" + by, by == f.ThreadsBy})
	}
	for _, k := range f.Others[:min(len(f.Others), 12)] {
		label := l.Say("%s: %d commands", k.Key, k.Commands)
		if k.Commands == 1 {
			label = l.Say("%s: 1 command", k.Key)
		}
		p.Keys = append(p.Keys, LogChoice{Label: label, URL: again + "?key=" + url.QueryEscape(k.Key)})
	}
	return p
}
