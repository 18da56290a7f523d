package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"relock/engine/check"
	"relock/engine/clock"
	"relock/engine/journal"
	"relock/engine/lock"
	"relock/engine/outside/ownlock"
	"relock/engine/panics"
	"relock/engine/run/order"
	"relock/engine/store"
	"relock/engine/trace"
)

// keptAtMost is how long a key without a lease can stay on a Redis that is not
// the run's own, if the run is killed: longer than any run takes.
const keptAtMost = 24 * time.Hour

// settleLimit is how long the end of a run may take to remove its keys from
// an external Redis.
const settleLimit = 3 * time.Second

func (w *wall) execute(ctx context.Context) error {
	r := w.r
	if r.o.External != nil {
		w.client = r.o.External.Client()
		defer w.cleanUp(ctx)
	} else {
		e := store.NewEmbedded(time.Time{})
		defer func() { _ = e.Close() }()
		w.client, w.turn = e.Client(), r.o.Turn
	}
	r.rec = w
	r.resource.times(w.now)
	ctx, end := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	processes := clock.NewWall(func(p *panics.Error) { end(p) })
	processes.Delay(w.delay)
	w.guarding, w.due = processes.Guard, processes.Due
	done := make(chan struct{})
	watching.Go(func() { w.guard(func() { w.watchRedis(ctx, done, end) }) })
	defer watching.Wait()
	defer end(nil)
	err := w.calibrate(ctx)
	if err == nil {
		err = w.bound(ctx)
	}
	if err == nil {
		client := w.scripter(ctx)
		if r.sc.Lock.Own() {
			client = w.judged(client, end)
		}
		err = r.wireUp(ctx, client, lock.PubSub(w.client), w.processOf(processes))
		if wrong := ownlock.Refused(r.sc.Lock, err); wrong != nil {
			err = wrong
		} else if errors.Is(err, errLoad) {
			err = w.unserved(err)
		}
	}
	if err == nil {
		err = panics.Catch(func() error { return w.play(ctx, processes) })
		r.killAll() // the watchdog, too, of a hold that was never left
		r.network.end()
		processes.Wait()
	}
	w.locked(w.hangUp)
	close(done)
	watching.Wait()
	err = because(ctx, err)
	if cause := context.Cause(ctx); errors.As(cause, new(*panics.Error)) || errors.Is(cause, ErrRedis) {
		err = cause // whatever else it led to
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.release(true)
	last := ended(err)
	last.Lateness = trace.MillisOf(processes.Lateness())
	w.put(w.now(), "", last, true)
	return err
}

// judged ends the run if a script of its own lock cannot be a lock's.
func (w *wall) judged(client func(string, int) journal.Scripter, end context.CancelCauseFunc) func(string, int) journal.Scripter {
	return func(thread string, node int) journal.Scripter {
		return ownlock.Judged(client(thread, node), w.r.sc.Lock, func(m *ownlock.Mistake) { end(m) }, func(key string) { w.beside.Store(key, true) })
	}
}

// processOf gives each thread a process by which it can be steered.
func (w *wall) processOf(processes *clock.Wall) func(name string) clock.Process {
	return func(name string) clock.Process {
		live := processes.Process()
		if t := w.r.thread(name); t != nil {
			w.handles[t].live = live
		}
		return live
	}
}

// cleanUp leaves nothing behind on a Redis that is not the run's own.
func (w *wall) cleanUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer cancel()
	for _, key := range w.r.keys() {
		_ = w.client.Del(ctx, key).Err() // its expiry removes what this cannot
	}
	w.beside.Range(func(key, _ any) bool {
		_ = w.client.Del(ctx, key.(string)).Err()
		return true
	})
}

// bound gives an expiry to those of a run's keys that have none.
func (w *wall) bound(ctx context.Context) error {
	if w.r.o.External == nil || w.r.protocol().Token == nil || w.r.protocol().Base == nil { // a user's own lock may count as it likes
		return nil
	}
	if err := w.client.Set(ctx, w.r.protocol().Token(w.r.key), 0, keptAtMost).Err(); err != nil {
		return w.unserved(fmt.Errorf("run: prepare the tokens: %w", err))
	}
	return nil
}

// calibrate sets Redis' clock against the client's.
func (w *wall) calibrate(ctx context.Context) error {
	before := time.Now()
	w.start = before
	there, err := w.client.Time(ctx).Result()
	if err != nil {
		return w.unserved(fmt.Errorf("run: ask Redis for its time: %w", err))
	}
	w.start = time.Now()
	half := w.start.Sub(before) / 2
	w.offset = time.Duration(there.UnixNano()) + half
	return nil
}

