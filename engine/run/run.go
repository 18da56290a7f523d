// Package run plays a scenario: it spawns the virtual threads, lets each make
// its business call with the real lock engine, strikes the faults, and records
// what happened.
//
// Two machines play it: the files step_*.go on the virtual clock, where one
// goroutine moves at a time, and the files live_*.go on the wall clock. Neither
// knows the other; the code that they share knows them only as machine and
// recorder.
package run

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"relock/engine/clock"
	"relock/engine/journal"
	"relock/engine/lock"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Run plays a scenario once. Log and Header are safe for concurrent use; call
// Execute once.
type Run struct {
	sc     *scenario.Scenario
	how    lock.Protocol
	o      Options
	header trace.Header // without the scenario
	log    *trace.Log

	// written is the scenario's text. It is made when somebody asks: a search begins a run
	// for each order, and never does.
	written func() json.RawMessage

	threads  []*thread
	key      string // the lock's name in Redis
	machine  machine
	rec      recorder // the machine's, once the run begins
	network  network
	told     *histories    // of a run whose positions are compared, else nil
	resource *resource     // nil without one
	finished chan struct{} // closed when Execute returns
}

// machine plays the threads of a run: on the virtual clock, or on the wall's.
type machine interface {
	// execute plays the scenario to the end, like Run.Execute.
	execute(ctx context.Context) error
	// awaitGate holds a thread before its next call until it is let through. It
	// waits outside of the call, whose own limits do not run meanwhile.
	awaitGate(t *thread)
	// hasAsked is called when a thread has had its first answer, or will have
	// none: the thread that starts after it need not wait any more.
	hasAsked(t *thread)
	// controls tells how each thread is steered.
	controls() []Control
	// steer does something to a thread, which is nil where there is none of that
	// name. It fails with a *Refusal.
	steer(name string, t *thread, a Action) error
}

// recorder writes down events. Its methods are called by the threads.
type recorder interface {
	// local notes what happened in the client, of one of several locks or "".
	local(thread, lock string, body trace.Body)
	// sending is called before a script is sent; the function it returns is
	// called with the records that came back, none if there was no answer.
	sending() func(t *thread, records []sent)
	// believes has what threads believe change between the events before and
	// those after.
	believes(change func(beliefs))
	// doubt is called with the error of each call that came from Redis, nil
	// where there was none.
	doubt(err error)
	// refuses says why a node, from 0, does not serve a thread now: with
	// errUnreachable, with a fault.ErrorReply, or nil where it does.
	refuses(t *thread, node int) error
	// blocks is for how long WAIT holds a thread up at a node, from 0.
	blocks(t *thread, node int, within time.Duration) time.Duration
	// acknowledged is what WAIT answers: how many replicas of a node have what the
	// thread wrote there. The record has one entry, without the command's words. It
	// fails where the connection of the write is gone.
	acknowledged(ctx context.Context, t *thread, node, replicas int, within time.Duration) (journal.Record, error)
	// goesOn has a fault of a thread go on, for everybody, at a node, from 0.
	goesOn(f scenario.Fault, node int)
	// since is an instant of the clients' clocks, since the run began.
	since(at time.Time) time.Duration
	// guard does f; if it panics, it ends the run.
	guard(f func())
	// armed takes a fault that was struck by hand and waits for this place in a
	// thread.
	armed(t *thread, place string, wanted func(do string) bool) (scenario.Fault, bool)
	// mayEnd is called when the run may be over: a thread hangs from now on, or
	// nothing is under way any more.
	mayEnd()
}

// sent is the record of one script and the call that it was part of.
type sent struct {
	call lock.Call
	rec  journal.Record
	node int // from 0
	passage
}

// passage is how a script comes to Redis.
type passage struct {
	delayed bool  // the network has held it up
	late    bool  // and nobody waits for its answer any more
	inFull  bool  // not by its digest: no NOSCRIPT answers it
	refused error // what the node answers instead, or nil: see recorder.refuses
}

// forever is longer than any run: what comes then never comes.
const forever = scenario.MaxSchedule + time.Hour

// source gives each thread and purpose its own stream, so that another order of threads
// draws the same numbers.
func source(seed uint64, name, purpose string) *rand.Rand {
	return rand.New(rand.NewChaCha8(digest(seed, name, purpose)))
}

func digest(seed uint64, name, purpose string) [32]byte {
	b := binary.BigEndian.AppendUint64(nil, seed)
	return sha256.Sum256(append(b, purpose+"/"+name...))
}

func (r *Run) thread(name string) *thread {
	for _, t := range r.threads {
		if t.spec.Name == name {
			return t
		}
	}
	return nil
}

// Header returns the first line of the run's trace.
func (r *Run) Header() trace.Header {
	h := r.header
	h.Scenario = r.written()
	return h
}

// Scenario returns the scenario of the run.
func (r *Run) Scenario() *scenario.Scenario { return r.sc }

// Log returns the log of the run's events. It is closed when the run has ended.
func (r *Run) Log() *trace.Log { return r.log }

// keys are those that the run may leave in Redis.
func (r *Run) keys() []string {
	return r.protocol().Keys(r.key)
}

// levelOf is a call as the thread makes it: with several locks each is a separate level,
// though the lock's client, which knows of no other, counts from 1.
func (t *thread) levelOf(call lock.Call, key string) lock.Call {
	if level := t.spec.Takes.Level(key); level > 0 {
		call.Level = level
	}
	return call
}

// inLock is the level that a lock's client knows, of a level of the thread.
func (r *Run) inLock(level int) int {
	if r.sc.Locks != nil {
		return 1
	}
	return level
}

