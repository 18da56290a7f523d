package film

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/check"
	"relock/engine/fault"
	"relock/engine/journal"
	"relock/engine/lock"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/trace/facts"
	"relock/engine/verdict"
	"relock/web/words"
)

// Narrator explains each event of a run in one sentence. A sentence claims
// nothing that the events so far do not show, and has at most 140 characters in
// English and 70 in Chinese, without which of several locks it is about. It is not safe for concurrent use.
type Narrator struct {
	l        words.Language
	sc       *scenario.Scenario
	protocol lock.Protocol
	owners   map[string]string // owner id to thread
	framed   bool              // the scenario is only a frame: nobody knows the threads' program
	several  *several          // of several locks: a narrator for each; else nil

	masters facts.Masters
	before  trace.KeyState   // the key before the current event, as its thread's masters had it
	nodes   []trace.KeyState // and on each node, if there are several

	asked    map[callOf]*asked
	threads  map[string]*known
	lease    map[int]time.Duration // the last one each node was given; node 0 if there is only one Redis
	down     facts.Outages
	outage   string         // what was answered to whom a fault is about, before it: "" if nothing was, or all went well
	wrote    trace.Resource // the last accepted write
	token    int64          // the newest the resource has seen
	grant    grant          // the largest fencing token so far
	findings *check.Findings
	failed   []Failure
	watch    *verdict.Watch
	unjudged []string      // at the run's end: Unjudged
	jumps    map[int]jump  // the last jump of each node's clock; node 0 if there is only one Redis
	kept     bool          // the key stays after the work, on purpose
	over     *trace.Millis // when time alone has ended the last lease, nil if somebody has the lock since
}

// callOf identifies a thread's current call, of which there is one at a time,
// or a late copy.
type callOf struct {
	thread, call string
	late         int // the step in which a late copy arrives; 0 for the call
}

// asked is what a call has asked Redis since its last outcome.
type asked struct {
	level, attempt int
	commands       int
	last           string // the script that ran, or else the command
	failed         string // the code of Redis' error
	fault          string // the last fault that struck on the way
	delayed        bool   // a request, of this attempt or an earlier one, may still be on its way
	timed          bool   // the script has asked for the time
	now            int64  // by Redis' clock, in milliseconds, if it has
	looked         bool   // HMGET was answered
	counted        bool   // its own hold count was changed
	token          int64  // to which INCR has counted
	taken          int    // keys that were set
	deleted        int    // keys of its own that were deleted
	ever           bool   // a key was deleted by this attempt or an earlier one of the call
	foreign        string // whose key was deleted
	wrote          string // the last command that changed data
	handed         string // who was given the lock
	place          int64  // in the queue it has joined
	cut            int64  // what was left of a lease that was shortened, in milliseconds
	kept           bool   // the key was left on purpose
}

// known is what we know about a thread.
type known struct {
	outcome   trace.Outcome // of its last lock or unlock
	exhausted trace.Outcome
	token     int64
	until     trace.Millis // when its pause ends
	byHand    bool         // it is paused until somebody resumes it
	ended     bool
	unwatched bool   // its watchdog has stopped since it has the lock
	parting   bool   // it is leaving
	reached   bool   // and Redis has run a command of its last unlock
	answered  string // or has answered it with this error
}

// jump is a jump of a Redis clock.
type jump struct {
	at trace.Millis
	by string
}

// grant is a fencing token and who got it.
type grant struct {
	token  int64
	thread string
}

func (t *Narrator) say(text phrase.Text, args ...any) string { return t.l.Say(text, args...) }

// ms words milliseconds as Redis returns them.
func (t *Narrator) ms(n int64) string { return t.l.Duration(time.Duration(n) * time.Millisecond) }

func (t *Narrator) millis(m trace.Millis) string { return t.l.Duration(m.Duration()) }

func (t *Narrator) thread(name string) *known {
	if t.threads[name] == nil {
		t.threads[name] = &known{}
	}
	return t.threads[name]
}

func (t *Narrator) call(thread, call string) *asked {
	return t.askedBy(callOf{thread: thread, call: call})
}

