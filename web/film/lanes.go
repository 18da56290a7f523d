package film

import (
	"math"
	"slices"
	"strconv"
	"time"

	"relock/engine/fault"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/trace/facts"
	"relock/web/words"
)

// Lanes folds a trace into a picture of it: a lane for each thread with what
// it believes to hold, and one for the lock's key. It is not safe for
// concurrent use.
type Lanes struct {
	*Now

	of      func(words.Language) []string // what each thread belongs to; nil where that is nothing
	kind    string                        // of the resource, "" where there is none
	size    int                           // its initial value
	shown   string                        // its value
	horizon float64                       // how long the planned work takes, in milliseconds
	stepped bool                          // and plans are what comes after the last row
	plans   []run.Plan

	rows     []laneRow
	threadAt []threadState // after the last event
	faults   bool          // something was done to Redis itself
	depth    int           // the deepest level believed in
	broken   int           // violations
	over     int           // threads that have ended
	highest  float64       // of the PTTLs, in milliseconds
	steady   float64       // the typical gap of who follows, in milliseconds, 0 before
	still    laid          // the axis of a picture that is drawn once
	followed laid          // and of one that is drawn again and again
}

// Plan sets what will be by itself after the last row of a run that is stepped.
func (l *Lanes) Plan(list []run.Plan) { l.stepped, l.plans = true, list }

// laneRow is what the picture must know of a row.
type laneRow struct {
	step      int
	at, until float64 // milliseconds: its first and its last event
	key       trace.KeyState
	holder    int      // the only thread that holds it, or -1
	several   []string // who holds it, where they are several
	taken     int      // permits, of a lock that has some
	nodes     []trace.KeyState
	locks     []trace.LockState
	holders   []int         // of these, as holder
	down      []int         // of these, those that do not answer, from 0
	threads   []threadState // after it
	marks     []laneMark
	value     string   // of the resource, after it
	touches   []touch  // of the resource, in it
	words     []string // who is in the spin lock's word of each process
	rules     []string // broken in it
	expired   bool
	faults    []string
}

// threadState is a thread after a row.
type threadState struct {
	level      int
	locks      []string // of several, those of its levels
	parted     bool     // it believes in a hold that Redis does not know
	waiting    bool
	leaving    bool    // its work is over: it only has to unlock
	stillUntil float64 // milliseconds; it is paused until then
}

type laneMark struct {
	thread int
	kind   MarkKind
}

// mostTouches is how many touches of one row are drawn: as many as people can tell apart.
const mostTouches = 64

// touch is a read or a write of the resource.
type touch struct {
	thread int
	kind   TouchKind
}

// TouchKind is what a thread did to the resource.
type TouchKind string

// The kinds of touch.
const (
	TouchRead    TouchKind = "read"
	TouchWrite   TouchKind = "write"
	TouchRefused TouchKind = "refused" // a write that its token did not allow
)

// MarkKind is what a mark on a lane stands for; each has its own shape.
type MarkKind string

// The marks on lanes.
const (
	MarkRefused MarkKind = "refused" // an attempt that was refused
	MarkFailed  MarkKind = "failed"  // a call or a write that came to nothing: lost, not held, an error
	MarkRenewed MarkKind = "renewed" // the lease was renewed
	MarkFault   MarkKind = "fault"   // a fault struck the thread
	MarkLate    MarkKind = "late"    // a late copy of what it sent arrived
	MarkCrashed MarkKind = "crashed" // its process died
	MarkGaveUp  MarkKind = "gave-up" // it ended without having done its work
	MarkDone    MarkKind = "done"    // it ended
)

// NewLanes returns the lanes of a run with a lock in Redis. Owners
// maps owner ids to threads; leaseMillis is the height of a full lease.
func NewLanes(threads []string, owners map[string]string, leaseMillis int64) *Lanes {
	now := newNow(frameOf(threads, leaseMillis), owners)
	return &Lanes{Now: now, threadAt: make([]threadState, len(threads))}
}

