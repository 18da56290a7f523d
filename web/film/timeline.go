package film

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/bound"
	"relock/engine/fault"
	"relock/engine/journal"
	"relock/engine/lock/protocol"
	"relock/engine/run"
	"relock/engine/trace"
	"relock/engine/trace/facts"
	"relock/web/words"
)

// Timeline folds a trace into rows. It is not safe for concurrent use.
type Timeline struct {
	*Now

	l         words.Language
	shorter   *strings.Replacer // of so many owners
	shorterOf int
	ids       map[string]int // how many each thread has, of so many owners
	idsOf     int
	brief     *strings.Replacer // drops the lock's name from the names of the keys beside it
	scenario  Scenario

	rows    []Row
	called  map[string]int // the step in which a thread last made a call
	decided map[string]int // the step in which a thread's call last succeeded
	after   facts.Told
	alone   bool // its rows know of no row before
}

// NewTimeline returns an empty timeline in l for a run of s.
func NewTimeline(l words.Language, s Scenario, owners map[string]string) *Timeline {
	return timelineOf(l, s, newNow(s.frame(), owners))
}

func timelineOf(l words.Language, s Scenario, now *Now) *Timeline {
	return &Timeline{
		Now: now, l: l, scenario: s, called: map[string]int{}, decided: map[string]int{},
		brief: strings.NewReplacer("{"+s.Key+"}:", "…:", s.Key+":", "…:"),
	}
}

// Alone returns the row of an event as if it were the first of the run, but with
// sentences that know about all events before. T then has no other row.
func (t *Timeline) Alone(e trace.Event) Row {
	t.rows, t.alone, t.after = t.rows[:0], true, facts.Told{}
	clear(t.called)
	clear(t.decided)
	return t.rows[t.Add(e)]
}

// Framed has it tell a trace whose header this is: of other programs' clients nobody knows how long they work.
func (t *Timeline) Framed(h trace.Header) *Timeline {
	t.framed, t.logged = h.Framed(), h.Log != nil
	return t
}

// Scenario returns the run's scenario.
func (t *Timeline) Scenario() Scenario { return t.scenario }

// Language returns the language of the texts.
func (t *Timeline) Language() words.Language { return t.l }

// Threads returns the names of the columns.
func (t *Timeline) Threads() []string { return t.names }

// Rows returns all rows so far. The caller must not change them.
func (t *Timeline) Rows() []Row { return t.rows }

// Add adds an event to its row, and returns the row's index.
func (t *Timeline) Add(e trace.Event) int {
	t.take(e)
	return t.add(e)
}

