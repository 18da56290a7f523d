package timeline

import (
	"slices"
	"strings"
)

// Tone says how a text is meant; whoever draws it gives it a colour and a
// shape.
type Tone string

// Tones.
const (
	Plain Tone = "plain"
	Quiet Tone = "quiet" // not the matter of this row
	Good  Tone = "good"
	Bad   Tone = "bad"
)

// Row is one T of the timeline: what one step did.
type Row struct {
	Step       int
	LastSeq    int    // of the events shown in it
	Time       string // "T1"
	At         string // "62 ms"
	Cells      []Cell // one for each thread, in the scenario's order
	Key        Key
	Event      string // what Redis or the run did by itself, else ""
	EventTone  Tone
	Violations []Violation
	Final      bool   // the run's end
	Failed     string // of the run's end: OnlyFailed
	Inside     []Inner
}

// Actor is the place of the thread that a row is of, -1 for Redis and the run.
func (r *Row) Actor() int {
	if r.Event != "" {
		return -1
	}
	return slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Acting })
}

// mostItems is how much a page can show of one row: commands, notes, fields and
// broken rules.
const mostItems = 500

// TooLong tells whether a row has more than a page can show of one step. Only
// a trace that somebody wrote by hand has such rows.
func (r *Row) TooLong() bool {
	items := len(r.Violations) + len(r.Key.Holds) + len(r.Key.Calls) + len(r.Key.Nodes)
	for i := range r.Cells {
		c := &r.Cells[i]
		items += len(c.Lines) + len(c.Notes) + len(c.Earlier)
	}
	return items > mostItems
}

// Inner is a Redis command inside of a row: T5.1.
type Inner struct {
	Time          string
	Ordinal       int // of the thread
	Line          Line
	Before, After Key
	Atomic        bool // one with its neighbours: they ran in one script
	Opens, Closes bool // the first and the last of these
}

// Renumbered is the number of a last call before and after the command, as
// fields of the hash, where that is all it changed; else both are "".
func (i Inner) Renumbered() (was, now string) {
	if !i.Line.Writes || i.After.Changed(i.Before) {
		return "", ""
	}
	for _, c := range i.After.Calls {
		if !slices.Contains(i.Before.Calls, c) {
			now = c.String()
			if n := slices.IndexFunc(i.Before.Calls, func(b LastCall) bool { return b.Field == c.Field }); n >= 0 {
				was = i.Before.Calls[n].String()
			}
		}
	}
	return was, now
}

// Doing is what a thread does beside the lock, as far as it can be drawn.
type Doing string

// What can be drawn.
const (
	Waiting Doing = "waiting"
	Paused  Doing = "paused"
)

// Cell is a thread in a row.
type Cell struct {
	Thread  string
	Of      string // what it belongs to, or ""
	Earlier []Note // what came before the call: the write at the end of the work
	Title   string
	Tone    Tone
	Lines   []Line
	Notes   []Note // what befell the thread, and what it does next
	Inside  int    // levels it acts as if it held
	Leaving bool   // it has called its last unlock, and has no answer yet
	Parted  bool   // it is inside, and believes in a hold that Redis does not know
	Acting  bool
	Doing   Doing
	Ordinal int // from 0, for its colour
}

// Note is said beside the title of a cell, which keeps a tone of its own.
type Note struct {
	Text string
	Tone Tone
}

// note adds one, in the tone of what it says.
func (c *Cell) note(text string, tone Tone) { c.Notes = append(c.Notes, Note{text, tone}) }

// LineGroup is some commands of a cell that follow each other.
type LineGroup struct {
	Lines  []Line
	Folded bool // they are about the queue, and more than are read in passing
}

// foldFrom is how many commands about the queue are folded: as many as would
// hide what happens to the lock itself.
const foldFrom = 3

// Groups are the cell's commands, in their order.
func (c *Cell) Groups() []LineGroup {
	var groups []LineGroup
	for i := 0; i < len(c.Lines); {
		end := i + 1
		for end < len(c.Lines) && c.Lines[end].Queue == c.Lines[i].Queue {
			end++
		}
		groups = append(groups, LineGroup{Lines: c.Lines[i:end], Folded: c.Lines[i].Queue && end-i >= foldFrom})
		i = end
	}
	return groups
}

// Line is one Redis command.
type Line struct {
	Verb    string // "HINCRBY"
	Args    string // without the key
	Reply   string
	Writes  bool
	Queue   bool // about who waits
	Error   bool
	Node    int    // where there are several, else 0
	Source  string // "lock.lua:17"
	Spoken  string // the whole line in words
	Ordinal int
}

// Key is the lock's key after a row.
type Key struct {
	Type     string
	Holds    []HoldCount
	Calls    []LastCall // in the same hash, where a lock's calls have numbers
	Lease    string     // "151 ms", "no expiry", or "" without a key
	Fraction int        // of the lease left, in thousandths
	Nodes    []Node     // where there are several; the rest is what a majority has
}

// Short is the key in one line: "{A: 2, #A: 3} 151 ms".
func (k Key) Short() string {
	if k.Lease == "" {
		return "∅"
	}
	var fields []string
	for _, h := range k.Holds {
		name := h.Thread
		if name == "" {
			name = h.Owner
		}
		if h.Count != "" {
			name += ": " + h.Count
		}
		fields = append(fields, name)
	}
	for _, c := range k.Calls {
		fields = append(fields, c.String())
	}
	return "{" + strings.Join(fields, ", ") + "} " + k.Lease
}

// Changed tells whether two states of the key differ in who holds it, or for
// how long. The number of a last call changes neither.
func (k Key) Changed(before Key) bool {
	k.Calls, before.Calls = nil, nil
	return k.Short() != before.Short()
}

// LastCall is a field of the lock's hash that holds no count: the number of
// the last call that came through a thread's client.
type LastCall struct {
	Field   string // "#A"
	Thread  string // "" where it is no thread's
	Ordinal int
	Number  string
}

// String is the field as it is written: "#A: 3".
func (c LastCall) String() string { return c.Field + ": " + c.Number }

// Node is the key on one of several Redises.
type Node struct {
	Number  int
	Thread  string // who holds it there, or ""
	Ordinal int
	Down    bool   // it does not answer
	Cut     string // the threads that alone it does not answer, listed
}

// HoldCount is an owner in the lock's hash, or the lock's string.
type HoldCount struct {
	Thread  string // "" for an owner that is no thread's
	Ordinal int
	Owner   string // shortened
	Count   string // "" where the key is a string, which counts nothing
}

// Violation is a broken rule.
type Violation struct {
	Rule   string // its identifier
	Title  string // what a person calls it
	Named  string // both: "lost update (lost-update)"
	Detail string
}
