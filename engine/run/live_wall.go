package run

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
	"relock/engine/journal"
	"relock/engine/lock"
	"relock/engine/run/order"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// orderSlack is how far an instant of Redis' clock may lie before the moment
// at which, by the client's clock, its command was sent: Redis keeps time in
// microseconds and clocks are set against each other with one round trip.
const orderSlack = 2 * time.Millisecond

// expirySlack is how long after a lease's computed end Redis is asked whether
// the key is gone: its expiries are whole milliseconds.
const expirySlack = 2 * time.Millisecond

// sameMoment is how far apart two events of a thread may lie to be one row.
const sameMoment = 2 * time.Millisecond

// heldBack is longer than a thread takes from a script to what it does next.
const heldBack = 50 * time.Millisecond

// wall is a run on the wall clock. Its events are released in Redis' order:
// each waits until no earlier one can still be on its way.
type wall struct {
	r      *Run
	client redis.UniversalClient
	turn   func(context.Context) (func(), error) // of the embedded Redis, or nil
	start  time.Time
	offset time.Duration // Redis' clock, since the epoch, when the run began

	delay    time.Duration      // by which timers are late
	due      func(at time.Time) // notes what goes on now, and was due then
	guarding func(f func())     // does f; its panic ends the run
	handles  map[*thread]*handle
	playing  chan struct{} // closed when the threads have begun
	beside   sync.Map      // keys that an own lock's scripts asked for and that are not the lock's, to true

	mu      sync.Mutex
	out     checked
	order   order.Queue[item]
	changed chan struct{}    // capacity 1: the key's state or its expiry changed
	wake    chan struct{}    // capacity 1: a thread stalled or ended, or what was under way has arrived
	doubts  chan error       // capacity 1: why Redis may not serve the run any more
	lines   map[string]*line // by thread, where the lock waits for replicas
	outages outages          // of the one Redis, as its clients feel them
	outage  chan struct{}    // capacity 1: there is another

	// As released so far.
	key        trace.KeyState
	keyAt      time.Duration // when Redis said so
	at         time.Duration
	step       int
	thread     string
	hasCommand bool
}

// handle is what a thread is steered by.
type handle struct {
	live  *clock.Live   // once the run begins
	asked chan struct{} // closed when it has had its first answer, or will have none
	first sync.Once

	mu      sync.Mutex
	control Control
}

// item is what happens at one instant.
type item struct {
	thread string
	body   trace.Body    // of one local event, or
	events []trace.Event // of one script, or
	silent func()        // what no event tells
}

func newWall(r *Run) *wall {
	w := &wall{
		r: r, out: r.newChecked(), key: trace.Absent(), handles: map[*thread]*handle{}, playing: make(chan struct{}),
		changed: make(chan struct{}, 1), wake: make(chan struct{}, 1), doubts: make(chan error, 1),
		outages: outages{}, outage: make(chan struct{}, 1), lines: map[string]*line{},
	}
	for _, t := range r.threads {
		w.handles[t] = &handle{asked: make(chan struct{})}
	}
	return w
}

// locked does f while it holds mu, and unlocks it after a panic, too.
func (w *wall) locked(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *wall) guard(f func()) { w.guarding(f) }

func (w *wall) armed(*thread, string, func(string) bool) (scenario.Fault, bool) {
	return scenario.Fault{}, false
}

func (w *wall) since(at time.Time) time.Duration { return at.Sub(w.start) }

func (w *wall) mayEnd() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *wall) now() time.Duration { return time.Since(w.start) }

func (w *wall) local(thread, _ string, body trace.Body) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.now()
	switch b := body.(type) {
	case trace.Outcome: // decided when the script ran, and told with it
		if ran, ok := w.order.Told(order.Call{Thread: thread, Name: b.Call}); ok {
			at = ran
		}
	case trace.End:
		w.mayEnd() // the others may all hang
		w.order.Leave(thread)
	}
	w.order.Add(order.Entry[item]{At: at, What: item{thread: thread, body: body}})
	w.release(false)
	w.look()
}

func (w *wall) believes(change func(beliefs)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.order.Add(order.Entry[item]{At: w.now(), What: item{silent: func() { change(w.out.believed) }}})
	w.release(false)
}