func (t *Narrator) askedBy(of callOf) *asked {
	if t.asked[of] == nil {
		t.asked[of] = &asked{}
	}
	return t.asked[of]
}

// callOfCommand returns the call, or the late copy, that a command belongs to.
func callOfCommand(e trace.Event, b trace.Command) callOf {
	of := callOf{thread: e.Thread, call: b.Call}
	if b.Late {
		of.late = e.Step
	}
	return of
}

// spec returns the thread's part of the scenario.
func (t *Narrator) spec(thread string) scenario.Thread {
	for _, s := range t.sc.Threads {
		if s.Name == thread {
			return s
		}
	}
	return scenario.Thread{Retry: t.sc.Lock.Retry, Repeat: 1}
}

// watched reports whether a watchdog renews leases in this run.
func (t *Narrator) watched() bool { return t.protocol.HasWatchdog() && t.sc.Lock.Watchdog > 0 }

// own reports whether nobody here knows what a call does next: its script, or all of its
// client, is somebody's own.
func (t *Narrator) own(call string) bool {
	return t.framed || t.sc.Lock.Own() && slices.Contains(t.sc.Lock.Scripts.Calls(), call)
}

// habits are the habits of an article's client; a lock of ours has none.
func (t *Narrator) habits() exhibit.Habits {
	h, _ := exhibit.HabitsOf(t.protocol)
	return h
}

// counts reports whether the lock's key is a hash of hold counts.
func (t *Narrator) counts() bool {
	return t.protocol.Counts
}

// holding is whose the key is after the last event.
func (t *Narrator) holding() *facts.Holding { return t.findings.Facts().Holding() }

