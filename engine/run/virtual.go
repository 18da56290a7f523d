package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"relock/engine/check"
	"relock/engine/clock"
	"relock/engine/fault"
	"relock/engine/journal"
	"relock/engine/panics"
	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/sched"
	"relock/engine/store"
	"relock/engine/trace"
)

// ErrDiverged is returned where a schedule does not fit what can move.
var ErrDiverged = errors.New("the schedule does not fit the scenario")

// Stepper plays a run on the virtual clock, move by move: one goroutine moves
// at a time, and all that happens is a function of scenario, seed and moves.
// It is not safe for concurrent use.
type Stepper struct {
	checked

	r         *Run
	policy    sched.Policy
	clock     *clock.Virtual
	ready     []clock.Task
	faults    []scenario.Fault // of Redis, still to come
	idle      time.Duration    // since when every thread has ended, or forever
	end       time.Duration    // when an outlived key has had its lease, or forever
	decisions int              // choices made
	ahead     int              // moves of a schedule that are still to be made
	over      bool
	closed    bool

	step     int
	newSlice bool // the next event begins a row of its own
	nodes    []*node
	post     *post

	strikes   []scenario.Fault // that can be struck by hand
	pointless []Pointless      // of them, when last asked
}

// node is one of the Redises that the run talks to.
type node struct {
	*store.Embedded

	ahead time.Duration   // of its clock before the clients'
	down  bool            // it does not answer
	cut   map[string]bool // the threads that alone it does not answer
}

// Begin starts the run on the virtual clock and lets nothing move yet. Close
// ends it; nobody else may use the run meanwhile. It fails with ErrVirtual, with
// Redis' error, or with a *panics.Error.
//
// The Stepper's methods panic with a *panics.Error where one of the run's
// threads has: then only Close may be called.
func (r *Run) Begin(ctx context.Context) (*Stepper, error) {
	if r.header.Clock != trace.ClockVirtual {
		return nil, ErrVirtual
	}
	s := &Stepper{
		checked: r.newChecked(), r: r, clock: clock.NewVirtual(), idle: forever, end: forever,
		faults: r.timedFaults(), policy: sched.InOrder{}, strikes: strikes(r.sc),
	}
	if r.sc.Policy == scenario.PolicyRandom {
		s.policy = sched.Random(r.sc.Seed)
	}
	for range r.sc.Lock.Nodes {
		s.nodes = append(s.nodes, &node{Embedded: store.NewEmbedded(clock.Epoch), cut: map[string]bool{}})
	}
	r.rec = s
	client := func(node int) journal.Scripter { return s.nodes[node].Client() }
	s.post = &post{s: s, boxes: map[string]box{}}
	if err := because(ctx, panics.Catch(func() error { return r.outfit(ctx, client, s.post, s.clock.Process) })); err != nil {
		return nil, errors.Join(err, s.closeNodes())
	}
	for _, t := range r.threads {
		t.process.Go(t.spec.Start, t.main)
	}
	if err := because(ctx, panics.Catch(func() error { return s.settle(ctx) })); err != nil {
		s.Close(err)
		return nil, err
	}
	return s, nil
}

// ErrVirtual is returned by Begin for a run on the wall clock.
var ErrVirtual = errors.New("only a run on the virtual clock can be stepped")

// Close ends the run, for the reason that err says, and closes its log, also
// where it panics. Closing twice is harmless.
func (s *Stepper) Close(err error) {
	if s.closed {
		return
	}
	s.closed = true
	defer func() { _ = s.closeNodes() }() // in memory: there is nothing to lose
	defer s.r.log.Close()
	if p := panics.Try(func() { s.finish(err) }); p != nil {
		s.r.seeEnded(p)
		panic(p)
	}
	s.r.seeEnded(err)
}

func (s *Stepper) closeNodes() error {
	var errs []error
	for _, n := range s.nodes {
		errs = append(errs, n.Close())
	}
	return errors.Join(errs...)
}

// node is the one that a fault happens to.
func (s *Stepper) node(f scenario.Fault) *node { return s.nodes[max(f.Node-1, 0)] }

// finish writes the last event, once.
func (s *Stepper) finish(err error) {
	func() {
		defer s.clock.Stop()
		s.r.killAll()
	}()
	if s.over {
		return
	}
	s.over = true
	s.newSlice = true
	s.emit("", ended(err))
}

