// Package view turns traces and scenarios into what is shown: plain structs
// of ready-made text, without HTML, HTTP or Redis. The page and the terminal
// both draw from it.
package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"relock/engine/trace"
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
	Final      bool // the run's end
}

// Cell is a thread in a row.
type Cell struct {
	Thread  string
	Title   string
	Tone    Tone
	Lines   []Line
	Notes   []string // what the thread does next
	Inside  int      // levels it acts as if it held
	Parted  bool     // it believes in a hold that Redis does not know
	Acting  bool
	Ordinal int // from 0, for its colour
}

// Line is one Redis command.
type Line struct {
	Verb    string // "HINCRBY"
	Args    string // without the key
	Reply   string
	Writes  bool
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
	Lease    string // "151 ms", "no expiry", or "" without a key
	Fraction int    // of the lease left, in thousandths
	Nodes    []Node // where there are several; the rest is what a majority has
}

// Node is the key on one of several Redises.
type Node struct {
	Number  int
	Thread  string // who holds it there, or ""
	Ordinal int
}

// HoldCount is a field of the lock's hash.
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
	threads []string
	owners  map[string]string
	lease   int64
	key     string

	rows   []Row
	status map[string]string
	belief map[string]int
}

// NewTimeline returns an empty timeline for a run of s.
func NewTimeline(s Scenario, owners map[string]string) *Timeline {
	t := &Timeline{owners: owners, lease: s.LeaseMillis, key: s.Key, status: map[string]string{}, belief: map[string]int{}}
	for _, th := range s.Threads {
		t.threads = append(t.threads, th.Name)
		t.status[th.Name] = "not started"
	}
	return t
}

// Threads are the names of the columns.
func (t *Timeline) Threads() []string { return t.threads }

// Rows are all rows so far. The caller must not change them.
func (t *Timeline) Rows() []Row { return t.rows }

// Add puts an event into its row and returns the row's index.
func (t *Timeline) Add(e trace.Event) int {
	if n := len(t.rows); n == 0 || t.rows[n-1].Step != e.Step {
		t.rows = append(t.rows, t.newRow(e))
	}
	row := &t.rows[len(t.rows)-1]
	row.LastSeq = e.Seq
	row.Key = t.keyCell(e.Key)
	row.Key.Nodes = t.nodes(e.Nodes)
	t.belief = e.Belief
	if i := slices.Index(t.threads, e.Thread); i >= 0 {
		cell := &row.Cells[i]
		if !cell.Acting {
			cell.Acting, cell.Title, cell.Tone = true, "", Plain
		}
		t.act(cell, e)
	} else {
		t.event(row, e)
	}
	t.mark(row, e)
	return len(t.rows) - 1
}

func (t *Timeline) newRow(e trace.Event) Row {
	row := Row{Step: e.Step, Time: "T" + strconv.Itoa(e.Step), At: Millis(float64(e.At))}
	for i, name := range t.threads {
		row.Cells = append(row.Cells, Cell{Thread: name, Ordinal: i, Title: t.status[name], Tone: Quiet})
	}
	return row
}

// mark shows in each cell what its thread believes, and whether that is true.
func (t *Timeline) mark(row *Row, e trace.Event) {
	held := map[string]bool{}
	for id := range e.Key.Fields {
		held[t.owners[id]] = true
	}
	if e.Key.Value != nil {
		held[t.owners[*e.Key.Value]] = true
	}
	for i := range row.Cells {
		c := &row.Cells[i]
		c.Inside = e.Belief[c.Thread]
		c.Parted = c.Inside > 0 && !held[c.Thread]
	}
}

func (t *Timeline) event(row *Row, e trace.Event) {
	switch b := e.Body.(type) {
	case trace.Expired:
		row.Event, row.EventTone = "The lease ran out: Redis dropped the key", Bad
		if b.Node > 0 {
			row.Event = "The lease ran out: node " + strconv.Itoa(b.Node) + " dropped the key"
		}
	case trace.Violation:
		row.Violations = append(row.Violations, Violation{Rule: b.Rule, Detail: b.Detail})
	case trace.End:
		row.Final = true
		row.Event, row.EventTone = "The run has ended", Quiet
		if b.Error != "" {
			row.Event, row.EventTone = "The run was ended: "+b.Error, Bad
		}
	case trace.Fault:
		row.Event, row.EventTone = faultOfRedis(b, len(e.Nodes) > 0), Bad
	}
}

