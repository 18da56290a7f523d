package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
	"relock/engine/journal"
	"relock/engine/lock"
	"relock/engine/panics"
	"relock/engine/run/order"
	"relock/engine/store"
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

// keptAtMost is how long a key without a lease can stay on a Redis that is not
// the run's own, if the run is killed: longer than any run takes.
const keptAtMost = 24 * time.Hour

// wall is a run on the wall clock. Its events are released in Redis' order:
// each waits until no earlier one can still be on its way.
type wall struct {
	r      *Run
	client redis.UniversalClient
	turn   func(context.Context) (func(), error) // of the embedded Redis, or nil
	start  time.Time
	idle   time.Time     // since when every thread has ended
	offset time.Duration // Redis' clock, since the epoch, when the run began

	mu      sync.Mutex
	out     checked
	order   order.Queue[item]
	changed chan struct{} // capacity 1: the key's state or its expiry changed
	wake    chan struct{} // capacity 1: a thread stalled or ended, or what was under way has arrived
	doubts  chan error    // capacity 1: why Redis may not serve the run any more

	// As released so far.
	key        trace.KeyState
	keyAt      time.Duration // when Redis said so
	at         time.Duration
	step       int
	thread     string
	hasCommand bool
}

// item is what happens at one instant.
type item struct {
	thread string
	body   trace.Body    // of one local event, or
	events []trace.Event // of one script, or
	silent func()        // what no event tells
}

func (r *Run) executeWall(ctx context.Context) error {
	w := &wall{r: r, out: r.newChecked(), key: trace.Absent(), changed: make(chan struct{}, 1), wake: make(chan struct{}, 1), doubts: make(chan error, 1)}
	if r.o.External != nil {
		w.client = r.o.External.Client()
		defer w.cleanUp(ctx)
	} else {
		e := store.NewEmbedded(time.Time{})
		defer func() { _ = e.Close() }()
		w.client, w.turn = e.Client(), r.o.Turn
	}
	r.rec = w
	ctx, end := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	processes := clock.NewWall(func(p *panics.Error) { end(p) })
	r.guard = processes.Guard
	watching.Go(func() { r.guard(func() { w.watchRedis(ctx, end) }) })
	defer watching.Wait()
	defer end(nil)
	err := w.calibrate(ctx)
	if err == nil {
		err = w.bound(ctx)
	}
	if err == nil {
		err = r.outfit(ctx, w.scripter(ctx), lock.PubSub(w.client), func(string) clock.Process { return processes.Process() })
	}
	if err == nil {
		err = panics.Catch(func() error { return w.play(ctx, processes) })
		r.killAll() // the watchdog, too, of a hold that was never left
		r.network.end()
		processes.Wait()
	}
	err = because(ctx, err)
	if errors.As(context.Cause(ctx), new(*panics.Error)) {
		err = context.Cause(ctx) // whatever else it led to
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.release(true)
	w.put(w.now(), "", ended(err), true)
	return err
}

// cleanUp leaves nothing behind on a Redis that is not the run's own.
func (w *wall) cleanUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer cancel()
	for _, key := range w.r.keys() {
		_ = w.client.Del(ctx, key).Err() // its expiry removes what this cannot
	}
}

// bound gives an expiry to what of a run has none by itself.
func (w *wall) bound(ctx context.Context) error {
	if w.r.o.External == nil || w.r.protocol().Token == nil {
		return nil
	}
	if err := w.client.Set(ctx, w.r.protocol().Token(w.r.key), 0, keptAtMost).Err(); err != nil {
		return fmt.Errorf("run: prepare the tokens: %w", err)
	}
	return nil
}

// calibrate sets Redis' clock against the client's.
func (w *wall) calibrate(ctx context.Context) error {
	before := time.Now()
	w.start = before
	there, err := w.client.Time(ctx).Result()
	if err != nil {
		return fmt.Errorf("run: ask Redis for its time: %w", err)
	}
	w.start = time.Now()
	half := w.start.Sub(before) / 2
	w.offset = time.Duration(there.UnixNano()) + half
	return nil
}

func (w *wall) play(ctx context.Context, processes *clock.Wall) error {
	w.spawn()
	close(w.r.playing)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		processes.Wait()
	}()
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		w.r.guard(func() { w.watchExpiry(watching) })
	}()
	defer func() {
		stop()
		<-watched
	}()
	err := w.awaitThreads(ctx, ended)
	if left := w.r.alive(); len(left) > 0 {
		var asking []string
		w.locked(func() { asking = w.inVain() })
		w.r.killAll()
		<-ended
		if err == nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.release(true)
			w.put(w.now(), "", w.out.checker.Stuck(left, asking).Violation, true)
			return nil
		}
	}
	atLimit := false
	w.locked(func() { atLimit = w.out.atLimit })
	if atLimit {
		return w.r.limit()
	}
	if err != nil {
		return err
	}
	return w.awaitLease(ctx)
}

