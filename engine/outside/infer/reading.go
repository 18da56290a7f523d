// Package infer infers what happened from what commands did to a lock's key,
// and makes a trace of it: which thread believes that it holds the lock, and
// which rules were broken. It knows no library. Both the lab, where clients
// run, and imported logs use it.
package infer

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/check"
	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/trace"
	"relock/engine/verdict"
)

// Rules are the rules that a lab checks, in the order of check.Names.
func Rules() []string {
	return []string{check.MutualExclusion, check.LostUpdate, check.ForeignRelease, check.ForeignRenewal, check.Replaced, check.ShutOut, check.Deadlock, check.DoneTwice}
}

// Reading folds the records of one order into events, and into broken rules. It is not
// safe for concurrent use.
type Reading struct {
	account
	register

	lock     Lock
	key      string
	resource resource
	marks    bool // beliefs are read from marks
	roles    Roles
	scripts  map[string]scripted // seen here, by name
	misread  int                 // of them
	shared   map[string]bool     // owner ids that several threads have used
	belief   map[string]int
	attempts map[string]int
	kind     *verdict.Kind  // one that cannot be judged, by what the key has held; nil if it has held none
	refused  bool           // somebody was, in this order
	several  bool           // several threads had fields at once
	moded    bool           // it says itself whether readers hold it
	last     trace.KeyState // before the current command
	ids      []string       // what the current command put into the key
	did      string         // what it did to the lock, as a call
	began    time.Time      // the instant from which records count; zero if it is not known
	step     int
	at       time.Duration
	now      trace.KeyState

	marked
	latest  int  // the last event that is no broken rule
	untried bool // whether the end shuts somebody out cannot be told of such a key
	apart   bool // a thread was inside that had not got the key: others decide

	circle circle
	among  bool // it is one of several locks: who waits for whom is read for all of them
}

// New returns the reading of no records yet: of threads by name, with the lock, and the key of what it protects or "".
// Known has the effects of commands seen before; it grows. With marks, beliefs come from the marks alone.
func New(threads []string, of Lock, protected string, marks bool, known Roles) *Reading {
	j := &Reading{
		register: registerOf(threads), resource: resource{key: protected, once: of.Once, read: map[string]int{}}, lock: of, key: of.Key, marks: marks, roles: known, scripts: map[string]scripted{}, shared: map[string]bool{},
		belief: map[string]int{}, attempts: map[string]int{}, marked: newMarked(), now: trace.Absent(),
	}
	j.checker = check.New(j.owners, protocol.InRedis, of.Kind)
	return j
}

// See takes the next record.
func (j *Reading) See(r Record) {
	if !j.among {
		j.deadlock(j.circle.stand(r.Asking)) // they waited until then
	}
	j.take(r)
	if !j.among {
		j.deadlock(j.circle.see(r))
	}
}

// deadlock takes threads that wait for one another.
func (j *Reading) deadlock(waits []check.Waits) {
	if waits != nil {
		j.violate(j.checker.Deadlock(waits))
	}
}

func (j *Reading) take(r Record) {
	if !r.Aside {
		j.step++
	}
	j.at = max(j.at, r.At)
	if r.Thread != "" && r.Ended == "" && r.Lapsed == nil && j.now.Exists() && !r.Before.Exists() { // by a clock that nobody moves
		j.lapse(j.now)
		j.step++
	}
	switch {
	case r.Ended != "":
		delete(j.belief, r.Thread)
		j.ended(r.Thread)
		j.now = r.After
		j.add(r.Thread, trace.End{Result: r.Ended})
		return
	case r.Mark == MarkEnter || r.Mark == MarkLeave:
		j.works(r)
		return
	case r.Thread == "":
		j.befall(r)
		return
	case r.Aside:
		j.takesOf(r)
		j.tellDue()
		return
	}
	j.command(r)
}

// instant is the instant of the records so far, zero where it is not known.
func (j *Reading) instant() time.Time {
	if j.began.IsZero() {
		return time.Time{}
	}
	return j.began.Add(j.at)
}

