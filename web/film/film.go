// Package film is a trace as pictures, folded event by event: the rows of a
// table, each with what it says, the reason for it, where the lock's script is
// and the cards of what acts beside the key; the lanes above it; and the locks'
// scripts, coloured, with the lines that a run has reached, reaches next and
// has passed by. Texts are in a language. It must not know how it is drawn, nor
// HTML, HTTP or Redis.
package film

import (
	"slices"
	"strings"

	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/trace/facts"
	"relock/web/words"
)

// MaxWhole is how many rows a film has at most that is in its page whole:
// more slow every browser down.
const MaxWhole = 500

// Recorded is a film as the page's script reads it, its rows being in the
// page already.
type Recorded struct {
	Threads []string `json:"threads"`
	Lease   int64    `json:"lease"`           // ms
	Rows    []Row    `json:"rows"`            // those that are in the page
	Index   *Index   `json:"index,omitempty"` // nil where these are all
}

// Mark says why a row matters.
type Mark string

// Marks, by how much they matter.
const (
	Broken   Mark = "violation"
	Expiry   Mark = "expired"
	Struck   Mark = "fault"
	Acquired Mark = "acquired"
	Released Mark = "released"
)

// marks are all of them, the weightiest first.
var marks = []Mark{Broken, Expiry, Struck, Acquired, Released}

// Film shows a trace as rows, and what there is to see at each. It is not
// safe for concurrent use.
type Film struct {
	*Now

	say      words.Language
	timeline *Timeline
	narrator *Narrator
	lua      *luaMarks
	lanes    *Lanes
	stager   *stager
	staged   *Stage // of the last command or row before
	told     int    // rows before this one have their texts
	dropped  int    // and rows before this one only what later ones need
}

// New returns the empty film of a run of sc.
func New(l words.Language, sc *scenario.Scenario, owners map[string]string) *Film {
	return Of(l, sc, trace.Header{Owners: owners})
}

// Of starts an empty film for a recorded trace, with the scripts that the trace brings
// along.
func Of(l words.Language, sc *scenario.Scenario, h trace.Header) *Film {
	now := nowFor(l, sc, h)
	return &Film{
		Now: now, say: l, timeline: timelineOf(l, NewScenario(l, sc), now), narrator: narratorOf(l, now, h), lua: newLuaMarks(ScriptsOf(l, sc, h)),
		lanes: lanesOf(now), stager: stagerOf(l, now),
	}
}

// Add puts an event into its row and returns the row's index.
func (f *Film) Add(e trace.Event) int {
	if n := len(f.timeline.rows); n > 0 && f.timeline.rows[n-1].Step != e.Step {
		f.stage(n - 1) // of the row that is over
		f.staged = &f.timeline.rows[n-1].Stage
		f.lua.end()
	}
	f.take(e)
	i := f.timeline.add(e)
	f.lanes.add(e)
	row := &f.timeline.rows[i]
	f.stager.shown = row.Key
	why := f.narrator.why()
	if row.Final {
		row.Unjudged, row.broken = f.narrator.unjudged, f.findings.Times() > 0
	}
	row.tell(f.say, weight(e, f.timeline.Scenario().Key), why)
	if m := markOf(e); m != "" && (row.Mark == "" || slices.Index(marks, m) < slices.Index(marks, row.Mark)) {
		row.Mark = m
	}
	switch b := e.Body.(type) {
	case trace.Command:
		f.command(i, e, b, why)
	case trace.Outcome:
		f.lua.outcome(e.Thread, b.Call)
	}
	row.Belief, row.Leaving = f.belief(e)
	f.told = min(f.told, i)
	return i
}

// mostWhy is how many bytes the sentences of a row have before another is added: a
// thread's own run has two or three.
const mostWhy = 2 << 10

// tell makes the sentence of an event the row's if it weighs more than the one before. If
// something happened to a thread right after its call had ended, that comes after it;
// writes before its call, with a token or to one of several nodes, come before it.
func (r *Row) tell(l words.Language, w int, why string) {
	switch {
	case r.weight == weightOutcome && w == weightFault && len(r.Why) > mostWhy: // in a handwritten trace alone
	case r.weight == weightOutcome && w == weightFault:
		r.Why = l.Say("%s %s", r.Why, why)
	case r.weight == weightToken && w == weightOutcome:
		r.Why, r.weight = l.Say("%s %s", r.Why, why), w
	case r.weight == weightResource && w == weightNode:
		r.Why = l.Say("%s %s", r.touched, why)
	case w > r.weight || w == r.weight && w < weightViolation:
		r.Why, r.weight = why, w
		if w == weightResource {
			r.touched = why
		}
	}
}

