package film

import (
	"slices"
	"strings"
)

// Tone says how a text is meant. The page gives each tone a colour and a shape.
type Tone string

// Tones.
const (
	Plain Tone = "plain"
	Quiet Tone = "quiet" // not what this row is about
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
	Event      string // what Redis or the run did by itself, or ""
	EventTone  Tone
	Violations []Violation
	Final      bool   // the run's end
	Failed     string // at the run's end: OnlyFailed
	Inside     []Inner
}

// Actor returns the index of the thread that acts in a row, -1 for Redis and
// the run.
func (r *Row) Actor() int {
	if r.Event != "" {
		return -1
	}
	return slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Acting })
}

// mostItems is how many commands, notes, fields and broken rules of one row a
// page can show.
const mostItems = 500

// TooLong reports whether a row has more than a page can show of one step. Only
// a handwritten trace has such rows.
func (r *Row) TooLong() bool {
	items := len(r.Violations) + len(r.Key.Holds) + len(r.Key.Calls) + len(r.Key.Nodes)
	for i := range r.Cells {
		c := &r.Cells[i]
		items += len(c.Lines) + len(c.Notes) + len(c.Earlier)
	}
	return items > mostItems
}

// Inner is a Redis command within a row: T5.1.
type Inner struct {
	Time          string
	Ordinal       int // of the thread
	Line          Line
	Before, After Key
	Atomic        bool // it ran in one script with its neighbours
	Opens, Closes bool // the first and the last of these
}

// Renumbered is the number of a last call before and after the command, as
// fields of the hash, if that is all it changed; else both are "".
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

// Doing is what a thread does besides locking, if that can be drawn.
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
	Notes   []Note // what happened to the thread, and what it does next
	Inside  int    // levels it acts as if it held
	Leaving bool   // its work is over: it only has to unlock
	Parted  bool   // it is inside, and believes it holds what Redis does not know of
	Acting  bool
	Doing   Doing
	Ordinal int // from 0, for its colour
}

// Note stands beside the title of a cell, in a tone of its own.
type Note struct {
	Text string
	Tone Tone
}

// note adds one, in the tone of what it says.
func (c *Cell) note(text string, tone Tone) { c.Notes = append(c.Notes, Note{text, tone}) }

// LineGroup is a group of consecutive commands of a cell.
type LineGroup struct {
	Lines  []Line
	Folded bool // they are about the queue, and too many to read in passing
}

// foldFrom is from how many on commands about the queue are folded: so many
// would hide what happens to the lock itself.
const foldFrom = 3

// Groups returns the cell's commands in order.
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
	Args    string // without the key, which is "key" where there are several
	Reply   string
	Writes  bool
	Queue   bool // about the waiting threads
	Error   bool
	Node    int    // if there are several, else 0
	Source  string // "lock.lua:17"
	Spoken  string // the whole line in words
	Ordinal int
}

// Key is the lock's key after a row.
type Key struct {
	Type     string
	Holds    []HoldCount
	Calls    []LastCall // in the same hash, if the lock's calls are numbered
	Lease    string     // "151 ms", "no expiry", or "" without a key
	PTTL     int64      // Redis' own figure for that: milliseconds, trace.NoExpiry or trace.NoKey
	Fraction int        // of the lease left, in thousandths
	Nodes    []Node     // if there are several; the rest is what a majority has
}

// Short returns the key in one line: "{A: 2, #A: 3} 151 ms".
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

// Changed reports whether two states of the key differ in who holds it or for
// how long. The number of a last call does not count.
func (k Key) Changed(before Key) bool {
	k.Calls, before.Calls = nil, nil
	return k.Short() != before.Short()
}

// LastCall is a field of the lock's hash that is no hold count: the number of
// the last call that came through a thread's client.
type LastCall struct {
	Field   string // "#A"
	Thread  string // "" if it is no thread's
	Ordinal int
	Number  string
}

// String returns the field as it is written: "#A: 3".
func (c LastCall) String() string { return c.Field + ": " + c.Number }

// Node is the key on one of several Redises.
type Node struct {
	Number  int
	Thread  string // who holds it there, or ""
	Ordinal int
	Down    bool   // it does not answer
	Cut     string // the only threads it does not answer, as a list
}

// HoldCount is an owner in the lock's hash, or the lock's string.
type HoldCount struct {
	Thread  string // "" for an owner that is no thread's
	Ordinal int
	Owner   string // shortened
	Count   string // "" if the key is a string, which has no counts
}

// Violation is a broken rule.
type Violation struct {
	Rule   string // its identifier
	Title  string // what a person calls it
	Named  string // both: "lost update (lost-update)"
	Detail string
}
