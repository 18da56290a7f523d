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
	"relock/engine/verdict"
)

// Rules are the rules that a lab checks, in the order of check.Names.
func Rules() []string {
	return []string{check.MutualExclusion, check.LostUpdate, check.ForeignRelease, check.ForeignRenewal, check.Replaced, check.Orphan, check.Stuck, check.Deadlock}
}

// Roles remembers what each command does to a lock, by the name that Shown gives
// it: only a script's earlier effects tell its refusal from its release.
type Roles map[string]string

// Reading folds the records of one order into events, and into broken rules. It is not
// safe for concurrent use.
type Reading struct {
	account

	lock          Lock
	key, resource string
	marks         bool // beliefs are read from marks
	roles         Roles
	scripts       map[string]scripted // seen here, by name
	misread       int                 // of them
	owners        map[string]string   // of the header: grows
	named         []string            // ids, in the order in which they became somebody's or nobody's
	shared        map[string]bool     // owner ids that several threads have used
	belief        map[string]int
	inside        map[string]int // by marks
	attempts      map[string]int
	kind          *verdict.Kind   // one that cannot be judged, by what the key has held; nil if it has held none
	refused       bool            // somebody was, in this order
	several       bool            // several threads had fields at once
	moded         bool            // it says itself whether readers hold it
	fresh         map[string]bool // threads that have put their member, and have asked nothing since
	unranked      map[string]bool // threads whose member made one more than there are permits, and that will ask for its rank
	counter       bool            // its value is counted up and down
	taken, put    int             // tokens that the current command took out of a list, and put back
	last          trace.KeyState  // before the current command
	ids           []string        // what the current command put into the key
	did           string          // what it did to the lock, as a call
	began         time.Time       // the instant from which records count; zero if it is not known
	step          int
	at            time.Duration
	now           trace.KeyState

	version, value int
	read           map[string]int // the version a thread has read, by thread
	circle         circle
	among          bool // it is one of several locks: who waits for whom is read for all of them
}

// scripted is what we took a script for before it did anything, and whether it has.
type scripted struct {
	as          string
	asked, acts bool
}

