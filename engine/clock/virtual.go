package clock

import (
	"cmp"
	"context"
	"encoding/binary"
	"runtime"
	"slices"
	"time"

	"relock/engine/panics"
)

// Epoch is when every virtual clock starts: Unix' epoch, so that what Redis says
// of its time counts from the beginning of the run.
var Epoch = time.Unix(0, 0).UTC()

// Virtual is a clock that only moves when told to, and a scheduler that runs
// one task at a time. So what its tasks do depends only on the choices made in
// Step.
//
// A task is one goroutine: a process's business or a timer's function. It parks
// at each gate, sleep and wait; what it does between two parks is a slice. A slice passes
// at most one gate, so every Redis call is a separate decision. Things local to a client
// need no decision, because nobody else can see when they happen. A task that has nothing
// but one function run at once, and waits for it, hands the slice over to it: to others
// the two are one.
//
// Virtual belongs to the goroutine that drives it (Ready, Step, Next, Advance,
// Stop); the methods of Process belong to the tasks. The two never run at the
// same time. If a task panics it has ended, and the driver panics in its place,
// with a [panics.Error]; the other tasks can still be stopped.
type Virtual struct {
	now     time.Duration // since Epoch
	tasks   []*task
	current *task
	parked  chan struct{} // the running task tells the driver that it has parked
	order   int           // the last place in the queue given out
}

// NewVirtual returns a clock at Epoch without processes.
func NewVirtual() *Virtual { return &Virtual{parked: make(chan struct{})} }

// Deadline is the Name of the timer that ends a context at its deadline.
const Deadline = "deadline"

// State says where a task is parked.
type State int

// The states of a task.
const (
	Armed    State = iota // a timer that has not fired
	Starting              // a process' business that has not begun
	Sleeping
	Working
	AtGate  // before a Redis call
	Waiting // for a timer's function
	ended
)

// Task is a snapshot of a task, to choose from.
type Task struct {
	Process  string // the name given to Process
	Business bool   // started by Go; otherwise a timer's function
	State    State
	Doing    any           // at a gate: Gate's argument
	Name     string        // of a timer's function: AfterFunc's argument
	WaitsFor string        // while Waiting: the Name of the task it waits for
	At       time.Duration // since Epoch: when it enters or entered the queue; 0 while Waiting for what is not over
	Paused   time.Duration // since Epoch: when its process's pause ends, 0 if it is not paused
	task     *task
}

func (t *task) public() Task {
	at, _ := t.wakesAt()
	public := Task{Process: t.process.name, Business: t.business, State: t.state, Doing: t.doing, Name: t.name, At: at, task: t}
	if t.process.pausedUntil > t.v.now {
		public.Paused = t.process.pausedUntil
	}
	if t.state == Waiting {
		public.WaitsFor = t.waitFor.name
	}
	return public
}

type task struct {
	v       *Virtual
	process *virtualProcess
	run     func()
	resume  chan struct{}

	state    State
	name     string // the arguments of AfterFunc
	doing    any
	business bool
	due      time.Duration   // for Armed, Starting, Sleeping, Working
	order    int             // place in the queue among those due at one instant
	ctx      context.Context // ends the park early, may be nil
	waitFor  *task           // while Waiting
	fresh    bool            // chosen by Step, and has passed no gate since
	handed   bool            // it goes on with the slice of the task that waits for it
	atOnce   []*task         // what it has started in this slice that is due at once
	begun    bool
	stopped  bool
	panicked *panics.Error
}

// Process returns a new process, which Ready lists by name.
func (v *Virtual) Process(name string) Process {
	return &virtualProcess{v: v, name: name}
}

// Now returns the time since Epoch.
func (v *Virtual) Now() time.Duration { return v.now }

// Ready lists the tasks that can move now, the longest ready first. Before that
// it runs everything local to a client: timers that are due, and sleepers and
// waiters whose context or wait is over.
func (v *Virtual) Ready() []Task {
	for v.settleOne() {
	}
	var ready []*task
	for _, t := range v.tasks {
		if at, ok := t.decisionAt(); ok && at <= v.now {
			ready = append(ready, t)
		}
	}
	slices.SortStableFunc(ready, func(a, b *task) int {
		at, _ := a.decisionAt()
		bt, _ := b.decisionAt()
		if at != bt {
			return int(at - bt)
		}
		return a.order - b.order
	})
	list := make([]Task, len(ready))
	for i, t := range ready {
		list[i] = t.public()
	}
	return list
}

// Pending lists the tasks that cannot move now, in the order in which they were
// started.
func (v *Virtual) Pending() []Task {
	var list []Task
	for _, t := range v.tasks {
		if at, ok := t.decisionAt(); !ok || at > v.now {
			list = append(list, t.public())
		}
	}
	return list
}