// holders returns who holds the key, by name, given the threads of the run among them.
func (t *Narrator) holders(k trace.KeyState, threads []string) []string {
	if !t.holding().Names(k) && len(threads) > 0 {
		return threads
	}
	var list []string
	if k.Value != nil {
		list = append(list, t.owner(*k.Value))
	}
	for id := range k.Fields {
		if k.IsMember(id) {
			list = append(list, t.owner(id))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// owner returns the thread of an owner id.
func (t *Narrator) owner(id string) string {
	if name := t.owners[id]; name != "" {
		return name
	}
	return t.say("another owner")
}

// holds reports whether the thread holds the key as the event leaves it.
func (t *Narrator) holds(k trace.KeyState, thread string) bool {
	return t.holding().Hold(k, thread)
}

// held reports whether the thread held the key as the event found it.
func (t *Narrator) held(k trace.KeyState, thread string) bool {
	return slices.Contains(t.holding().Held(k), thread)
}

// other returns a holder of the key other than this thread as the event leaves it, or "".
func (t *Narrator) other(k trace.KeyState, thread string) string {
	return butFor(t.holders(k, t.holding().Holders(k)), thread)
}

// otherHeld is other for the key as the event found it.
func (t *Narrator) otherHeld(k trace.KeyState, thread string) string {
	return butFor(t.holders(k, t.holding().Held(k)), thread)
}

// others are the holders of the key as the event leaves it, "A and B", "" where this thread
// is among them, or nobody is.
func (t *Narrator) others(k trace.KeyState, thread string) string {
	if t.holds(k, thread) {
		return ""
	}
	return t.few(t.holders(k, t.holding().Holders(k)))
}

// butFor returns the first of the holders that is not this thread, or "".
func butFor(holders []string, thread string) string {
	for _, h := range holders {
		if h != thread {
			return h
		}
	}
	return ""
}

// count returns the thread's hold count in the key, 0 without one.
func (t *Narrator) count(k trace.KeyState, thread string) int {
	for id, text := range k.Fields {
		if k.IsMember(id) && t.owner(id) == thread {
			n, _ := strconv.Atoi(text)
			return n
		}
	}
	return 0
}

// has returns how many nodes have the thread's value.
func (t *Narrator) has(nodes []trace.KeyState, thread string) int {
	n := 0
	for _, k := range nodes {
		if t.holds(k, thread) {
			n++
		}
	}
	return n
}

func quorum(nodes []trace.KeyState) int { return len(nodes)/2 + 1 }

// begin notes which attempt a command belongs to.
func (t *Narrator) begin(e trace.Event, b trace.Command) {
	a := t.askedBy(callOfCommand(e, b))
	if a.commands > 0 && (a.level != b.Level || a.attempt != b.Attempt) {
		*a = asked{fault: a.fault, delayed: a.delayed, ever: a.ever}
	}
	if a.commands == 0 && b.Attempt == 1 {
		a.ever = false
	}
	a.level, a.attempt = b.Level, b.Attempt
}

// strike notes what a fault changes: what is down from now on.
func (t *Narrator) strike(e trace.Event, b trace.Fault) {
	t.outage = t.down[max(b.Node-1, 0)][b.Thread]
	t.down.Strike(b)
	if b.Do == fault.ClockJump {
		t.jumps[b.Node] = jump{e.At, t.l.Clause(phrase.Wording{Args: []any{fault.JumpsBy(b)}})}
	}
}

// fold remembers what later sentences need.
func (t *Narrator) fold(e trace.Event) {
	who := t.thread(e.Thread)
	t.kept = t.kept && e.Key.Exists()
	if leaves := slices.Contains(e.Leaving, e.Thread); leaves != who.parting {
		who.parting, who.reached, who.answered = leaves, false, ""
	}
	switch b := e.Body.(type) {
	case trace.Command:
		t.foldCommand(e, b)
		who.reached = who.reached || who.parting && b.Call == lock.CallUnlock && b.Level == 1 && !b.Late
	case trace.Outcome:
		a := t.call(e.Thread, b.Call)
		*a = asked{delayed: a.delayed, ever: a.ever && b.Result == trace.Failed}
		why := causeOf(b.Cause, b.Error)
		switch {
		case b.Result == trace.Acquired:
			who.unwatched = false
		case b.Result == trace.Aged, b.Call == lock.CallRenew && b.Result == trace.Lost:
			who.unwatched = true
		case who.parting && b.Call == lock.CallUnlock && b.Level == 1 && why.Kind == trace.Answered:
			who.answered = why.Code
		}
		if b.Call == lock.CallLock || b.Call == lock.CallUnlock {
			who.outcome = b
		}
		if b.Result == trace.Exhausted {
			who.exhausted = b
		}
		if b.Result == trace.Acquired {
			t.over, t.kept = nil, false
		}
		if b.Result == trace.Acquired && b.Token > 0 {
			who.token = b.Token
			if b.Token > t.grant.token {
				t.grant = grant{b.Token, e.Thread}
			}
		}
	case trace.Resource:
		if b.Op == trace.OpWrite && !b.Refused {
			t.wrote = b
			t.token = max(t.token, b.Token)
		}
	case trace.Fault:
		a := t.call(e.Thread, b.At)
		a.fault = b.Do
		if who.parting && b.Do == fault.AnswerError && b.At == lock.CallUnlock && b.Level == 1 && refuses(b.Error) {
			who.answered = b.Error
		}
		switch b.Do {
		case fault.Delay:
			a.delayed = true
		case fault.Pause:
			who.until, who.byHand = e.At+b.ForMS, b.ForMS == 0
		case fault.Resume:
			who.until, who.byHand = 0, false
		}
	case trace.Expired:
		if jumped, ok := t.jumps[b.Node]; !ok || jumped.at != e.At {
			t.over = &e.At
		}
	case trace.End:
		who.ended = true
		t.failed = failedToo(t.failed, e)
	}
}

func (t *Narrator) foldCommand(e trace.Event, b trace.Command) {
	c := t.about(e, b)
	a := c.asked
	a.commands++
	a.last = b.Script
	if b.Script == "" {
		a.last = c.verb
	}
	a.failed, _, _ = strings.Cut(b.Error, " ")
	if b.Error == "" && len(b.Args) > 0 && journal.Wrote(b.Args, b.Reply) && c.verb != protocol.WAIT {
		a.wrote = c.verb
	}
	switch c.verb {
	case "TIME":
		a.timed, a.now = true, micros(b.Reply)/1000
	case "HMGET":
		a.looked = true
	case "INCR":
		a.token = c.n
	case "SET", "SETNX":
		if !c.ofLock(t) {
			break
		}
		if c.text == "OK" || c.n == 1 {
			a.taken++
		}
		if px, ok := c.px(); ok && c.text == "OK" && !b.OldMaster {
			t.lease[b.Node] = px
		} else if c.text == "OK" {
			t.given(c)
		}
	case "PEXPIRE":
		if c.n == 1 && c.ofLock(t) && !b.OldMaster {
			t.lease[b.Node] = time.Duration(c.number(2)) * time.Millisecond
		}
		if facts.Keeps(c.Command) {
			a.kept, t.kept = true, true
		}
		if c.Call == lock.CallRenew && c.shortens() {
			a.cut = c.before.PTTL
		}
	case "PEXPIREAT", "EXPIRE", "EXPIREAT", "SETEX", "PSETEX", "GETEX":
		if b.Error == "" && c.n != 0 || c.text == "OK" {
			t.given(c)
		}
	case "RPUSH":
		a.place = c.n
	case "HINCRBY":
		to := t.owner(c.Arg(2))
		if a.counted = a.counted || to == c.who; to != c.who {
			a.handed = to
		}
	case "DEL", "DELEX":
		if c.n == 1 {
			a.deleted++
			a.ever, a.foreign, a.handed = true, "", ""
			if !t.held(c.before, c.who) {
				a.foreign = t.otherHeld(c.before, c.who)
			}
		}
	}
}

// given notes what a command has left the key to live.
func (t *Narrator) given(c command) {
	if c.ofLock(t) && !c.OldMaster && c.after.PTTL > 0 {
		t.lease[c.Node] = time.Duration(c.after.PTTL) * time.Millisecond
	}
}

// refuses reports whether Redis runs nothing of a request that it answers with an error.
func refuses(code string) bool {
	a, ok := fault.ErrorReplyOf(code)
	return ok && a.Refused == fault.EveryCommand
}

// micros reads the reply of TIME, in microseconds; 0 for anything else.
func micros(reply any) int64 {
	list, _ := reply.([]any)
	if len(list) != 2 {
		return 0
	}
	return facts.Number(list[0])*1_000_000 + facts.Number(list[1])
}

// command is a Redis command and what surrounds it.
type command struct {
	trace.Command

	who           string
	verb          string
	n             int64          // the reply, if it is a number
	text          string         // the reply, if it is a text
	before, after trace.KeyState // the lock's key on the command's node
	asked         *asked
}

// about returns a command with what surrounds it.
func (t *Narrator) about(e trace.Event, b trace.Command) command {
	c := command{Command: b, who: e.Thread, before: t.before, after: e.Key, asked: t.askedBy(callOfCommand(e, b))}
	c.verb = strings.ToUpper(c.Arg(0))
	c.n, _ = b.Reply.(int64)
	c.text, _ = b.Reply.(string)
	if i := b.Node - 1; i >= 0 && i < len(e.Nodes) {
		c.before, c.after = trace.Absent(), e.Nodes[i]
		if i < len(t.nodes) {
			c.before = t.nodes[i]
		}
	}
	return c
}

// number returns a numeric argument.
func (c command) number(i int) int64 { return facts.Number(c.Arg(i)) }

// ofLock reports whether the command is about the lock's key rather than one
// beside it.
func (c command) ofLock(t *Narrator) bool { return c.Arg(1) == t.sc.Lock.Key }

// shortens reports whether a PEXPIRE leaves the key less time than it had.
func (c command) shortens() bool { return c.n == 1 && c.before.PTTL > c.number(2) }

// numbers reports whether a renewal says by its number whether it is late.
func (c command) numbers() bool { return c.Script == "numbered-renew.lua" }

// px returns the expiry that a SET sets.
func (c command) px() (time.Duration, bool) {
	for i, a := range c.Args {
		switch {
		case a == "PX" && i > 2:
			return time.Duration(c.number(i+1)) * time.Millisecond, true
		case a == "PXAT" && i > 2: // an instant, of which Redis counts what is left
			return time.Duration(max(c.after.PTTL, 0)) * time.Millisecond, true
		}
	}
	return 0, false
}
