// Package view turns traces and scenarios into what is shown: plain structs
// of ready-made text in a language, without HTML, HTTP or Redis. The page and
// the terminal both draw from it.
package view

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/fault"
	"relock/engine/journal"
	"relock/engine/lock"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/run"
	"relock/engine/trace"
	"relock/engine/trace/facts"
	"relock/web/words"
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
	Rule   string
	Detail string
}

// Timeline folds a trace into rows. It is not safe for concurrent use.
type Timeline struct {
	l        words.Language
	threads  []string
	owners   facts.Owners
	lease    int64
	key      string
	brief    *strings.Replacer // leaves its name out of those of the keys beside it
	scenario Scenario

	rows    []Row
	stands  map[string]*standing
	called  map[string]int // the step in which a thread last made a call
	decided map[string]int // the step in which a call of a thread last went well
	belief  map[string]int
	down    facts.Outages
	told    *told
}

// told is what later sentences need of the events so far.
type told struct {
	failed []Failure
	broken *broken
}

// NewTimeline returns an empty timeline in l for a run of s.
func NewTimeline(l words.Language, s Scenario, owners map[string]string) *Timeline {
	t := &Timeline{
		l: l, owners: owners, lease: s.LeaseMillis, key: s.Key, scenario: s,
		brief:  strings.NewReplacer("{"+s.Key+"}:", "…:", s.Key+":", "…:"),
		stands: map[string]*standing{}, called: map[string]int{}, down: facts.Outages{},
		decided: map[string]int{}, belief: map[string]int{},
	}
	var endless []string
	for _, th := range s.Threads {
		if th.Endless {
			endless = append(endless, th.Name)
		}
		t.threads = append(t.threads, th.Name)
		t.stands[th.Name] = &standing{text: l.Say("not started")}
	}
	t.told = &told{broken: newBroken(s.Protocol, endless, owners)}
	return t
}

// After is a timeline without rows that words what comes after t's events: it
// knows of them what its sentences need.
func (t *Timeline) After() *Timeline {
	after := NewTimeline(t.l, t.scenario, t.owners)
	after.told = t.told
	return after
}

// Threads are the names of the columns.
func (t *Timeline) Threads() []string { return t.threads }

// Rows are all rows so far. The caller must not change them.
func (t *Timeline) Rows() []Row { return t.rows }

// Add puts an event into its row and returns the row's index.
func (t *Timeline) Add(e trace.Event) int {
	t.told.broken.see(e)
	if n := len(t.rows); n == 0 || t.rows[n-1].Step != e.Step {
		t.rows = append(t.rows, t.newRow(e))
	}
	row := &t.rows[len(t.rows)-1]
	row.LastSeq = e.Seq
	before := row.Key
	if b, ok := e.Body.(trace.Fault); ok && e.Thread == "" {
		t.down.Strike(b)
	}
	row.Key = t.keyCell(e.Key)
	row.Key.Nodes = t.nodes(e.Nodes)
	t.belief = e.Belief
	if i := slices.Index(t.threads, e.Thread); i >= 0 {
		cell := &row.Cells[i]
		if !cell.Acting {
			cell.Acting, cell.Title, cell.Tone = true, "", Plain
		}
		t.act(cell, e)
		if b, ok := e.Body.(trace.Command); ok {
			row.inner(cell, b, before)
		}
	} else {
		t.event(row, e)
	}
	t.mark(row, e)
	return len(t.rows) - 1
}

func (t *Timeline) newRow(e trace.Event) Row {
	row := Row{Step: e.Step, Time: "T" + strconv.Itoa(e.Step), At: t.l.Duration(e.At.Duration()), Key: t.keyCell(trace.Absent())}
	if n := len(t.rows); n > 0 {
		row.Key = t.rows[n-1].Key
	}
	for i, name := range t.threads {
		row.Cells = append(row.Cells, Cell{Thread: name, Of: t.scenario.Threads[i].Of, Ordinal: i, Title: t.stands[name].say(t.l, e.At), Tone: Quiet})
	}
	return row
}

// inner notes a command as one of the row's own rows.
func (r *Row) inner(c *Cell, b trace.Command, before Key) {
	n := len(r.Inside)
	one := Inner{
		Time: r.Time + "." + strconv.Itoa(n+1), Ordinal: c.Ordinal, Line: c.Lines[len(c.Lines)-1],
		Before: before, After: r.Key, Atomic: b.Script != "", Opens: true, Closes: true,
	}
	if script, _, _ := strings.Cut(one.Line.Source, ":"); n > 0 && one.Atomic && r.Inside[n-1].Line.Node == b.Node {
		if last, _, _ := strings.Cut(r.Inside[n-1].Line.Source, ":"); last == script {
			r.Inside[n-1].Closes, one.Opens = false, false
		}
	}
	r.Inside = append(r.Inside, one)
}