// command notes a command and the line of the script that it is.
func (f *Film) command(i int, e trace.Event, b trace.Command, why string) {
	row := &f.timeline.rows[i]
	if !slices.Contains(f.names, e.Thread) {
		return // of a foreign trace: it has no place in the table
	}
	at := len(row.Inside) - 1
	one := &row.Inside[at]
	one.Why, one.At = why, row.At
	one.Belief, one.Leaving = f.belief(e)
	one.Says = f.say.Say("%s: %s", one.Time, one.Line.Spoken)
	if now := f.stager.Stage(nil); f.staged == nil || !now.same(f.staged) {
		one.Stage, f.staged = &now, &now
	}
	f.lua.command(e.Thread, b, at)
}

// stage puts the stage of the current row into it, and where its scripts stand.
func (f *Film) stage(i int) {
	row := &f.timeline.rows[i]
	f.lua.mark(row)
	if row.Stage = f.stager.Stage(row.Violations); f.staged != nil && row.Stage.same(f.staged) {
		row.Stage = *f.staged // which takes no room of its own
	}
	for _, v := range row.Violations[:min(len(row.Violations), 1)] {
		row.Broken = v.Title
	}
}

func (f *Film) belief(e trace.Event) (levels, leaving []int) {
	levels = make([]int, len(f.names))
	for i, name := range f.names {
		levels[i] = e.Belief[name]
		if facts.Leaves(e, name) {
			leaving = append(leaving, i)
		}
	}
	return levels, leaving
}

// says is a row in words, for those who hear it.
func (f *Film) says(row *Row) string {
	return f.sentences(append(append([]string{row.Time}, happened(row)...), f.broken(row)...)...)
}

// Happened is what a row says beside its place. Judged says whether it tells the rules that
// the row breaks, too: those may be what somebody is asked.
func (f *Film) Happened(row *Row, judged bool) string {
	parts := happened(row)
	if judged {
		parts = append(parts, f.broken(row)...)
	}
	return f.sentences(parts...)
}

// happened are the parts of a row in words that tell what it did.
func happened(row *Row) []string {
	var parts []string
	for _, c := range row.Cells {
		if c.Acting {
			parts = append(parts, c.Thread)
			for _, n := range c.Earlier {
				parts = append(parts, n.Text)
			}
			parts = append(parts, c.Title)
			for _, n := range c.Notes {
				parts = append(parts, n.Text)
			}
		}
	}
	return append(parts, row.Event)
}

// broken are the parts that tell the rules that it breaks.
func (f *Film) broken(row *Row) []string {
	var parts []string
	for _, v := range row.Violations {
		parts = append(parts, f.say.Say("%s: %s", v.Title, v.Detail))
	}
	return parts
}

// sentences ends each part that is not empty with the language's full stop.
func (f *Film) sentences(parts ...string) string {
	var text strings.Builder
	for _, p := range parts {
		if p != "" {
			text.WriteString(f.say.Say("%s. ", p))
		}
	}
	return strings.TrimSpace(text.String())
}

func (f *Film) alarm(row *Row) string {
	for _, first := range f.broken(row) {
		return f.say.Say("%[1]s. %[2]s", row.Time, f.sentences(first))
	}
	if row.Mark == Expiry {
		return f.say.Say("%[1]s. %[2]s", row.Time, f.sentences(row.Event))
	}
	return ""
}

// Weights of events, the least first: the sentence of the weightiest is the row's.
const (
	weightNothing = iota
	weightWork
	weightCommand
	weightNode    // what a command found or did on one of several nodes, where its call goes on
	weightDecides // of a late copy, which has no outcome: what it does to the lock, or that it is refused
	weightEnd
	weightResource
	weightToken
	weightFault
	weightOutcome
	weightNoWrite // what its thread learns of its lock is less
	weightExpired
	weightViolation
)

// decides tells whether a command gives the lock in key, takes it, or counts.
func decides(b trace.Command, key string) bool {
	return b.Arg(1) == key && slices.Contains([]string{"HINCRBY", "DEL", "DELEX", "SET", "SETNX"}, strings.ToUpper(b.Arg(0)))
}