// takesOf takes what a command does to the locks of others. Without marks only the lock's key is
// known to be of it, and the rules see who takes it away, or puts another in its place.
func (j *Reading) takesOf(r Record) {
	if j.marks {
		j.takes(r, r.Keys, j.resource.key, j.instant())
		return
	}
	r.Node = 0
	var touched []Touched
	if !Equal(r.Before, r.After) {
		touched = []Touched{{j.key, WholeOf(r.Before, nil), WholeOf(r.After, nil)}}
	}
	j.takes(r, touched, "", j.instant())
	j.due = slices.DeleteFunc(j.due, func(t taken) bool { return t.rule != check.ForeignRenewal })
}

// tellDue tells what is left of that.
func (j *Reading) tellDue() {
	for _, f := range j.found(j.latest) {
		j.violate(f)
	}
}

// works takes a mark.
func (j *Reading) works(r Record) {
	j.now = r.After
	w := j.mark(r)
	j.apart = j.apart || w.State == trace.WorkBegin && j.belief[r.Thread] == 0
	j.witness.Shared = j.witness.Shared || w.Reads
	j.add(r.Thread, w)
	if w.State == trace.WorkBegin {
		j.entered[r.Thread] = j.latest
	}
}

// befall takes what happened to Redis, or to a worker as a whole.
func (j *Reading) befall(r Record) {
	if r.Do == fault.Evict {
		j.now = r.After
		j.add("", trace.Fault{Do: fault.Evict})
		return
	}
	if r.Before.Exists() && !r.After.Exists() {
		for _, t := range r.Silent {
			delete(j.belief, t)
		}
		j.lapse(r.Before)
		return
	}
	j.now = r.After
	if r.Lapsed == nil {
		j.add("", trace.Expired{Was: trace.Absent()})
	}
}

// lapse takes the end of the lock's lease.
func (j *Reading) lapse(was trace.KeyState) {
	if was.PTTL > 0 {
		was.PTTL = 0
	}
	j.now = trace.Absent()
	j.state.lapse(0, j.key)
	j.add("", trace.Expired{Was: was})
}

// add appends an event, and what rules it breaks.
func (j *Reading) add(thread string, body trace.Body) {
	belief := j.belief
	if j.marks {
		belief = j.times
	}
	e := trace.Event{Seq: j.seq + 1, Step: j.step, At: trace.MillisOf(j.at), Thread: thread, Body: body, Key: j.now, Belief: maps.Clone(belief)}
	j.note(e)
	j.latest = e.Seq
	for _, f := range j.checker.Observe(e) {
		switch {
		case j.marks && isTaking(f.Rule) && !j.tells(f):
		case f.Rule == check.Replaced && j.takesOver():
		case slices.Contains(Rules(), f.Rule):
			if !j.marks { // which say who is inside
				f = inferred(f, append(j.checker.Holders(j.now), thread))
				j.tells(f)
			}
			j.violate(f)
		}
	}
}

// inferred returns a finding of two inside at once, with those of its threads that have lost
// the lock without any answer that says so. Hold are those who have it, and the one that came
// in last.
func inferred(f check.Finding, hold []string) check.Finding {
	if f.Rule != check.MutualExclusion {
		return f
	}
	if untold := slices.DeleteFunc(slices.Clone(f.Threads), func(t string) bool { return slices.Contains(hold, t) }); len(untold) > 0 {
		return f.Inferred(untold)
	}
	return f
}

func (j *Reading) violate(f check.Finding) {
	j.account.violate(f, trace.Event{Step: 1, Key: j.now})
}