// mark shows in each cell what its thread believes, and whether that is true.
func (t *Timeline) mark(row *Row, e trace.Event) {
	held := t.owners.Holders(e.Key)
	for i := range row.Cells {
		c := &row.Cells[i]
		c.Inside = e.Belief[c.Thread]
		c.Leaving = slices.Contains(e.Leaving, c.Thread)
		c.Parted = c.Inside > 0 && !c.Leaving && !slices.Contains(held, c.Thread) && InRedis(t.scenario.Protocol)
		c.Doing = t.stands[c.Thread].doing(e.At)
	}
}

func (t *Timeline) event(row *Row, e trace.Event) {
	switch b := e.Body.(type) {
	case trace.Expired:
		row.Event, row.EventTone = t.l.Say("The lease ran out: Redis dropped the key"), Bad
		if t.scenario.Heartbeat() {
			row.Event = t.l.Say("The key's time is over: Redis dropped it")
		}
		if b.Node > 0 {
			row.Event = t.l.Say("The lease ran out: node %d dropped the key", b.Node)
		}
	case trace.Violation:
		row.Violations = append(row.Violations, Violation{Rule: b.Rule, Detail: t.l.Clause(t.told.broken.finding(e, b).Says)})
	case trace.End:
		row.Final = true
		row.Event, row.EventTone = t.l.Say("The run has ended"), Quiet
		if t.told.broken.times == 0 && b.Error == "" {
			row.Failed = OnlyFailed(t.l, t.told.failed)
		}
		switch {
		case atLimit(b.Error) && len(t.told.broken.asking(t.threads)) > 0:
			row.Event = t.l.Say("The run was ended: it reached the limit of %d events, and %s still asked for the lock", run.MaxEvents, t.l.List(t.told.broken.asking(t.threads)))
			row.EventTone = Bad
		case b.Error != "":
			row.Event, row.EventTone = endOfRun(t.l, b.Error), Bad
		case row.Failed != "":
			row.Event, row.EventTone = t.l.Say("The run has ended: %s", row.Failed), Bad
		}
	case trace.Fault:
		row.Event, row.EventTone = t.l.Clause(fault.Row(b, len(e.Nodes) > 0)), Bad
	}
}

func (t *Timeline) act(c *Cell, e trace.Event) {
	stand := t.stands[c.Thread]
	switch b := e.Body.(type) {
	case trace.Command:
		t.begins(c, e.Step)
		c.Lines = append(c.Lines, t.line(b, c.Ordinal))
		if c.Title == "" {
			c.Title = b.Call
			switch {
			case b.Late:
				c.Title = lateCopy(t.l, b.Call, b.Level)
			case b.GivesBack:
				c.Title = t.l.Say("gives back what it may have acquired")
			}
		}
	case trace.Outcome:
		t.begins(c, e.Step)
		if b.Call != lock.CallRenew {
			stand.moves()
		}
		title, tone := t.outcome(b)
		if others := t.owners.Holders(e.Key); b.Result == trace.Renewed && len(others) > 0 && !slices.Contains(others, c.Thread) && !t.scenario.Heartbeat() {
			title, tone = t.l.Say("watchdog: the lease of %s renewed", t.l.List(others)), Bad
		}
		if b.Result == trace.Acquired && b.Attempt > 1 && len(c.Lines) == 0 && exhibit.Named(t.scenario.Protocol).Granting {
			title = t.l.Say("is handed the lock") // by a message: it has not asked again
		}
		if t.decided[c.Thread] == e.Step { // one more call in the same step
			c.note(title, tone)
			break
		}
		c.Title, c.Tone = title, tone
		if tone != Bad {
			t.decided[c.Thread] = e.Step
		}
		if b.Result == trace.Failed {
			c.note(failure(t.l, b.Error), Plain)
		}
		if b.Until > 0 {
			c.note(t.l.Say("valid until %s", t.l.Duration(b.Until.Duration())), Plain)
		}
	case trace.Work:
		t.work(c, stand, e.At, b)
	case trace.Wait:
		length := t.l.Duration(b.For.Duration())
		note := t.l.Say("waits %s", length)
		if b.Why == trace.WaitNotify {
			note = t.l.Say("waits for a message, at most %s", length)
		}
		c.note(note, Plain)
		stand.waits(e.At + b.For)
	case trace.Resource:
		tone := Plain
		if b.Refused {
			tone = Bad
		}
		c.note(resource(t.l, b), tone)
	case trace.Fault:
		if b.Do == fault.LoseReply {
			t.begins(c, e.Step) // what it befalls comes after the commands
		}
		tone := Bad
		if b.Do == fault.Resume {
			tone = Plain
		}
		c.note(t.l.Clause(fault.Row(b, len(e.Nodes) > 0)), tone)
		stand.suffers(t.l, e.At, b)
	case trace.End:
		if f, ok := FailureOf(e); ok {
			t.told.failed = append(t.told.failed, f)
		}
		tone := Plain
		if b.Result != trace.Done {
			tone = Bad
		}
		c.note(t.l.Say("ends: %s", result(t.l, b.Result)), tone)
		*stand = standing{text: t.l.Say("ended: %s", result(t.l, b.Result))}
	}
}

// begins has what was noted of a thread so far in a step stand before the call
// that it makes now.
func (t *Timeline) begins(c *Cell, step int) {
	if t.called[c.Thread] == step {
		return
	}
	t.called[c.Thread] = step
	c.Earlier, c.Notes = c.Notes, nil
}