func (t *Timeline) act(c *Cell, e trace.Event) {
	switch b := e.Body.(type) {
	case trace.Command:
		c.Lines = append(c.Lines, t.line(b, c.Ordinal))
		if c.Title == "" {
			c.Title = b.Call
			if b.GivesBack {
				c.Title = givesBack
			}
		}
	case trace.Outcome:
		title, tone := outcome(b)
		if c.Tone == Good { // one more call in the same step
			c.Notes = append(c.Notes, title)
			if tone == Bad {
				c.Tone = Bad
			}
			break
		}
		c.Title, c.Tone = title, tone
		if b.Result == trace.Failed {
			c.Notes = append(c.Notes, strings.TrimSpace(b.Error[strings.LastIndex(b.Error, ":")+1:]))
		}
	case trace.Work:
		t.work(c, e, b)
	case trace.Wait:
		until := Millis(float64(e.At + b.For))
		note := "waits " + Millis(float64(b.For))
		if b.Why == trace.WaitNotify {
			note = "waits for a message, at most " + Millis(float64(b.For))
		}
		c.Notes = append(c.Notes, note)
		t.status[c.Thread] = "waiting until " + until
	case trace.Resource:
		c.Notes = append(c.Notes, resource(b))
		if b.Refused {
			c.Tone = Bad
		}
	case trace.Fault:
		c.Notes = append(c.Notes, fault(b))
		c.Tone = Bad
		switch {
		case b.Do == "resume":
			t.status[c.Thread], c.Tone = "", Plain
		case b.Do == "pause" && b.ForMS == 0:
			t.status[c.Thread] = "paused by hand"
		case b.Do == "pause":
			t.status[c.Thread] = "standing still until " + Millis(float64(e.At+b.ForMS))
		}
	case trace.End:
		c.Notes = append(c.Notes, "ends: "+string(b.Result))
		t.status[c.Thread] = "ended: " + string(b.Result)
		if b.Result != trace.Done {
			c.Tone = Bad
		}
	}
}

func (t *Timeline) work(c *Cell, e trace.Event, b trace.Work) {
	if b.State == trace.WorkEnd {
		c.Title = fmt.Sprintf("work at level %d done", b.Level)
		t.status[c.Thread] = ""
		return
	}
	c.Notes = append(c.Notes, "works "+Millis(float64(b.For)))
	t.status[c.Thread] = fmt.Sprintf("working, level %d", b.Level)
}

// resource words a read or a write of what the lock protects.
func resource(b trace.Resource) string {
	token := ""
	if b.Token > 0 {
		token = " with token " + strconv.FormatInt(b.Token, 10)
	}
	switch {
	case b.Refused:
		return "its write" + token + " is refused: a newer one was seen"
	case b.Op == trace.OpRead && b.Stock && b.Value <= 0:
		return "finds nothing left"
	case b.Op == trace.OpRead && b.Stock:
		return "finds " + strconv.Itoa(b.Value) + " left"
	case b.Op == trace.OpRead:
		return "reads " + strconv.Itoa(b.Value)
	case b.Stock:
		return "takes one" + token + ": " + strconv.Itoa(b.Value) + " left"
	default:
		return "writes " + strconv.Itoa(b.Value) + token
	}
}

// fault words what went wrong in a thread or on its way to Redis.
func fault(b trace.Fault) string {
	length := Millis(float64(b.ForMS))
	switch b.Do {
	case "resume":
		return "goes on"
	case "pause":
		if b.ForMS == 0 {
			return "paused by hand: stands still, its watchdog too"
		}
		if b.Scope == "work" {
			return "fault: the work stands still for " + length + ", the watchdog goes on"
		}
		return "fault: stands still for " + length
	case "crash":
		return "fault: the process dies"
	case "panic":
		return "fault: the business code panics"
	case "stall":
		return "fault: the business code hangs"
	case "skip-unlock":
		return "fault: the unlock is forgotten"
	case "extra-unlock":
		return "fault: one unlock too many"
	case "lose-request":
		return "fault: the request is lost"
	case "lose-message":
		return "fault: the message is lost"
	case "lose-reply":
		return "fault: the reply is lost"
	case "delay":
		return "fault: the request is delayed by " + length
	default:
		return "fault: " + b.Do
	}
}

