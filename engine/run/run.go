// Package run plays a scenario: it spawns the virtual threads, lets each make
// its business call with the real lock engine, strikes the faults, and writes
// down what happened.
package run

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"relock/engine/check"
	"relock/engine/clock"
	"relock/engine/journal"
	"relock/engine/lock"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/panics"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/store"
	"relock/engine/trace"
)

// MaxEvents bounds a run: more rows than this teach nobody, and a page must
// hold them all.
const MaxEvents = 20_000

// settleLimit is how long the end of a run may take to remove its keys from
// an external Redis.
const settleLimit = 3 * time.Second

// Options say where and how a scenario is run.
type Options struct {
	// Wall runs on the wall clock instead of the virtual one.
	Wall bool
	// External is the Redis to run on, always on the wall clock; nil is an
	// embedded one of the run's own.
	External *store.External
	// Steered is called, and must not block, when something that Controls
	// tells has changed. Nil is allowed.
	Steered func()
	// ID is part of the run's key names on an external Redis.
	ID string
	// Turn is waited for before each script of a run on the wall clock and the
	// embedded Redis: it costs this machine's time. Done is called after it. It
	// fails with its context's cause. Nil is allowed.
	Turn func(context.Context) (done func(), err error)
}

// Run is one playing of a scenario. Log and Header are safe for concurrent
// use; Execute is called once.
type Run struct {
	sc     *scenario.Scenario
	o      Options
	header trace.Header
	log    *trace.Log

	threads  []*thread
	key      string // the lock's name in Redis
	rec      recorder
	network  network
	guard    func(f func()) // on the wall clock: does f; its panic ends the run
	resource *resource      // nil without one
	playing  chan struct{}  // closed when the threads of a run on the wall clock have begun
	finished chan struct{}  // closed when Execute returns
}

// recorder writes down events. Its methods are called by the threads.
type recorder interface {
	// local notes what happened in the client.
	local(thread string, body trace.Body)
	// sending is called before a script is sent; the function it returns is
	// called with the records that came back, none if there was no answer.
	sending() func(t *thread, records []sent)
	// unlocks is called when a thread has called an unlock; the function that it
	// returns is called when that has returned.
	unlocks(thread string, u unlock) (returned func())
	// doubt is called with the error of each call that came from Redis, nil
	// where there was none.
	doubt(err error)
	// down tells whether a node, from 0, does not answer a thread now.
	down(t *thread, node int) bool
	// since is an instant of the clients' clocks, since the run began.
	since(at time.Time) time.Duration
	// mayEnd is called when the run may be over: a thread hangs from now on, or
	// nothing is under way any more.
	mayEnd()
}

// sent is the record of one script and the call that it was part of.
type sent struct {
	call lock.Call
	rec  journal.Record
	node int  // from 0
	late bool // nobody waits for its answer any more
}

func (r *Run) thread(name string) *thread {
	for _, t := range r.threads {
		if t.spec.Name == name {
			return t
		}
	}
	return nil
}

// New prepares a run. Nothing moves before Execute. It fails with
// ErrFault, and when the scenario cannot be written down.
func New(sc *scenario.Scenario, o Options) (*Run, error) {
	if err := possible(sc, o); err != nil {
		return nil, err
	}
	text, err := json.Marshal(sc)
	if err != nil {
		return nil, fmt.Errorf("run: scenario: %w", err)
	}
	r := &Run{sc: sc, o: o, log: &trace.Log{}, key: sc.Lock.Key, resource: newResource(sc.Resource), playing: make(chan struct{}), finished: make(chan struct{})}
	r.header = trace.Header{
		Relock: trace.Version, Scenario: text, Seed: sc.Seed,
		Store: trace.StoreEmbedded, Clock: trace.ClockVirtual, Owners: map[string]string{},
	}
	if o.Wall || o.External != nil {
		r.header.Clock = trace.ClockWall
	}
	if o.External != nil {
		r.header.Store = trace.StoreExternal
		r.key = "relock:{" + o.ID + "}:" + sc.Lock.Key
	}
	for _, spec := range sc.Threads {
		t := &thread{r: r, spec: spec, asked: make(chan struct{}), random: source(sc.Seed, spec.Name, "work")}
		t.struck = make([]atomic.Bool, len(sc.Faults))
		t.next = lock.Call{Name: lock.CallLock, Level: 1, Attempt: 1}
		t.owner = r.newOwner(spec.Name)
		r.header.Owners[string(t.owner)] = spec.Name
		r.threads = append(r.threads, t)
	}
	return r, nil
}

