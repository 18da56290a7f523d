package clock

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"relock/engine/panics"
)

// System is the wall clock for code that is never paused or killed: any program
// that is not a simulation.
type System struct{}

// Now is time.Now.
func (System) Now() time.Time { return time.Now() }

// Sleep implements [Clock].
func (System) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return cause(ctx)
	}
}

// WithDeadline is context.WithDeadline.
func (System) WithDeadline(ctx context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, deadline)
}

// AfterFunc implements [Clock].
func (System) AfterFunc(d time.Duration, _ string, f func()) Timer {
	return newWallTimer(d, f)
}

type wallSignal chan struct{}

func (s wallSignal) Fire() {
	select {
	case s <- struct{}{}:
	default: // already fired
	}
}

// NewSignal implements [Clock].
func (System) NewSignal() Signal { return make(wallSignal, 1) }

// Await implements [Clock].
func (System) Await(ctx context.Context, d time.Duration, s Signal) (bool, error) {
	t := time.NewTimer(max(d, 0))
	defer t.Stop()
	select {
	case <-s.(wallSignal):
		return true, nil
	case <-t.C:
		return false, nil
	case <-ctx.Done():
		return false, cause(ctx)
	}
}

// wallTimer is a [Timer]. A lock sets up to two a grant and stops them soon: it makes
// nothing that only a waiting process needs. That is also why there is no heap with
// one timer of the runtime for all of them: it was tried, and spared a pair of
// lock and unlock 6 small allocations of 33, but no time that can be measured,
// with 1, 1,000 and 100,000 holds.
type wallTimer struct {
	Over // when f has returned, or was stopped

	f func()
	t *time.Timer // nil if it was due at once
}

func newWallTimer(d time.Duration, f func()) *wallTimer {
	w := &wallTimer{f: f}
	if d <= 0 { // skip the runtime's timers
		go w.run()
		return w
	}
	w.t = time.AfterFunc(d, w.run)
	return w
}

func (w *wallTimer) run() {
	defer w.Finish()
	w.f()
}

func (w *wallTimer) Stop() bool {
	if w.t != nil && w.t.Stop() {
		w.Finish()
		return true
	}
	return false
}

// Over is something that others wait for on the wall clock, and that mostly nobody waits
// for. The zero value is not over. It is safe for concurrent use.
type Over struct {
	mu   sync.Mutex
	is   bool
	done chan struct{} // closed when it is over, nil while nobody waits
}

// Finish says that it is over. It may be said again.
func (o *Over) Finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.is && o.done != nil {
		close(o.done)
	}
	o.is = true
}

func (o *Over) finished() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done == nil {
		o.done = make(chan struct{})
		if o.is {
			close(o.done)
		}
	}
	return o.done
}

// Wait is that of a [Timer].
func (o *Over) Wait(ctx context.Context) error {
	done := o.finished()
	select {
	case <-done:
		return nil
	default:
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return cause(ctx)
	}
}

// Wall hands out processes on the wall clock and waits for them to end. It is
// safe for concurrent use.
type Wall struct {
	running  sync.WaitGroup
	panicked func(*panics.Error)
	delay    time.Duration
	lateness atomic.Int64 // nanoseconds
}

// NewWall returns a wall clock without processes. Panicked gets every panic of
// theirs, on the goroutine that panicked; if it is nil, a panic ends the
// program.
func NewWall(panicked func(*panics.Error)) *Wall { return &Wall{panicked: panicked} }

// Delay makes timers late by d, like those of a busy machine. Call it before there is a
// process.
func (w *Wall) Delay(d time.Duration) { w.delay = d }

// Due notes that what was due at an instant goes on now.
func (w *Wall) Due(at time.Time) {
	late := int64(time.Since(at))
	for {
		worst := w.lateness.Load()
		if late <= worst || w.lateness.CompareAndSwap(worst, late) {
			return
		}
	}
}

// Lateness is how late what waited for a timer, or was handed to another goroutine,
// went on at worst so far. Time that a process is paused, or waits for something else
// than time, does not count.
func (w *Wall) Lateness() time.Duration { return time.Duration(w.lateness.Load()) }

// timer fires after d.
func (w *Wall) timer(d time.Duration) *time.Timer { return time.NewTimer(max(d, 0) + w.delay) }

// Guard calls f, and reports a panic like one of a process.
func (w *Wall) Guard(f func()) {
	if w.panicked == nil {
		f()
		return
	}
	if p := panics.Try(f); p != nil {
		w.panicked(p)
	}
}

// Process returns a new process.
func (w *Wall) Process() *Live {
	return &Live{wall: w, dead: make(chan struct{}), changed: make(chan struct{})}
}

// Wait returns when everything started with Process.Go has ended.
func (w *Wall) Wait() { w.running.Wait() }

// Live is a process on the wall clock that can be steered while it runs. It is
// safe for concurrent use.
type Live struct {
	System
	wall *Wall

	mu          sync.Mutex
	pausedUntil time.Time
	paused      time.Duration // total length of all pauses so far
	suspended   time.Time     // since when, zero if it is not
	gated       bool
	admitted    int           // how many may pass the closed gate
	changed     chan struct{} // closed and replaced when suspended or the gate changes

	kill sync.Once
	dead chan struct{}
}