func weight(e trace.Event, key string) int {
	switch b := e.Body.(type) {
	case trace.Violation:
		return weightViolation
	case trace.Expired:
		return weightExpired
	case trace.Outcome:
		return weightOutcome
	case trace.Fault:
		return weightFault
	case trace.Resource:
		switch {
		case b.Refused:
			return weightNoWrite
		case b.Op == trace.OpWrite && b.Token > 0:
			return weightToken
		default:
			return weightResource
		}
	case trace.End:
		return weightEnd
	case trace.Command:
		switch {
		case b.Late && decides(b, key), facts.LaterCall(b) > 0:
			return weightDecides
		case b.Node > 0:
			return weightNode
		default:
			return weightCommand
		}
	case trace.Work:
		return weightWork
	default:
		return weightNothing
	}
}

func markOf(e trace.Event) Mark {
	switch b := e.Body.(type) {
	case trace.Violation:
		return Broken
	case trace.Expired:
		return Expiry
	case trace.Fault:
		return Struck
	case trace.Command:
		if b.Late {
			return Struck
		}
	case trace.Outcome:
		switch b.Result {
		case trace.Acquired, trace.Reentered:
			return Acquired
		case trace.Released:
			return Released
		}
	}
	return ""
}

// Matters tells whether an event is one that a person wants to see next.
func Matters(e trace.Event) bool { return markOf(e) != "" }

// CountRows is how many rows a film of these events has: one for each step in turn.
func CountRows(events []trace.Event) int {
	n := 0
	for i, e := range events {
		if i == 0 || events[i-1].Step != e.Step {
			n++
		}
	}
	return n
}

// Expect makes room for so many rows.
func (f *Film) Expect(rows int) {
	f.timeline.rows, f.lanes.rows = slices.Grow(f.timeline.rows, rows), slices.Grow(f.lanes.rows, rows)
}

// Len is how many rows there are so far.
func (f *Film) Len() int { return len(f.timeline.rows) }

// Drop takes out of the rows before an index what is only shown: it takes the most room.
// What comes after them, the index and the verdict stay as they are.
func (f *Film) Drop(before int) {
	rows := f.Rows()
	for ; f.dropped < before; f.dropped++ {
		row := &rows[f.dropped]
		row.Cells, row.Inside, row.Lua, row.Stage = nil, nil, nil, Stage{}
		row.Why, row.Says, row.Alarm, row.Belief, row.Leaving, row.Fold, row.ahead = "", "", "", nil, nil, nil, nil
	}
}

// Rows are all rows so far. The caller must not change them.
func (f *Film) Rows() []Row {
	rows := f.timeline.rows
	if n := len(rows); f.told < n {
		f.stage(n - 1)
	}
	for ; f.told < len(rows); f.told++ {
		row := &rows[f.told]
		row.Says, row.Alarm = f.says(row), f.alarm(row)
		row.Calm = f.timeline.calm(row)
		if row.Fold, row.From = f.timeline.fold(f.told), 0; row.Fold != nil {
			row.From = row.Fold.First
		}
	}
	return rows
}

// Cover takes out of a film that is whole what a question about it asks for: each
// thread's belief, the broken rules, and the reasons.
func (f *Film) Cover() {
	rows := f.Rows()
	for i := range rows {
		row := &rows[i]
		row.Stage = row.Stage.Cover()
		row.Broken, row.Why, row.Violations, row.Calm = "", "", nil, false
		if row.Final && row.EventTone == Good { // it says what came of a broken rule
			row.Event, row.EventTone = ended(f.timeline.l), Quiet
		}
		if row.Mark == Broken {
			row.Mark = ""
		}
		for j := range row.Cells {
			row.Cells[j].Parted = false
		}
		row.cover(f.timeline.l, rows[len(rows)-1].Millis)
		for j := range row.Inside {
			one := &row.Inside[j]
			one.Why = ""
			if one.Stage != nil {
				covered := one.Stage.Cover()
				one.Stage = &covered
			}
		}
		row.Says, row.Alarm = f.says(row), f.alarm(row)
	}
	f.lanes.cover()
}

// Scripts are those that the lock runs.
func (f *Film) Scripts() []Script { return f.lua.scripts }

// Start is the stage of a run of sc before it begins.
func Start(l words.Language, sc *scenario.Scenario) Stage {
	return stagerOf(l, newNow(sc, nil)).Stage(nil)
}

// Lanes are the film's picture.
func (f *Film) Lanes() *Lanes { return f.lanes }

// Recorded is the film as it is so far, without its rows.
func (f *Film) Recorded() *Recorded {
	return &Recorded{Threads: f.names, Lease: f.timeline.Scenario().LeaseMillis, Rows: []Row{}} // never null
}

// RecordedWhole is the film as it is so far.
func (f *Film) RecordedWhole() *Recorded {
	r := f.Recorded()
	r.Rows = append(r.Rows, f.Rows()...)
	return r
}
