package film

import (
	"slices"
	"strconv"
	"time"

	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/web/words"
)

// Fold is rows in turn that a table can show as one, the last of which has it: a
// thread's calls with the same outcome, which change nothing in the key but its lease,
// or what one call of it asks of several nodes.
type Fold struct {
	First, Last int    // steps
	Thread      int    // ordinal
	Says        string // "5 refusals of B", "B asks nodes 1–4: its value is on 2 of them"
	Lease       string // what was left of the lease after the first and after the last: "95 → 15 ms"; "" where the rows do not share a key
}

// Steps are the first and the last one: "T2–T6".
func (f Fold) Steps() string { return "T" + strconv.Itoa(f.First) + "–T" + strconv.Itoa(f.Last) }

// Folds are the longest folds of rows that are whole, the first ones first; the last row is in
// none.
func Folds(rows []Row) []Fold {
	var list []Fold
	for i := len(rows) - 2; i > 0; i-- {
		if f := rows[i].Fold; f != nil {
			list = append(list, *f)
			i = f.First - 1
		}
	}
	slices.Reverse(list)
	return list
}

// turn is what a row can be to a fold: what a thread did in it.
type turn struct {
	thread  string
	ended   bool          // its call has an outcome
	outcome trace.Outcome // without what differs from one attempt to the next
	attempt attempt
	nodes   []int // that it asked, in order
	more    bool  // something else happened, too, or what no fold may hide
}

// attempt is one of a call that asks nodes.
type attempt struct {
	call          string
	level, number int
}

// folds are the outcomes that say no more several times in a row than once.
var folds = map[trace.Result]phrase.Text{
	trace.Refused: "%d refusals of %s",
	trace.Renewed: "%d renewals of %s",
	trace.Failed:  "%d failed calls of %s",
}

func (t *turn) add(e trace.Event, first bool) {
	if first {
		t.thread = e.Thread
	}
	if e.Thread == "" || e.Thread != t.thread {
		t.more = true
	}
	switch b := e.Body.(type) {
	case trace.Command:
		t.command(b)
	case trace.Wait:
	case trace.Outcome:
		if _, can := folds[b.Result]; !can || t.ended || b.Call == trace.CallBeat {
			t.more = true
		}
		b.Attempt, b.Token, b.Until, b.Cause = 0, 0, 0, trace.Cause{} // Error says as much
		t.ended, t.outcome = true, b
	default:
		t.more = true
	}
}

func (t *turn) command(b trace.Command) {
	now := attempt{b.Call, b.Level, b.Attempt}
	if b.Late || b.OldMaster || len(t.nodes) > 0 && now != t.attempt {
		t.more = true
	}
	t.attempt = now
	if n := len(t.nodes); b.Node > 0 && (n == 0 || t.nodes[n-1] != b.Node) {
		t.nodes = append(t.nodes, b.Node)
	}
}

// asks tells whether all that happened is that nodes were asked.
func (t *turn) asks() bool { return !t.more && !t.ended && len(t.nodes) > 0 }

// fold is the fold that ends with the row i, or nil.
func (t *Timeline) fold(i int) *Fold {
	if i == 0 || !t.goesOn(i) {
		return nil
	}
	row, before := &t.rows[i], &t.rows[i-1]
	f := &Fold{First: before.Step, Last: row.Step, Thread: row.Thread}
	if before.Fold != nil {
		f.First = before.Fold.First
	}
	if row.turn.asks() {
		f.Says = t.asking(f, row)
		return f
	}
	f.Says = t.l.Say(folds[row.turn.outcome.Result], f.Last-f.First+1, row.turn.thread)
	f.Lease = leases(t.l, t.rows[f.First-1].Key, row.Key)
	return f
}

// goesOn reports whether the row i says no more than the row before it.
func (t *Timeline) goesOn(i int) bool {
	before, row := &t.rows[i-1], &t.rows[i]
	a, b := &before.turn, &row.turn
	if a.more || b.more || a.thread != b.thread || row.Thread < 0 || before.Step != i || row.Step != i+1 {
		return false
	}
	for n := range row.Cells {
		if !row.Cells[n].standsAs(before.Cells[n]) {
			return false
		}
	}
	if row.Cells[row.Thread].Tone == Bad && b.outcome.Result == trace.Renewed { // of another's lease
		return false
	}
	if a.asks() && b.asks() {
		return a.attempt == b.attempt
	}
	was := Key{Type: trace.TypeNone}
	if i > 1 {
		was = t.rows[i-2].Key
	}
	return a.ended && b.ended && a.outcome == b.outcome && row.Key.sameButLease(before.Key) && before.Key.sameButLease(was)
}

// standsAs tells whether a thread is where it was: one that does not act says the same,
// too.
func (c *Cell) standsAs(was Cell) bool {
	return c.Inside == was.Inside && c.Leaving == was.Leaving && c.Parted == was.Parted && c.Doing == was.Doing &&
		c.Acting == was.Acting && (c.Acting || c.Title == was.Title)
}

// sameButLease tells whether the same is in the key, whatever is left of its lease.
func (k *Key) sameButLease(was Key) bool {
	return k.Type == was.Type && (k.Lease == "") == (was.Lease == "") && k.Mode == was.Mode && slices.Equal(k.Holds, was.Holds) && slices.Equal(k.Calls, was.Calls) && slices.Equal(k.Nodes, was.Nodes) &&
		slices.EqualFunc(k.Locks, was.Locks, func(a, b Lock) bool { return a.Name == b.Name && a.Key.sameButLease(b.Key) })
}

// asking says which nodes a call has asked, and what came of it.
func (t *Timeline) asking(f *Fold, last *Row) string {
	var nodes []int
	for i := f.First - 1; i < f.Last; i++ {
		nodes = append(nodes, t.rows[i].turn.nodes...)
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	has := 0
	for _, n := range nodes {
		if n <= len(last.Key.Nodes) && last.Key.Nodes[n-1].Thread == last.turn.thread {
			has++
		}
	}
	return t.l.Say("%[1]s asks nodes %[2]s: its value is on %[3]d of them", last.turn.thread, numbers(t.l, nodes), has)
}

// numbers is a list of numbers: "1–4", or "1, 2 and 5".
func numbers(l words.Language, list []int) string {
	first, last := list[0], list[len(list)-1]
	if len(list) > 2 && last-first == len(list)-1 {
		return strconv.Itoa(first) + "–" + strconv.Itoa(last)
	}
	var names []string
	for _, n := range list {
		names = append(names, strconv.Itoa(n))
	}
	return l.List(names)
}

// leases is what is left of a lease, and what was before: "95 → 15 ms".
func leases(l words.Language, was, now Key) string {
	before := millis(int64(was.PTTL))
	switch {
	case was.Lease == now.Lease:
		return now.Lease
	case was.PTTL < 0 || before >= time.Minute && before%time.Second == 0: // not in ms
		return was.Lease + " → " + now.Lease
	default:
		return l.Millis(before) + " → " + now.Lease
	}
}
