package view

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/check"
	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/trace/facts"
	"relock/web/timeline"
	"relock/web/words"
)

// Teller says of each event of a run in one sentence why it happened or what
// it means. A sentence claims nothing that the events so far do not show, and
// is at most 140 characters in English and 70 in Chinese. It is not safe for
// concurrent use.
type Teller struct {
	l        words.Language
	sc       *scenario.Scenario
	protocol lock.Protocol
	owners   map[string]string // owner id to thread

	before trace.KeyState   // the key before the event at hand
	nodes  []trace.KeyState // and on each node, where there are several

	asked    map[callOf]*asked
	threads  map[string]*known
	lease    map[int]time.Duration // what each node was last told, 0 where there is one
	down     facts.Outages
	wrote    trace.Resource // the last write that was taken
	token    int64          // the newest that the resource has seen
	grant    grant          // the largest fencing token so far
	findings *check.Findings
	failed   []timeline.Failure
	jumps    map[int]jump // the last jump of each node's clock, 0 where there is one
}

// callOf is a call of a thread, of which there is one at a time. What arrives
// late is none of it.
type callOf struct {
	thread, call string
	late         int // the step in which a late copy arrives, 0 of a call
}

// asked is what a call has asked of Redis since its last outcome.
type asked struct {
	level, attempt int
	commands       int
	last           string // the script that ran, or else the command
	failed         string // the code of the error that Redis answered with
	fault          string // the last one that struck on the way
	delayed        bool   // a request may still be on its way, of this outcome or an earlier one
	now            int64  // by Redis' clock, in milliseconds, where the script has asked
	taken          int    // keys that were set
	deleted        int    // keys of its own that were deleted
	foreign        string // whose key was deleted
	handed         string // to whom the lock was given
	place          int64  // in the queue that it has joined
	cut            int64  // what was left of the lease that was made shorter, in milliseconds
}

// known is what is known of a thread.
type known struct {
	outcome   trace.Outcome // of its last lock or unlock
	exhausted trace.Outcome
	token     int64
	until     trace.Millis // it stands still so long
	byHand    bool         // it stands still until it is resumed
	ended     bool
}

// jump is a jump of a clock of Redis.
type jump struct {
	at trace.Millis
	by string
}

// grant is a fencing token and who got it.
type grant struct {
	token  int64
	thread string
}

// NewTeller returns a teller in l for a run of sc in which owners, by id, are
// threads. It keeps both and changes neither.
func NewTeller(l words.Language, sc *scenario.Scenario, owners map[string]string) *Teller {
	return &Teller{
		l: l, sc: sc, protocol: exhibit.Named(sc.Lock.Protocol), owners: owners, before: trace.Absent(),
		asked: map[callOf]*asked{}, threads: map[string]*known{}, lease: map[int]time.Duration{}, down: facts.Outages{},
		jumps: map[int]jump{}, findings: check.NewFindings(owners, exhibit.Named(sc.Lock.Protocol).Guard, sc.Endless()),
	}
}

// Share has the teller take the words of broken rules from f, for who folds the
// same run with it otherwise. It is for a teller that has told nothing yet.
func (t *Teller) Share(f *check.Findings) { t.findings = f }

// Tell says of the next event why it happened or what it means. Events are
// told in their order, each once.
func (t *Teller) Tell(e trace.Event) string {
	t.findings.See(e)
	if b, ok := e.Body.(trace.Command); ok {
		t.begin(e, b)
	}
	if b, ok := e.Body.(trace.Fault); ok {
		t.strike(e, b)
	}
	text := t.tell(e)
	t.fold(e)
	t.before, t.nodes = e.Key, e.Nodes
	return text
}

func (t *Teller) tell(e trace.Event) string {
	switch b := e.Body.(type) {
	case trace.Command:
		return t.command(e, b)
	case trace.Outcome:
		return t.outcome(e, b)
	case trace.Work:
		return t.work(e, b)
	case trace.Wait:
		return t.wait(e, b)
	case trace.Resource:
		return t.resource(e.Thread, b)
	case trace.Fault:
		return t.fault(e, b)
	case trace.Expired:
		return t.expired(e, b)
	case trace.Violation:
		return t.l.Clause(t.findings.Of(e, b).Why)
	case trace.End:
		return t.end(e, b)
	default:
		return ""
	}
}

func (t *Teller) say(text phrase.Text, args ...any) string { return t.l.Say(text, args...) }

// ms says milliseconds as Redis gives them.
func (t *Teller) ms(n int64) string { return t.l.Duration(time.Duration(n) * time.Millisecond) }

func (t *Teller) millis(m trace.Millis) string { return t.l.Duration(m.Duration()) }

func (t *Teller) thread(name string) *known {
	if t.threads[name] == nil {
		t.threads[name] = &known{}
	}
	return t.threads[name]
}