// LanesOf returns the lanes of a run of sc in which nothing has happened.
func LanesOf(sc *scenario.Scenario, owners map[string]string) *Lanes {
	return lanesOf(newNow(sc, owners))
}

func lanesOf(now *Now) *Lanes {
	l := &Lanes{Now: now, threadAt: make([]threadState, len(now.names)), horizon: horizon(now.sc)}
	l.of = func(lang words.Language) []string {
		of := make([]string, len(now.sc.Threads))
		for i, t := range now.sc.Threads {
			of[i] = Belonging(lang, now.sc, t)
		}
		return of
	}
	if r := now.sc.Resource; r != nil && !now.heartbeat() {
		l.kind, l.size = r.Kind, r.Size
		l.shown = l.value()
	}
	return l
}

// horizon is how long the planned work takes, in milliseconds, with the pauses and delays
// of its faults, if each thread waits for all others and then asks once more; or the lease,
// unless that is far longer.
func horizon(sc *scenario.Scenario) float64 {
	var starts, work time.Duration
	for _, t := range sc.Threads {
		starts = max(starts, t.Start)
		work += (t.Work.Max*time.Duration(t.Depth) + t.After.Max*time.Duration(t.Depth-1)) * time.Duration(t.Repeat)
	}
	all := max(starts+work, time.Millisecond)
	for _, f := range sc.Faults {
		if f.Thread != "" {
			all += f.For
		}
	}
	for _, t := range sc.Threads[1:] {
		all += min(t.Retry.Pause().Max, work)
	}
	if sc.Lock.Lease <= 2*all {
		all = max(all, sc.Lock.Lease)
	}
	return float64(trace.MillisOf(all))
}

// Len is how many rows there are.
func (l *Lanes) Len() int { return len(l.rows) }

// Add puts an event into its row.
func (l *Lanes) Add(e trace.Event) {
	l.take(e)
	l.add(e)
}

// add puts the last event into its row.
func (l *Lanes) add(e trace.Event) {
	at := float64(e.At)
	if n := len(l.rows); n == 0 || l.rows[n-1].step != e.Step {
		l.rows = append(l.rows, laneRow{step: e.Step, at: at})
	}
	row := &l.rows[len(l.rows)-1]
	l.ofLocks(row, e)
	row.until, row.key, row.nodes, row.locks = max(row.at, at), e.Key, e.Nodes, e.Locks
	row.holder, row.several, row.taken = l.holder(e.Key), nil, 0
	if len(e.Key.Fields) > 1 {
		if list := l.holding().Holders(e.Key); len(list) > 1 {
			row.holder, row.several = -1, list
		}
	}
	if members := e.Key.CountMembers(); l.sc.Lock.Kind.Permits > 0 && members > 0 {
		row.holder, row.taken = -1, members
	}
	if e.Key.Type == trace.TypeList { // it says nothing of its holders
		row.holder, row.several, row.taken = -1, nil, 0
	}
	l.highest = max(l.highest, float64(e.Key.PTTL))
	if i := l.ordinal(e.Thread); i >= 0 {
		l.act(row, i, e)
	} else {
		l.byItself(row, e)
	}
	row.down = l.downNodes(len(e.Nodes))
	l.touch(row, e)
	if l.words != nil {
		row.words = make([]string, len(l.processes))
		for i, process := range l.processes {
			row.words[i] = l.words.Of(process).Thread
		}
	}
	for i, name := range l.names {
		t, was := l.thread(name), l.threadAt[i]
		s := threadState{level: e.Belief[name], locks: l.taken[name], waiting: t.waits, leaving: facts.Leaves(e, name), stillUntil: float64(t.pause)}
		if t.byHand || t.idle == hanging {
			s.stillUntil = math.Inf(1)
		}
		s.parted = s.level > 0 && l.inRedis() && l.parted(e, name) && (was.parted || !t.unlocking)
		l.depth = max(l.depth, s.level)
		l.threadAt[i] = s
	}
	row.threads = append(row.threads[:0], l.threadAt...)
}

