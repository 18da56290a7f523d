// Package effects infers what happened from what commands did to a lock's key,
// and makes a trace of it: which thread believes that it holds the lock, and
// which rules were broken. It knows no library. Both the lab, where clients
// run, and imported logs use it.
package effects

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/check"
	"relock/engine/fault"
	"relock/engine/journal"
	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// Rules are the rules that a lab checks, in the order of check.Names.
func Rules() []string {
	return []string{check.MutualExclusion, check.LostUpdate, check.ForeignRelease, check.Orphan, check.Stuck}
}

// Roles remembers what each command does to a lock, by the name that Shown gives
// it: only a script's earlier effects tell its refusal from its release.
type Roles map[string]string

// Reading folds the records of one order into events, and into broken rules. It is not
// safe for concurrent use.
type Reading struct {
	key, resource string
	marks         bool // beliefs are read from marks
	roles         Roles
	owners        map[string]string // of the header: grows
	shared        map[string]bool   // owner ids that several threads have used
	checker       *check.Checker
	events        []trace.Event
	forgets       bool // of the events only the last is kept: nobody asks for the others
	seq           int  // events so far
	belief        map[string]int
	inside        map[string]int // by marks
	attempts      map[string]int
	maker         string // who created the key
	step          int
	at            time.Duration
	now           trace.KeyState

	version, value int
	read           map[string]int // the version a thread has read, by thread
	broken         []check.Finding
}

// New returns the reading of no records yet: of threads by name, with the lock's key, and the key of what it protects or "".
// Known has the effects of commands seen before; it grows. With marks, beliefs come from the marks alone.
func New(threads []string, key, resource string, marks bool, known Roles) *Reading {
	j := &Reading{
		key: key, resource: resource, marks: marks, roles: known, owners: map[string]string{}, shared: map[string]bool{},
		belief: map[string]int{}, inside: map[string]int{}, attempts: map[string]int{}, now: trace.Absent(), read: map[string]int{},
	}
	for _, t := range threads {
		j.owners[t] = t
	}
	j.checker = check.New(j.owners, protocol.InRedis)
	return j
}

// See takes the next record.
func (j *Reading) See(r Record) {
	j.step++
	j.at = max(j.at, r.At)
	if r.Thread != "" && r.Ended == "" && r.Lapsed == nil && j.now.Exists() && !r.Before.Exists() { // by a clock that nobody moves
		j.lapse(j.now)
		j.step++
	}
	switch {
	case r.Ended != "":
		delete(j.belief, r.Thread)
		delete(j.inside, r.Thread)
		j.now = r.After
		j.add(r.Thread, trace.End{Result: r.Ended})
		return
	case r.Mark == MarkEnter || r.Mark == MarkLeave:
		j.mark(r)
		return
	case r.Thread == "":
		j.befall(r)
		return
	}
	j.command(r)
}

func (j *Reading) mark(r Record) {
	j.now = r.After
	state := trace.WorkBegin
	level := j.inside[r.Thread] + 1
	if r.Mark == MarkLeave {
		state, level = trace.WorkEnd, max(j.inside[r.Thread], 1)
	}
	if state == trace.WorkBegin {
		j.inside[r.Thread]++
	} else if j.inside[r.Thread]--; j.inside[r.Thread] <= 0 {
		delete(j.inside, r.Thread)
	}
	j.add(r.Thread, trace.Work{State: state, Level: level})
}

