// Package film is a trace as pictures, folded event by event: the rows of a
// table, each with what it says, why it came about, where the lock's script
// stands and the cards of what acts beside the key; the lanes above it; and the
// locks' scripts, coloured, with the lines that a run came by, comes to next and
// has passed by. Texts are in a language. It must not know what it is drawn
// with, nor HTML, HTTP or Redis.
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
	Rows    []Frame  `json:"rows"`            // those that are in the page
	Index   *Index   `json:"index,omitempty"` // nil where these are all
}

// Frame is what there is to see at a row, beside the row itself.
type Frame struct {
	Step    int           `json:"step"`
	HTML    string        `json:"html,omitempty"` // of the row, where it is not in the page
	At      string        `json:"at"`
	Millis  trace.Millis  `json:"ms"`     // the same as a number, of its first event
	Thread  int           `json:"thread"` // ordinal of the one that acted, or -1
	Why     string        `json:"why"`
	Says    string        `json:"says"` // the row in words
	Mark    Mark          `json:"mark,omitempty"`
	Alarm   string        `json:"alarm,omitempty"` // the sentence of a broken rule or of an expiry
	After   State         `json:"after"`
	Belief  []int         `json:"belief"`            // levels that each thread acts as if it held
	Leaving []int         `json:"leaving,omitempty"` // ordinals of those that are leaving
	Lua     *ScriptMoment `json:"lua,omitempty"`
	Inside  []Moment      `json:"inside,omitempty"`
	Cards   []Card        `json:"cards,omitempty"`

	weight  int    // of Why
	touched string // what was said of the resource
}

// Moment is what there is to see right after one Redis command of a row.
type Moment struct {
	Why     string        `json:"why"`
	Says    string        `json:"says"`
	At      string        `json:"at"`
	After   State         `json:"after"`
	Belief  []int         `json:"belief"`
	Leaving []int         `json:"leaving,omitempty"`
	Lua     *ScriptMoment `json:"lua,omitempty"`
}

// State is the lock's key in numbers.
type State struct {
	Type   string  `json:"type"` // as in traces, or TypeElsewhere, or TypeNoLock
	Fields []Holds `json:"fields,omitempty"`
	Calls  []Call  `json:"calls,omitempty"` // beside the fields, where a lock's calls have numbers
	Lease  int64   `json:"lease"`           // ms left; -1: it never runs out
	Left   int     `json:"left"`            // of the lease, in thousandths
	Nodes  []int   `json:"nodes,omitempty"` // of several: the ordinal of who has the key on each, or -1
	More   int     `json:"more,omitempty"`  // fields and calls that are left out, as there are too many

	Heartbeat bool `json:"heartbeat,omitempty"` // the key is no lock's, but a device's sign of life
}

// Holds is an owner in the key.
type Holds struct {
	Owner  string `json:"owner"` // shortened
	Thread int    `json:"thread"`
	Count  string `json:"count"` // "" where the key is a string
}