func (w *wall) play(ctx context.Context, processes *clock.Wall) error {
	w.spawn()
	close(w.playing)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		processes.Wait()
	}()
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		w.guard(func() { w.watchExpiry(watching) })
	}()
	striking := make(chan struct{})
	go func() {
		defer close(striking)
		w.guard(func() { w.strikeTimed(watching) })
	}()
	defer func() {
		stop()
		<-watched
		<-striking
	}()
	err := w.awaitThreads(ctx, ended)
	var asking []string
	w.locked(func() { asking = w.inVain() })
	if err == nil && asking == nil && !w.full() {
		err = w.ask(ctx)
	}
	if left := w.r.alive(); len(left) > 0 {
		w.r.killAll()
		w.r.network.end() // else it would be waited for
		<-ended
		if err == nil && asking != nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.release(true)
			w.put(w.now(), "", w.out.checker.Stuck(left, asking).Violation, true)
			return nil
		}
	}
	if w.full() {
		return w.r.limit()
	}
	return err
}

// full reports whether the run is at its limit.
func (w *wall) full() (is bool) {
	w.locked(func() { is = w.out.atLimit })
	return is
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
				<-w.handles[byStart[i-1]].asked
			}
			t.main()
		})
	}
}

// awaitThreads returns when nothing is under way and every thread has ended, hangs for
// ever or asks in vain, or with ctx's cause.
func (w *wall) awaitThreads(ctx context.Context, ended <-chan struct{}) error {
	for {
		select {
		case <-ended:
			ended = nil
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

// ask ends the run with the answer to what is asked last: would a fresh thread get in, and
// when? A lease that still ends no earlier when that time is over is renewed by somebody,
// for ever.
func (w *wall) ask(ctx context.Context) error {
	after, at, took, err := w.opens(ctx)
	if err != nil {
		return err
	}
	if after == 0 { // that the key is gone may just not have been heard of
		w.locked(func() {
			if at, ok := w.expiresAt(); ok && at <= w.now() {
				w.expire(at)
			}
		})
		return nil
	}
	key := trace.Absent()
	w.locked(func() {
		w.release(true)
		key = w.keyNow(at)
	})
	if err := w.awaitLease(ctx, min(after, w.r.sc.Lock.Lease)+2*expirySlack); err != nil {
		return err
	}
	later, now, _, err := w.opens(ctx)
	switch {
	case err != nil:
		return err
	case later > 0 && (later == check.Never || after == check.Never || now+later > at+took+after+sameMoment):
		after = check.Never
	case later > 0: // the rest of it
		at, after = now, later
		w.locked(func() { key = w.keyNow(at) })
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.release(true)
	for _, found := range w.out.checker.ShutOut(at, after, w.r.sc.Lock.Lease, nil, key) {
		w.put(w.now(), "", found.Violation, true)
	}
	return nil
}

// awaitLease waits for so long, or until the key is gone.
func (w *wall) awaitLease(ctx context.Context, most time.Duration) error {
	for end := time.Now().Add(most); time.Now().Before(end) || w.r.network.carries(); { // a watchdog that outlived its thread can send, too
		exists := false
		w.locked(func() { exists = w.key.Exists() })
		if !exists && !w.r.network.carries() {
			return nil
		}
		if err := (clock.System{}).Sleep(ctx, expirySlack); err != nil {
			return err
		}
	}
	return nil
}

// opens is when a fresh thread gets in by what is left in Redis, or at once where nobody
// can try: the scripts of an own lock need a box. It says when Redis was asked for what is
// left, and how long that took.
func (w *wall) opens(ctx context.Context) (after, at, took time.Duration, err error) {
	memory, err := ownlock.NewMemory(ctx, w.r.sc)
	if errors.Is(err, ownlock.ErrNoBox) {
		return 0, 0, 0, nil
	} else if err != nil {
		return 0, 0, 0, fmt.Errorf("run: what is left: %w", err)
	}
	defer func() { _ = memory.Close() }() // there is nothing to lose
	keys := w.r.keys()
	w.beside.Range(func(key, _ any) bool {
		keys = append(keys, key.(string))
		return true
	})
	at = w.now()
	items, err := store.ItemsOf(ctx, w.client, keys)
	if err != nil {
		return 0, 0, 0, w.unserved(fmt.Errorf("run: what is left: %w", err))
	}
	took = w.now() - at
	f := fresh{r: w.r, memory: memory, left: []leftover{{memory.Holding(clock.Epoch.Add(at+w.offset), items), w.offset}}, at: at}
	after, err = f.opens(ctx)
	return after, at, took, err
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