// New returns the reading of no records yet: of threads by name, with the lock, and the key of what it protects or "".
// Known has the effects of commands seen before; it grows. With marks, beliefs come from the marks alone.
func New(threads []string, of Lock, resource string, marks bool, known Roles) *Reading {
	j := &Reading{
		lock: of, key: of.Key, resource: resource, marks: marks, roles: known, scripts: map[string]scripted{}, owners: map[string]string{}, shared: map[string]bool{},
		belief: map[string]int{}, inside: map[string]int{}, fresh: map[string]bool{}, unranked: map[string]bool{}, attempts: map[string]int{}, now: trace.Absent(), read: map[string]int{},
	}
	for _, t := range threads {
		j.owners[t] = t
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
	if j.unranked[r.Thread] {
		j.rank(r.Thread, r.Mark == MarkEnter)
	}
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
		switch {
		case f.Rule == check.Replaced && j.takesOver():
		case slices.Contains(Rules(), f.Rule):
			if !j.marks { // which say who is inside
				f = inferred(f, append(j.checker.Holders(j.now), thread))
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
	j.tokens(r)
	j.questions(r, ofLock)
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
	j.belief = old // until its last command: a thread believes its answers, and has left once Redis has run its unlock
	j.commands(r, before, now, call, level, attempt)
	j.belief = now
	j.several = j.several || len(j.checker.Put().Threads()) > 1
	j.resources(r)
	if ofLock && !r.Late {
		j.outcome(r, call, level, attempt, told)
	}
}

// tokens counts the tokens that a command takes out of the lock's list, or puts back. A
// thread that puts in a token it has not taken fills the list.
func (j *Reading) tokens(r Record) {
	j.taken, j.put = 0, 0
	if j.lock.Kind.Permits == 0 || fault.Withholds(r.Do) {
		return
	}
	one := func(args []string, reply any) {
		taken, put := journal.Tokens(args, reply, j.key)
		j.taken, j.put = j.taken+taken, j.put+put
	}
	replies, _ := r.Reply.([]any)
	switch {
	case len(r.Tx) > 0 && len(replies) == len(r.Tx):
		for i, args := range r.Tx {
			one(args, replies[i])
		}
	case len(r.Inner) > 0:
		for _, e := range r.Inner {
			one(e.Args, e.Reply)
		}
	case r.Err == "" && len(r.Tx) == 0:
		one(r.Args, r.Reply)
	}
	j.put = min(j.put, j.checker.Put().Tokens(r.Thread)+j.taken)
}

// Filled returns with how many tokens the lock's list was filled while none was out; false
// where it is none of tokens.
func (j *Reading) Filled() (int, bool) { return j.checker.Put().Filled() }

// lists reports whether the lock is a list of tokens.
func (j *Reading) lists() bool { _, is := j.Filled(); return is }

// asks is the role of no command: clients of this lock put their member into it, and then
// ask for its rank.
const asks = "asks for its rank"

// questions takes a question about its member from a thread that has put it, and the
// answer.
func (j *Reading) questions(r Record, ofLock bool) {
	asked, in := j.ranked(r)
	if asked && j.fresh[r.Thread] && len(r.Tx) == 0 && j.roles[asks] == "" {
		j.roles[asks] = lock.CallLock
		j.misread++
	}
	back := ofLock && !slices.ContainsFunc(slices.Collect(maps.Keys(r.After.Fields)), func(id string) bool { return j.mine(r, id) })
	switch {
	case len(j.ids) > 0 && len(r.Tx) == 0:
		j.fresh[r.Thread] = true
	case asked || back || !ofLock:
		delete(j.fresh, r.Thread)
	}
	switch {
	case !j.unranked[r.Thread] || len(j.ids) > 0:
	case asked:
		j.rank(r.Thread, in)
	case back: // before it asked
		j.rank(r.Thread, false)
	case !ofLock: // it works
		j.rank(r.Thread, true)
	}
}

// rank takes whether a thread is in whose member made one more than there are permits.
func (j *Reading) rank(thread string, in bool) {
	delete(j.unranked, thread)
	o := trace.Outcome{Call: lock.CallLock, Result: trace.Refused, Level: 1, Attempt: max(j.attempts[thread], 1)}
	if in {
		j.belief[thread], o.Result, o.Count = 1, trace.Acquired, 1
		j.attempts[thread] = 0
	} else {
		j.refused = true
	}
	j.add(thread, o)
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

// call says what a command is for: what it does, or what it did at another time, or
// what it looks like.
func (j *Reading) call(r Record, ofLock bool) string {
	if !ofLock {
		return ""
	}
	if looks(r) || journal.Sweeps(Verb(r.Args)) || firstExpiry(r) || j.unlike(r.After) || j.unlike(r.Before) {
		return ""
	}
	name := Shown(r.Args)
	if role := j.did; role != "" {
		if r.Script != "" {
			j.acts(name, role)
		}
		return role
	}
	role := j.roles[name]
	if s := j.scripts[name]; r.Script != "" && !s.acts {
		j.scripts[name] = scripted{as: role, asked: true}
	}
	if role != "" {
		return role
	}
	switch Verb(r.Args) {
	case "LPUSH", "RPUSH", "LPUSHX", "RPUSHX": // it fills the list
		return ""
	case "SETNX", "HSETNX", "SET", "GETSET", "HINCRBY", "LPOP", "RPOP", "BLPOP", "BRPOP":
		return lock.CallLock
	case "DEL", "UNLINK", "GETDEL", "DELEX", "HDEL", "DECR", "DECRBY":
		return lock.CallUnlock
	case "PEXPIRE", "EXPIRE", "PEXPIREAT", "EXPIREAT", "GETEX":
		return lock.CallRenew
	}
	if r.Script != "" && !makes.MatchString(r.Script) && deletes.MatchString(r.Script) || j.belief[r.Thread] > 0 {
		return lock.CallUnlock
	}
	return lock.CallLock
}

// acts notes what a script does to the lock.
func (j *Reading) acts(name, role string) {
	s := j.scripts[name]
	if s.asked && s.acts && s.as != j.roles[name] {
		j.misread--
	}
	if s.asked && s.as != role {
		j.misread++
	}
	s.acts = true
	j.roles[name], j.scripts[name] = role, s
}

// Misread reports whether it took a script for something else before that did what it
// does: read the records again with the same Roles.
func (j *Reading) Misread() bool { return j.misread > 0 }

// Of a script that was never seen to do anything: a command in it that could make a key, and one that could delete one.
var (
	makes   = regexp.MustCompile(`(?i)["'](p?setn?x|psetex|getset|set|h(m?set|setnx|incrby)|incr(by)?|[lr]push|[sz]add)["']`)
	deletes = regexp.MustCompile(`(?i)["'](del|unlink|hdel|getdel|delex)["']`)
)

// looks reports whether a command only reads. A script's reads belong to its call.
func looks(r Record) bool { return r.Script == "" && len(r.Tx) == 0 && !Touches(r.Args).Writes }

// firstExpiry reports whether a separate command gives the key an expiry that it did not have: it
// belongs to the call that created the key, and renews nothing.
func firstExpiry(r Record) bool {
	return r.Script == "" && len(r.Tx) == 0 && r.Before.Exists() && r.Before.PTTL < 0 && r.After.PTTL >= 0 && Equal(content(r.Before), content(r.After))
}

// does says what a command did to the lock: it created the key or a field, removed one,
// or changed its expiry.
func (j *Reading) does(r Record) string {
	if old, now, is := j.rewrites(r); is {
		switch {
		case now > old:
			return lock.CallLock
		case now < old:
			return lock.CallUnlock
		}
		return lock.CallRenew
	}
	switch {
	case j.taken > j.put:
		return lock.CallLock
	case j.put > 0:
		return lock.CallUnlock
	case j.stands(r), journal.Sweeps(Verb(r.Args)) && len(j.ids) == 0:
		return ""
	case len(j.ids) > 0, overAtOnce(r):
		return lock.CallLock
	case r.Before.Exists() && !r.After.Exists() || len(r.Before.Fields) > len(r.After.Fields):
		return lock.CallUnlock
	case counts(r, j.key):
		if old, now := number(r.Before), number(r.After); now < old && j.belief[r.Thread] > 0 {
			return lock.CallUnlock
		}
		return ""
	case r.Before.Exists() && r.After.Exists() && Equal(content(r.Before), content(r.After)) && r.After.PTTL > r.Before.PTTL: // less is left by itself, on the wall's clock
		return lock.CallRenew
	}
	if r.After.Type == trace.TypeZSet && scored(r.Before, r.After) {
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

// scored reports whether a member of a sorted set has got a higher score.
func scored(before, after trace.KeyState) bool {
	for member, now := range after.Fields {
		old, had := before.Fields[member]
		a, err := strconv.ParseFloat(old, 64)
		b, err2 := strconv.ParseFloat(now, 64)
		if had && err == nil && err2 == nil && b > a {
			return true
		}
	}
	return false
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

// puts returns what a command has put into the key: a value, whether it is another one
// or not, and fields that are new or have another value. A count that goes on is nobody's.
func (j *Reading) puts(r Record) []string {
	var ids []string
	before, after := r.Before, r.After
	switch {
	case after.Value == nil:
	case counts(r, j.key):
		if number(before) <= 0 && number(after) > 0 {
			ids = append(ids, *after.Value)
		}
	case before.Value == nil || *before.Value != *after.Value || sets(r, j.key):
		ids = append(ids, *after.Value)
	}
	for f, now := range after.Fields {
		old, had := before.Fields[f]
		_, err := strconv.Atoi(old)
		_, err2 := strconv.Atoi(now)
		count := err == nil && err2 == nil
		plain := (Verb(r.Args) == "HSET" || Verb(r.Args) == "HMSET") && j.checker.Put().Fields[f] != r.Thread
		if f == trace.Mode || had && after.Type != trace.TypeHash { // a score that moves is a lease that is renewed
			continue
		}
		if !had || old != now && (!count || plain) {
			ids = append(ids, f)
		}
	}
	slices.Sort(ids)
	return slices.DeleteFunc(ids, func(id string) bool { return besideACount(after, ids, id) })
}

// besideACount reports whether one of the fields that were put into a hash at once only
// accompanies an owner's: its number is larger than that one's count, as the number of a
// call or a time is.
func besideACount(k trace.KeyState, put []string, field string) bool {
	n, err := strconv.Atoi(k.Fields[field])
	return err == nil && slices.ContainsFunc(put, func(other string) bool {
		count, err := strconv.Atoi(k.Fields[other])
		return err == nil && count < n
	})
}

// sets reports whether a command has written the value of a key, whatever it was before.
func sets(r Record, key string) bool {
	one := func(args []string, reply any) bool {
		switch Verb(args) {
		case "SET", "SETEX", "PSETEX", "SETNX", "GETSET":
			return len(args) > 2 && args[1] == key && journal.Wrote(args, reply) && reply != args[2]
		}
		return false
	}
	if replies, ok := r.Reply.([]any); ok && len(r.Tx) == len(replies) {
		for i, args := range r.Tx {
			if one(args, replies[i]) {
				return true
			}
		}
		return false
	}
	return r.Err == "" && r.Script == "" && one(r.Args, r.Reply)
}

// counts reports whether a command counts a string up or down: who is in is who counted it
// from nothing.
func counts(r Record, key string) bool {
	if r.Script != "" {
		return counting.MatchString(r.Script) && !setting.MatchString(r.Script)
	}
	for _, args := range append([][]string{r.Args}, r.Tx...) {
		switch Verb(args) {
		case "INCR", "INCRBY", "DECR", "DECRBY":
			if len(args) > 1 && args[1] == key {
				return true
			}
		}
	}
	return false
}

// Of a script: a command in it that counts, and one that sets a value.
var (
	counting = regexp.MustCompile(`(?i)["'](incr|decr)(by)?["']`)
	setting  = regexp.MustCompile(`(?i)["'](p?setn?x|psetex|getset|set)["']`)
)

// number is the number that a string holds, 0 if it holds none.
func number(k trace.KeyState) int {
	if k.Value == nil {
		return 0
	}
	n, _ := strconv.Atoi(*k.Value)
	return n
}

// rewrites reports whether a thread replaces its own value with another, and from which
// level to which: the number at the end of both, if the rest is the same.
func (j *Reading) rewrites(r Record) (old, now int, is bool) {
	if r.Before.Value == nil || r.After.Value == nil || j.checker.Put().Value != r.Thread || j.belief[r.Thread] == 0 || len(j.ids) == 0 {
		return 0, 0, false
	}
	a, b := *r.Before.Value, *r.After.Value
	stem := func(v string) (string, int) {
		rest := strings.TrimRight(v, "0123456789")
		n, err := strconv.Atoi(v[len(rest):])
		if err != nil || rest == "" {
			return v, 0
		}
		return rest, n
	}
	x, n := stem(a)
	y, m := stem(b)
	if x == y && n < 100 && m < 100 {
		return n, m, true
	}
	return 0, 0, true
}

// owns notes whose ids are in the key.
func (j *Reading) owns(r Record, before trace.KeyState) {
	counter := counts(r, j.key)
	j.counter = j.counter || counter && r.After.Value != nil
	for _, id := range j.ids {
		switch owner, known := j.owners[id]; {
		case counter, id == "" || len(id) > 200 || j.shared[id] || len(j.owners) >= trace.MaxOwners:
		case known && owner != r.Thread: // a value that everybody writes is nobody's
			j.shared[id] = true
			if owner != id {
				delete(j.owners, id)
				j.named = append(j.named, id)
			}
		case !known:
			j.owners[id] = r.Thread
			j.named = append(j.named, id)
		}
	}
}

// deadline is the instant that a value is, in seconds or milliseconds of Unix, and whether it is one.
func deadline(value string) (time.Time, bool) {
	n, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil:
	case n > 1e9 && n < 1e10:
		return time.UnixMilli(int64(n * 1000)), true
	case n > 1e12 && n < 1e13:
		return time.UnixMilli(int64(n)), true
	}
	return time.Time{}, false
}

func isDeadline(value string) bool { _, is := deadline(value); return is }

// stands reports whether a command that writes its value regardless heard in the answer that
// another's lock is there: a value that it does not hold, and no deadline that is over.
func (j *Reading) stands(r Record) bool {
	swaps := Verb(r.Args) == "GETSET" || Verb(r.Args) == "SET" && !MakesLock(r.Args) && slices.ContainsFunc(r.Args, func(a string) bool { return strings.EqualFold(a, "GET") })
	was, _ := r.Reply.(string)
	return swaps && was != "" && was != "0" && (j.checker.Put().Value != r.Thread || j.belief[r.Thread] == 0) && !j.takesOver()
}

// takesOver reports whether the last command put another value in the place of a deadline
// that may be over: that is how such a lock is taken.
func (j *Reading) takesOver() bool {
	over := func(value string) bool {
		until, is := deadline(value)
		return is && (j.began.IsZero() || !until.After(j.began.Add(j.at)))
	}
	if j.last.Value != nil {
		return over(*j.last.Value)
	}
	for _, score := range j.last.Fields {
		if j.last.Type != trace.TypeZSet || !over(score) {
			return false
		}
	}
	return len(j.last.Fields) > 0
}

// From says from which instant the records count.
func (j *Reading) From(t time.Time) { j.began = t }

// believes reads from a command what its thread believes after it. A thread that makes
// the key and hears anything but nil believes that it holds; it stops believing that when
// it deletes the key, or when a release or a renewal tells it that it does not hold.
func (j *Reading) believes(r Record, before trace.KeyState, told, ofLock bool, call string, own bool) {
	ids := j.ids
	counts := len(before.Fields) > 0 && len(ids) == 0 && j.did == lock.CallLock
	rewrites := own && before.Value != nil && len(ids) > 0 && j.belief[r.Thread] > 0
	switch {
	case !ofLock || r.Late:
	case j.taken+j.put > 0:
		if told {
			j.belief[r.Thread] += j.taken
		}
		if j.belief[r.Thread] = max(j.belief[r.Thread]-j.put, 0); j.belief[r.Thread] == 0 {
			delete(j.belief, r.Thread)
		}
	case rewrites && j.did == lock.CallLock:
		j.belief[r.Thread]++
	case rewrites && j.did == lock.CallUnlock && j.belief[r.Thread] > 1:
		j.belief[r.Thread]--
	case rewrites:
	case told && (j.stands(r) || len(r.Tx) > 0 && j.outranked(r)):
		delete(j.belief, r.Thread)
	case len(ids) > 0 && told && j.oneMore(r):
		j.unranked[r.Thread] = true
	case (len(ids) > 0 || counts || overAtOnce(r)) && told && r.Err == "": // also where the answer is nil: so Redisson's script says yes
		if j.takesOver() {
			delete(j.belief, j.checker.Put().Value)
		}
		j.belief[r.Thread] = max(j.holds(r), 1)
	case len(ids) > 0:
	case j.did == lock.CallUnlock && j.belief[r.Thread] > 0:
		if n := j.holds(r); n > 0 {
			j.belief[r.Thread] = n
		} else {
			delete(j.belief, r.Thread)
		}
	case told && r.Owner != "" && call == lock.CallLock && j.did == "" && before.Value != nil && *before.Value == r.Owner:
		delete(j.belief, r.Thread) // refused by its own value: it does not know that it holds
	case told && r.Err == "" && call != lock.CallLock && call != "" && no(j.answer(r)):
		delete(j.belief, r.Thread)
	case told && r.Err == "" && j.sees(r):
		delete(j.belief, r.Thread)
	}
}

// oneMore reports whether a separate command added a member to as many holders as there are
// permits, if clients ask for its rank after that.
func (j *Reading) oneMore(r Record) bool {
	return r.Script == "" && len(r.Tx) == 0 && (r.After.Type == trace.TypeZSet || r.After.Type == trace.TypeSet) && j.roles[asks] != "" &&
		j.belief[r.Thread] == 0 && len(j.belief) >= j.lock.Kind.Most()
}

// mine reports whether a member belongs to the thread of r.
func (j *Reading) mine(r Record, id string) bool {
	return j.owners[id] == r.Thread || slices.Contains(j.ids, id)
}

// ranked reports whether a thread asks how many are in beside its own member, and hears that
// there is room for it: that is how a semaphore says yes.
func (j *Reading) ranked(r Record) (asked, in bool) {
	most := int64(j.lock.Kind.Most())
	put := len(r.Tx) == 0 // before it asks
	one := func(args []string, reply any) {
		if len(args) < 2 || args[1] != j.key {
			return
		}
		n, is := reply.(int64)
		switch Verb(args) {
		case "ZADD", "SADD":
			put = true
			return
		case "ZRANK", "ZREVRANK":
			if is = is && len(args) > 2 && j.mine(r, args[2]); !is {
				return
			}
			n++
		case "ZCARD", "SCARD":
			if is = is && (put || len(j.ids) > 0); !is {
				return
			}
			if !put {
				n++
			}
		default:
			return
		}
		asked, in = true, (in || !asked) && n <= most
	}
	if replies, ok := r.Reply.([]any); ok && len(r.Tx) == len(replies) {
		for i, args := range r.Tx {
			one(args, replies[i])
		}
		return asked, in
	}
	one(r.Args, r.Reply)
	return asked, in
}

// outranked reports whether a thread hears that there is no room for its member.
func (j *Reading) outranked(r Record) bool {
	asked, in := j.ranked(r)
	return asked && !in
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
	case "ZSCORE", "ZRANK", "ZREVRANK", "SISMEMBER":
		_, has := r.After.Fields[r.Args[min(2, len(r.Args)-1)]]
		return !has && mine(r.Args[min(2, len(r.Args)-1)]) || j.outranked(r)
	case "HGETALL", "HKEYS", "SMEMBERS":
		return !slices.ContainsFunc(slices.Collect(maps.Keys(r.After.Fields)), mine)
	}
	return false
}

// holds returns the count that the thread of r has in the key; 0 where it has none there, as in
// a string. Of several numbers the smallest is the count, as besideACount has it.
func (j *Reading) holds(r Record) int {
	if r.After.Type != trace.TypeHash {
		return 0
	}
	count := 0
	for id, v := range r.After.Fields {
		if n, err := strconv.Atoi(v); err == nil && n > 0 && (slices.Contains(j.ids, id) || j.checker.Put().Fields[id] == r.Thread) && (count == 0 || n < count) {
			count = n
		}
	}
	return count
}

// answer is what a command was answered about the lock's key: of several keys that are
// deleted at once, whether this one was there.
func (j *Reading) answer(r Record) any {
	if v := Verb(r.Args); (v == "DEL" || v == "UNLINK") && len(r.Args) > 2 && !r.Before.Exists() {
		return int64(0)
	}
	return r.Reply
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
	case call == "", j.unranked[r.Thread]: // not known yet
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
		believed = len(j.inside) > 0
	}
	if len(waiting) > 0 {
		j.violate(j.checker.Stuck(waiting, asking))
	} else if ends := key.Value != nil && isDeadline(*key.Value); (key.Exists() || j.lists()) && !believed && !ends && !(j.counter && number(key) <= 0) {
		for _, f := range j.checker.Finish(key) {
			j.violate(f)
		}
	}
	j.step++
	j.add("", trace.End{Result: over.result()})
}

// Owners returns the thread of each owner id in the key. It grows with the records.
func (j *Reading) Owners() map[string]string { return j.owners }

// Named returns the owner ids of Owners in the order in which they came to it, or left it.
func (j *Reading) Named() []string { return j.named }

// Stands reports whether the lock's key existed after the last record.
func (j *Reading) Stands() bool { return j.now.Exists() }
