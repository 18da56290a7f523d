package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"relock/engine/check"
	"relock/engine/clock"
	"relock/engine/fault"
	"relock/engine/journal"
	"relock/engine/lock"
	"relock/engine/outside/ownlock"
	"relock/engine/panics"
	"relock/engine/pause"
	"relock/engine/recall"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Stepper plays a run on the virtual clock, move by move: one goroutine moves
// at a time, and all that happens is a function of scenario, seed and moves.
// It is not safe for concurrent use.
type Stepper struct {
	checked

	r         *Run
	policy    policy
	clock     *clock.Virtual
	ready     []clock.Task
	faults    []scenario.Fault // of Redis, still to come
	idle      time.Duration    // since when every thread has ended, or forever
	end       time.Duration    // when an outlived key has had its lease, or forever
	decisions int              // choices made
	ahead     int              // moves of a schedule that are still to be made
	over      bool
	closed    bool
	stood     bool           // a thread stood still for longer than its lease
	failed    error          // why nothing can move any more: nobody knows what a script would do
	memory    *recall.Memory // of an own lock, where nobody else has one

	step     int
	newSlice bool // the next event begins a new row
	nodes    []*node
	mail     *mailbox

	pauses    bool // any two tasks may come to move at one instant
	failsOver bool // what a replica or a disk lacks may come to matter
	endless   bool // who was refused may come to matter

	strikes   []scenario.Fault             // that can be struck by hand, once asked
	pointless []Pointless                  // of them, when last asked
	waiting   map[*thread][]scenario.Fault // struck by hand, and still to come
}

// server is a Redis in this process: a miniredis, or one that answers from
// memory.
type server interface {
	Key(name string) trace.KeyState
	SetTime(now time.Time)
	Wrote(commands [][]string)
	HasWrites() bool
	Empty() bool
	HasExpiry() bool
	HasScripts(ctx context.Context, digests []string) (bool, error)
	Evict(name string) bool
	Restart(ctx context.Context, keep bool) error
	Restore(ctx context.Context, lose time.Duration) error
	FlushScripts(ctx context.Context) error
	Jump(now time.Time)
	FailOver(ctx context.Context, behind int) error
	Close() error
}

// node is one of the Redises that the run talks to.
type node struct {
	server

	ahead   time.Duration // of its clock before the clients'
	outages outages

	split func(context.Context) (server, journal.Scripter, error)
	old   *oldMaster // of two masters, or nil

	// Of a lock that waits for replicas.
	lives   int            // how often its connections have broken
	wrote   map[string]int // by thread: in which of its lives
	unacked int            // writes since WAIT was last answered
}

// oldMaster is the master of those who are cut off from the new one.
type oldMaster struct {
	server

	client  journal.Scripter
	threads map[string]bool // who is cut off
	since   time.Duration   // since the run began
	until   time.Duration   // since the run began: when it has its writes lost
}

// Over tells whether the run has ended.
func (s *Stepper) Over() bool { return s.over }

// Ended returns how each thread has ended, in the scenario's order, "" for one
// that has not, and since when all have: now if one has not.
func (s *Stepper) Ended() (results []trace.Result, since time.Duration) {
	results = make([]trace.Result, len(s.r.threads))
	for i, t := range s.r.threads {
		results[i], _ = t.result.Load().(trace.Result)
	}
	return results, min(s.idle, s.clock.Now())
}

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
		if n.old != nil {
			errs = append(errs, n.old.Close())
		}
	}
	if s.memory != nil {
		errs = append(errs, s.memory.Close())
	}
	return errors.Join(errs...)
}

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
	s.emit("", "", ended(err))
}

// stop ends the run with what it broke last.
func (s *Stepper) stop(broken ...check.Finding) {
	for _, one := range broken {
		s.newSlice = true
		s.emit("", one.Lock, one.Violation)
	}
	s.finish(nil)
}

// among is a choice that can be made, or a *Refusal.
func (s *Stepper) among(choice int) (int, error) {
	if choice >= len(s.ready) {
		return 0, &Refusal{Reason: NoChoice, Choice: choice, Choices: len(s.ready)}
	}
	return choice, nil
}

// chosen is the policy's choice.
func (s *Stepper) chosen() (int, error) { return s.policy.choose(s.decisions, len(s.ready)), nil }

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
	s.r.note(s.ready[i])
	s.clock.Step(s.ready[i])
	return s.settle(ctx)
}