func (t *Timeline) work(c *Cell, stand *standing, at trace.Millis, b trace.Work) {
	if b.State == trace.WorkEnd {
		c.Title = t.l.Say("work at level %d done", b.Level)
		stand.moves()
		return
	}
	c.note(t.l.Say("works %s", t.l.Duration(b.For.Duration())), Plain)
	stand.works(at+b.For, b.Level)
}

func (t *Timeline) line(b trace.Command, ordinal int) Line {
	l := Line{Verb: b.Args[0], Node: b.Node, Ordinal: ordinal, Writes: journal.Writes(b.Args[0]), Queue: t.ofQueue(b.Arg(1))}
	var args []string
	for i, a := range b.Args[1:] {
		a = t.brief.Replace(a)
		switch {
		case i == 0 && a == t.key:
			continue
		case t.owners[a] != "":
			a = ShortOwner(a)
		case len(a) > 32:
			a = t.shorten(a)
		case l.Verb == "HINCRBY" && i == 2 && !strings.HasPrefix(a, "-"):
			a = "+" + a
		case l.Verb == "HINCRBY" && i == 2:
			a = "−" + a[1:]
		}
		args = append(args, a)
	}
	l.Args = strings.Join(args, " ")
	l.Reply = t.reply(b)
	l.Error = b.Error != ""
	if b.Script != "" {
		l.Source = b.Script
		if b.Line > 0 {
			l.Source += ":" + strconv.Itoa(b.Line)
		}
	}
	l.Spoken = t.l.Say("%s gives %s", strings.TrimSpace(l.Verb+" "+l.Args), l.Reply)
	return l
}

// ofQueue tells whether a key, or a channel, is that of who waits: it is beside
// the lock's, and neither of the two others that can be there.
func (t *Timeline) ofQueue(key string) bool {
	return key != "" && key != t.key && !protocol.IsOver(key) && key != protocol.TokenKey(t.key)
}

func (t *Timeline) reply(b trace.Command) string {
	if b.Error != "" {
		return b.Error
	}
	return t.shorten(t.brief.Replace(Reply(t.l, b.Reply)))
}

// Reply is a reply in a word or two: "1", "nil", and of a list its parts beside
// each other, "nil nil".
func Reply(l words.Language, reply any) string {
	switch v := reply.(type) {
	case nil:
		return "nil"
	case []any:
		if len(v) == 0 {
			return l.Say("empty list")
		}
		parts := make([]string, len(v))
		for i, one := range v {
			parts[i] = Reply(l, one)
		}
		return strings.Join(parts, " ")
	default:
		return fmt.Sprint(v)
	}
}

// shorten shortens the owners in a text.
func (t *Timeline) shorten(text string) string {
	for id := range t.owners {
		text = strings.ReplaceAll(text, id, ShortOwner(id))
	}
	return text
}

func (t *Timeline) nodes(states []trace.KeyState) []Node {
	var list []Node
	for i, k := range states {
		n := Node{Number: i + 1, Down: t.down.Down(i), Cut: t.l.List(t.down.CutOff(i))}
		if k.Value != nil {
			n.Thread = t.owners[*k.Value]
			n.Ordinal = slices.Index(t.threads, n.Thread)
		}
		list = append(list, n)
	}
	return list
}

func (t *Timeline) keyCell(k trace.KeyState) Key {
	out := Key{Type: k.Type}
	if !k.Exists() {
		return out
	}
	if k.Value != nil {
		name := t.owners[*k.Value]
		out.Holds = append(out.Holds, HoldCount{Thread: name, Ordinal: slices.Index(t.threads, name), Owner: ShortOwner(*k.Value)})
	}
	for _, id := range slices.Sorted(maps.Keys(k.Fields)) {
		if trace.IsNumber(id) {
			call := LastCall{Field: id, Ordinal: slices.Index(t.threads, id[1:]), Number: k.Fields[id]}
			if call.Ordinal >= 0 {
				call.Thread = id[1:]
			}
			out.Calls = append(out.Calls, call)
			continue
		}
		name := t.owners[id]
		out.Holds = append(out.Holds, HoldCount{
			Thread: name, Ordinal: slices.Index(t.threads, name), Owner: ShortOwner(id), Count: k.Fields[id],
		})
	}
	if k.PTTL < 0 {
		out.Lease = t.l.Say("no expiry")
		out.Fraction = 1000
		return out
	}
	out.Lease = t.l.Duration(millis(k.PTTL))
	if t.lease > 0 {
		out.Fraction = int(min(max(k.PTTL*1000/t.lease, 0), 1000))
	}
	return out
}

// ShortOwner shortens an owner id to its ends. One from elsewhere may have any
// characters, which stay whole.
func ShortOwner(id string) string {
	if len(id) <= 9 {
		return id
	}
	runes := []rune(id)
	if len(runes) <= 9 {
		return id
	}
	return string(runes[:4]) + "…" + string(runes[len(runes)-3:])
}

// millis is a time as Redis counts it.
func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