// ofLocks notes who has each of several locks.
func (l *Lanes) ofLocks(row *laneRow, e trace.Event) {
	row.holders = make([]int, len(e.Locks))
	for i, one := range e.Locks {
		row.holders[i] = -1
		if i < len(l.locks) { // else it is of a foreign trace
			row.holders[i] = slices.IndexFunc(l.names, func(name string) bool { return l.holdingOf(i).Hold(one.Key, name) })
		}
	}
}

// cover takes out which rules were broken, and where belief and Redis parted.
func (l *Lanes) cover() {
	l.broken = 0
	for i := range l.rows {
		row := &l.rows[i]
		row.rules = nil
		for j := range row.threads {
			row.threads[j].parted = false
		}
	}
}

// downNodes are the nodes that answer nobody, from 0.
func (l *Lanes) downNodes(all int) []int {
	var down []int
	for i := range all {
		if l.down.Down(i) {
			down = append(down, i)
		}
	}
	return down
}

// touch notes what an event did to the resource.
func (l *Lanes) touch(row *laneRow, e trace.Event) {
	if l.kind == "" {
		return
	}
	if b, ok := e.Body.(trace.Resource); ok {
		t := touch{l.ordinal(e.Thread), TouchRead}
		switch {
		case b.Refused:
			t.kind = TouchRefused
		case b.Op == trace.OpWrite:
			t.kind = TouchWrite
		}
		if len(row.touches) < mostTouches {
			row.touches = append(row.touches, t)
		}
		l.shown = l.value()
	}
	row.value = l.shown
}

// value is the resource in a few characters: "1", or by user "7: 2, 8: 1".
func (l *Lanes) value() string {
	if len(l.resource.Values) == 0 {
		if l.kind == scenario.KindPurchases {
			return ""
		}
		return strconv.Itoa(l.size)
	}
	var parts []string
	for _, user := range l.resource.Users {
		part := strconv.Itoa(l.resource.Values[user])
		if user != "" {
			part = user + ": " + part
		}
		parts = append(parts, part)
	}
	return few(parts)
}

// byItself notes what Redis or the run did.
func (l *Lanes) byItself(row *laneRow, e trace.Event) {
	switch b := e.Body.(type) {
	case trace.Violation:
		l.broken++
		if len(row.rules) <= mostNamed && !slices.Contains(row.rules, b.Rule) {
			row.rules = append(slices.Clone(row.rules), b.Rule)
		}
	case trace.Expired:
		row.expired = true
	case trace.Fault:
		if len(row.faults) <= mostNamed {
			row.faults = append(row.faults, b.Do)
		}
		l.faults = true
	}
}

// act notes what a thread did.
func (l *Lanes) act(row *laneRow, i int, e trace.Event) {
	mark := func(k MarkKind) {
		if !slices.Contains(row.marks, laneMark{i, k}) {
			row.marks = append(row.marks, laneMark{i, k})
		}
	}
	switch b := e.Body.(type) {
	case trace.Command:
		if b.Late {
			mark(MarkLate)
		}
	case trace.Outcome:
		switch b.Result {
		case trace.Refused, trace.Exhausted, trace.Offline:
			mark(MarkRefused)
		case trace.Lost, trace.NotHeld, trace.Cancelled, trace.Failed:
			mark(MarkFailed)
		case trace.Renewed:
			mark(MarkRenewed)
		}
	case trace.Resource:
		if b.Refused {
			mark(MarkFailed)
		}
	case trace.Fault:
		if b.Do != fault.Resume {
			mark(MarkFault)
		}
	case trace.End:
		l.over++
		switch b.Result {
		case trace.Done:
			mark(MarkDone)
		case trace.Crashed:
			mark(MarkCrashed)
		default:
			mark(MarkGaveUp)
		}
	}
}

// holder is the thread that a key belongs to, the first one of several, or -1
// where that is no thread.
func (l *Lanes) holder(k trace.KeyState) int {
	return slices.IndexFunc(l.names, func(name string) bool { return l.holding().Hold(k, name) })
}