// AppendState writes which task moves when, and which of two that move at one
// instant moves first. Its process decides what a task does when it moves, and goes by
// the name that as returns for its own. With pauses set, any two may come to move at one
// instant.
func (v *Virtual) AppendState(b []byte, pauses bool, as func(process string) string) []byte {
	b = binary.AppendVarint(b, int64(v.now))
	tasks := make([]*task, 0, len(v.tasks))
	for _, t := range v.tasks {
		if _, known := t.wakesAt(); known {
			tasks = append(tasks, t)
		}
	}
	slices.SortFunc(tasks, func(s, t *task) int { return s.order - t.order })
	if pauses {
		for _, t := range tasks {
			b = append(append(b, as(t.process.name)...), ' ')
		}
	}
	slices.SortStableFunc(tasks, func(s, t *task) int {
		sat, _ := s.wakesAt()
		tat, _ := t.wakesAt()
		return cmp.Compare(sat, tat)
	})
	for _, t := range tasks {
		at, _ := t.wakesAt()
		b = append(append(b, as(t.process.name)...), byte(t.state))
		b = binary.AppendVarint(b, int64(at))
		b = binary.AppendVarint(b, int64(max(t.process.pausedUntil-v.now, 0)))
	}
	return b
}

// Step runs t, and whom it hands its slice over to, until they park again. T must
// come from the last Ready.
func (v *Virtual) Step(t Task) {
	waits := t.task
	waits.fresh = true
	v.move(waits)
	for waits.state == Waiting && waits.waitFor.handed {
		goesOn := waits.waitFor
		goesOn.handed = false
		v.move(goesOn)
		if goesOn.finished() {
			v.move(waits)
		}
	}
}

// Next returns the next time after now at which anything moves by itself.
func (v *Virtual) Next() (time.Duration, bool) {
	var next time.Duration
	found := false
	for _, t := range v.tasks {
		at, ok := t.wakesAt()
		if ok && at > v.now && (!found || at < next) {
			next, found = at, true
		}
	}
	return next, found
}

// Advance moves the clock forward to at. It never moves it back.
func (v *Virtual) Advance(at time.Duration) { v.now = max(v.now, at) }

// Stop kills every process and returns when all their goroutines have ended. If
// one panics meanwhile, Stop panics at the very end.
func (v *Virtual) Stop() {
	var first *panics.Error
	for len(v.tasks) > 0 {
		t := v.tasks[0]
		t.process.dead = true
		if p := panics.Try(func() { v.reap(t) }); first == nil {
			first = p
		}
	}
	if first != nil {
		panic(first)
	}
}

// move hands control to t until it parks or ends.
func (v *Virtual) move(t *task) {
	v.current = t
	t.atOnce = nil
	if t.begun {
		t.resume <- struct{}{}
	} else {
		t.begun = true
		go t.main()
	}
	<-v.parked
	v.current = nil
	if t.state == ended {
		v.tasks = slices.DeleteFunc(v.tasks, func(o *task) bool { return o == t })
	}
	if t.panicked != nil {
		panic(t.panicked)
	}
}

// reap ends a task of a dead process.
func (v *Virtual) reap(t *task) {
	if t.begun {
		v.move(t)
		return
	}
	t.state = ended
	v.tasks = slices.DeleteFunc(v.tasks, func(o *task) bool { return o == t })
}

// settleOne runs one task that needs no decision; it returns false if there is
// none.
func (v *Virtual) settleOne() bool {
	var first *task
	for _, t := range v.tasks {
		if !t.settles() {
			continue
		}
		if first == nil || t.due < first.due || (t.due == first.due && t.order < first.order) {
			first = t
		}
	}
	if first == nil {
		return false
	}
	if first.process.dead {
		v.reap(first)
		return true
	}
	first.fresh = false
	v.move(first)
	return true
}

func (t *task) main() {
	defer func() {
		t.panicked = panics.Of(recover())
		t.state = ended
		t.v.parked <- struct{}{}
	}()
	t.run()
}

// settles reports whether t can move now without a decision.
func (t *task) settles() bool {
	if t.process.dead {
		return true
	}
	if t.process.pausedUntil > t.v.now {
		return false
	}
	switch t.state {
	case Armed:
		return t.due <= t.v.now
	case Waiting:
		return t.waitFor.finished() || t.over()
	case Sleeping, Working, AtGate:
		return t.over()
	default:
		return false
	}
}

func (t *task) over() bool     { return t.ctx != nil && t.ctx.Err() != nil }
func (t *task) finished() bool { return t.state == ended || t.stopped }

// decisionAt returns the time from which t waits for a decision.
func (t *task) decisionAt() (time.Duration, bool) {
	switch t.state {
	case Starting, Sleeping, Working, AtGate:
		return max(t.due, t.process.pausedUntil), true
	default:
		return 0, false
	}
}

// wakesAt returns when t moves or starts to wait for a decision, as far as that
// is known.
func (t *task) wakesAt() (time.Duration, bool) {
	switch {
	case t.state == ended, t.state == Waiting && !t.waitFor.finished():
		return 0, false
	default:
		return max(t.due, t.process.pausedUntil), true
	}
}

type virtualProcess struct {
	v           *Virtual
	name        string
	pausedUntil time.Duration
	dead        bool
}

func (p *virtualProcess) exitIfDead() {
	if p.dead {
		runtime.Goexit()
	}
}