func (w *wall) sending() func(*thread, []sent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	number := w.order.Send(w.now() - orderSlack)
	return func(t *thread, records []sent) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.order.Answer(number)
		if own, ok := w.lines[t.spec.Name]; ok && len(records) > 0 {
			own.answered()
		}
		for _, s := range records {
			at := s.rec.Time - w.offset
			events := w.r.commands(s)
			w.order.Add(order.Entry[item]{At: at, Script: len(events) > 0, Found: found(events), What: item{thread: t.spec.Name, events: events}})
			if t.alive() && !s.delayed { // else the event waits until it has heard
				w.order.Ran(order.Call{Thread: t.spec.Name, Name: s.call.Name}, at)
			}
		}
		w.release(false)
		w.look()
	}
}

// look has somebody check whether anything can still change. The caller holds mu.
func (w *wall) look() {
	if w.inVain() != nil {
		w.mayEnd()
	}
}

// inVain is Run.inVain where nothing is to come: no watchdog that renews, no
// request on its way, no expiry. The caller holds mu.
func (w *wall) inVain() []string {
	renews := w.r.protocol().HasWatchdog() && w.r.sc.Lock.Watchdog > 0
	inRedis := w.r.protocol().Commands(lock.CallLock, 1) > 0
	if renews || w.r.network.carries() || !w.order.Idle() || inRedis && (!w.key.Exists() || w.key.PTTL != trace.NoExpiry) {
		return nil
	}
	return w.r.inVain(&w.out.standstill)
}

// expiresAt is when the key, as released, runs out.
func (w *wall) expiresAt() (time.Duration, bool) {
	if !w.key.Exists() || w.key.PTTL < 0 {
		return 0, false
	}
	return w.keyAt + time.Duration(w.key.PTTL)*time.Millisecond, true
}

// release writes down what nothing earlier can precede any more, or all.
func (w *wall) release(all bool) {
	for {
		end, known := w.expiresAt()
		next, ok := w.order.Next(order.Lease{At: end, Known: known}, all)
		switch what := next.What; {
		case !ok:
			return
		case next.Lapse:
			w.expire(next.At)
		case next.Script:
			w.script(next.At, what)
		case what.silent != nil:
			what.silent()
		default:
			w.put(next.At, what.thread, what.body, false)
		}
	}
}

// found is what the first command of a script says of the key before it: where
// it only read, it left the key as it was.
func found(events []trace.Event) order.Key {
	if len(events) == 0 {
		return order.Unknown
	}
	c, ok := events[0].Body.(trace.Command)
	switch {
	case !ok || journal.Writes(c.Args[0]):
		return order.Unknown
	case events[0].Key.Exists():
		return order.Stood
	default:
		return order.Gone
	}
}

func (w *wall) expire(at time.Duration) {
	was := w.key
	was.PTTL = 0
	w.key, w.keyAt = trace.Absent(), at
	w.put(at, "", trace.Expired{Was: was}, true)
}

func (w *wall) script(at time.Duration, i item) {
	first, _ := i.events[0].Body.(trace.Command)
	w.row(i.thread, w.hasCommand || first.Late || at-w.at > sameMoment)
	w.hasCommand = true
	w.at = max(w.at, at)
	for _, e := range i.events {
		e.Thread, e.Step, e.At = i.thread, w.step, trace.MillisOf(w.at)
		w.key, w.keyAt = e.Key, at.Truncate(time.Microsecond)
		w.out.append(e)
	}
	if first.Late {
		w.thread = "" // what its thread does meanwhile is no part of it
	}
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// put writes down one event that is no command.
func (w *wall) put(at time.Duration, thread string, body trace.Body, newRow bool) {
	if b, ok := body.(trace.Work); ok && b.State == trace.WorkEnd {
		newRow = true
	}
	switch body.(type) {
	case trace.Fault:
		newRow = newRow || at-w.at > sameMoment
	default: // what follows a script does so at once, unless it is held by hand
		newRow = newRow || at-w.at > heldBack
	}
	w.row(thread, newRow)
	w.at = max(w.at, at)
	w.out.append(trace.Event{
		Step: w.step, At: trace.MillisOf(w.at), Thread: thread, Body: body, Key: w.keyNow(w.at),
	})
}

// row begins a new row for another thread, or where asked to.
func (w *wall) row(thread string, newRow bool) {
	if w.step == 0 || newRow || thread != w.thread {
		w.step++
		w.thread = thread
		w.hasCommand = false
	}
}

// keyNow is the key at an instant: as Redis gave it last, less the time since.
func (w *wall) keyNow(at time.Duration) trace.KeyState {
	k := w.key
	if k.Exists() && k.PTTL > 0 {
		k.PTTL = max(k.PTTL-(at-w.keyAt).Milliseconds(), 0)
	}
	return k
}