// add adds the last event.
func (t *Timeline) add(e trace.Event) int {
	n := len(t.rows)
	begins := n == 0 || t.rows[n-1].Step != e.Step
	if begins {
		t.rows = append(t.rows, t.newRow(e))
	}
	row := &t.rows[len(t.rows)-1]
	row.turn.add(e, begins)
	row.LastSeq = e.Seq
	before := row.Key
	row.Key = t.keyCell(t.after.Add(e))
	row.Key.Nodes, row.Key.Locks = t.nodes(e.Nodes), t.keys(e.Locks)
	if i := t.ordinal(e.Thread); i >= 0 {
		if row.Thread < 0 {
			row.Thread = i
		}
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
	row := Row{
		Step: e.Step, Time: "T" + strconv.Itoa(e.Step), At: t.l.Duration(e.At.Duration()), Millis: e.At, Thread: -1, weight: -1,
		Key: t.keyCell(trace.Absent()),
	}
	if n := len(t.rows); n > 0 {
		row.Key = t.rows[n-1].Key
	}
	row.Cells, row.ahead = make([]Cell, 0, len(t.names)), make([]trace.Millis, 0, len(t.names))
	for i, name := range t.names {
		stand := t.thread(name)
		row.Cells = append(row.Cells, Cell{Thread: name, Of: t.scenario.Threads[i].Of, Ordinal: i, Title: stand.say(t.l, e.At), Tone: Quiet})
		row.ahead = append(row.ahead, stand.ahead(e.At))
	}
	return row
}

// inner adds a command to the rows within the row.
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

// mark notes in each cell what its thread believes, and whether that is true.
func (t *Timeline) mark(row *Row, e trace.Event) {
	for i := range row.Cells {
		c := &row.Cells[i]
		c.Inside = e.Belief[c.Thread]
		c.Leaving = facts.Leaves(e, c.Thread)
		c.Parted = !c.Leaving && t.inRedis() && t.parted(e, c.Thread)
		c.Doing = t.thread(c.Thread).doing(e.At)
	}
}

func (t *Timeline) event(row *Row, e trace.Event) {
	switch b := e.Body.(type) {
	case trace.Expired:
		was := row.Event
		row.Event, row.EventTone = t.l.Say("The lease ran out: Redis dropped the key"), Bad
		if t.heartbeat() {
			row.Event = t.l.Say("The key's time is over: Redis dropped it")
		}
		if e.Lock != "" {
			row.Event = t.l.Say("The lease of %s ran out: Redis dropped the key", e.Lock)
			if was != "" && row.lapsed { // two at once
				row.Event = t.l.Say("%[1]s; %[2]s", was, row.Event)
			}
			row.lapsed = true
		}
		if b.Node > 0 {
			row.Event = t.l.Say("The lease ran out: node %d dropped the key", b.Node)
		}
	case trace.Violation:
		row.Violations = append(row.Violations, Violation{
			Rule: b.Rule, Title: t.l.Clause(t.sc.Lock.Kind.Title(b.Rule)), Named: RuleOf(t.l, t.sc.Lock.Kind, b.Rule), Detail: t.l.Clause(t.findings.Of(e, b).Says),
		})
	case trace.End:
		row.Final = true
		row.Event, row.EventTone = ended(t.l), Quiet
		if t.findings.Times() == 0 && b.Error == "" {
			row.Failed = OnlyFailed(t.l, t.failed)
		}
		if b.Late(millis(t.scenario.LeaseMillis)) {
			row.Late = Lateness(t.l, b.Lateness.Duration())
		}
		switch {
		case causeOf(b.Cause, b.Error).Kind == trace.TooManyEvents && len(t.findings.Asking(t.names)) > 0:
			row.Event = t.l.Say("The run was ended: it reached the limit of %d events, and %s still asked for the lock", run.MaxEvents, t.l.List(t.findings.Asking(t.names)))
			row.EventTone = Bad
		case b.Error != "":
			row.Event, row.EventTone = EndOfRun(t.l, b.Cause, b.Error), Bad
		case t.saved() != "":
			row.Event, row.EventTone = t.l.Say("The run has ended: two were inside, and no harm came of it"), Good
		case row.Failed != "":
			row.Event, row.EventTone = t.l.Say("The run has ended: %s", row.Failed), Bad
		case t.logged && e.Key.Exists():
			row.Event, row.EventTone = t.stays(e.Key)
		}
	case trace.Fault:
		row.Event, row.EventTone = t.ofLock(e, t.l.Clause(fault.Row(b, len(e.Nodes) > 0))), Bad
	}
}

// ended is the end of a run of which there is no more to say.
func ended(l words.Language) string { return l.Say("The run has ended") }

// overADay reports whether a key expires so late that its lease is no help to anybody.
func overADay(k trace.KeyState) bool { return millis(k.PTTL) > 24*time.Hour }

// stays says what a log leaves in the lock's key, and for how long.
func (t *Timeline) stays(k trace.KeyState) (says string, tone Tone) {
	says, tone = t.l.Say("The log ends, and the key is still there: %s left", t.l.Duration(millis(k.PTTL))), Quiet
	switch {
	case k.PTTL == trace.NoExpiry:
		says, tone = t.l.Say("The log ends, and the key is still there, without an expiry"), Bad
	case overADay(k):
		tone = Bad
	}
	for _, who := range t.holding().Holders(k) {
		if count := t.truth.Count(k, who); count != "" {
			says += "; " + t.l.Say("%[1]s's hold count is still %[2]s", who, count)
		}
	}
	return says, tone
}

func (t *Timeline) act(c *Cell, e trace.Event) {
	switch b := e.Body.(type) {
	case trace.Command:
		t.begins(c, e.Step)
		c.Lines = append(c.Lines, t.line(b, c.Ordinal))
		if c.Title == "" {
			c.Title = b.Call
			switch {
			case b.Late:
				c.Title = LateCopy(t.l, b.Call, b.Level)
			case b.GivesBack:
				c.Title = t.l.Say("gives back a lock that it may have acquired")
			}
		}
	case trace.Outcome:
		t.outcome(c, e, b)
	case trace.Work:
		t.work(c, b)
	case trace.Wait:
		length := t.l.Duration(b.For.Duration())
		note := t.l.Say("waits %s", length)
		if b.Why == trace.WaitNotify {
			note = t.l.Say("waits for a message, at most %s", length)
		}
		if b.Why == trace.WaitClient {
			note = t.l.Say("its client sends it again in %s", length)
		}
		c.note(note, Plain)
	case trace.Resource:
		tone := Plain
		if b.Refused {
			tone = Bad
		}
		c.note(Resource(t.l, b), tone)
	case trace.Fault:
		if b.Do == fault.LoseReply {
			t.begins(c, e.Step) // what happens to it comes after the commands
		}
		tone := Bad
		if b.Do == fault.Resume {
			tone = Plain
		}
		c.note(t.l.Clause(fault.Row(b, len(e.Nodes) > 0)), tone)
	case trace.End:
		tone := Plain
		if b.Result != trace.Done {
			tone = Bad
		}
		c.note(t.l.Say("ends: %s", Result(t.l, b.Result)), tone)
	}
}

// outcome words what a call of the cell's thread has come to.
func (t *Timeline) outcome(c *Cell, e trace.Event, b trace.Outcome) {
	t.begins(c, e.Step)
	aside := t.thread(c.Thread).aside && !t.alone
	title, tone := t.shape().title(t.l, b)
	if others := t.holding().Holders(keyOf(e)); b.Result == trace.Renewed && !aside && len(others) > 0 && !slices.Contains(others, c.Thread) && !t.heartbeat() {
		title, tone = t.l.Say("watchdog: the lease of %s renewed", t.l.List(others)), Bad
	}
	if b.Result == trace.Acquired && b.Attempt > 1 && len(c.Lines) == 0 && t.protocol.Granting {
		title = t.l.Say("is handed the lock") // by a message: it has not asked again
	}
	title = t.ofLock(e, title)
	if t.decided[c.Thread] == e.Step { // one more call in the same step
		c.note(title, tone)
		return
	}
	c.Title, c.Tone = title, tone
	if aside && len(c.Lines) > 0 {
		c.note(t.l.Say("on the old master"), Bad)
	}
	if tone != Bad || e.Lock != "" { // a command may be of two locks
		t.decided[c.Thread] = e.Step
	}
	if b.Result == trace.Failed {
		c.note(failure(t.l, causeOf(b.Cause, b.Error), b.Error), Plain)
	}
	if b.Until > 0 {
		c.note(t.l.Say("valid until %s", t.l.Duration(b.Until.Duration())), Plain)
	}
}

// begins puts what has been noted about a thread in this step before the call
// that it makes now.
func (t *Timeline) begins(c *Cell, step int) {
	if t.called[c.Thread] == step {
		return
	}
	t.called[c.Thread] = step
	c.Earlier, c.Notes = c.Notes, nil
}

func (t *Timeline) work(c *Cell, b trace.Work) {
	if t.framed {
		c.Title = t.l.Say("is inside")
		if b.State == trace.WorkEnd {
			c.Title = t.l.Say("has left")
		}
		if b.Reads {
			c.Title = t.l.Say("is inside, reads")
		}
		if b.Name != "" {
			c.note(b.Name, Plain)
		}
		return
	}
	if b.State == trace.WorkEnd {
		c.Title = t.l.Say("work at level %d done", b.Level)
		if b.Cancelled {
			c.Title = t.l.Say("work at level %d stopped: its context has ended", b.Level)
		}
		return
	}
	length := t.l.Duration(b.For.Duration())
	note := t.l.Say("works %s", length)
	if b.After {
		note = t.l.Say("works on for %s", length)
	}
	c.note(note, Plain)
}

func (t *Timeline) line(b trace.Command, ordinal int) Line {
	l := Line{Verb: b.Args[0], Node: b.Node, Ordinal: ordinal, Writes: journal.Writes(b.Args[0]), Queue: t.ofQueue(b.Arg(1))}
	var args []string
	for i, a := range b.Args[1:] {
		a = t.brief.Replace(a)
		switch {
		case i == 0 && a == t.scenario.Key && l.Verb == "EXISTS" && len(b.Args) > 2:
			a = "key" // one of several: without it, it would not be among them
		case i == 0 && a == t.scenario.Key && len(t.sc.Locks) == 0:
			continue
		case t.isColumn(a, ordinal):
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

// isColumn reports whether the column of a thread already says which owner an id is: its thread
// has no other.
func (t *Timeline) isColumn(id string, ordinal int) bool {
	if ordinal < 0 || ordinal >= len(t.names) || t.owners[id] != t.names[ordinal] {
		return false
	}
	if t.ids == nil || t.idsOf != len(t.owners) { // a lab's grow
		t.ids, t.idsOf = map[string]int{}, len(t.owners)
		for _, thread := range t.owners {
			t.ids[thread]++
		}
	}
	return t.ids[t.owners[id]] == 1
}

// ofQueue reports whether a key or a channel belongs to the queue: it is beside
// the lock's key, and is neither of the two others that can be there.
func (t *Timeline) ofQueue(key string) bool {
	return key != "" && key != t.scenario.Key && len(t.sc.Locks) == 0 && !protocol.IsOver(key) && key != protocol.TokenKey(t.scenario.Key)
}

func (t *Timeline) reply(b trace.Command) string {
	if b.Error != "" {
		return b.Error
	}
	return t.shorten(t.brief.Replace(Reply(t.l, b.Reply)))
}

// Reply returns a reply in a word or two: "1", "nil", or for a list its parts
// side by side, "nil nil".
func Reply(l words.Language, reply any) string {
	var b strings.Builder
	appendReply(&b, l, reply, 0)
	return b.String()
}

// appendReply appends a reply that is nested in this many lists.
func appendReply(b *strings.Builder, l words.Language, reply any, depth int) {
	switch v := reply.(type) {
	case nil:
		b.WriteString("nil")
	case []any:
		switch {
		case len(v) == 0:
			b.WriteString(l.Say("empty list"))
			return
		case depth == bound.Depth:
			b.WriteString("…")
			return
		}
		for i, one := range v {
			if i > 0 {
				b.WriteByte(' ')
			}
			appendReply(b, l, one, depth+1)
		}
	default:
		fmt.Fprint(b, v)
	}
}

// shorten shortens the owners in a text.
func (t *Timeline) shorten(text string) string {
	if t.shorter == nil || t.shorterOf != len(t.owners) { // a lab's grow
		var pairs []string
		for _, id := range slices.SortedFunc(maps.Keys(t.owners), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) {
			if id != "" {
				pairs = append(pairs, id, ShortOwner(id))
			}
		}
		t.shorter, t.shorterOf = strings.NewReplacer(pairs...), len(t.owners)
	}
	return t.shorter.Replace(text)
}

func (t *Timeline) nodes(states []trace.KeyState) []Node {
	var list []Node
	for i, k := range states {
		n := Node{Number: i + 1, Down: t.down.Down(i), Cut: t.l.List(t.down.CutOff(i))}
		if k.Value != nil {
			n.Thread = t.owners[*k.Value]
			n.Ordinal = t.ordinal(n.Thread)
		}
		list = append(list, n)
	}
	return list
}

func (t *Timeline) keyCell(k trace.KeyState) Key { return t.keyCellOf(k, t.holding()) }

// keyCellOf is a key, given whose it is.
func (t *Timeline) keyCellOf(k trace.KeyState, whose *facts.Holding) Key {
	out := Key{Type: t.shape().cell(k), PTTL: Left(k.PTTL), Heartbeat: t.heartbeat()}
	if !k.Exists() {
		return out
	}
	if k.Value != nil {
		name := whose.Of(k, *k.Value)
		out.Holds = append(out.Holds, HoldCount{Thread: name, Ordinal: t.ordinal(name), Owner: ShortOwner(*k.Value)})
	}
	out.Mode = k.Mode()
	for _, id := range slices.Sorted(maps.Keys(k.Fields)) {
		switch {
		case k.IsMember(id):
		case trace.IsNumber(id):
			call := LastCall{Field: id, Ordinal: t.ordinal(id[1:]), Number: k.Fields[id]}
			if call.Ordinal >= 0 {
				call.Thread = id[1:]
			}
			out.Calls = append(out.Calls, call)
			continue
		default: // the mode
			continue
		}
		name := whose.Of(k, id)
		out.Holds = append(out.Holds, HoldCount{
			Thread: name, Ordinal: t.ordinal(name), Owner: ShortOwner(id), Count: k.Fields[id],
		})
	}
	if out.Taken = permitsTaken(t.l, t.sc.Lock.Kind, k); k.Type == trace.TypeList {
		out.Taken = elements(t.l, k)
	}
	if k.PTTL < 0 {
		out.Lease = t.l.Say("no expiry")
		out.Fraction = 1000
		return out
	}
	out.Lease = t.l.Duration(millis(k.PTTL))
	out.Fraction = part(k.PTTL, t.sc.Lock.Lease)
	return out
}

// part is how much of a lease is left, in thousandths.
func part(pttl int64, lease time.Duration) int {
	if lease < time.Millisecond {
		return 0
	}
	return int(min(max(pttl*1000/lease.Milliseconds(), 0), 1000))
}

// ShortOwner shortens an owner id to its two ends. A foreign id may contain any
// characters; none is cut in half.
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

// millis formats a time in milliseconds, as Redis counts it.
func millis(ms int64) time.Duration { return trace.Millis(ms).Duration() }