// park returns control to the driver until the task is run again.
func (p *virtualProcess) park(ctx context.Context, state State, doing any, due time.Duration) {
	t := p.v.current
	if state == AtGate && t.state == Armed {
		due = t.due // a timer's function queues from the time it fell due
	} else {
		p.v.order++
		t.order = p.v.order
	}
	t.state, t.doing, t.due, t.ctx = state, doing, due, ctx
	p.v.parked <- struct{}{}
	<-t.resume
	p.exitIfDead()
}

func (p *virtualProcess) add(state State, name string, d time.Duration, f func()) *task {
	p.v.order++
	t := &task{
		v: p.v, process: p, run: f, resume: make(chan struct{}),
		state: state, name: name, business: state == Starting, due: p.v.now + max(d, 0), order: p.v.order,
	}
	p.v.tasks = append(p.v.tasks, t)
	return t
}

func (p *virtualProcess) Go(delay time.Duration, f func()) {
	p.add(Starting, "", delay, f)
}

func (p *virtualProcess) Now() time.Time {
	p.exitIfDead()
	return Epoch.Add(p.v.now)
}

func (p *virtualProcess) Sleep(ctx context.Context, d time.Duration) error {
	p.exitIfDead()
	if d <= 0 {
		return nil
	}
	p.park(ctx, Sleeping, nil, p.v.now+d)
	if p.v.current.due > p.v.now && ctx.Err() != nil {
		return cause(ctx)
	}
	return nil
}

type virtualSignal struct {
	fired   bool
	sleeper *task
}

func (s *virtualSignal) Fire() {
	s.fired = true
	if t := s.sleeper; t != nil && t.due > t.v.now {
		t.due = t.v.now
		t.v.order++
		t.order = t.v.order
	}
}

func (p *virtualProcess) NewSignal() Signal { return &virtualSignal{} }

func (p *virtualProcess) Await(ctx context.Context, d time.Duration, sig Signal) (bool, error) {
	p.exitIfDead()
	s := sig.(*virtualSignal)
	if !s.fired && d > 0 {
		s.sleeper = p.v.current
		p.park(ctx, Sleeping, nil, p.v.now+d)
		s.sleeper = nil
	}
	fired := s.fired
	s.fired = false
	if !fired && ctx.Err() != nil && p.v.current.due > p.v.now {
		return false, cause(ctx)
	}
	return fired, nil
}

func (p *virtualProcess) Work(ctx context.Context, d time.Duration) error {
	p.exitIfDead()
	due := max(p.v.now, p.pausedUntil) + d
	if due == p.v.now {
		return nil
	}
	p.park(ctx, Working, nil, due)
	if p.v.current.due > p.v.now && ctx.Err() != nil {
		return cause(ctx)
	}
	return nil
}

func (p *virtualProcess) Gate(ctx context.Context, doing any) error {
	p.exitIfDead()
	t := p.v.current
	if !t.fresh || p.pausedUntil > p.v.now {
		p.park(ctx, AtGate, doing, p.v.now)
	}
	t.fresh = false
	if ctx.Err() != nil {
		return cause(ctx)
	}
	return nil
}

func (p *virtualProcess) AfterFunc(d time.Duration, doing string, f func()) Timer {
	p.exitIfDead()
	t := p.add(Armed, doing, d, f)
	if c := p.v.current; c != nil && d <= 0 {
		c.atOnce = append(c.atOnce, t)
	}
	return &virtualTimer{t}
}

func (p *virtualProcess) WithDeadline(ctx context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	t := p.AfterFunc(deadline.Sub(p.Now()), Deadline, func() { end(context.DeadlineExceeded) })
	return ctx, func() {
		t.Stop()
		end(context.Canceled)
	}
}

func (p *virtualProcess) Pause(d time.Duration) {
	until := p.v.now + d
	from := max(p.v.now, p.pausedUntil)
	if until <= from {
		return
	}
	for _, t := range p.v.tasks {
		if t.process == p && t.state == Working {
			t.due += until - from
		}
	}
	p.pausedUntil = until
}

func (p *virtualProcess) Kill() { p.dead = true }

type virtualTimer struct{ t *task }

func (w *virtualTimer) Stop() bool {
	t := w.t
	t.process.exitIfDead()
	if t.state != Armed || t.stopped {
		return false
	}
	t.stopped = true
	v := t.v
	v.tasks = slices.DeleteFunc(v.tasks, func(o *task) bool { return o == t })
	return true
}

func (w *virtualTimer) Wait(ctx context.Context) error {
	t := w.t.v.current // who waits, which may be of another process
	p := t.process
	p.exitIfDead()
	if !w.t.finished() {
		if t.fresh && len(t.atOnce) == 1 && t.atOnce[0] == w.t && w.t.process == p && p.pausedUntil <= p.v.now {
			t.fresh, w.t.fresh, w.t.handed = false, true, true
		}
		t.waitFor = w.t
		p.park(ctx, Waiting, nil, p.v.now)
		if !w.t.finished() {
			return cause(ctx)
		}
	}
	return nil
}