// newOwner is random, except in a virtual run, which must repeat.
func (r *Run) newOwner(name string) lock.Owner {
	if r.header.Clock == trace.ClockWall {
		return lock.NewOwner()
	}
	var id [16]byte
	_, _ = rand.NewChaCha8(digest(r.sc.Seed, name, "owner")).Read(id[:]) // never fails
	return lock.Owner(hex.EncodeToString(id[:]))
}

// source gives each thread and purpose a stream of its own, so that another
// order of threads draws the same numbers.
func source(seed uint64, name, purpose string) *rand.Rand {
	return rand.New(rand.NewChaCha8(digest(seed, name, purpose))) //nolint:gosec // must repeat, not be secret
}

func digest(seed uint64, name, purpose string) [32]byte {
	b := binary.BigEndian.AppendUint64(nil, seed)
	return sha256.Sum256(append(b, purpose+"/"+name...))
}

// Header is the first line of the run's trace.
func (r *Run) Header() trace.Header { return r.header }

// keys are those that the run may leave in Redis.
func (r *Run) keys() []string {
	return r.protocol().Keys(r.key)
}

func (r *Run) protocol() lock.Protocol { return exhibit.Named(r.sc.Lock.Protocol) }

// protocolOf is what the locker of t runs: a lock in memory is its process'.
func (r *Run) protocolOf(t *thread, memories map[string]*exhibit.Memory) lock.Protocol {
	if r.protocol().Guard == protocol.InProcess {
		return exhibit.SpinIn(memories[t.spec.Process])
	}
	return r.protocol()
}

// Scenario is what is run.
func (r *Run) Scenario() *scenario.Scenario { return r.sc }

// Log is where the run's events arrive. It is closed when the run has ended.
func (r *Run) Log() *trace.Log { return r.log }

// ErrLimit is returned by Execute when a run grew beyond MaxEvents.
var ErrLimit = phrase.New("the run reached its limit of %d events", MaxEvents)

// ErrMistake ends the trace of a run in which this program panicked.
var ErrMistake = phrase.New("a mistake in this program ended the run")

// Execute plays the scenario to its end, or until ctx has ended; the log's
// last event is the run's own end either way. It fails with ErrLimit, with
// ErrDiverged, with ctx's cause, or with Redis' error. A panic in any of the
// run's goroutines ends it too: then it fails with a *panics.Error.
func (r *Run) Execute(ctx context.Context) error {
	defer close(r.finished)
	defer r.log.Close()
	err := panics.Catch(func() error {
		if r.header.Clock == trace.ClockVirtual {
			return r.executeVirtual(ctx)
		}
		return r.executeWall(ctx)
	})
	r.seeEnded(err)
	return err
}

// seeEnded adds the run's end to its log where something kept it from being
// written.
func (r *Run) seeEnded(err error) {
	events, closed := r.log.Since(r.log.Len() - 1)
	last := trace.Event{Key: trace.Absent()}
	if len(events) > 0 {
		last = events[0]
	}
	if _, ok := last.Body.(trace.End); closed || ok && last.Thread == "" {
		return
	}
	last.Step++
	last.Thread, last.Body = "", ended(err)
	r.log.Append(last)
}

