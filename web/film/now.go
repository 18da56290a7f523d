package film

import (
	"cmp"
	"slices"
	"time"

	"relock/engine/check"
	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/trace/facts"
	"relock/web/words"
)

// Now is a run after its events so far: whose each key is, what does not serve, what the
// lock protects, and what each thread does and has heard. It takes each event once, and
// what shows a run only reads it. It is not safe for concurrent use.
type Now struct {
	sc       *scenario.Scenario
	protocol lock.Protocol
	owners   facts.Owners
	framed   bool // the scenario is only a frame: nobody knows the threads' program
	logged   bool // it is a log: nobody has tried what comes after it
	names    []string
	ordinals map[string]int // of the names
	before   before

	event    trace.Event     // the last one
	seen     trace.Event     // the same, with the key as its thread's masters have it
	findings *check.Findings // nil of one of several locks
	truth    *facts.Facts    // about the lock
	locks    []*Now          // of several locks: each as if there were no other
	taken    heldLocks
	stranger string // what an owner is called that is no thread

	masters   facts.Masters
	down      facts.Outages
	clocks    facts.Clocks
	resource  facts.Resource
	stacks    facts.Stacks
	line      *facts.Line  // nil where waiters poll
	words     *facts.Words // nil where the lock is in Redis
	processes []string     // each with a word
	threads   map[string]*actor
	failed    []Failure
	bounced   string // the first thread whose write what the lock protects refused
	harmful   bool   // a rule was broken besides that two were inside

	asked calls
	lease map[int]time.Duration // the last one each node was given; node 0 if there is only one Redis
	jumps map[int]jump          // the last jump of each node's clock; node 0 if there is only one Redis
	kept  bool                  // the key stays after the work, on purpose
	over  *trace.Millis         // when time alone has ended the last lease, nil if somebody has the lock since
}

// before is what was so before the last event.
type before struct {
	key    trace.KeyState   // as its thread's masters had it
	nodes  []trace.KeyState // and on each node, if there are several
	asked  asked            // by its call
	outage string           // what was answered to whom a fault is about: "" if nothing was, or all went well
	kept   bool
	over   *trace.Millis
}

// jump is a jump of a Redis clock.
type jump struct {
	at trace.Millis
	by phrase.Wording
}

// newNow returns a run of sc before it begins. Owners maps owner ids to threads. Both are
// kept, and not changed.
func newNow(sc *scenario.Scenario, owners map[string]string) *Now {
	findings := check.NewFindings(owners, sc.Lock.Implementation().Guard, sc.Lock.Kind, sc.Endless(), sc.Locks...)
	n := nowOf(sc, owners, findings.Facts())
	n.findings = findings
	for i, key := range sc.Locks {
		n.locks = append(n.locks, nowOf(alone(sc, key), owners, findings.FactsOf(i)))
	}
	return n
}

// nowFor is newNow for who says in l what happens in the run of a trace.
func nowFor(l words.Language, sc *scenario.Scenario, h trace.Header) *Now {
	n := newNow(sc, h.Owners)
	for _, one := range append(n.locks, n) {
		one.framed, one.logged, one.stranger = h.Framed(), h.Log != nil, l.Say("another owner")
	}
	return n
}

func nowOf(sc *scenario.Scenario, owners map[string]string, truth *facts.Facts) *Now {
	n := &Now{
		sc: sc, protocol: sc.Lock.Implementation(), owners: owners, truth: truth, ordinals: map[string]int{}, taken: heldLocks{},
		down: facts.Outages{}, clocks: facts.Clocks{}, stacks: facts.Stacks{}, threads: map[string]*actor{},
		asked: calls{}, lease: map[int]time.Duration{}, jumps: map[int]jump{},
	}
	processes := map[string]string{}
	for i, t := range sc.Threads {
		n.names, n.ordinals[t.Name], processes[t.Name] = append(n.names, t.Name), i, t.Process
	}
	if n.protocol.Waiters != nil {
		n.line = &facts.Line{Key: n.protocol.Waiters(sc.Lock.Key), Owners: owners}
	}
	if n.protocol.Guard == protocol.InProcess {
		n.words = &facts.Words{Process: processes}
		for _, name := range n.names {
			if p := processes[name]; !slices.Contains(n.processes, p) {
				n.processes = append(n.processes, p)
			}
		}
	}
	n.event.Key = trace.Absent()
	if sc.Lock.Nodes > 1 {
		n.event.Nodes = slices.Repeat([]trace.KeyState{trace.Absent()}, sc.Lock.Nodes)
	}
	return n
}