// Over tells whether the run has ended.
func (s *Stepper) Over() bool { return s.over }

// executeVirtual plays the scenario's schedule, and then what its policy
// chooses.
func (r *Run) executeVirtual(ctx context.Context) error {
	if err := pause.Here(ctx); err != nil {
		return err //nolint:wrapcheck // ctx's cause
	}
	s, err := r.Begin(ctx)
	if err != nil {
		return err
	}
	err = because(ctx, panics.Catch(func() error { return s.play(ctx) }))
	s.Close(err)
	return err
}

func (s *Stepper) play(ctx context.Context) error {
	if err := s.Replay(ctx, s.r.sc.Schedule, func(scenario.Move) error { return nil }); err != nil {
		return err
	}
	for !s.over {
		if err := s.choose(ctx, s.chosen); err != nil {
			return err
		}
	}
	return nil
}

// Replay makes the moves of a schedule; made is called after each of them. It
// fails with ErrDiverged, like Apply, or with the error of made.
func (s *Stepper) Replay(ctx context.Context, moves []scenario.Move, made func(scenario.Move) error) error {
	defer func() { s.ahead = 0 }()
	for i, m := range moves {
		s.ahead = len(moves) - i - 1
		if err := s.Apply(ctx, m); err != nil {
			return Diverged(i+1, err)
		}
		if err := made(m); err != nil {
			return err
		}
	}
	return nil
}

// Diverged is the error of a schedule whose nth decision, from 1, was refused;
// other errors it leaves as they are.
func Diverged(n int, err error) error {
	var refused *Refusal
	if errors.As(err, &refused) {
		return &Divergence{Decision: n, Why: refused}
	}
	return err
}

// Divergence is the ErrDiverged of one decision.
type Divergence struct {
	Decision int // from 1
	Why      *Refusal
}

// Says implements [phrase.Speaker].
func (d *Divergence) Says() phrase.Wording {
	return phrase.Say("the moves do not fit the scenario at decision %d: %s", d.Decision, d.Why.Says())
}

// Error says at which decision they parted, and why.
func (d *Divergence) Error() string {
	return fmt.Sprintf("%v: decision %d: %v", ErrDiverged, d.Decision, d.Why)
}

// Unwrap is ErrDiverged and the refusal.
func (d *Divergence) Unwrap() []error { return []error{ErrDiverged, d.Why} }

// killAll ends what is left of the threads when the run is over.
func (r *Run) killAll() {
	for _, t := range r.threads {
		t.die()
		t.hasAsked() // one that died before it asked holds up nobody
	}
}

// Apply makes a move. It fails with a *Refusal, and then nothing has changed
// but that time may have passed; with ErrLimit, with ctx's cause, or with
// Redis' error.
func (s *Stepper) Apply(ctx context.Context, m scenario.Move) error {
	switch {
	case s.over:
		return &Refusal{Reason: IsOver}
	case m.Fault != nil:
		return s.strikeByHand(ctx, *m.Fault)
	case m.Until > 0:
		return s.wait(ctx, m.Until)
	default:
		return s.choose(ctx, func() (int, error) { return s.among(m.Choice) })
	}
}

// among is a choice that can be made, or a *Refusal.
func (s *Stepper) among(choice int) (int, error) {
	if choice >= len(s.ready) {
		return 0, &Refusal{Reason: NoChoice, Choice: choice, Choices: len(s.ready)}
	}
	return choice, nil
}

// chosen is the policy's choice.
func (s *Stepper) chosen() (int, error) { return s.policy.Choose(s.decisions, len(s.ready)), nil }

// choose lets time pass until something can move, and moves it.
func (s *Stepper) choose(ctx context.Context, choice func() (int, error)) error {
	for len(s.ready) == 0 {
		if err := s.pass(ctx, forever); err != nil {
			return err
		}
		if s.over {
			return nil
		}
	}
	i, err := choice()
	if err != nil {
		return err
	}
	s.newSlice = true
	s.decisions++
	s.clock.Step(s.ready[i])
	return s.settle(ctx)
}