// outfit gives every thread its process, its way to Redis and its locker.
func (r *Run) outfit(ctx context.Context, client func(node int) journal.Scripter, messenger lock.Messenger, process func(name string) clock.Process) error {
	scripts := make([]journal.Script, 0, 3)
	for _, s := range r.protocol().Scripts {
		scripts = append(scripts, journal.Script{Name: s.Name, Source: s.Source, SHA: s.SHA})
	}
	r.network.r, r.network.process = r, process(networkName)
	memories := map[string]*exhibit.Memory{}
	for i, t := range r.threads {
		if memories[t.spec.Process] == nil {
			memories[t.spec.Process] = &exhibit.Memory{}
		}
		t.process = process(t.spec.Name)
		t.redis = &wire{sent: map[string]count{}}
		for n := range r.sc.Lock.Nodes {
			p := &tap{t: t, node: n}
			p.journal = journal.New(func() journal.Scripter { return client(n) }, scripts, p.note)
			t.redis.taps = append(t.redis.taps, p)
			if i > 0 {
				continue
			}
			if err := p.journal.Load(ctx); err != nil {
				return fmt.Errorf("run: load scripts: %w", err)
			}
		}
		o := lock.Options{
			Messenger: losing{messenger, t}, Inbox: r.key + ":inbox:" + t.spec.Name,
			Protocol: r.protocolOf(t, memories), ID: t.spec.Name,
			Lease: r.sc.Lock.Lease, Renew: r.sc.Lock.Watchdog,
			Retries: retries(t.spec.Retry), Interval: t.spec.Retry.Interval,
			JitterMin: t.spec.Retry.JitterMin, JitterMax: t.spec.Retry.JitterMax,
			Clock: t.process, Random: source(r.sc.Seed, t.spec.Name, "jitter").Int64N,
			Observer: lock.Observer{Attempted: t.attempted, Waiting: t.waiting},
		}
		if o.Renew == 0 {
			o.Renew = lock.NoWatchdog
		}
		for _, p := range t.redis.taps[1:] {
			o.Nodes = append(o.Nodes, p)
		}
		locker, err := lock.New(t.redis.taps[0], o)
		if err != nil {
			return fmt.Errorf("run: %w", err)
		}
		t.locker = locker
	}
	return nil
}

// checked appends an event, and after it the rules that it breaks.
type checked struct {
	log      *trace.Log
	checker  *check.Checker
	believed beliefs
	atLimit  bool

	standstill standstill
}

func (r *Run) newChecked() checked {
	return checked{log: r.log, checker: check.New(r.header.Owners, protocol.InRedis), believed: newBeliefs()}
}

func (c *checked) append(e trace.Event) {
	if c.log.Len() >= MaxEvents {
		if _, last := e.Body.(trace.End); !last || e.Thread != "" {
			c.atLimit = true
			return
		}
	}
	e.Belief, e.Leaving = c.believed.after(e.Thread, e.Body)
	e = c.log.Append(e)
	c.standstill.follow(e)
	for _, found := range c.checker.Observe(e) {
		c.log.Append(trace.Event{Step: e.Step, At: e.At, Body: found.Violation, Key: e.Key, Nodes: e.Nodes, Belief: e.Belief, Leaving: e.Leaving})
	}
}

// because is err, or what has ended ctx where that has ended: a client that is
// given a deadline calls it a timeout of its own, and may do so a moment before
// the context knows.
func because(ctx context.Context, err error) error {
	if err == nil || errors.As(err, new(*panics.Error)) {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// ended is the run's last event for what stopped it.
func ended(err error) trace.End {
	switch {
	case err == nil:
		return trace.End{Result: trace.Done}
	case errors.As(err, new(*panics.Error)):
		return trace.End{Result: trace.Failed, Error: ErrMistake.Error()}
	case errors.Is(err, context.Canceled):
		return trace.End{Result: trace.Failed, Error: "stopped"}
	default:
		return trace.End{Result: trace.Failed, Error: err.Error()}
	}
}