// take takes the next event.
func (n *Now) take(e trace.Event) {
	if n.findings != nil {
		n.findings.See(e)
	}
	for i, one := range n.locks[:min(len(n.locks), len(e.Locks))] { // of a foreign trace, an event may have fewer
		if mine, ok := e.Of(i); ok {
			one.take(mine)
		}
	}
	n.taken.add(e)
	n.look(e)
	n.resource.Add(e)
	n.stacks.Add(e)
	if n.line != nil {
		n.line.Add(e)
	}
	if n.words != nil {
		n.words.Add(e)
	}
	t := n.thread(e.Thread)
	t.leaving(e)
	switch b := e.Body.(type) {
	case trace.Command:
		n.sent(b)
	case trace.Outcome:
		n.heard(b)
	case trace.Fault:
		n.struck(e, b)
	case trace.Expired:
		if jumped, ok := n.jumps[b.Node]; !ok || jumped.at != e.At {
			at := e.At
			n.over = &at
		}
	case trace.Resource:
		if b.Refused {
			n.bounced = cmp.Or(n.bounced, e.Thread)
		}
	case trace.Violation:
		n.harmful = n.harmful || b.Rule != check.MutualExclusion
	case trace.End:
		n.failed = failedToo(n.failed, e)
	}
	t.take(e)
}

// decides reports whether what the lock protects checks each write for itself: that two are
// inside does it no harm.
func (n *Now) decides() bool {
	r := n.sc.Resource
	return r != nil && (r.Checks == scenario.ChecksToken || r.Checks == scenario.ChecksVersion)
}

// saved is the thread whose late write was refused, where two were inside and nothing else went
// wrong; else "".
func (n *Now) saved() string {
	if n.findings.Times() == 0 || n.harmful || !n.decides() {
		return ""
	}
	return n.bounced
}

// look notes the event, and what was so before it.
func (n *Now) look(e trace.Event) {
	n.before = before{kept: n.kept, over: n.over}
	n.before.key, n.before.nodes = n.masters.Before(e.Thread, e.At)
	n.event, n.seen = e, n.masters.Add(e)
	if n.heartbeat() && len(n.seen.Nodes) > 0 { // a device knows one Redis
		n.seen.Key = n.seen.Nodes[0]
		if len(n.before.nodes) > 0 {
			n.before.key = n.before.nodes[0]
		}
	}
	n.kept = n.kept && n.seen.Key.Exists()
}

// struck notes a fault.
func (n *Now) struck(e trace.Event, b trace.Fault) {
	n.before.outage = n.down[max(b.Node-1, 0)][b.Thread]
	n.down.Strike(b)
	n.clocks.Strike(b)
	switch b.Do {
	case fault.ClockJump:
		n.over = nil // the clock is past that instant now, or before it
		n.jumps[b.Node] = jump{e.At, phrase.Wording{Args: []any{fault.JumpsBy(b)}}}
	case fault.TwoMasters, fault.OneMaster:
		n.thread(b.Thread).aside = b.Do == fault.TwoMasters
	}
	a := n.asked.of(callOf{thread: e.Thread, call: b.At})
	a.fault, a.delayed = b.Do, a.delayed || b.Do == fault.Delay
}

// heard notes what a call has come to.
func (n *Now) heard(b trace.Outcome) {
	a := n.asked.of(callOf{thread: n.event.Thread, call: b.Call})
	n.before.asked = *a
	*a = asked{delayed: a.delayed, ever: a.ever && b.Result == trace.Failed}
	if b.Result == trace.Acquired {
		n.over, n.kept = nil, false
	}
}

// thread is what a thread does; "" is Redis and the run.
func (n *Now) thread(name string) *actor {
	if n.threads[name] == nil {
		n.threads[name] = &actor{renewed: -1}
	}
	return n.threads[name]
}

// holding is whose the key is after the last event.
func (n *Now) holding() *facts.Holding { return n.truth.Holding() }

// holdingOf is whose the key of a lock is, of several by its place.
func (n *Now) holdingOf(lock int) *facts.Holding {
	if lock >= len(n.locks) { // of a foreign trace
		return n.holding()
	}
	return n.locks[lock].holding()
}

// heartbeat reports whether the run is about a device and its watchers instead of a lock.
func (n *Now) heartbeat() bool { return n.sc.Kind == scenario.KindHeartbeat }

// inRedis reports whether Redis has the key, so that a thread's belief and Redis can
// disagree.
func (n *Now) inRedis() bool { return n.protocol.Guard == protocol.InRedis || n.heartbeat() }

// ordinal is a thread's place among the columns, or -1.
func (n *Now) ordinal(name string) int {
	if i, ok := n.ordinals[name]; ok {
		return i
	}
	return -1
}