func (t *Teller) call(thread, call string) *asked {
	return t.askedBy(callOf{thread: thread, call: call})
}

func (t *Teller) askedBy(of callOf) *asked {
	if t.asked[of] == nil {
		t.asked[of] = &asked{}
	}
	return t.asked[of]
}

// callOfCommand is the call that a command belongs to, or the late copy.
func callOfCommand(e trace.Event, b trace.Command) callOf {
	of := callOf{thread: e.Thread, call: b.Call}
	if b.Late {
		of.late = e.Step
	}
	return of
}

// spec is the thread's part of the scenario.
func (t *Teller) spec(thread string) scenario.Thread {
	for _, s := range t.sc.Threads {
		if s.Name == thread {
			return s
		}
	}
	return scenario.Thread{Retry: t.sc.Lock.Retry, Repeat: 1}
}

// watched tells whether a watchdog renews leases in this run.
func (t *Teller) watched() bool { return t.protocol.HasWatchdog() && t.sc.Lock.Watchdog > 0 }

// counts tells whether the lock's key is a hash of hold counts.
func (t *Teller) counts() bool {
	return t.protocol.Counts
}

// holders are the threads whose the key is, in the order of their names.
func (t *Teller) holders(k trace.KeyState) []string {
	var list []string
	if k.Value != nil {
		list = append(list, t.owner(*k.Value))
	}
	for id := range k.Fields {
		if !trace.IsNumber(id) {
			list = append(list, t.owner(id))
		}
	}
	slices.Sort(list)
	return list
}

// owner is the thread of an owner id.
func (t *Teller) owner(id string) string {
	if name := t.owners[id]; name != "" {
		return name
	}
	return t.say("another owner")
}

func (t *Teller) holds(k trace.KeyState, thread string) bool {
	return slices.Contains(t.holders(k), thread)
}

// other is whose the key is but not the thread's, "" if nobody's.
func (t *Teller) other(k trace.KeyState, thread string) string {
	for _, h := range t.holders(k) {
		if h != thread {
			return h
		}
	}
	return ""
}

// count is the thread's hold count in the key, 0 without one.
func (t *Teller) count(k trace.KeyState, thread string) int {
	for id, text := range k.Fields {
		if t.owner(id) == thread {
			n, _ := strconv.Atoi(text)
			return n
		}
	}
	return 0
}

// has is how many nodes have the thread's value.
func (t *Teller) has(nodes []trace.KeyState, thread string) int {
	n := 0
	for _, k := range nodes {
		if t.holds(k, thread) {
			n++
		}
	}
	return n
}

func quorum(nodes []trace.KeyState) int { return len(nodes)/2 + 1 }

// begin notes to which attempt a command belongs.
func (t *Teller) begin(e trace.Event, b trace.Command) {
	a := t.askedBy(callOfCommand(e, b))
	if a.commands > 0 && (a.level != b.Level || a.attempt != b.Attempt) {
		*a = asked{fault: a.fault, delayed: a.delayed}
	}
	a.level, a.attempt = b.Level, b.Attempt
}

// strike notes what is down from now on.
func (t *Teller) strike(e trace.Event, b trace.Fault) {
	if e.Thread == "" {
		t.down.Strike(b)
	}
	if b.Do == fault.ClockJump {
		t.jumps[b.Node] = jump{e.At, t.l.Clause(phrase.Wording{Args: []any{fault.JumpsBy(b)}})}
	}
}