// Suspend pauses the process until Resume. It reports whether the process was
// running.
func (p *Live) Suspend() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.suspended.IsZero() {
		return false
	}
	p.suspended = time.Now()
	return true
}

// Resume ends Suspend, and reports whether the process was suspended.
func (p *Live) Resume() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.suspended.IsZero() {
		return false
	}
	now := time.Now()
	from := p.suspended
	if p.pausedUntil.After(from) {
		from = p.pausedUntil // already counted
	}
	p.paused += max(now.Sub(from), 0)
	p.suspended = time.Time{}
	p.wake()
	return true
}

// SetGate closes or opens the gate. While it is closed, AwaitGate only lets
// through those whom Admit admits.
func (p *Live) SetGate(closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gated, p.admitted = closed, 0
	p.wake()
}

// Admit lets one caller through the closed gate.
func (p *Live) Admit() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.admitted = 1
	p.wake()
}

// AwaitGate blocks while the gate is closed and nobody is admitted, and while
// the process is paused.
func (p *Live) AwaitGate() {
	defer p.awaitResume()
	for {
		p.exitIfDead()
		p.mu.Lock()
		if !p.gated || p.admitted > 0 {
			p.admitted = 0
			p.mu.Unlock()
			return
		}
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-changed:
		case <-p.dead:
		}
	}
}

// wake makes everyone check again. The caller holds mu.
func (p *Live) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Live) exitIfDead() {
	select {
	case <-p.dead:
		runtime.Goexit()
	default:
	}
}

// awaitResume blocks while the process is paused.
func (p *Live) awaitResume() {
	for {
		p.exitIfDead()
		p.mu.Lock()
		until := p.pausedUntil
		left := time.Until(until)
		suspended, changed := !p.suspended.IsZero(), p.changed
		p.mu.Unlock()
		switch {
		case suspended:
			select {
			case <-changed:
			case <-p.dead:
			}
		case left > 0:
			t := p.wall.timer(left)
			select {
			case <-t.C:
				p.wall.Due(until)
			case <-p.dead:
			}
			t.Stop()
		default:
			return
		}
	}
}

// Go implements [Process].
func (p *Live) Go(delay time.Duration, f func()) {
	begun := time.Now()
	p.wall.running.Go(func() {
		p.wall.Due(begun)
		p.wall.Guard(func() {
			if p.Sleep(context.Background(), delay) == nil {
				f()
			}
		})
	})
}

// Sleep implements [Clock].
func (p *Live) Sleep(ctx context.Context, d time.Duration) error {
	p.awaitResume()
	if d > 0 {
		due := time.Now().Add(d)
		t := p.wall.timer(d)
		defer t.Stop()
		select {
		case <-t.C:
			p.wall.Due(due)
		case <-p.dead:
		case <-ctx.Done():
			p.awaitResume()
			return cause(ctx)
		}
	}
	p.awaitResume()
	return nil
}

// Await implements [Clock].
func (p *Live) Await(ctx context.Context, d time.Duration, s Signal) (bool, error) {
	p.awaitResume()
	defer p.awaitResume()
	due := time.Now().Add(max(d, 0))
	t := p.wall.timer(d)
	defer t.Stop()
	select {
	case <-s.(wallSignal):
		return true, nil
	case <-t.C:
		p.wall.Due(due)
	case <-p.dead:
	case <-ctx.Done():
		return false, cause(ctx)
	}
	return false, nil
}

// Work implements [Process].
func (p *Live) Work(ctx context.Context, d time.Duration) error {
	p.awaitResume()
	start, before := time.Now(), p.pausedSoFar()
	for {
		left := d - (time.Since(start) - (p.pausedSoFar() - before))
		if left <= 0 {
			return nil
		}
		if err := p.Sleep(ctx, left); err != nil {
			return err
		}
	}
}

func (p *Live) pausedSoFar() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paused
}

// Gate implements [Process].
func (p *Live) Gate(ctx context.Context, _ any) error {
	p.awaitResume()
	if ctx.Err() != nil {
		return cause(ctx)
	}
	return nil
}

// AfterFunc implements [Clock].
func (p *Live) AfterFunc(d time.Duration, _ string, f func()) Timer {
	due := time.Now().Add(max(d, 0))
	return newWallTimer(max(d, 0)+p.wall.delay, func() {
		p.wall.Due(due)
		p.wall.Guard(func() {
			p.awaitResume()
			f()
		})
	})
}

// Pause implements [Process].
func (p *Live) Pause(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	from := now
	if p.pausedUntil.After(from) {
		from = p.pausedUntil
	}
	if until := now.Add(d); until.After(from) {
		p.paused += until.Sub(from)
		p.pausedUntil = until
	}
}

// Kill implements [Process].
func (p *Live) Kill() { p.kill.Do(func() { close(p.dead) }) }