// command takes a command of a thread.
func (j *Reading) command(r Record) {
	ofLock := j.ofLock(r)
	j.look(r)
	j.ids = j.puts(r)
	j.did = j.does(r)
	call := j.call(r, ofLock)
	level := max(j.belief[r.Thread], 1)
	if call == lock.CallLock {
		level = j.belief[r.Thread] + 1
		j.attempts[r.Thread]++
	}
	attempt := max(j.attempts[r.Thread], 1)
	if r.Do != "" {
		f := trace.Fault{Do: r.Do, At: call, Level: level}
		if r.Passed > 0 {
			f.For, f.ForMS = r.Passed.String(), trace.MillisOf(r.Passed)
		}
		if r.Lapsed == nil {
			j.now = r.Before
		}
		if slices.Contains([]string{fault.LoseRequest, fault.LateCopy, fault.LoseReply, fault.Crash, fault.Pause, fault.Delay, fault.LoseMessage}, r.Do) {
			j.add(r.Thread, f)
		}
	}
	if r.Lapsed != nil {
		j.lapse(*r.Lapsed)
	}
	if r.Do == fault.Crash || r.Do == fault.Pause {
		j.now = r.After
		return
	}
	if r.Do == fault.LoseRequest || r.Do == fault.LateCopy {
		j.add(r.Thread, trace.Outcome{Call: call, Result: trace.Failed, Level: level, Attempt: attempt, Error: "the connection is gone", Cause: trace.Cause{Kind: trace.Reset}})
		return
	}
	before := j.now
	if r.Before.Exists() || before.Exists() {
		before = r.Before
	}
	told := r.Do != fault.LoseReply && !r.Late
	own := before.Exists() && slices.Contains(j.checker.Put().Threads(), r.Thread)
	old := maps.Clone(j.belief)
	j.owns(r, before)
	j.believes(r, before, told, ofLock, call, own)
	now := j.belief
	j.takesOf(r)
	j.belief = old // until its last command: a thread believes its answers, and has left once Redis has run its unlock
	j.commands(r, before, now, call, level, attempt)
	j.tellDue()
	j.belief = now
	j.believed(r.Thread, old[r.Thread] > 0)
	j.several = j.several || len(j.checker.Put().Threads()) > 1
	j.resource.take(r, func(b trace.Body) { j.add(r.Thread, b) })
	if ofLock && !r.Late {
		j.outcome(r, call, level, attempt, told)
	}
}

// believed takes that a thread believes otherwise than before that it holds the lock: without
// marks it enters and leaves by that.
func (j *Reading) believed(thread string, before bool) {
	switch is := j.belief[thread] > 0; {
	case j.marks || is == before:
	case is:
		j.enter(thread, "")
		j.entered[thread] = j.latest
	default:
		j.leave(thread, "")
	}
}

// ofLock reports whether a command names the lock's key.
func (j *Reading) ofLock(r Record) bool {
	if slices.Contains(Touches(r.Args).Keys, j.key) {
		return true
	}
	for _, t := range r.Tx {
		if slices.Contains(Touches(t).Keys, j.key) {
			return true
		}
	}
	return !Equal(r.Before, r.After)
}

// Equal reports whether two states of a key are the same, their expiry included.
func Equal(a, b trace.KeyState) bool {
	return a.Type == b.Type && a.PTTL == b.PTTL && a.Length == b.Length && maps.Equal(a.Fields, b.Fields) && (a.Value == nil) == (b.Value == nil) && (a.Value == nil || *a.Value == *b.Value)
}

// content is a key without its expiry.
func content(k trace.KeyState) trace.KeyState { k.PTTL = 0; return k }

// other is the call of a command that is none of the lock's.
const other = "other"

// commands adds a command, or each one of its script.
func (j *Reading) commands(r Record, before trace.KeyState, believed map[string]int, call string, level, attempt int) {
	last := func() {
		if believed[r.Thread] < j.belief[r.Thread] {
			j.belief = believed
		}
	}
	one := trace.Command{Call: call, Attempt: attempt, Level: level, Late: r.Late}
	if one.Call == "" {
		one.Call = other
	}
	if len(r.Inner) > 0 {
		script := ""
		if r.Script != "" {
			script = ScriptName(r.Script)
		}
		keys := Touches(r.Args).Keys
		ofKey := len(keys) > 0 && keys[0] == j.key || len(r.Tx) > 0
		for i, entry := range r.Inner {
			c := one
			c.Script, c.Line, c.Args, c.Reply, c.Error = script, entry.Line, entry.Args, entry.Reply, entry.Err
			if i == 0 && script != "" {
				c.Eval = evalOf(r.Args)
			}
			switch {
			case ofKey:
				j.now = entry.Key
			case i == len(r.Inner)-1:
				j.now = r.After
			default:
				j.now = before
			}
			if i == len(r.Inner)-1 {
				last()
			}
			j.add(r.Thread, c)
		}
		return
	}
	replies, _ := r.Reply.([]any)
	if len(r.Tx) > 0 && len(replies) == len(r.Tx) {
		for i, args := range r.Tx {
			c := one
			c.Args, c.Reply = args, replies[i]
			if j.now = before; i == len(r.Tx)-1 {
				j.now = r.After
				last()
			}
			j.add(r.Thread, c)
		}
		return
	}
	one.Args, one.Reply, one.Error = r.Args, r.Reply, r.Err
	if r.Script != "" { // the text is long, and its digest names it
		one.Args = append([]string{"EVALSHA", Digest(r.Script)}, r.Args[2:]...)
	}
	j.now = r.After
	last()
	j.add(r.Thread, one)
}