// wait lets time pass to the instant at, no matter who could move.
func (s *Stepper) wait(ctx context.Context, at time.Duration) error {
	if at <= s.clock.Now() {
		return &Refusal{Reason: IsPast, At: s.clock.Now()}
	}
	for s.clock.Now() < at && !s.over {
		ends := s.leases()
		if err := s.pass(ctx, at); err != nil {
			return err
		}
		s.stood = s.stood || ends <= s.clock.Now()
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
	if s.end == forever {
		next = min(next, s.backAt())
	}
	s.advance(min(next, s.end, limit))
	return s.settle(ctx)
}

// settle does what follows by itself at this instant: faults of Redis, things local to a
// client, and the end of the run when nothing is left to decide.
func (s *Stepper) settle(ctx context.Context) error {
	for {
		if err := pause.Here(ctx); err != nil {
			return err
		}
		if s.failed != nil {
			return s.failed
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
		if s.end == forever && s.backAt() <= s.clock.Now() {
			s.comeBack()
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
		case s.idle != forever, s.r.stuck():
			s.end = min(s.idle, s.clock.Now()) + s.r.sc.Lock.Lease + s.r.sc.Lock.MaxHold
		case s.nothingComes(), asking != nil:
			s.stop(s.checker.Stuck(s.r.alive(), asking))
			return nil
		case s.deadlocked():
			s.stop()
			return nil
		}
		if s.end != forever && (!s.exists() || !s.sends() || s.clock.Now() >= s.end) {
			return s.ask(ctx)
		}
		switch {
		case s.end == forever, len(s.ready) > 0 && !s.r.stuck():
			return nil
		case len(s.ready) > 0: // who hangs decides nothing any more, but is renewed
			s.clock.Step(s.ready[0])
		default:
			next, ok := s.clock.Next()
			if !ok {
				next = s.end
			}
			s.advance(min(next, s.end))
		}
	}
}

// sends reports whether anything may yet send a command: a watchdog that has outlived
// its thread, or a release that is tried again.
func (s *Stepper) sends() bool {
	return len(s.ready) > 0 || slices.ContainsFunc(s.clock.Pending(), func(t clock.Task) bool {
		return t.State != clock.Waiting && t.Name != lock.OwnLease && t.Name != clock.Deadline && !(t.Business && s.r.thread(t.Process).stalls.Load())
	})
}

// ask ends the run with the answer to what is asked last: would a fresh thread get in,
// and when? If somebody goes on sending, what is left will never end.
func (s *Stepper) ask(ctx context.Context) error {
	if s.muted {
		s.stop()
		return nil
	}
	after, err := s.opens(ctx)
	if err != nil {
		return err
	}
	if after > 0 && s.sends() {
		after = check.Never
	}
	var broken []check.Finding
	if after > 0 {
		broken = s.checker.ShutOut(s.clock.Now(), after, s.r.sc.Lock.Lease, nil, s.atTheEnd()...)
	}
	s.stop(broken...)
	return nil
}

// atTheEnd is what ShutOut judges: the key, or those of several locks.
func (s *Stepper) atTheEnd() []trace.KeyState {
	if s.r.sc.Locks != nil {
		return s.states()
	}
	return []trace.KeyState{s.key()}
}

// deadlocked tells whether all threads that are left wait for one another's locks
// without end, and nothing is to come that could change that: their leases are renewed.
func (s *Stepper) deadlocked() bool {
	l := s.r.sc.Lock
	if s.muted || s.r.sc.Locks == nil || l.Watchdog == 0 || l.MaxHold > 0 || s.ahead > 0 || len(s.faults) > 0 || s.backAt() != forever {
		return false
	}
	for _, t := range s.r.threads {
		if t.alive() && (!t.endless() || len(s.waiting[t]) > 0) {
			return false
		}
	}
	return s.checker.Deadlocked(s.r.alive())
}

// nothingComes tells whether threads are left that nothing will ever move.
func (s *Stepper) nothingComes() bool {
	_, more := s.clock.Next()
	return len(s.ready) == 0 && !more && len(s.faults) == 0 && s.backAt() == forever && len(s.r.alive()) > 0
}

// inVain is Run.inVain where nothing is to come: no fault, no move of a
// schedule, no expiry, no timer.
func (s *Stepper) inVain() []string {
	if s.muted {
		return nil
	}
	names := s.r.inVain(&s.standstill)
	if names == nil || s.ahead > 0 || len(s.faults) > 0 || s.backAt() != forever || slices.ContainsFunc(s.nodes, func(n *node) bool { return n.HasExpiry() }) {
		return nil
	}
	for _, task := range slices.Concat(s.ready, s.clock.Pending()) {
		if !task.Business {
			return nil
		}
		if slices.ContainsFunc(s.waiting[s.r.thread(task.Process)], func(f scenario.Fault) bool { return momentOf(f) == fault.AtLock }) {
			return nil
		}
	}
	return names
}

// strike does to Redis what the fault says, and tells of it.
func (s *Stepper) strike(ctx context.Context, f scenario.Fault) error {
	e := s.node(f)
	var err error
	before := s.statesOn(e)
	switch f.Do {
	case fault.Evict:
		e.Evict(s.r.key)
		e.unacked++
	case fault.Restart:
		if f.Lose > 0 {
			err = e.Restore(ctx, f.Lose)
		} else {
			err = e.Restart(ctx, f.Keep)
		}
		if f.For > 0 {
			e.outages.strike(f, s.clock.Now())
		}
	case fault.FailOver:
		f.Behind = s.lacks(e, f)
		e.unacked = max(e.unacked-f.Behind, 0)
		err = e.FailOver(ctx, f.Behind)
	case fault.ScriptFlush:
		err = e.FlushScripts(ctx)
	case fault.TwoMasters:
		err = s.divide(ctx, e, f)
	case fault.Down, fault.AnswerError, fault.Up:
		e.outages.strike(f, s.clock.Now())
	case fault.ClockJump:
		e.ahead += f.By
		e.Jump(e.timeAt(s.clock.Now()))
	}
	if err != nil {
		return fmt.Errorf("run: %s: %w", f.Do, err)
	}
	if f.Do == fault.Restart || f.Do == fault.FailOver {
		e.lives++
	}
	s.newSlice = true
	s.emit("", "", described(f))
	if f.Do == fault.ClockJump {
		s.lapse(e, before)
	}
	return nil
}

// divide has a thread go on with the node's old master. A first one makes two
// masters of it; a later one finds them, and they last until its time is over, too.
func (s *Stepper) divide(ctx context.Context, n *node, f scenario.Fault) error {
	if n.old == nil {
		server, client, err := n.split(ctx)
		if err != nil {
			return err
		}
		n.old = &oldMaster{server: server, client: client, threads: map[string]bool{}, since: s.clock.Now()}
		n.lives++
	}
	n.old.threads[f.Thread] = true
	n.old.until = max(n.old.until, s.clock.Now()+f.For)
	delete(n.wrote, f.Thread) // its connection to the new one is broken
	return nil
}

// advance moves the clock to at, or to the expiry of the key if that is
// earlier.
func (s *Stepper) advance(at time.Duration) {
	before := make([][]trace.KeyState, len(s.nodes))
	for i, n := range s.nodes {
		before[i] = s.statesOn(n)
	}
	if expiry, ok := s.expiry(); ok {
		at = min(at, expiry)
	}
	s.clock.Advance(at)
	for i, n := range s.nodes {
		n.SetTime(n.timeAt(at))
		if n.old != nil {
			n.old.SetTime(n.timeAt(at))
		}
		s.lapse(n, before[i])
	}
}

// lapse tells which locks have ended on a node that has dropped their keys since before.
func (s *Stepper) lapse(n *node, before []trace.KeyState) {
	for i, after := range s.statesOn(n) {
		if was := before[i]; was.Exists() && !after.Exists() {
			was.PTTL = 0
			s.newSlice = true
			lock := ""
			if s.r.sc.Locks != nil {
				lock = s.r.sc.Locks[i]
			}
			s.emit("", lock, trace.Expired{Was: was, Node: s.r.nodeNumber(slices.Index(s.nodes, n))})
		}
	}
}

// statesOn is each lock's key on a node, in the scenario's order.
func (s *Stepper) statesOn(n *node) []trace.KeyState {
	if s.r.sc.Locks == nil {
		return []trace.KeyState{n.Key(s.r.key)}
	}
	list := make([]trace.KeyState, len(s.r.sc.Locks))
	for i, key := range s.r.sc.Locks {
		list[i] = n.Key(key)
	}
	return list
}

// expiry is the next instant at which a node will drop the key.
func (s *Stepper) expiry() (time.Duration, bool) {
	soonest, found := forever, false
	for _, key := range s.states() {
		if at, ok := s.expires(key); ok {
			soonest, found = min(soonest, at), true
		}
	}
	return soonest, found
}

// expires is when a node will drop a key that it has now.
func (s *Stepper) expires(key trace.KeyState) (time.Duration, bool) {
	now := s.clock.Now().Truncate(time.Millisecond)
	if key.PTTL <= 0 || key.PTTL > (scenario.MaxSchedule-now).Milliseconds() { // that outlasts any run
		return 0, false
	}
	return now + time.Duration(key.PTTL)*time.Millisecond, true
}

// node is the one that a fault happens to.
func (s *Stepper) node(f scenario.Fault) *node { return s.nodes[max(f.Node-1, 0)] }

// timeAt is what the node's clock shows when the clients' shows at.
func (n *node) timeAt(at time.Duration) time.Time { return clock.Epoch.Add(at + n.ahead) }

// states is the key on each node or, of several locks on their one node, of each.
func (s *Stepper) states() []trace.KeyState {
	if s.r.sc.Locks != nil {
		return s.statesOn(s.nodes[0])
	}
	list := make([]trace.KeyState, len(s.nodes))
	for i, n := range s.nodes {
		list[i] = n.Key(s.r.key)
	}
	return list
}

// exists reports whether any node has the key.
func (s *Stepper) exists() bool {
	return slices.ContainsFunc(s.states(), trace.KeyState.Exists)
}

// key is the key, of several locks the first one's, or what a majority of the nodes has.
func (s *Stepper) key() trace.KeyState {
	if len(s.nodes) == 1 {
		return s.nodes[0].Key(s.r.key)
	}
	return trace.Majority(s.states())
}

func (s *Stepper) emit(thread, lock string, body trace.Body) {
	if s.muted {
		return
	}
	s.put(trace.Event{Thread: thread, Lock: lock, Body: body, Key: s.key()})
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

// place gives an event the states of nodes or locks, where there are several: a
// command knows its own to the command, and the others stand still.
func (s *Stepper) place(e *trace.Event) {
	if s.r.sc.Locks != nil {
		e.Locks = make([]trace.LockState, len(s.r.sc.Locks))
		for i, key := range s.statesOn(s.nodes[0]) {
			e.Locks[i] = trace.LockState{Lock: s.r.sc.Locks[i], Key: key}
			if _, ok := e.Body.(trace.Command); ok && e.Locks[i].Lock == e.Lock {
				e.Locks[i].Key = e.Key
			}
		}
		e.Key = e.Locks[0].Key
	}
	if len(s.nodes) == 1 {
		return
	}
	e.Nodes = s.states()
	if c, ok := e.Body.(trace.Command); ok {
		e.Nodes[c.Node-1] = e.Key
	}
	e.Key = trace.Majority(e.Nodes)
}

func (s *Stepper) local(thread, lock string, body trace.Body) { s.emit(thread, lock, body) }

func (s *Stepper) believes(change func(beliefs)) { change(s.believed) }

func (s *Stepper) sending() func(*thread, []sent) {
	return func(t *thread, records []sent) {
		for _, one := range records {
			n := s.nodes[one.node]
			aside := n.aside(t)
			if (s.failsOver || s.r.protocol().Replicas > 0) && !aside {
				s.notes(n, t, writes(one))
			}
			if s.muted {
				continue
			}
			for _, e := range s.r.commands(one) {
				e.Thread, e.Lock = t.spec.Name, t.lockOf(e.Body)
				if b, ok := e.Body.(trace.Command); ok && aside {
					left := e.Key
					b.OldMaster, b.OldKey = true, &left
					e.Body, e.Key = b, n.Key(s.r.key)
				}
				s.put(e)
			}
		}
		s.mail.deliver(records)
	}
}

// notes notes what a thread wrote at a node: for its replica, and for WAIT.
func (s *Stepper) notes(n *node, t *thread, wrote [][]string) {
	if len(wrote) == 0 {
		return
	}
	n.wrote[t.spec.Name] = n.lives
	if s.failsOver {
		n.Wrote(wrote)
		n.unacked++
	}
}

// writes are the commands of a record that changed something.
func writes(s sent) [][]string {
	var out [][]string
	for _, e := range s.rec.Entries {
		if e.Err == "" && journal.Wrote(e.Args, e.Reply) {
			out = append(out, e.Args)
		}
	}
	return out
}

func (s *Stepper) refuses(t *thread, node int) error {
	n, least := s.nodes[node], s.r.sc.Lock.MinReplicas
	if n.aside(t) && least.Count > 0 && s.clock.Now() >= n.old.since+least.Within {
		answer, _ := fault.ErrorReplyOf("NOREPLICAS")
		return answer
	}
	return n.outages.of(t)
}

// aside tells whether a thread is with the old one of two masters.
func (n *node) aside(t *thread) bool { return n.old != nil && n.old.threads[t.spec.Name] }

// lacks is how many writes a replica that takes over does not have: none that were
// acknowledged, if it is one of those that do.
func (s *Stepper) lacks(n *node, f scenario.Fault) int {
	if f.Replica <= s.r.protocol().Replicas && f.Replica > 0 {
		return min(f.Behind, n.unacked)
	}
	return f.Behind
}

func (s *Stepper) blocks(t *thread, node int, within time.Duration) time.Duration {
	if s.nodes[node].aside(t) { // the replicas are with the new one
		return within
	}
	return 0
}

func (s *Stepper) acknowledged(_ context.Context, t *thread, node, replicas int, _ time.Duration) (journal.Record, error) {
	n := s.nodes[node]
	if n.aside(t) {
		return s.answered(n.old.server, n, 0), nil
	}
	if n.wrote[t.spec.Name] != n.lives {
		return journal.Record{}, reset("read")
	}
	n.unacked = 0
	return s.answered(n.server, n, replicas), nil
}

// answered is the record of a command that changes nothing.
func (s *Stepper) answered(by server, n *node, reply int) journal.Record {
	at := n.timeAt(s.clock.Now()).Sub(time.Unix(0, 0))
	return journal.Record{Time: at, Entries: []journal.Entry{{Reply: int64(reply), Key: by.Key(s.r.key)}}}
}

func (s *Stepper) goesOn(f scenario.Fault, node int) {
	s.nodes[node].outages.strike(f, s.clock.Now())
}

// backAt is the next instant at which a node serves again by itself, or forever.
func (s *Stepper) backAt() time.Duration {
	at := forever
	for _, n := range s.nodes {
		at = min(at, n.outages.backAt())
		if n.old != nil {
			at = min(at, n.old.until)
		}
	}
	return at
}

// comeBack lets nodes serve again whose time has come, and tells of it.
func (s *Stepper) comeBack() {
	for i, n := range s.nodes {
		for _, thread := range n.outages.back(s.clock.Now()) {
			s.newSlice = true
			s.emit("", "", trace.Fault{Do: fault.Up, Node: s.r.nodeNumber(i), Thread: thread})
		}
		if n.old != nil && n.old.until <= s.clock.Now() {
			for _, thread := range slices.Sorted(maps.Keys(n.old.threads)) {
				s.newSlice = true
				s.emit("", "", trace.Fault{Do: fault.OneMaster, Node: s.r.nodeNumber(i), Thread: thread})
			}
			_ = n.old.Close() // in memory: there is nothing to lose
			n.old = nil
		}
	}
}

func (s *Stepper) since(at time.Time) time.Duration { return at.Sub(clock.Epoch) }

func (s *Stepper) mayEnd() {}

func (s *Stepper) doubt(err error) {
	if s.failed != nil || !errors.Is(err, recall.ErrUnanswered) {
		return
	}
	s.failed = fmt.Errorf("run: %w", err)
	var mistake *ownlock.Mistake
	if errors.As(err, &mistake) {
		s.failed = mistake
	}
}

func (s *Stepper) guard(f func()) { f() } // who moves the threads hears of their panics

func (s *Stepper) armed(t *thread, place string, wanted func(string) bool) (scenario.Fault, bool) {
	for i, f := range s.waiting[t] {
		if momentOf(f) == place && wanted(f.Do) {
			s.waiting[t] = slices.Delete(s.waiting[t], i, i+1)
			return f, true
		}
	}
	return scenario.Fault{}, false
}