// wait lets time pass to the instant at, whoever could move.
func (s *Stepper) wait(ctx context.Context, at time.Duration) error {
	if at <= s.clock.Now() {
		return &Refusal{Reason: IsPast, At: s.clock.Now()}
	}
	for s.clock.Now() < at && !s.over {
		if err := s.pass(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// pass moves the clock to the next instant at which anything happens, but
// not beyond limit.
func (s *Stepper) pass(ctx context.Context, limit time.Duration) error {
	next, ok := s.clock.Next()
	if !ok {
		next = forever
	}
	if len(s.faults) > 0 && s.end == forever {
		next = min(next, s.faults[0].Time)
	}
	s.advance(min(next, s.end, limit))
	return s.settle(ctx)
}

// settle does what follows by itself at this instant: faults of Redis, what
// is local to a client, and the end of the run when nothing is left to decide.
func (s *Stepper) settle(ctx context.Context) error {
	for {
		if err := pause.Here(ctx); err != nil {
			return err //nolint:wrapcheck // ctx's cause
		}
		if s.atLimit {
			return s.r.limit()
		}
		for s.end == forever && len(s.faults) > 0 && s.faults[0].Time <= s.clock.Now() {
			if err := s.strike(ctx, s.faults[0]); err != nil {
				return err
			}
			s.faults = s.faults[1:]
		}
		s.newSlice = true
		s.ready = s.clock.Ready()
		asking := s.inVain()
		if len(s.r.alive()) == 0 {
			s.idle = min(s.idle, s.clock.Now())
		}
		switch {
		case s.r.network.carries(): // and what arrives can still break a rule
			s.end = forever
		case s.end != forever:
		case s.r.stuck(), s.nothingComes():
			s.stop(s.checker.Stuck(s.r.alive(), nil))
			return nil
		case asking != nil:
			s.stop(s.checker.Stuck(s.r.alive(), asking))
			return nil
		case s.idle != forever:
			s.end = max(s.clock.Now(), s.idle+s.r.sc.Lock.Lease)
		}
		if s.end != forever && (!s.exists() || s.clock.Now() >= s.end) {
			s.stop(s.checker.Finish(s.key())...)
			return nil
		}
		if len(s.ready) > 0 || s.end == forever {
			return nil
		}
		next, ok := s.clock.Next()
		if !ok {
			next = s.end
		}
		s.advance(min(next, s.end))
	}
}

// nothingComes tells whether threads are left that nothing will ever move.
func (s *Stepper) nothingComes() bool {
	_, more := s.clock.Next()
	return len(s.ready) == 0 && !more && len(s.faults) == 0 && len(s.r.alive()) > 0
}

// stop ends the run with what it broke last.
func (s *Stepper) stop(broken ...check.Finding) {
	for _, one := range broken {
		s.newSlice = true
		s.emit("", one.Violation)
	}
	s.finish(nil)
}

// timedFaults are the faults of Redis itself, in the order of their times.
func (r *Run) timedFaults() []scenario.Fault {
	var timed []scenario.Fault
	for _, f := range r.sc.Faults {
		if f.Timed {
			timed = append(timed, f)
		}
	}
	slices.SortStableFunc(timed, func(a, b scenario.Fault) int { return cmp.Compare(a.Time, b.Time) })
	return timed
}

// strike does to Redis what the fault says, and tells of it.
func (s *Stepper) strike(ctx context.Context, f scenario.Fault) error {
	e := s.node(f)
	var err error
	before := e.Key(s.r.key)
	switch f.Do {
	case fault.Evict:
		e.Evict(s.r.key)
	case fault.Restart:
		err = e.Restart(ctx, f.Keep)
	case fault.FailOver:
		err = e.FailOver(ctx, f.Behind)
	case fault.ScriptFlush:
		err = e.FlushScripts(ctx)
	case fault.Down, fault.Up:
		if f.Thread != "" {
			e.cut[f.Thread] = f.Do == fault.Down
		} else {
			e.down = f.Do == fault.Down
		}
	case fault.ClockJump:
		e.ahead += f.By
		e.Jump(e.timeAt(s.clock.Now()))
	}
	if err != nil {
		return fmt.Errorf("run: %s: %w", f.Do, err)
	}
	s.newSlice = true
	s.emit("", described(f))
	if f.Do == fault.ClockJump && before.Exists() && !e.Key(s.r.key).Exists() {
		before.PTTL = 0
		s.newSlice = true
		s.emit("", trace.Expired{Was: before, Node: s.r.nodeNumber(max(f.Node-1, 0))})
	}
	return nil
}

// timeAt is what the node's clock shows when the clients' shows at.
func (n *node) timeAt(at time.Duration) time.Time { return clock.Epoch.Add(at + n.ahead) }

// states is the key on each node.
func (s *Stepper) states() []trace.KeyState {
	list := make([]trace.KeyState, len(s.nodes))
	for i, n := range s.nodes {
		list[i] = n.Key(s.r.key)
	}
	return list
}

// exists tells whether the key stands on any node.
func (s *Stepper) exists() bool {
	return slices.ContainsFunc(s.states(), trace.KeyState.Exists)
}

// key is the key, or what a majority of the nodes has.
func (s *Stepper) key() trace.KeyState {
	if len(s.nodes) == 1 {
		return s.nodes[0].Key(s.r.key)
	}
	return trace.Majority(s.states())
}

func (s *Stepper) down(t *thread, node int) bool {
	n := s.nodes[node]
	return n.down || n.cut[t.spec.Name]
}

func (s *Stepper) since(at time.Time) time.Duration { return at.Sub(clock.Epoch) }

func (s *Stepper) mayEnd() {}

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

func (t *thread) alive() bool { return !t.ended.Load() }

func (r *Run) alive() []string {
	names := []string{}
	for _, t := range r.threads {
		if t.alive() {
			names = append(names, t.spec.Name)
		}
	}
	return names
}

// expiry is the next instant at which a node will drop the key.
func (s *Stepper) expiry() (time.Duration, bool) {
	soonest, found := forever, false
	for _, key := range s.states() {
		if key.PTTL > 0 {
			at := s.clock.Now().Truncate(time.Millisecond) + time.Duration(key.PTTL)*time.Millisecond
			soonest, found = min(soonest, at), true
		}
	}
	return soonest, found
}

// advance moves the clock to at, or to the expiry of the key if that is
// earlier.
func (s *Stepper) advance(at time.Duration) {
	before := s.states()
	if expiry, ok := s.expiry(); ok {
		at = min(at, expiry)
	}
	s.clock.Advance(at)
	for i, n := range s.nodes {
		n.SetTime(n.timeAt(at))
		if before[i].Exists() && !n.Key(s.r.key).Exists() {
			before[i].PTTL = 0
			s.newSlice = true
			s.emit("", trace.Expired{Was: before[i], Node: s.r.nodeNumber(i)})
		}
	}
}

func (s *Stepper) emit(thread string, body trace.Body) {
	s.put(trace.Event{Thread: thread, Body: body, Key: s.key()})
}

// place gives an event the nodes' states, where there are several: a command
// knows its own node's to the command, and the others stand still.
func (s *Stepper) place(e *trace.Event) {
	if len(s.nodes) == 1 {
		return
	}
	e.Nodes = s.states()
	if c, ok := e.Body.(trace.Command); ok {
		e.Nodes[c.Node-1] = e.Key
	}
	e.Key = trace.Majority(e.Nodes)
}

func (s *Stepper) put(e trace.Event) {
	if s.newSlice {
		s.step++
		s.newSlice = false
	}
	s.place(&e)
	e.Step, e.At = s.step, trace.MillisOf(s.clock.Now())
	s.append(e)
}

func (s *Stepper) doubt(error) {}

func (s *Stepper) local(thread string, body trace.Body) { s.emit(thread, body) }

func (s *Stepper) unlocks(thread string, u unlock) func() {
	s.believed.calls(thread, u)
	return func() { s.believed.returns(thread) }
}

func (s *Stepper) sending() func(*thread, []sent) {
	return func(t *thread, records []sent) {
		for _, one := range records {
			s.nodes[one.node].Wrote(writes(one))
			for _, e := range s.r.commands(one) {
				e.Thread = t.spec.Name
				s.put(e)
			}
		}
		s.post.deliver(records)
	}
}

// writes are the commands of a record that changed something.
func writes(s sent) [][]string {
	var out [][]string
	for _, e := range s.rec.Entries {
		if journal.Writes(e.Args[0]) && e.Err == "" {
			out = append(out, e.Args)
		}
	}
	return out
}