// fold remembers what later sentences need.
func (t *Teller) fold(e trace.Event) {
	who := t.thread(e.Thread)
	switch b := e.Body.(type) {
	case trace.Command:
		t.foldCommand(e, b)
	case trace.Outcome:
		a := t.call(e.Thread, b.Call)
		*a = asked{delayed: a.delayed}
		if b.Call == lock.CallLock || b.Call == lock.CallUnlock {
			who.outcome = b
		}
		if b.Result == trace.Exhausted {
			who.exhausted = b
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
		switch b.Do {
		case fault.Delay:
			a.delayed = true
		case fault.Pause:
			who.until, who.byHand = e.At+b.ForMS, b.ForMS == 0
		case fault.Resume:
			who.until, who.byHand = 0, false
		}
	case trace.End:
		who.ended = true
		if f, ok := timeline.FailureOf(e); ok {
			t.failed = append(t.failed, f)
		}
	}
}

func (t *Teller) foldCommand(e trace.Event, b trace.Command) {
	c := t.about(e, b)
	a := c.asked
	a.commands++
	a.last = b.Script
	if b.Script == "" {
		a.last = c.verb
	}
	a.failed, _, _ = strings.Cut(b.Error, " ")
	switch c.verb {
	case "TIME":
		a.now = instant(b.Reply)
	case "SET", "SETNX":
		if c.text == "OK" || c.n == 1 {
			a.taken++
		}
		if px, ok := c.px(); ok && c.text == "OK" {
			t.lease[b.Node] = px
		}
	case "PEXPIRE":
		if c.n == 1 && c.ofLock(t) {
			t.lease[b.Node] = time.Duration(c.number(2)) * time.Millisecond
		}
		if c.Call == lock.CallRenew && c.shortens() {
			a.cut = c.before.PTTL
		}
	case "RPUSH":
		a.place = c.n
	case "HINCRBY":
		if to := t.owner(c.Arg(2)); to != c.who {
			a.handed = to
		}
	case "DEL":
		if c.n == 1 {
			a.deleted++
			a.foreign = ""
			if !t.holds(c.before, c.who) {
				a.foreign = t.other(c.before, c.who)
			}
		}
	}
}

// instant reads the reply of TIME, in milliseconds; 0 for anything else.
func instant(reply any) int64 {
	list, _ := reply.([]any)
	if len(list) != 2 {
		return 0
	}
	return facts.Number(list[0])*1000 + facts.Number(list[1])/1000
}

func (t *Teller) outcome(e trace.Event, b trace.Outcome) string {
	switch b.Result {
	case trace.Acquired:
		return t.acquired(e, b)
	case trace.Reentered:
		return t.reentered(e, b)
	case trace.Refused:
		return t.refused(e, b)
	case trace.Exhausted:
		return t.exhausted(e, b)
	case trace.Released:
		return t.released(e, b)
	case trace.Decremented:
		return t.decremented(e, b)
	case trace.Renewed:
		return t.renewed(e, b)
	case trace.Lost:
		return t.lost(e, b)
	case trace.NotHeld:
		return t.notHeld(e, b)
	case trace.Online:
		return t.say("%s takes the device for online: its key stands for another %s.", e.Thread, t.ms(max(e.Key.PTTL, 0)))
	case trace.Offline:
		return t.say("%s takes the device for offline: there is no key.", e.Thread)
	default:
		return t.failedCall(e, b)
	}
}

// elsewhere says that what a thread was told it holds is not so in Redis.
func (t *Teller) elsewhere(e trace.Event, level int) (string, bool) {
	switch other := t.other(e.Key, e.Thread); {
	case t.holds(e.Key, e.Thread):
		return "", false
	case other != "":
		return t.say("%s is told that it is at level %d, but in Redis the lock is %s's.", e.Thread, level, other), true
	default:
		return t.say("%s is told that it is at level %d, but in Redis the key is gone.", e.Thread, level), true
	}
}

func (t *Teller) acquired(e trace.Event, b trace.Outcome) string {
	who, left := e.Thread, t.ms(e.Key.PTTL)
	switch t.protocol.Guard {
	case protocol.Nothing:
		return t.say("%s enters without a lock: nobody is asked, and nobody is kept out.", who)
	case protocol.InProcess:
		return t.say("%s takes the spin lock: the word in its process' memory was free, and its count is now %d.", who, b.Count)
	}
	if text, ok := t.valid(e, b); ok {
		return text
	}
	if n := t.has(e.Nodes, who); n >= quorum(e.Nodes) {
		return t.say("%s has the lock: %d of %d nodes have its value, and %d are enough.", who, n, len(e.Nodes), quorum(e.Nodes))
	}
	if text, ok := t.elsewhere(e, b.Level); ok {
		return text
	}
	a := t.call(who, b.Call)
	switch {
	case t.counts() && b.Count != b.Level:
		return t.say("%s has the lock, but its count is %d at level %d: an earlier request was counted, too.", who, b.Count, b.Level)
	case e.Key.PTTL < 0:
		return t.say("%s has the lock, and its key has no expiry.", who)
	case b.Token > 0:
		return t.say("%s has the lock and fencing token %d; its lease runs for %s.", who, b.Token, left)
	case !t.counts():
		return t.say("%s has the lock: the key is its own for %s.", who, left)
	case t.protocol.Granting && a.commands == 0:
		return t.say("%s hears that the lock was handed to it: hold count %d, and %s left to renew it.", who, b.Count, left)
	case b.Attempt > 1:
		return t.say("%s has the lock at retry %d: hold count %d, and a lease of %s.", who, b.Attempt-1, b.Count, left)
	default:
		return t.say("%s has the lock: hold count %d, and a lease of %s.", who, b.Count, left)
	}
}

// valid says of a lock on several nodes how long it may be relied on.
func (t *Teller) valid(e trace.Event, b trace.Outcome) (string, bool) {
	who, lease := e.Thread, t.sc.Lock.Lease
	if b.Until == 0 || !t.holds(e.Key, who) {
		return "", false
	}
	until, length, drift := t.millis(b.Until), t.l.Duration(lease), t.l.Duration(t.protocol.Margin(lease))
	if len(e.Nodes) == 0 {
		return t.say("%s has the lock, valid until %s: %s from its question, less %s for clocks that drift.", who, until, length, drift), true
	}
	return t.say("%s has the lock on %d of %d nodes, valid until %s: %s from its question, less %s for clocks that drift.",
		who, t.has(e.Nodes, who), len(e.Nodes), until, length, drift), true
}

func (t *Teller) reentered(e trace.Event, b trace.Outcome) string {
	who := e.Thread
	switch t.protocol.Guard {
	case protocol.Nothing:
		return t.say("%s is at level %d, and no lock keeps anybody out.", who, b.Level)
	case protocol.InProcess:
		return t.say("%s is at level %d of its spin lock: the count is %d, and nobody else is asked.", who, b.Level, b.Count)
	}
	if text, ok := t.elsewhere(e, b.Level); ok {
		return text
	}
	switch {
	case !t.counts():
		return t.say("%s is at level %d: the value is its own, nothing is counted, and %s are left.", who, b.Level, t.ms(max(e.Key.PTTL, 0)))
	case b.Count != b.Level:
		return t.say("%s is at level %d, but its count is %d: the two have parted.", who, b.Level, b.Count)
	case e.Key.PTTL < 0:
		return t.say("%s is at level %d: hold count %d, and the key has no expiry.", who, b.Level, b.Count)
	default:
		return t.say("%s is at level %d: hold count %d. Re-entry adds no time: %s are left.", who, b.Level, b.Count, t.ms(e.Key.PTTL))
	}
}

func (t *Teller) refused(e trace.Event, b trace.Outcome) string {
	who, left := e.Thread, t.ms(e.Key.PTTL)
	if t.protocol.Guard == protocol.InProcess {
		return t.say("%s is refused: the word in its process' memory is another thread's.", who)
	}
	if len(e.Nodes) > 0 {
		n := t.call(who, b.Call).taken
		if n >= quorum(e.Nodes) {
			return t.say("%s is refused: %d of %d nodes took its value, but not all answers came in time.", who, n, len(e.Nodes))
		}
		return t.say("%s is refused: %d of %d nodes took its value, and %d are needed.", who, n, len(e.Nodes), quorum(e.Nodes))
	}
	if t.holds(e.Key, who) {
		if e.Key.PTTL < 0 {
			return t.say("%s is refused by a key that is its own and has no expiry.", who)
		}
		return t.say("%s is refused by a key that is its own, for another %s.", who, left)
	}
	other := t.other(e.Key, who)
	switch {
	case other == "":
		return t.say("%s is refused: the key was another's when Redis looked.", who)
	case t.call(who, b.Call).place > 0 && e.Key.PTTL >= 0:
		return t.say("%s is refused: %s holds the lock for another %s, and %s is number %d in the queue.", who, other, left, who, t.call(who, b.Call).place)
	case slices.Contains(e.Leaving, other) && e.Key.PTTL >= 0:
		return t.say("%s is refused: %s is leaving, but its unlock has not reached Redis, and the key has %s left.", who, other, left)
	case e.Key.Type == trace.TypeHash && e.Key.PTTL < 0:
		return t.say("%s is refused: %s holds the key with count %d, and it has no expiry.", who, other, t.count(e.Key, other))
	case e.Key.Type == trace.TypeHash:
		return t.say("%s is refused: %s holds the key with count %d, for another %s.", who, other, t.count(e.Key, other), left)
	case e.Key.PTTL < 0:
		return t.say("%s is refused: the key is %s's, and it has no expiry.", who, other)
	default:
		return t.say("%s is refused: the key is %s's for another %s.", who, other, left)
	}
}

func (t *Teller) exhausted(e trace.Event, b trace.Outcome) string {
	retry := t.spec(e.Thread).Retry
	if t.protocol.Granting {
		patience := time.Duration(retry.Times) * retry.Interval
		return t.say("%s gives up: it waits for %s at most, and the lock was not handed to it.", e.Thread, t.l.Duration(patience))
	}
	if b.Attempt == 1 {
		return t.say("%s gives up: it was refused, and it does not retry.", e.Thread)
	}
	return t.say("%s gives up: retry %d was refused, and it retries %d times at most.", e.Thread, b.Attempt-1, retry.Times)
}

func (t *Teller) released(e trace.Event, b trace.Outcome) string {
	who, a := e.Thread, t.call(e.Thread, b.Call)
	switch {
	case t.protocol.Guard == protocol.Nothing:
		return t.say("%s leaves, and there is no lock to give back.", who)
	case t.protocol.Guard == protocol.InProcess:
		return t.say("%s lets its spin lock go: its count is 0.", who)
	case len(e.Nodes) > 0:
		return t.say("%s has released the lock: %d of %d nodes still have its value.", who, t.has(e.Nodes, who), len(e.Nodes))
	case a.foreign != "":
		return t.say("%s takes the lock for released, but what it deleted was %s's.", who, a.foreign)
	case e.Belief[who] > 0:
		return t.say("%s has released the lock as it left level %d, and goes on inside level %d without it.", who, b.Level, e.Belief[who])
	case b.Attempt > 1 && a.deleted == 0:
		return t.say("%s takes “not held” for a release: an earlier request did it, for its lease cannot be over yet.", who)
	case a.handed != "":
		return t.say("%s has released the lock: its count fell to 0, and the lock is %s's already.", who, a.handed)
	case t.counts():
		return t.say("%s has released the lock: its count fell to 0, so the key was deleted.", who)
	default:
		return t.say("%s has released the lock: its key was deleted.", who)
	}
}

func (t *Teller) decremented(e trace.Event, b trace.Outcome) string {
	switch {
	case t.protocol.Guard == protocol.Nothing:
		return t.say("%s leaves level %d: there is no lock, and nothing was counted.", e.Thread, b.Level)
	case t.protocol.Guard == protocol.InProcess:
		return t.say("%s has left level %d: its count is %d, and only 0 lets the spin lock go.", e.Thread, b.Level, b.Count)
	case e.Belief[e.Thread] == 0:
		return t.say("%s has left level %d and takes itself for out, but its count is %d, so the key stays.", e.Thread, b.Level, b.Count)
	default:
		return t.say("%s has left level %d: its count is %d, and only 0 deletes the key.", e.Thread, b.Level, b.Count)
	}
}

func (t *Teller) renewed(e trace.Event, b trace.Outcome) string {
	who := e.Thread
	switch other := t.other(e.Key, who); {
	case b.Call == trace.CallBeat:
		return t.say("%s has said that it is there: its key stands for %s.", who, t.ms(max(e.Key.PTTL, 0)))
	case t.holds(e.Key, who) && t.call(who, b.Call).cut > 0:
		return t.say("%s's watchdog has cut its lease, from %s to %s.", who, t.ms(t.call(who, b.Call).cut), t.ms(max(e.Key.PTTL, 0)))
	case t.holds(e.Key, who) && b.Until > 0 && len(e.Nodes) > 0:
		return t.say("%s's watchdog has renewed on %d of %d nodes: the lock is now valid until %s.", who, t.has(e.Nodes, who), len(e.Nodes), t.millis(b.Until))
	case t.holds(e.Key, who) && b.Until > 0:
		return t.say("%s's watchdog has renewed: the lock is now valid until %s.", who, t.millis(b.Until))
	case t.holds(e.Key, who):
		return t.say("%s's watchdog has renewed: the lease now has %s.", who, t.ms(max(e.Key.PTTL, 0)))
	case other != "":
		return t.say("%s's watchdog has renewed, and does not know that the lease is %s's.", who, other)
	default:
		return t.say("%s's watchdog was told that it renewed, but the key is gone by now.", who)
	}
}

func (t *Teller) lost(e trace.Event, b trace.Outcome) string {
	who, other := e.Thread, t.other(e.Key, e.Thread)
	gone := !e.Key.Exists()
	switch {
	case b.Call == lock.CallLock && b.Level == 1:
		return t.say("%s was granted the lock too late: its lease of %s may be over, so it gives the lock back.", who, t.l.Duration(t.sc.Lock.Lease))
	case b.Call == lock.CallLock && other != "":
		return t.say("%s cannot enter level %d: its outer level is lost, the key is %s's now.", who, b.Level, other)
	case b.Call == lock.CallLock && gone:
		return t.say("%s cannot enter level %d: its outer level is lost, the key is gone.", who, b.Level)
	case b.Call == lock.CallLock:
		return t.say("%s cannot enter level %d: it no longer relies on its lease.", who, b.Level)
	case b.Call == lock.CallRenew && other != "":
		return t.say("%s's watchdog learns that the lock is lost: the key is %s's now.", who, other)
	case b.Call == lock.CallRenew:
		return t.say("%s's watchdog learns that the lock is lost, and stops.", who)
	case len(e.Nodes) > 0:
		return t.say("%s learns at its unlock that the lock was lost: %d of %d nodes still had its value.", who, t.call(who, b.Call).deleted, len(e.Nodes))
	case other != "":
		return t.say("%s learns as it leaves level %d that the lock was lost: the key is %s's now.", who, b.Level, other)
	case gone:
		return t.say("%s learns as it leaves level %d that the lock was lost: there is no key.", who, b.Level)
	default:
		return t.say("%s learns as it leaves level %d that this level was lost.", who, b.Level)
	}
}

func (t *Teller) notHeld(e trace.Event, b trace.Outcome) string {
	who, other := e.Thread, t.other(e.Key, e.Thread)
	switch {
	case b.Call == lock.CallRenew:
		return t.say("%s's watchdog has found no key, and goes on all the same.", who)
	case t.protocol.Guard == protocol.InProcess || t.protocol.Guard == protocol.Nothing:
		return t.say("%s unlocks level %d, which it does not hold.", who, b.Level)
	case t.call(who, b.Call).commands == 0:
		return t.say("%s unlocks level %d, which it has left before: Redis is not asked.", who, b.Level)
	case other != "":
		return t.say("%s has nothing to unlock at level %d: the key is %s's.", who, b.Level, other)
	default:
		return t.say("%s has nothing to unlock at level %d: there is no key of its own.", who, b.Level)
	}
}

// failedCall says why a call came to an error.
func (t *Teller) failedCall(e trace.Event, b trace.Outcome) string {
	who, a := e.Thread, t.call(e.Thread, b.Call)
	yes, no, voted := protocol.Votes(b.Error)
	switch {
	case strings.Contains(b.Error, lock.ErrInnerHeld.Error()):
		return t.say("%s cannot leave level %d: an inner level is still held.", who, b.Level)
	case a.failed != "" && t.holds(e.Key, who) && e.Key.PTTL >= 0:
		return t.say("%s fails with %s, and its key stays behind for another %s.", who, a.failed, t.ms(e.Key.PTTL))
	case a.failed != "":
		return t.say("%s fails: Redis has answered with %s.", who, a.failed)
	case voted:
		return t.sayTried(who, b,
			"%s cannot tell what came of its %s: of %d nodes %d said yes and %d no, and %d are needed.",
			"%s cannot tell what came of retry %d of its %s: of %d nodes %d said yes and %d no, and %d are needed.",
			len(e.Nodes), yes, no, quorum(e.Nodes))
	case strings.Contains(b.Error, "connection refused"):
		return t.sayTried(who, b,
			"%s cannot reach Redis with its %s: nobody answers.",
			"%s cannot reach Redis with retry %d of its %s: nobody answers.")
	case a.delayed:
	case a.fault == fault.LoseReply && a.commands > 0:
		return t.sayTried(who, b,
			"%s hears no answer to its %s and cannot know that Redis has run %s.",
			"%s hears no answer to retry %d of its %s and cannot know that Redis has run %s.",
			a.last)
	case a.fault == fault.LateCopy:
		return t.sayTried(who, b,
			"%s hears no answer to its %s and cannot know that it is still on its way.",
			"%s hears no answer to retry %d of its %s and cannot know that it is still on its way.")
	case a.fault == fault.LoseRequest:
		return t.sayTried(who, b,
			"%s hears no answer to its %s and cannot know that it never arrived.",
			"%s hears no answer to retry %d of its %s and cannot know that it never arrived.")
	}
	return t.sayTried(who, b,
		"%s hears no answer to its %s and cannot know whether Redis has run it.",
		"%s hears no answer to retry %d of its %s and cannot know whether Redis has run it.")
}

// sayTried says of a call what first says where it is the first attempt, or
// the round of a device, and else what again says of a retry.
func (t *Teller) sayTried(who string, b trace.Outcome, first, again phrase.Text, more ...any) string {
	if b.Attempt > 1 && b.Call != trace.CallBeat && b.Call != trace.CallLook {
		return t.say(again, append([]any{who, b.Attempt - 1, b.Call}, more...)...)
	}
	return t.say(first, append([]any{who, b.Call}, more...)...)
}

func (t *Teller) work(e trace.Event, b trace.Work) string {
	who, length, left := e.Thread, t.millis(b.For), t.ms(e.Key.PTTL)
	held := t.holds(e.Key, who)
	if b.State == trace.WorkEnd {
		switch {
		case t.protocol.Guard == protocol.Nothing || t.protocol.Guard == protocol.InProcess:
			return t.say("%s has done its work at level %d, which takes %s.", who, b.Level, length)
		case !held:
			return t.say("%s ends its work at level %d, and in Redis the lock is not its own.", who, b.Level)
		case e.Key.PTTL < 0:
			return t.say("%s ends its work at level %d, and its key has no expiry.", who, b.Level)
		default:
			return t.say("%s ends its work at level %d, and its lease has %s left.", who, b.Level, left)
		}
	}
	switch {
	case t.protocol.Guard == protocol.Nothing:
		return t.say("%s works at level %d for %s, and nothing keeps the others out.", who, b.Level, length)
	case t.protocol.Guard == protocol.InProcess:
		return t.say("%s works at level %d for %s; a spin lock has no lease that could end.", who, b.Level, length)
	case !held:
		return t.say("%s works at level %d for %s, though in Redis the lock is not its own.", who, b.Level, length)
	case e.Key.PTTL < 0:
		return t.say("%s works at level %d for %s, and its key has no expiry.", who, b.Level, length)
	case b.For.Duration() < time.Duration(e.Key.PTTL)*time.Millisecond:
		return t.say("%s works at level %d for %s, within the %s that its lease has left.", who, b.Level, length, left)
	case t.watched():
		return t.say("%s works at level %d for %s, and its lease has %s left: the watchdog must renew it.", who, b.Level, length, left)
	default:
		return t.say("%s works at level %d for %s, its lease has %s left, and there is no watchdog.", who, b.Level, length, left)
	}
}

func (t *Teller) wait(e trace.Event, b trace.Wait) string {
	who, length := e.Thread, t.millis(b.For)
	last := t.thread(who).outcome
	switch {
	case b.Why == trace.WaitBeat && t.holds(e.Key, who) && e.Key.PTTL >= 0:
		return t.say("%s sleeps for %s; without a new beat its key stands for %s.", who, length, t.ms(e.Key.PTTL))
	case b.Why == trace.WaitBeat:
		return t.say("%s sleeps for %s, and does not look meanwhile.", who, length)
	case last.Call == lock.CallUnlock:
		return t.say("%s waits %s before it sends its unlock again: retry %d.", who, length, last.Attempt)
	case b.Why == trace.WaitNotify && t.protocol.Granting:
		return t.say("%s waits to be handed the lock, and asks again after %s at the latest.", who, length)
	case b.Why == trace.WaitNotify:
		return t.say("%s waits to be told that the lock is free, and asks again after %s at the latest.", who, length)
	case last.Attempt > t.spec(who).Retry.Times && t.protocol.Hasty:
		return t.say("%s waits %s for nothing: it has no retry left, and gives up after that.", who, length)
	case t.spec(who).Retry.Times == scenario.Unlimited:
		return t.say("%s waits %s before it asks again: retry %d, and there is no last one.", who, length, last.Attempt)
	default:
		return t.say("%s waits %s before it asks again: retry %d of %d.", who, length, last.Attempt, t.spec(who).Retry.Times)
	}
}

// resource says what a read or a write of what the lock protects came to.
func (t *Teller) resource(who string, b trace.Resource) string {
	missed := b.Version - 1 - b.Based
	if b.Limit > 0 && !b.Refused {
		return t.purchase(who, b)
	}
	switch {
	case b.Op == trace.OpRead && b.Stock && b.Value <= 0:
		return t.say("%s finds %d left, and takes none.", who, b.Value)
	case b.Op == trace.OpRead && b.Stock:
		return t.say("%s finds %d left, and means to take one when its work is done.", who, b.Value)
	case b.Op == trace.OpRead:
		return t.say("%s reads %d, and means to write %d when its work is done.", who, b.Value, b.Value+1)
	case b.Refused:
		return t.say("%s's write is refused: its token is %d, and one with token %d has been here.", who, b.Token, t.token)
	case b.Stock && b.Value < 0:
		return t.say("%s takes one that is not there: the stock is at %d.", who, b.Value)
	case b.Stock:
		return t.say("%s takes one, and %d are left.", who, b.Value)
	case missed > 0:
		return t.say("%s writes %d over newer writes: it has missed %d since it read.", who, b.Value, missed)
	case b.Token > 0:
		return t.say("%s writes %d with token %d, one more than it read, and nobody wrote between.", who, b.Value, b.Token)
	default:
		return t.say("%s writes %d, one more than it read, and nobody wrote between.", who, b.Value)
	}
}

// purchase says what a read or a write under a limit per user came to.
func (t *Teller) purchase(who string, b trace.Resource) string {
	switch {
	case b.Op == trace.OpRead && b.Value >= b.Limit:
		return t.say("%s finds that user %s has bought %d of %d, and does not buy.", who, b.User, b.Value, b.Limit)
	case b.Op == trace.OpRead:
		return t.say("%s finds that user %s has bought %d of %d, and means to buy when its work is done.", who, b.User, b.Value, b.Limit)
	case b.Value > b.Limit:
		return t.say("%s buys, which was allowed when it looked. Now user %s has %d, and %d are allowed.", who, b.User, b.Value, b.Limit)
	default:
		return t.say("%s buys: user %s now has %d of %d.", who, b.User, b.Value, b.Limit)
	}
}

// fault says what befell a thread, what it sent, or Redis.
func (t *Teller) fault(e trace.Event, b trace.Fault) string {
	s := fault.Scene{
		Fault: b, Who: e.Thread, Level: e.Belief[e.Thread], Held: t.holds(e.Key, e.Thread), Left: time.Duration(e.Key.PTTL) * time.Millisecond,
		InRedis: t.protocol.Guard == protocol.InRedis,
		Nodes:   len(e.Nodes), Up: t.down.Up(len(e.Nodes), b.Thread),
	}
	if t.watched() && (b.Do != fault.Stall || !t.protocol.OneWatch) { // which gives up on a thread that hangs
		s.Watchdog = t.sc.Lock.Watchdog
	}
	if s.Held && t.counts() {
		s.Count = t.count(e.Key, e.Thread)
	}
	before, after := t.before, e.Key
	if node := max(b.Node, 1); s.Nodes > 0 {
		before, after = trace.Absent(), trace.Absent()
		if node <= len(t.nodes) && node <= s.Nodes {
			before, after = t.nodes[node-1], e.Nodes[node-1]
		}
	}
	if !after.Exists() {
		s.Victim = t.other(before, "")
	}
	return t.l.Clause(fault.Why(s))
}

func (t *Teller) expired(e trace.Event, b trace.Expired) string {
	holder := t.other(b.Was, "")
	lease, ok := t.lease[b.Node]
	if !ok {
		lease = t.sc.Lock.Lease
	}
	length := t.l.Duration(lease)
	who := t.thread(holder)
	jumped, ok := t.jumps[b.Node]
	switch {
	case ok && jumped.at == e.At && holder != "" && b.Node > 0:
		return t.say("Node %d drops %s's key: its clock has jumped by %s, beyond the lease of %s.", b.Node, holder, jumped.by, length)
	case ok && jumped.at == e.At && holder != "":
		return t.say("Redis drops %s's key: its clock has jumped by %s, beyond the lease of %s.", holder, jumped.by, length)
	case b.Node > 0 && holder != "":
		return t.say("Node %d drops %s's key: there its lease of %s is over.", b.Node, holder, length)
	case holder == "":
		return t.say("Redis drops the key: its lease of %s is over.", length)
	case t.sc.Kind == scenario.KindHeartbeat:
		return t.say("Redis drops %s's key: it stands for %s without a new beat, and they are over.", holder, length)
	case who.ended:
		return t.say("Redis drops %s's key: its lease of %s is over, and %s has ended before.", holder, length, holder)
	case slices.Contains(e.Leaving, holder):
		return t.say("Redis drops %s's key: its lease of %s is over before the unlock of %s has arrived.", holder, length, holder)
	case e.Belief[holder] > 0 && (who.byHand || who.until > e.At):
		return t.say("Redis drops %s's key: its lease of %s is over. %s stands still and does not know.", holder, length, holder)
	case e.Belief[holder] > 0:
		return t.say("Redis drops %s's key: its lease of %s is over, and %s goes on as if it held the lock.", holder, length, holder)
	default:
		return t.say("Redis drops %s's key: its lease of %s is over, and nobody has renewed it.", holder, length)
	}
}

// few are names, or how many there are.
func (t *Teller) few(names []string) string {
	if len(names) > 2 {
		return t.say("%s and %d others", names[0], len(names)-1)
	}
	return t.l.List(names)
}

func (t *Teller) end(e trace.Event, b trace.End) string {
	if e.Thread == "" {
		return t.endOfRun(e, b)
	}
	who := e.Thread
	switch b.Result {
	case trace.Done:
		rounds := t.spec(who).Repeat
		switch {
		case t.sc.Kind == scenario.KindHeartbeat:
			return t.say("%s is done: round %d of %d is over.", who, rounds, rounds)
		case t.holds(e.Key, who) && t.counts():
			return t.say("%s is done, but its key is still there, with count %d.", who, t.count(e.Key, who))
		default:
			return t.say("%s is done: its business call has returned without an error, round %d of %d.", who, rounds, rounds)
		}
	case trace.Exhausted:
		last := t.thread(who).exhausted
		if last.Attempt == 1 {
			return t.say("%s ends without level %d, which it asked for once.", who, last.Level)
		}
		return t.say("%s ends without level %d: retry %d was its last.", who, last.Level, last.Attempt-1)
	case trace.Lost:
		return t.say("%s ends with an error: it was told that its lock had been lost.", who)
	case trace.Crashed:
		return t.say("%s is gone: a crash runs no unlock.", who)
	}
	switch {
	case strings.Contains(b.Error, lock.ErrNotHeld.Error()):
		return t.say("%s ends with an error: it did not hold what it wanted to unlock.", who)
	case strings.Contains(b.Error, "panic"):
		return t.say("%s ends with an error: its business code has panicked.", who)
	default:
		return t.say("%s ends with an error: what it asked of Redis has failed.", who)
	}
}

func (t *Teller) endOfRun(e trace.Event, b trace.End) string {
	switch {
	case b.Error != "":
		return t.say("The run was ended at step %d, before its threads had.", e.Step)
	case t.findings.Times() == 0 && len(t.failed) > 0:
		var names []string
		for _, f := range t.failed {
			names = append(names, f.Thread)
		}
		return t.say("The run is over at step %d: no rule was broken, but %s ended with an error.", e.Step, t.few(names))
	case t.findings.Times() == 0:
		return t.say("The run is over at step %d, and no rule was broken.", e.Step)
	case t.findings.Times() == 1:
		return t.say("The run is over at step %d, and one rule was broken.", e.Step)
	default:
		return t.say("The run is over at step %d: %d times a rule was broken.", e.Step, t.findings.Times())
	}
}