// awaitThreads returns when nothing is under way and all threads have ended or
// those that have not hang for ever or ask in vain, or with ctx's cause.
func (w *wall) awaitThreads(ctx context.Context, ended <-chan struct{}) error {
	for {
		select {
		case <-ended:
			w.idle, ended = time.Now(), nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.wake:
		}
		over := false
		w.locked(func() { over = ended == nil || w.r.stuck() || w.inVain() != nil })
		if over && !w.r.network.carries() {
			return nil
		}
	}
}

// locked does f while it holds mu, which a panic lets go, too.
func (w *wall) locked(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *wall) down(*thread, int) bool { return false }

func (w *wall) since(at time.Time) time.Duration { return at.Sub(w.start) }

func (w *wall) mayEnd() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// spawn starts the threads. Of those that start at one moment, each waits
// until the one before it has had its first answer: a person who writes A
// before B means A to be first, and a race would decide otherwise each time.
func (w *wall) spawn() {
	byStart := slices.Clone(w.r.threads)
	slices.SortStableFunc(byStart, func(a, b *thread) int { return cmp.Compare(a.spec.Start, b.spec.Start) })
	for i, t := range byStart {
		t.process.Go(t.spec.Start, func() {
			if i > 0 && byStart[i-1].spec.Start == t.spec.Start {
				<-byStart[i-1].asked
			}
			t.main()
		})
	}
}

// awaitLease gives a key that outlived its threads one lease to go.
func (w *wall) awaitLease(ctx context.Context) error {
	w.locked(func() { w.release(true) })
	end := w.idle.Add(w.r.sc.Lock.Lease + 2*expirySlack)
	for {
		exists := false
		w.locked(func() { exists = w.key.Exists() })
		carries := w.r.network.carries() // a watchdog that outlived its thread can send, too
		if !exists && !carries {
			return nil
		}
		if time.Now().After(end) && !carries {
			return w.judgeKey(ctx)
		}
		if err := (clock.System{}).Sleep(ctx, expirySlack); err != nil {
			return err
		}
	}
}

// judgeKey says what there is to say of a key that has had its lease. It asks
// Redis: that the key is gone may just not have been heard of.
func (w *wall) judgeKey(ctx context.Context) error {
	left, err := w.client.Do(ctx, "PTTL", w.r.key).Int64()
	if err != nil {
		return fmt.Errorf("run: ask Redis whether the key still stands: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if left == trace.NoKey {
		if at, ok := w.expiresAt(); ok && at <= w.now() {
			w.expire(at)
		}
		return nil
	}
	w.key.PTTL, w.keyAt = left, w.now()
	for _, found := range w.out.checker.Finish(w.key) {
		w.put(w.now(), "", found.Violation, true)
	}
	return nil
}

// expiresAt is when the key, as released, runs out.
func (w *wall) expiresAt() (time.Duration, bool) {
	if !w.key.Exists() || w.key.PTTL < 0 {
		return 0, false
	}
	return w.keyAt + time.Duration(w.key.PTTL)*time.Millisecond, true
}

// watchExpiry asks Redis, each time a lease should have ended, whether it has.
func (w *wall) watchExpiry(ctx context.Context) {
	for {
		var at time.Duration
		wait := time.Hour
		w.locked(func() {
			var ok bool
			if at, ok = w.expiresAt(); ok {
				wait = max(at-w.now()+expirySlack, expirySlack)
			}
		})
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-w.changed:
			t.Stop()
			continue
		case <-t.C:
		}
		n, err := w.client.Exists(ctx, w.r.key).Result()
		if err != nil || n != 0 {
			continue
		}
		w.locked(func() {
			if again, ok := w.expiresAt(); ok && again == at {
				w.order.Add(order.Entry[item]{At: at, Lapse: true})
				w.release(false)
			}
		})
	}
}

func (w *wall) now() time.Duration { return time.Since(w.start) }

func (w *wall) local(thread string, body trace.Body) {
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

func (w *wall) unlocks(thread string, u unlock) func() {
	w.silently(func() { w.out.believed.calls(thread, u) })
	return func() { w.silently(func() { w.out.believed.returns(thread) }) }
}

// silently has something change now, between the events before and after.
func (w *wall) silently(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.order.Add(order.Entry[item]{At: w.now(), What: item{silent: change}})
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
		for _, s := range records {
			at := s.rec.Time - w.offset
			events := w.r.commands(s)
			w.order.Add(order.Entry[item]{At: at, Script: len(events) > 0, Found: found(events), What: item{thread: t.spec.Name, events: events}})
			if t.alive() && !s.late {
				w.order.Ran(order.Call{Thread: t.spec.Name, Name: s.call.Name}, at)
			}
		}
		w.release(false)
		w.look()
	}
}

// look has it found out whether anything can still change. The caller holds mu.
func (w *wall) look() {
	if w.inVain() != nil {
		w.mayEnd()
	}
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