// keyOf is the key of the lock that a thread takes at a level.
func (t *thread) keyOf(level int) string {
	if t.r.sc.Locks == nil {
		return t.r.key
	}
	return t.spec.Takes.Key(level)
}

// lockOf is which lock an event of a thread is about, "" where there is one lock.
func (t *thread) lockOf(body trace.Body) string {
	switch b := body.(type) {
	case trace.Command:
		return t.spec.Takes.Key(b.Level)
	case trace.Outcome:
		return t.spec.Takes.Key(b.Level)
	case trace.Wait:
		return t.spec.Takes.Key(t.coming().Level)
	default:
		return ""
	}
}

func (r *Run) protocol() lock.Protocol { return r.how }

// nodeNumber is a node's number in the trace, 0 where there is only one.
func (r *Run) nodeNumber(node int) int {
	if r.sc.Lock.Nodes == 1 {
		return 0
	}
	return node + 1
}

// commands are the events of a script's record. Names of keys are given as
// the scenario has them.
func (r *Run) commands(s sent) []trace.Event {
	named := func(list []string) []string {
		list = slices.Clone(list)
		for i, a := range list {
			list[i] = strings.ReplaceAll(a, r.key, r.sc.Lock.Key)
		}
		return list
	}
	events := make([]trace.Event, 0, len(s.rec.Entries))
	for i, e := range s.rec.Entries {
		one := trace.Command{
			Call: s.call.Name, Attempt: s.call.Attempt, Level: s.call.Level,
			Script: s.rec.Script, Line: e.Line, Args: named(e.Args), Reply: e.Reply, Error: e.Err, Node: r.nodeNumber(s.node),
			GivesBack: s.call.GivesBack, Late: s.late, Number: s.call.Number,
		}
		if i == 0 && s.rec.Script != "" {
			one.Eval = &trace.Eval{Keys: named(s.rec.Keys), Argv: named(s.rec.Argv)}
		}
		events = append(events, trace.Event{Key: e.Key, Body: one})
	}
	return events
}

func (r *Run) alive() []string {
	names := []string{}
	for _, t := range r.threads {
		if t.alive() {
			names = append(names, t.spec.Name)
		}
	}
	return names
}

// stuck tells whether threads are left and all of them hang for ever.
func (r *Run) stuck() bool {
	left := 0
	for _, t := range r.threads {
		if t.alive() && !t.stalls.Load() {
			return false
		}
		if t.alive() {
			left++
		}
	}
	return left > 0
}

// thread is a virtual thread: a client process with one business call.
type thread struct {
	r       *Run
	spec    scenario.Thread
	owner   lock.Owner
	random  *rand.Rand
	after   *rand.Rand // for its work after nested calls
	pauses  *rand.Rand // before it begins again, having given back its locks
	process *clock.Drifting
	redis   *wire
	locker  locker
	ended   atomic.Bool

	round  atomic.Int64
	struck []atomic.Bool // by the scenario's faults
	stalls atomic.Bool   // its business code hangs for ever
	dead   atomic.Bool   // crashed, or the run is over
	relies sync.Map      // until when its client relies on its lease, time.Duration, by the lock's key; none that was lost

	// To choose or steer by.
	next    atomic.Value // the lock.Call that it makes next
	asked   int          // the level that it asked for last
	begun   int          // how often it has begun again, of several locks, since any thread had all of its own
	working bool         // it is at work, or stands still in it
	more    bool         // as it unlocks: a level outside has work left to do
	handed  atomic.Bool  // it was sent the lock, and has not asked since
	result  atomic.Value // the trace.Result, once it has ended
}

// coming is what the thread asks of Redis next.
func (t *thread) coming() lock.Call { return t.next.Load().(lock.Call) }

func (t *thread) alive() bool { return !t.ended.Load() }

// tell notes what happened in the thread. Deferred functions still run in a dead one, and
// are ignored.
func (t *thread) tell(body trace.Body) { t.tellOf(t.lockOf(body), body) }

// tellOf is tell, of one of several locks.
func (t *thread) tellOf(lock string, body trace.Body) {
	if !t.dead.Load() {
		t.r.rec.local(t.spec.Name, lock, body)
	}
}

// believes changes what the thread believes. A dead thread's deferred functions have no
// effect.
func (t *thread) believes(change func(b beliefs, thread string)) {
	if !t.dead.Load() {
		t.r.rec.believes(func(b beliefs) { change(b, t.spec.Name) })
	}
}

// wire is all of a thread's ways to Redis, one for each node.
type wire struct {
	taps []*tap

	mu   sync.Mutex
	sent map[string]count // by name of call
}

// count is how many commands of a call were sent, to each node.
type count struct {
	call lock.Call
	to   map[int]int
}

// next is the place of a command to a node in its call, from 1. If it asks all nodes at
// once, the nth is the one to node n, whichever goes first: the next round begins after
// the last node.
func (w *wire) next(call lock.Call, node int, parallel bool) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.sent[call.Name]
	if c.call != call {
		c = count{call, map[int]int{}}
		w.sent[call.Name] = c
	}
	c.to[node]++
	if parallel {
		return (c.to[node]-1)*len(w.taps) + node + 1
	}
	all := 0
	for _, n := range c.to {
		all += n
	}
	return all
}

// answered lets the commands of the next call be counted from its beginning,
// also where it is the same: in another round, or the next renewal.
func (w *wire) answered(call lock.Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.sent, call.Name)
	if call.Name == lock.CallLock && call.Level == 1 {
		clear(w.sent) // a renewal that was cut off is of the hold before
	}
}

// tap is a thread's way to Redis: it passes the gate of its process, and
// notes what the scripts tell.
type tap struct {
	t       *thread
	node    int // from 0
	journal *journal.Client
}