// Call is the number of a client's last call, in the key.
type Call struct {
	Field  string `json:"field"`
	Thread int    `json:"thread"` // -1: no thread's
	Number string `json:"number"`
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

// Film folds a trace into rows and what there is to see at each. It is not
// safe for concurrent use.
type Film struct {
	say      words.Language
	timeline *Timeline
	narrator *Narrator
	scripts  []Script
	lanes    *Lanes
	actors   *Actors
	frames   []Frame
	told     int // rows before this one have their texts
	calls    map[calling]*underWay
	moments  ScriptMoments
}

// calling is a thread in a call, of which it has one at a time. Its watchdog's
// are others, and so is what arrives late.
type calling struct {
	thread, call string
	late         bool
}

// underWay is how far a call has come in its script.
type underWay struct {
	script               Script
	level, attempt, node int
	ran                  []Ran // its commands so far
	frame, inside        int   // where the last of them is shown
}

// New returns the empty film of a run of sc.
func New(l words.Language, sc *scenario.Scenario, owners map[string]string) *Film {
	shown := NewScenario(l, sc)
	f := &Film{
		say: l, timeline: NewTimeline(l, shown, owners), narrator: NewNarrator(l, sc, owners), scripts: Scripts(l, sc),
		calls: map[calling]*underWay{}, moments: ScriptMoments{},
	}
	f.narrator.Share(f.timeline.Findings())
	f.lanes, f.actors = LanesOf(sc, owners), NewActors(l, sc, owners)
	return f
}

// Add puts an event into its row and returns the row's index.
func (f *Film) Add(e trace.Event) int {
	i := f.timeline.Add(e)
	f.lanes.Add(e)
	if i == len(f.frames) && i > 0 {
		f.frames[i-1].Cards = f.actors.Cards() // of the row that is over now
	}
	f.actors.Add(e)
	why := f.narrator.Tell(e)
	row := &f.Rows()[i]
	if i == len(f.frames) {
		f.frames = append(f.frames, Frame{Step: row.Step, At: row.At, Millis: e.At, Thread: -1, weight: -1})
	}
	frame := &f.frames[i]
	if n := slices.Index(f.timeline.Threads(), e.Thread); n >= 0 && frame.Thread < 0 {
		frame.Thread = n
	}
	frame.tell(f.say, weight(e, f.timeline.Scenario().Key), why)
	if m := markOf(e); m != "" && (frame.Mark == "" || slices.Index(marks, m) < slices.Index(marks, frame.Mark)) {
		frame.Mark = m
	}
	switch b := e.Body.(type) {
	case trace.Command:
		f.command(i, e, b, why)
	case trace.Outcome:
		f.outcome(i, e, b)
	}
	frame.After = f.state(row.Key)
	frame.Belief, frame.Leaving = f.belief(e)
	f.told = min(f.told, i)
	return i
}

// tell has the sentence of an event stand for the row where that weighs more
// than what came before. What befell a thread right after its call had ended
// is told after that; what it wrote before its call, with a token or to one of
// several nodes, before that.
func (f *Frame) tell(l words.Language, w int, why string) {
	switch {
	case f.weight == weightOutcome && w == weightFault:
		f.Why = l.Say("%s %s", f.Why, why)
	case f.weight == weightToken && w == weightOutcome:
		f.Why, f.weight = l.Say("%s %s", f.Why, why), w
	case f.weight == weightResource && w == weightNode:
		f.Why = l.Say("%s %s", f.touched, why)
	case w > f.weight || w == f.weight && w < weightViolation:
		f.Why, f.weight = why, w
		if w == weightResource {
			f.touched = why
		}
	}
}

// command notes a command and the line of the script that it is.
func (f *Film) command(i int, e trace.Event, b trace.Command, why string) {
	frame := &f.frames[i]
	row := &f.Rows()[len(f.Rows())-1]
	m := Moment{Why: why, At: row.At, After: f.state(row.Key)}
	m.Belief, m.Leaving = f.belief(e)
	if n := len(row.Inside); n > 0 {
		m.Says = f.say.Say("%s: %s", row.Inside[n-1].Time, row.Inside[n-1].Line.Spoken)
	}
	if s, ok := FindScript(f.scripts, b); ok {
		// Others may come between plain commands: where they go on is not known
		// before they have. A script is over when nothing more of it came.
		line := s.LineOf(b)
		u := f.underWay(i, e.Thread, b, s)
		if len(u.ran) > 0 && u.frame == i {
			frame.Inside[u.inside].Lua = f.moments.At(s, u.ran, line, false)
		}
		u.ran, u.frame, u.inside = append(u.ran, NewRan(line, b)), i, len(frame.Inside)
		m.Lua = f.moments.At(s, u.ran, 0, !s.Plain)
		frame.Lua = m.Lua
	}
	frame.Inside = append(frame.Inside, m)
}

// underWay is the call that a command in the row i is of, which begins with it
// or has come so far.
func (f *Film) underWay(i int, thread string, b trace.Command, s Script) *underWay {
	who := calling{thread, b.Call, b.Late}
	u := f.calls[who]
	if u == nil || u.script.Name != s.Name || u.level != b.Level || u.attempt != b.Attempt || u.node != b.Node || (b.Late || !s.Plain) && u.frame != i {
		u = &underWay{script: s, level: b.Level, attempt: b.Attempt, node: b.Node}
		f.calls[who] = u
	}
	return u
}

// outcome ends a call: what its plain commands have passed by is certain now.
func (f *Film) outcome(i int, e trace.Event, b trace.Outcome) {
	who := calling{e.Thread, b.Call, false}
	if u := f.calls[who]; u != nil && u.script.Plain && u.frame == i {
		frame := &f.frames[i]
		at := f.moments.At(u.script, u.ran, 0, true)
		frame.Inside[u.inside].Lua = at
		if u.inside == len(frame.Inside)-1 {
			frame.Lua = at
		}
	}
	delete(f.calls, who)
}

func (f *Film) belief(e trace.Event) (levels, leaving []int) {
	levels = make([]int, len(f.timeline.Threads()))
	for i, name := range f.timeline.Threads() {
		levels[i] = e.Belief[name]
		if facts.Leaves(e, name) {
			leaving = append(leaving, i)
		}
	}
	return levels, leaving
}

// says is a row in words, for those who hear it.
func (f *Film) says(row *Row) string {
	parts := []string{row.Time}
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
	parts = append(parts, row.Event)
	for _, v := range row.Violations {
		parts = append(parts, f.say.Say("%s: %s", v.Title, v.Detail))
	}
	return f.sentences(parts...)
}

// sentences ends each part that is not empty with the language's full stop.
func (f *Film) sentences(parts ...string) string {
	text := ""
	for _, p := range parts {
		if p != "" {
			text += f.say.Say("%s. ", p)
		}
	}
	return strings.TrimSpace(text)
}

func (f *Film) alarm(frame *Frame, row *Row) string {
	for _, v := range row.Violations {
		return f.sentences(row.Time, f.say.Say("%s: %s", v.Title, v.Detail))
	}
	if frame.Mark == Expiry {
		return f.sentences(row.Time, row.Event)
	}
	return ""
}

// Weights of events, the least first: the sentence of the weightiest stands for
// its row.
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
	return b.Arg(1) == key && slices.Contains([]string{"HINCRBY", "DEL", "SET", "SETNX"}, strings.ToUpper(b.Arg(0)))
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

// TypeElsewhere is the type of a key that is not in Redis: the lock is a word
// in a process, or there is none.
const (
	TypeElsewhere = "elsewhere"
	TypeNoLock    = "no lock"
)

func (f *Film) state(k Key) State {
	s := State{Type: k.Type, Lease: max(k.PTTL, -1), Left: k.Fraction}
	if k.Type == "" {
		s.Type = trace.TypeNone
	}
	shown := f.timeline.Scenario()
	switch {
	case shown.Heartbeat():
		s.Heartbeat = true
	case NoLock(shown.Protocol):
		s.Type = TypeNoLock
	case !InRedis(shown.Protocol):
		s.Type = TypeElsewhere
	}
	for _, n := range k.Nodes {
		at := -1
		if n.Thread != "" {
			at = n.Ordinal
		}
		s.Nodes = append(s.Nodes, at)
	}
	for _, h := range k.Holds {
		if h.Thread == "" {
			h.Ordinal = -1
		}
		s.Fields = append(s.Fields, Holds{Owner: h.Owner, Thread: h.Ordinal, Count: h.Count})
	}
	for _, c := range k.Calls {
		s.Calls = append(s.Calls, Call{Field: c.Field, Thread: c.Ordinal, Number: c.Number})
	}
	return s
}

// Rows are all rows so far. The caller must not change them.
func (f *Film) Rows() []Row { return f.timeline.Rows() }

// Frames are what there is to see at each. The caller must not change them.
func (f *Film) Frames() []Frame {
	// What a row says as a whole is put together once, not with each of its
	// events.
	if n := len(f.frames); f.told < n {
		f.frames[n-1].Cards = f.actors.Cards()
	}
	for ; f.told < len(f.frames); f.told++ {
		frame, row := &f.frames[f.told], &f.Rows()[f.told]
		frame.Says, frame.Alarm = f.says(row), f.alarm(frame, row)
	}
	return f.frames
}

// Scripts are those that the lock runs.
func (f *Film) Scripts() []Script { return f.scripts }

// Lanes are the film's picture.
func (f *Film) Lanes() *Lanes { return f.lanes }

// Recorded is the film as it is so far, without its rows.
func (f *Film) Recorded() *Recorded {
	return &Recorded{Threads: f.timeline.Threads(), Lease: f.timeline.Scenario().LeaseMillis, Rows: []Frame{}} // never null
}

// RecordedWhole is the film as it is so far.
func (f *Film) RecordedWhole() *Recorded {
	r := f.Recorded()
	r.Rows = append(r.Rows, f.Frames()...)
	return r
}