// befall takes what befell Redis, or a worker as a whole.
func (j *Reading) befall(r Record) {
	if r.Do == fault.Evict {
		j.now, j.maker = r.After, ""
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
	j.now, j.maker = trace.Absent(), ""
	j.add("", trace.Expired{Was: was})
}

// add appends an event, and what rules it breaks.
func (j *Reading) add(thread string, body trace.Body) {
	belief := j.belief
	if j.marks {
		belief = j.inside
	}
	e := trace.Event{Seq: j.seq + 1, Step: j.step, At: trace.MillisOf(j.at), Thread: thread, Body: body, Key: j.now, Belief: maps.Clone(belief)}
	j.note(e)
	for _, f := range j.checker.Observe(e) {
		if slices.Contains(Rules(), f.Rule) {
			if untold := j.untold(f, thread); len(untold) > 0 {
				f = f.Inferred(untold)
			}
			j.violate(f)
		}
	}
}

// untold are the threads of two inside at once that have lost the lock, and that no answer has told
// so: nobody knows it where marks say who is inside. Thread is the one that came in last.
func (j *Reading) untold(f check.Finding, thread string) []string {
	if f.Rule != check.MutualExclusion || j.marks {
		return nil
	}
	hold := append(facts.Owners(j.owners).Holders(j.now), thread)
	return slices.DeleteFunc(slices.Clone(f.Threads), func(t string) bool { return slices.Contains(hold, t) })
}

func (j *Reading) note(e trace.Event) {
	if j.seq++; j.forgets {
		j.events = j.events[:0]
	}
	j.events = append(j.events, e)
}

func (j *Reading) violate(f check.Finding) {
	if f.Threads == nil {
		f.Threads = []string{}
	}
	j.broken = append(j.broken, f)
	last := trace.Event{Step: 1, Key: j.now}
	if n := len(j.events); n > 0 {
		last = j.events[n-1]
	}
	last.Seq, last.Body, last.Thread = j.seq+1, f.Violation, ""
	j.note(last)
	j.checker.Observe(last)
}

// command takes a command of a thread.
func (j *Reading) command(r Record) {
	ofLock := j.ofLock(r)
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
	maker := j.maker
	j.owns(r, before)
	old := maps.Clone(j.belief)
	j.believes(r, before, told, ofLock, call)
	now := j.belief
	j.belief = old // until its last command: a thread believes what it was told, and has left once Redis has run its unlock
	j.commands(r, before, now, call, level, attempt)
	j.belief = now
	j.foreign(r, before, maker, ofLock)
	j.resources(r)
	if ofLock && !r.Late {
		j.outcome(r, call, level, attempt, told)
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
	return a.Type == b.Type && a.PTTL == b.PTTL && maps.Equal(a.Fields, b.Fields) && (a.Value == nil) == (b.Value == nil) && (a.Value == nil || *a.Value == *b.Value)
}

// content is a key without its expiry.
func content(k trace.KeyState) trace.KeyState { k.PTTL = 0; return k }

// call says what a command is for: what it does, or what it did at another time, or
// what it looks like.
func (j *Reading) call(r Record, ofLock bool) string {
	if !ofLock {
		return ""
	}
	if looks(r) || firstExpiry(r) {
		return ""
	}
	name := Shown(r.Args)
	if role := does(r); role != "" {
		if r.Script != "" {
			j.roles[name] = role
		}
		return role
	}
	if role := j.roles[name]; role != "" {
		return role
	}
	switch Verb(r.Args) {
	case "SETNX", "HSETNX", "SET", "HINCRBY":
		return lock.CallLock
	case "DEL", "UNLINK", "GETDEL", "DELEX", "HDEL":
		return lock.CallUnlock
	case "PEXPIRE", "EXPIRE", "PEXPIREAT", "EXPIREAT", "GETEX":
		return lock.CallRenew
	}
	if r.Script != "" && !makes.MatchString(r.Script) && deletes.MatchString(r.Script) || j.belief[r.Thread] > 0 {
		return lock.CallUnlock
	}
	return lock.CallLock
}

// Of a script that was never seen to do anything: a command in it that could make a key, and one that could delete one.
var (
	makes   = regexp.MustCompile(`(?i)["'](p?setn?x|psetex|getset|set|h(m?set|setnx|incrby)|incr(by)?|[lr]push|[sz]add)["']`)
	deletes = regexp.MustCompile(`(?i)["'](del|unlink|hdel|getdel|delex)["']`)
)

// looks reports whether a command reads, and no more. What a script reads belongs to its call.
func looks(r Record) bool { return r.Script == "" && len(r.Tx) == 0 && !Touches(r.Args).Writes }

// firstExpiry reports whether a command of its own gives the key an expiry that it had not: it belongs to the call that
// created the key, and renews nothing.
func firstExpiry(r Record) bool {
	return r.Script == "" && len(r.Tx) == 0 && r.Before.Exists() && r.Before.PTTL < 0 && r.After.PTTL >= 0 && Equal(content(r.Before), content(r.After))
}

// does says what a command did to the lock: it created the key or a field, removed one,
// or changed its expiry.
func does(r Record) string {
	switch {
	case made(r.Before, r.After) != nil, overAtOnce(r):
		return lock.CallLock
	case r.Before.Exists() && !r.After.Exists() || len(r.Before.Fields) > len(r.After.Fields):
		return lock.CallUnlock
	case r.Before.Exists() && r.After.Exists() && Equal(content(r.Before), content(r.After)) && r.After.PTTL > r.Before.PTTL: // less is left by itself, on the wall's clock
		return lock.CallRenew
	}
	for f, v := range r.After.Fields {
		old, err := strconv.Atoi(r.Before.Fields[f])
		now, err2 := strconv.Atoi(v)
		switch {
		case err != nil || err2 != nil || now == old:
		case now > old:
			return lock.CallLock
		default:
			return lock.CallUnlock
		}
	}
	return ""
}

// overAtOnce reports whether a command was granted a lock whose lease was over by then, as
// one is that ends at an instant of another clock: SET NX has answered OK, and left no key.
func overAtOnce(r Record) bool {
	if r.Before.Exists() || r.After.Exists() {
		return false
	}
	granted := func(args []string, reply any) bool {
		return Verb(args) == "SET" && MakesLock(args) && reply == "OK"
	}
	keys := Touches(r.Args).Keys
	return granted(r.Args, r.Reply) || slices.ContainsFunc(r.Inner, func(e journal.Entry) bool {
		return !e.Key.Exists() && granted(e.Args, e.Reply) && len(keys) > 0 && keys[0] == e.Args[1]
	})
}

// made returns the owner ids that a command has put into the key: a value where there
// was none or another, fields that were not there.
func made(before, after trace.KeyState) []string {
	var ids []string
	if after.Value != nil && (before.Value == nil || *before.Value != *after.Value) {
		ids = append(ids, *after.Value)
	}
	for f := range after.Fields {
		if _, had := before.Fields[f]; !had {
			ids = append(ids, f)
		}
	}
	slices.Sort(ids)
	return ids
}

// owns notes whose ids are in the key.
func (j *Reading) owns(r Record, before trace.KeyState) {
	ids := made(before, r.After)
	if !before.Exists() && r.After.Exists() {
		j.maker = r.Thread
	}
	if len(ids) > 0 && before.Exists() && r.After.Value != nil {
		j.maker = r.Thread
	}
	for _, id := range ids {
		switch owner, known := j.owners[id]; {
		case id == "" || len(id) > 200 || j.shared[id] || len(j.owners) >= trace.MaxOwners:
		case known && owner != r.Thread: // a value that everybody writes is nobody's
			j.shared[id] = true
			if owner != id {
				delete(j.owners, id)
			}
		default:
			j.owners[id] = r.Thread
		}
	}
	if !r.After.Exists() {
		j.maker = ""
	}
}

// count returns how often the thread of r holds the key, by what it made of it; 1 of a string.
func (j *Reading) count(r Record) int {
	if r.After.Value != nil {
		return 1
	}
	for id, v := range r.After.Fields {
		if j.owners[id] != r.Thread {
			continue
		}
		if n, err := strconv.Atoi(v); err == nil {
			return n
		}
		return 1
	}
	return 1
}

// believes reads from a command what its thread believes after it: who makes the key
// and is told anything but nil believes that it holds, and no more who deletes it, or is
// told by a release or a renewal that it does not.
func (j *Reading) believes(r Record, before trace.KeyState, told, ofLock bool, call string) {
	ids := made(before, r.After)
	counts := len(before.Fields) > 0 && len(ids) == 0 && does(r) == lock.CallLock
	switch {
	case !ofLock || r.Late:
	case (len(ids) > 0 || counts || overAtOnce(r)) && told && r.Err == "": // also where the answer is nil: so Redisson's script says yes
		j.belief[r.Thread] = max(j.count(r), 1)
	case len(ids) > 0:
	case does(r) == lock.CallUnlock && j.belief[r.Thread] > 0:
		if n := j.holds(r); n > 0 {
			j.belief[r.Thread] = n
		} else {
			delete(j.belief, r.Thread)
		}
	case told && r.Owner != "" && call == lock.CallLock && does(r) == "" && before.Value != nil && *before.Value == r.Owner:
		delete(j.belief, r.Thread) // refused by its own value: it does not know that it holds
	case told && r.Err == "" && call != lock.CallLock && call != "" && no(r.Reply):
		delete(j.belief, r.Thread)
	case told && r.Err == "" && j.sees(r):
		delete(j.belief, r.Thread)
	}
}

// sees reports whether a thread sees, by looking at the key, that it does not hold it.
func (j *Reading) sees(r Record) bool {
	if !looks(r) || len(r.Args) < 2 || r.Args[1] != j.key {
		return false
	}
	mine := func(id string) bool { return j.owners[id] == r.Thread || j.shared[id] }
	switch Verb(r.Args) {
	case "EXISTS", "TTL", "PTTL", "TYPE", "HLEN", "STRLEN":
		return !r.After.Exists()
	case "HGET", "HEXISTS", "HSTRLEN":
		_, has := r.After.Fields[r.Args[min(2, len(r.Args)-1)]]
		return !has && mine(r.Args[min(2, len(r.Args)-1)])
	case "GET":
		return r.After.Value == nil || !mine(*r.After.Value)
	case "HGETALL", "HKEYS":
		return !slices.ContainsFunc(slices.Collect(maps.Keys(r.After.Fields)), mine)
	}
	return false
}

// holds returns the count that is left to a thread in the key.
func (j *Reading) holds(r Record) int {
	for id, v := range r.After.Fields {
		if j.owners[id] == r.Thread {
			n, _ := strconv.Atoi(v)
			return n
		}
	}
	return 0
}

// no reports whether an answer is a no.
func no(reply any) bool {
	switch v := reply.(type) {
	case nil:
		return true
	case int64:
		return v <= 0
	case []any:
		return len(v) == 0 || no(v[0])
	}
	return false
}

// commands adds a command, or each one of its script.
func (j *Reading) commands(r Record, before trace.KeyState, believed map[string]int, call string, level, attempt int) {
	last := func() {
		if believed[r.Thread] < j.belief[r.Thread] {
			j.belief = believed
		}
	}
	one := trace.Command{Call: call, Attempt: attempt, Level: level, Late: r.Late}
	if one.Call == "" {
		one.Call = "other"
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

// foreign finds a release of another's lock where the key does not say whose it is:
// everybody writes the same value.
func (j *Reading) foreign(r Record, before trace.KeyState, maker string, ofLock bool) {
	if !ofLock || !before.Exists() || r.After.Exists() || maker == "" || maker == r.Thread {
		return
	}
	if before.Value == nil || !j.shared[*before.Value] || !journal.Writes(r.Args[0]) {
		return
	}
	j.violate(j.checker.SharedRelease(r.Thread, maker))
}

// resources adds the reads and writes of what the lock protects.
func (j *Reading) resources(r Record) {
	if j.resource == "" || r.Err != "" {
		return
	}
	if replies, ok := r.Reply.([]any); ok && len(r.Tx) == len(replies) {
		for i, args := range r.Tx {
			j.touch(r.Thread, args, replies[i])
		}
		return
	}
	if len(r.Inner) > 0 {
		for _, e := range r.Inner {
			j.touch(r.Thread, e.Args, e.Reply)
		}
		return
	}
	j.touch(r.Thread, r.Args, r.Reply)
}

func (j *Reading) touch(thread string, args []string, reply any) {
	if len(args) < 2 || args[1] != j.resource {
		return
	}
	number := func(v any) int {
		switch v := v.(type) {
		case int64:
			return int(v)
		case string:
			n, _ := strconv.Atoi(strings.TrimSpace(v))
			return n
		}
		return 0
	}
	reads := func() {
		j.read[thread] = j.version
		j.add(thread, trace.Resource{Op: trace.OpRead, Value: j.value, Version: j.version})
	}
	writes := func(value int) {
		based, seen := j.read[thread]
		if !seen { // what it has never read it cannot have seen change
			based = j.version
		}
		delete(j.read, thread)
		j.version++
		j.value = value
		j.add(thread, trace.Resource{Op: trace.OpWrite, Value: value, Version: j.version, Based: based})
	}
	switch v := Verb(args); v {
	case "GET":
		j.value = number(reply)
		reads()
	case "SET", "SETEX", "PSETEX", "SETNX":
		if !journal.Wrote(args, reply) {
			return
		}
		at := 2
		if strings.HasSuffix(v, "EX") {
			at = 3
		}
		if at < len(args) {
			writes(number(args[at]))
		}
	case "GETSET":
		reads()
		if len(args) > 2 {
			writes(number(args[2]))
		}
	case "INCR", "DECR", "INCRBY", "DECRBY":
		reads()
		writes(number(reply))
	}
}

// outcome adds what a call to the lock came to.
func (j *Reading) outcome(r Record, call string, level, attempt int, told bool) {
	o := trace.Outcome{Call: call, Level: level, Attempt: attempt, Count: j.belief[r.Thread]}
	switch {
	case call == "":
		return
	case !told:
		o.Result, o.Error, o.Cause = trace.Failed, "the connection is gone", trace.Cause{Kind: trace.Reset}
	case r.Err != "":
		code, _, _ := strings.Cut(r.Err, " ")
		o.Result, o.Error, o.Cause = trace.Failed, r.Err, trace.Cause{Kind: trace.Answered, Code: code}
	case call == lock.CallLock && does(r) == lock.CallLock:
		if o.Result = trace.Acquired; level > 1 {
			o.Result = trace.Reentered
		}
		o.Level = max(j.belief[r.Thread], 1)
		j.attempts[r.Thread] = 0
	case call == lock.CallLock:
		o.Result = trace.Refused
	case call == lock.CallUnlock && does(r) == lock.CallUnlock:
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
func (j *Reading) Finish(key trace.KeyState, asking, waiting []string) {
	j.now = key
	believed := len(j.belief) > 0
	if j.marks {
		believed = len(j.inside) > 0
	}
	if len(waiting) > 0 {
		j.violate(j.checker.Stuck(waiting, asking))
	} else if key.Exists() && !believed {
		for _, f := range j.checker.Finish(key) {
			j.violate(f)
		}
	}
	j.step++
	result := trace.Done
	if len(waiting) > 0 {
		result = check.Stuck
	}
	j.add("", trace.End{Result: result})
}

// Rules returns the names of the rules that were broken, in the order of Rules.
func (j *Reading) Rules() []string {
	var list []string
	for _, name := range Rules() {
		if slices.ContainsFunc(j.broken, func(f check.Finding) bool { return f.Rule == name }) {
			list = append(list, name)
		}
	}
	return list
}

// Events returns the events of the records so far, or after Forget only the last.
func (j *Reading) Events() []trace.Event { return j.events }

// Owners returns the thread of each owner id in the key. It grows with the records.
func (j *Reading) Owners() map[string]string { return j.owners }

// Broken returns the broken rules so far in words, in their order.
func (j *Reading) Broken() []check.Finding { return j.broken }

// Forget keeps only the last event from now on.
func (j *Reading) Forget() { j.forgets = true }

// Stands reports whether the lock's key existed after the last record.
func (j *Reading) Stands() bool { return j.now.Exists() }
