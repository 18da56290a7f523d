package clock

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// System is the wall clock for code that is never paused or killed: the one
// a program uses that is not a simulation.
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

type wallTimer struct {
	t    *time.Timer
	once sync.Once
	done chan struct{}
}

func newWallTimer(d time.Duration, f func()) *wallTimer {
	w := &wallTimer{done: make(chan struct{})}
	run := func() {
		defer w.finish()
		f()
	}
	if d <= 0 { // the runtime's timers would take the long way round
		go run()
		return w
	}
	w.t = time.AfterFunc(d, run)
	return w
}

func (w *wallTimer) finish() { w.once.Do(func() { close(w.done) }) }

func (w *wallTimer) Stop() bool {
	if w.t != nil && w.t.Stop() {
		w.finish()
		return true
	}
	return false
}

func (w *wallTimer) Wait(ctx context.Context) error {
	select {
	case <-w.done:
		return nil
	default:
	}
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return cause(ctx)
	}
}

// Wall hands out processes on the wall clock and waits for their ends. It is
// safe for concurrent use.
type Wall struct {
	running sync.WaitGroup
}

// NewWall returns a wall clock without processes.
func NewWall() *Wall { return &Wall{} }

// Process returns a new process.
func (w *Wall) Process() Process {
	return &wallProcess{wall: w, dead: make(chan struct{})}
}

// Wait returns when everything that was started with Process.Go has ended.
func (w *Wall) Wait() { w.running.Wait() }

type wallProcess struct {
	System
	wall *Wall

	mu          sync.Mutex
	pausedUntil time.Time
	paused      time.Duration // length of all pauses so far

	kill sync.Once
	dead chan struct{}
}

func (p *wallProcess) exitIfDead() {
	select {
	case <-p.dead:
		runtime.Goexit()
	default:
	}
}

// awaitResume blocks while the process is paused.
func (p *wallProcess) awaitResume() {
	for {
		p.exitIfDead()
		p.mu.Lock()
		left := time.Until(p.pausedUntil)
		p.mu.Unlock()
		if left <= 0 {
			return
		}
		select {
		case <-time.After(left):
		case <-p.dead:
		}
	}
}

func (p *wallProcess) Go(delay time.Duration, f func()) {
	p.wall.running.Go(func() {
		if p.Sleep(context.Background(), delay) == nil {
			f()
		}
	})
}

func (p *wallProcess) Sleep(ctx context.Context, d time.Duration) error {
	p.awaitResume()
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-p.dead:
		case <-ctx.Done():
			p.awaitResume()
			return cause(ctx)
		}
	}
	p.awaitResume()
	return nil
}

func (p *wallProcess) Work(ctx context.Context, d time.Duration) error {
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

func (p *wallProcess) pausedSoFar() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paused
}

func (p *wallProcess) Gate(ctx context.Context, _ any) error {
	p.awaitResume()
	if ctx.Err() != nil {
		return cause(ctx)
	}
	return nil
}

func (p *wallProcess) AfterFunc(d time.Duration, _ string, f func()) Timer {
	return newWallTimer(d, func() {
		p.awaitResume()
		f()
	})
}

func (p *wallProcess) Pause(d time.Duration) {
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

func (p *wallProcess) Kill() { p.kill.Do(func() { close(p.dead) }) }
