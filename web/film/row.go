package film

import (
	"slices"
	"strconv"
	"strings"

	"relock/engine/check"
	"relock/engine/trace"
	"relock/web/words"
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

// Row is one T of the timeline: what one step did, and what there is to see at
// it. The server draws fields that have no name in JSON.
type Row struct {
	Step     int           `json:"step"`
	HTML     string        `json:"html,omitempty"` // of the row, where it is not in the page
	At       string        `json:"at"`             // "62 ms"
	Millis   trace.Millis  `json:"ms"`             // the same as a number, of its first event
	Thread   int           `json:"thread"`         // ordinal of the one that acted, or -1
	Why      string        `json:"why"`
	Says     string        `json:"says"` // the row in words
	Mark     Mark          `json:"mark,omitempty"`
	Alarm    string        `json:"alarm,omitempty"` // the sentence of a broken rule or of an expiry
	Key      Key           `json:"after"`
	Belief   []int         `json:"belief"`            // levels that each thread acts as if it held
	Leaving  []int         `json:"leaving,omitempty"` // ordinals of those that are leaving
	Lua      *ScriptMoment `json:"lua,omitempty"`
	Inside   []Inner       `json:"inside,omitempty"`
	Stage    Stage         `json:"stage"`
	Broken   string        `json:"broken,omitempty"`   // what a person calls the first rule that it breaks
	Calm     bool          `json:"calm,omitempty"`     // two are inside in it, and what the lock protects decides for itself
	Unjudged []string      `json:"unjudged,omitempty"` // at the run's end: Unjudged
	From     int           `json:"fold,omitempty"`     // the first step of Fold, 0 without one

	LastSeq    int         `json:"-"` // of the events shown in it
	Time       string      `json:"-"` // "T1"
	Cells      []Cell      `json:"-"` // one for each thread, in the scenario's order
	Event      string      `json:"-"` // what Redis or the run did by itself, or ""
	EventTone  Tone        `json:"-"`
	Violations []Violation `json:"-"`
	Final      bool        `json:"-"` // the run's end
	Failed     string      `json:"-"` // at the run's end: OnlyFailed
	Late       string      `json:"-"` // at the run's end: Lateness, where it was late
	Fold       *Fold       `json:"-"` // that ends with it, as if nothing came after it
	Closed     bool        `json:"-"` // a table opens with the fold in its place

	weight  int    // of Why
	lapsed  bool   // Event tells of the end of a lease, of one of several locks
	broken  bool   // at the run's end: a rule was
	touched string // what was said about the resource
	turn    turn
	ahead   []trace.Millis // of each cell, the last instant that its title names, if that was to come; or 0
}

// InFull is Why; at the end of a run that breaks no rule and cannot be judged, with what is
// missing and what helps.
func (r *Row) InFull(l words.Language) string {
	lacks := r.Unjudged
	switch {
	case len(lacks) == 0 || r.broken:
		return r.Why
	case r.Failed == "": // Why has the first line
		lacks = lacks[1:]
	}
	return l.Say("%[1]s %[2]s", r.Why, Sentences(l, lacks))
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
// page can show, and mostInside how many fields of the key beside its commands.
const (
	mostItems  = 500
	mostInside = 8000
)

// calm reports whether the rules that a row breaks do no harm here.
func (t *Timeline) calm(row *Row) bool {
	return len(row.Violations) > 0 && t.decides() && !slices.ContainsFunc(row.Violations, func(v Violation) bool { return v.Rule != check.MutualExclusion })
}

// TooLong reports whether a row has more than a page can show of one step. Only
// a handwritten trace has such rows.
func (r *Row) TooLong() bool {
	items := len(r.Violations) + len(r.Key.Holds) + len(r.Key.Calls) + len(r.Key.Nodes) + len(r.Key.Locks)
	for i := range r.Cells {
		c := &r.Cells[i]
		items += len(c.Lines) + len(c.Notes) + len(c.Earlier)
	}
	fields := 0
	for i := range r.Inside {
		fields += len(r.Inside[i].After.Holds) + len(r.Inside[i].After.Calls)
	}
	return items > mostItems || fields > mostInside
}

// Inner is a Redis command within a row, T5.1, and what there is to see right
// after it.
type Inner struct {
	Why     string        `json:"why"`
	Says    string        `json:"says"`
	At      string        `json:"at"`
	After   Key           `json:"after"`
	Belief  []int         `json:"belief"`
	Leaving []int         `json:"leaving,omitempty"`
	Lua     *ScriptMoment `json:"lua,omitempty"`
	Stage   *Stage        `json:"stage,omitempty"` // nil: as before it

	Time    string `json:"-"`
	Ordinal int    `json:"-"` // of the thread
	Line    Line   `json:"-"`
	Before  Key    `json:"-"`
	Atomic  bool   `json:"-"` // it ran in one script with its neighbours
	Opens   bool   `json:"-"` // the first of these
	Closes  bool   `json:"-"` // the last of these
}

// Renumbered is the number of a last call before and after the command, as
// fields of the hash, if that is all it changed; else both are "".
func (i Inner) Renumbered() (was, now string) {
	if !i.Line.Writes || i.After.Changed(i.Before) {
		return "", ""
	}
	for _, c := range i.After.Calls {
		n, had := slices.BinarySearchFunc(i.Before.Calls, c.Field, func(b LastCall, field string) int { return strings.Compare(b.Field, field) })
		if had && i.Before.Calls[n] == c {
			continue
		}
		if now = c.String(); had {
			was = i.Before.Calls[n].String()
		}
	}
	return was, now
}

// Doing is what a thread does besides locking, if it can be drawn.
type Doing string

// The things that can be drawn.
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

// cover takes what comes after an instant out of the titles: when a thread moves next would
// tell what comes next.
func (r *Row) cover(l words.Language, after trace.Millis) {
	for i := range r.Cells {
		c := &r.Cells[i]
		switch {
		case c.Acting || r.ahead[i] <= after:
		case c.Doing == Paused:
			c.Title = l.Say("paused")
		default:
			c.Title = l.Say("waiting")
		}
	}
}

// Note is beside the title of a cell, in its own tone.
type Note struct {
	Text string
	Tone Tone
}

// note adds one, in the tone of what it says.
func (c *Cell) note(text string, tone Tone) { c.Notes = append(c.Notes, Note{text, tone}) }

// LineGroup is a group of consecutive commands of a cell.
type LineGroup struct {
	Lines  []Line
	Closed bool // they are about the queue, and too many to read in passing
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
		groups = append(groups, LineGroup{Lines: c.Lines[i:end], Closed: c.Lines[i].Queue && end-i >= foldFrom})
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

// TypeElsewhere is the type of a key that is not in Redis: the lock is a word
// in a process, or there is none.
const (
	TypeElsewhere = "elsewhere"
	TypeNoLock    = "no lock"
)

// Key is the lock's key after a row.
type Key struct {
	Type     string      `json:"type"` // as in traces, or TypeElsewhere, or TypeNoLock
	Holds    []HoldCount `json:"fields,omitempty"`
	Mode     string      `json:"mode,omitempty"`  // of a hash of readers and a writer: what it says of who holds it
	Calls    []LastCall  `json:"calls,omitempty"` // in the same hash, by field, if the lock's calls are numbered
	PTTL     Left        `json:"lease"`
	Fraction int         `json:"left"`            // of the lease left, in thousandths
	Nodes    []Node      `json:"nodes,omitempty"` // if there are several; the rest is what a majority has
	Locks    []Lock      `json:"locks,omitempty"` // if there are several; the rest is the first one
	More     int         `json:"more,omitempty"`  // fields and calls that are left out, as there are too many

	Heartbeat bool   `json:"heartbeat,omitempty"` // the key is no lock's, but a device's sign of life
	Lease     string `json:"-"`                   // "151 ms", "no expiry", or "" without a key
	Taken     string `json:"-"`                   // "2 of 3 permits", "" where the lock has none
}

// Left is what is left of a lease, Redis' own figure: milliseconds,
// trace.NoExpiry or trace.NoKey. A page gets -1 for both.
type Left int64

// MarshalJSON tells the page.
func (l Left) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, max(int64(l), -1), 10), nil
}

// Short returns the key in one line: "{A: 2, #A: 3} 151 ms", of several locks with their names.
func (k Key) Short() string {
	if len(k.Locks) > 0 {
		list := make([]string, len(k.Locks))
		for i, one := range k.Locks {
			list[i] = one.Name + " " + one.Key.Short()
		}
		return strings.Join(list, ", ")
	}
	if k.Lease == "" {
		return "∅"
	}
	var fields []string
	if k.Mode != "" {
		fields = append(fields, trace.Mode+": "+k.Mode)
	}
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

// Entries returns what is in the key, in the order in which it is shown: a hash's mode is the
// first, and nobody's.
func (k Key) Entries() []HoldCount {
	if k.Mode == "" {
		return k.Holds
	}
	return append([]HoldCount{{Owner: trace.Mode, Ordinal: -1, Count: k.Mode}}, k.Holds...)
}

// Text returns an entry of the key, without what is around it: "id: 2", or in a set "id".
func (h HoldCount) Text() string {
	if h.Count == "" {
		return h.Owner
	}
	return h.Owner + ": " + h.Count
}

// Quoted reports whether the key is one value, and no list of entries.
func (k Key) Quoted() bool { return k.Type == trace.TypeString }

// Changed reports whether two states of the key differ in who holds it or for
// how long. The number of a last call does not count.
func (k Key) Changed(before Key) bool {
	k.Calls, before.Calls = nil, nil
	if len(k.Locks) > 0 && len(k.Locks) == len(before.Locks) {
		return slices.ContainsFunc(k.Locks, func(one Lock) bool {
			i := slices.IndexFunc(before.Locks, func(was Lock) bool { return was.Name == one.Name })
			return i < 0 || one.Key.Changed(before.Locks[i].Key)
		})
	}
	return k.Short() != before.Short()
}

// LastCall is a field of the lock's hash that is no hold count: the number of
// the last call that came through a thread's client.
type LastCall struct {
	Field   string `json:"field"`  // "#A"
	Thread  string `json:"-"`      // "" if it is no thread's
	Ordinal int    `json:"thread"` // -1 if it is no thread's
	Number  string `json:"number"`
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

// MarshalJSON tells the page the ordinal of who holds it there, or -1.
func (n Node) MarshalJSON() ([]byte, error) {
	if n.Thread == "" {
		n.Ordinal = -1
	}
	return strconv.AppendInt(nil, int64(n.Ordinal), 10), nil
}

// HoldCount is an owner in the lock's hash, or the lock's string.
type HoldCount struct {
	Owner   string `json:"owner"`  // shortened
	Thread  string `json:"-"`      // "" for an owner that is no thread's
	Ordinal int    `json:"thread"` // -1 for an owner that is no thread's
	Count   string `json:"count"`  // of a sorted set: the score; "" if the key is a string or a set, which have no counts
}

// Violation is a broken rule.
type Violation struct {
	Rule   string // its identifier
	Title  string // what a person calls it
	Named  string // both: "lost update (lost-update)"
	Detail string
}