// evalOf is what a script was called with: EVAL text 1 key argument.
func evalOf(args []string) *trace.Eval {
	if len(args) < 3 {
		return nil
	}
	keys, err := strconv.Atoi(args[2])
	if err != nil || keys < 0 || keys > len(args)-3 {
		return nil
	}
	return &trace.Eval{Keys: args[3 : 3+keys], Argv: args[3+keys:]}
}

// outcome adds what a call to the lock came to.
func (j *Reading) outcome(r Record, call string, level, attempt int, told bool) {
	o := trace.Outcome{Call: call, Level: level, Attempt: attempt, Count: j.belief[r.Thread]}
	switch {
	case call == "": // not known yet
		return
	case !told:
		o.Result, o.Error, o.Cause = trace.Failed, "the connection is gone", trace.Cause{Kind: trace.Reset}
	case r.Err != "":
		code, _, _ := strings.Cut(r.Err, " ")
		o.Result, o.Error, o.Cause = trace.Failed, r.Err, trace.Cause{Kind: trace.Answered, Code: code}
	case call == lock.CallLock && j.did == lock.CallLock:
		if o.Result = trace.Acquired; level > 1 {
			o.Result = trace.Reentered
		}
		o.Level = max(j.belief[r.Thread], 1)
		o.TakesOver = j.takesOver() && !j.began.IsZero()
		j.attempts[r.Thread] = 0
	case call == lock.CallLock:
		o.Result = trace.Refused
		j.refused = true
	case call == lock.CallUnlock && j.did == lock.CallUnlock:
		if o.Result = trace.Released; j.belief[r.Thread] > 0 {
			o.Result = trace.Decremented
		}
	case call == lock.CallRenew && !no(r.Reply):
		o.Result = trace.Renewed
	default:
		o.Result = trace.NotHeld
	}
	j.now = r.After
	j.add(r.Thread, o)
}

// Finish judges the end of an order: a key that is left although no thread believes
// that it holds the lock.
func (j *Reading) Finish(over Over) {
	key, asking, waiting := over.Key, over.Asking, over.Waiting
	if !j.among {
		j.deadlock(j.circle.stand(asking))
	}
	j.now = key
	believed := len(j.belief) > 0
	if j.marks {
		believed = len(j.times) > 0
	}
	ends := key.Value != nil && isDeadline(*key.Value)
	j.untried = j.marks && !over.Tried && len(waiting) == 0 && (ends || j.apart && key.Exists() || j.kind != nil || j.lock.Kind.Permits > 0)
	if j.untried || j.marks && !j.left(j.key, key) { // what stays may be part of the lock
		believed = true
	}
	switch stays := key; {
	case len(waiting) > 0:
		j.violate(j.checker.Stuck(waiting, asking))
	case over.Tried:
		if over.Beside { // it is not why
			stays = trace.Absent()
		}
		if after, in := over.Shut(); after > 0 {
			for _, f := range j.checker.ShutOut(j.at, after, 0, in, stays) {
				j.violate(f)
			}
		}
	case key.Exists() && !believed && !ends && (j.marks || !unlike(key)):
		for _, f := range j.checker.Finish(key) {
			j.violate(f)
		}
	}
	j.step++
	j.add("", trace.End{Result: over.result()})
}

// Untried reports whether an order ended where nobody can tell by the key if somebody is shut out.
func (j *Reading) Untried() bool { return j.untried }

// Stands reports whether the lock's key existed after the last record.
func (j *Reading) Stands() bool { return j.now.Exists() }