// faultOfRedis words what was done to Redis itself, or to one of several.
func faultOfRedis(b trace.Fault, several bool) string {
	text := faultOf(b)
	if several {
		text = strings.Replace(text, "Redis", "node "+strconv.Itoa(max(b.Node, 1)), 1)
		text = strings.Replace(text, "a replica", "a replica of node "+strconv.Itoa(max(b.Node, 1)), 1)
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	if b.Thread != "" {
		text += ", for " + b.Thread + " alone"
	}
	return text
}

func faultOf(b trace.Fault) string {
	switch b.Do {
	case "restart":
		if b.Keep {
			return "Fault: Redis restarts, with its data"
		}
		return "Fault: Redis restarts empty"
	case "fail-over":
		if b.Behind == nil || *b.Behind == 0 {
			return "Fault: a replica takes over, with everything"
		}
		return "Fault: a replica takes over that lacks the last writes: " + strconv.Itoa(*b.Behind)
	case "evict":
		return "Fault: Redis evicts the key"
	case "clock-jump":
		return "Fault: the clock of Redis jumps by " + b.By
	case "down":
		return "Fault: Redis stops answering"
	case "up":
		return "Redis answers again"
	case "script-flush":
		return "Fault: Redis forgets its cached scripts"
	default:
		return "Fault: " + b.Do
	}
}

// givesBack is what is done after a lock call whose reply was lost, or came
// too late.
const givesBack = "gives back what it may have acquired"

// outcome words what an attempt came to.
func outcome(b trace.Outcome) (string, Tone) {
	title := b.Call
	if b.Call == "renew" {
		title = "watchdog"
	}
	if b.GivesBack {
		title = givesBack
	}
	if b.GivesBack && b.Result == trace.NotHeld {
		return title + ": it had not", Plain
	}
	if b.Attempt > 1 && b.Call == "lock" {
		title = "retry " + strconv.Itoa(b.Attempt-1)
	}
	switch b.Result {
	case trace.Acquired:
		return title + ": acquired", Good
	case trace.Reentered:
		return title + ": level " + strconv.Itoa(b.Level) + " entered", Good
	case trace.Refused:
		return title + ": refused", Bad
	case trace.Exhausted:
		return "gives up after " + strconv.Itoa(b.Attempt) + " attempts", Bad
	case trace.Online:
		return title + ": online", Good
	case trace.Offline:
		return title + ": offline", Bad
	case trace.Released:
		return title + ": released", Good
	case trace.Decremented:
		return title + ": level " + strconv.Itoa(b.Level) + " left", Good
	case trace.Renewed:
		return title + ": lease renewed", Good
	case trace.Lost:
		return title + ": the lease was lost", Bad
	case trace.NotHeld:
		return title + ": not held", Bad
	default:
		return title + ": error", Bad
	}
}

func (t *Timeline) line(b trace.Command, ordinal int) Line {
	l := Line{Verb: b.Args[0], Node: b.Node, Ordinal: ordinal, Writes: writes(b.Args[0])}
	var args []string
	for i, a := range b.Args[1:] {
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
	l.Spoken = strings.TrimSpace(l.Verb+" "+l.Args) + " gives " + l.Reply
	return l
}

func (t *Timeline) reply(b trace.Command) string {
	switch v := b.Reply.(type) {
	case nil:
		if b.Error != "" {
			return b.Error
		}
		return "nil"
	case string:
		return t.shorten(v)
	default:
		return t.shorten(fmt.Sprint(v))
	}
}

// shorten shortens the owners in a text.
func (t *Timeline) shorten(text string) string {
	for id := range t.owners {
		text = strings.ReplaceAll(text, id, ShortOwner(id))
	}
	return text
}

func writes(verb string) bool {
	switch verb {
	case "EXISTS", "HEXISTS", "HGET", "GET", "PTTL", "TTL", "LINDEX", "LLEN", "TIME", "ZSCORE":
		return false
	default:
		return true
	}
}

func (t *Timeline) nodes(states []trace.KeyState) []Node {
	var list []Node
	for i, k := range states {
		n := Node{Number: i + 1}
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
	owners := make([]string, 0, len(k.Fields))
	for id := range k.Fields {
		owners = append(owners, id)
	}
	slices.Sort(owners)
	for _, id := range owners {
		name := t.owners[id]
		out.Holds = append(out.Holds, HoldCount{
			Thread: name, Ordinal: slices.Index(t.threads, name), Owner: ShortOwner(id), Count: k.Fields[id],
		})
	}
	if k.PTTL < 0 {
		out.Lease = "no expiry"
		out.Fraction = 1000
		return out
	}
	out.Lease = Millis(float64(k.PTTL))
	if t.lease > 0 {
		out.Fraction = int(min(max(k.PTTL*1000/t.lease, 0), 1000))
	}
	return out
}

// ShortOwner shortens an owner id to its ends.
func ShortOwner(id string) string {
	if len(id) <= 9 {
		return id
	}
	return id[:4] + "…" + id[len(id)-3:]
}

// Millis words a time in milliseconds: "62 ms", "66.667 ms".
func Millis(ms float64) string {
	return strconv.FormatFloat(ms, 'f', -1, 64) + " ms"
}
