package run

import (
	"context"
	"slices"
	"time"

	"relock/engine/clock"
	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Next is what a thread or its watchdog does when it moves next.
type Next string

// The values of Option.Next.
const (
	NextStart   Next = "start"   // begins, and asks for the lock
	NextRetry   Next = "retry"   // makes Call once more
	NextWork    Next = "work"    // ends its work, and makes Call
	NextCall    Next = "call"    // makes Call
	NextRenew   Next = "renew"   // the watchdog makes Call
	NextArrive  Next = "arrive"  // a delayed Call reaches Redis, and its answer is waited for
	NextCopy    Next = "copy"    // a late copy of Call reaches Redis
	NextAsk     Next = "ask"     // Call, under way to several nodes at once, asks Node
	NextEnd     Next = "end"     // gives up: Call was its last
	NextNothing Next = "nothing" // it has ended, or hangs
)

// Option is a thread's situation: what it would do next, and what keeps it from doing so.
// Or it is what the network carries for a thread.
type Option struct {
	Thread     string
	Background bool             // its watchdog, or one of several requests to nodes; else its business
	Network    bool             // a request that was held up, which is on its way whatever the thread does
	Choice     int              // its place among those that can move now, or -1
	Next       Next             // what it would do
	Call       lock.Call        // and the call that comes with that
	First      string           // the first Redis command of that call: "EXISTS"
	Lock       string           // of several, the key of the lock that the call is about, "" where that is not known
	Node       int              // that gets it, from 1, where there are several and it is known; else 0
	Retries    int              // how many there are in all
	Handed     bool             // NextRetry hears that it was handed the lock, and need not ask
	Reason     Reason           // it cannot move, or ""
	At         time.Duration    // the instant at which it can, where Why is Waits or IsPaused
	Ended      trace.Result     // where it has
	Armed      []scenario.Fault // that wait for their moment in it
}

// Options lists what every thread would do next: each thread's business, in
// the scenario's order, followed by its watchdog. Commands on the network come last.
func (s *Stepper) Options() []Option {
	var list []Option
	pending := s.clock.Pending()
	for _, t := range s.r.threads {
		business := Option{Thread: t.spec.Name, Choice: -1, Next: NextNothing, Reason: HasEnded}
		if ended, ok := t.result.Load().(trace.Result); ok {
			business.Ended = ended
		}
		if t.stalls.Load() {
			business.Reason = Hangs
		}
		var background []Option
		for i, task := range slices.Concat(s.ready, pending) {
			if task.Process != t.spec.Name {
				continue
			}
			choice := i
			if i >= len(s.ready) {
				choice = -1
			}
			switch o := s.option(t, task, choice); {
			case !o.Background && (choice >= 0 || t.alive()):
				if task.State != clock.Waiting || task.WaitsFor != lock.Acquisition { // else that is its business
					business = o
				}
			case o.Background && (choice >= 0 || o.Next != NextNothing):
				background = append(background, o)
			}
		}
		business.Armed = slices.Clone(s.waiting[t])
		list = append(append(list, business), background...)
	}
	for i, task := range s.ready {
		list = s.appendArrival(list, task, i)
	}
	for _, task := range pending {
		list = s.appendArrival(list, task, -1)
	}
	return list
}

// appendArrival adds a task that is a request under way.
func (s *Stepper) appendArrival(list []Option, task clock.Task, choice int) []Option {
	f, late := s.r.network.of(task)
	if f == nil {
		return list
	}
	o := Option{
		Thread: f.t.spec.Name, Network: true, Choice: choice, Next: NextArrive, Call: f.call, Node: f.node,
		First: s.r.protocol().FirstCommand(f.call.Name, s.r.inLock(f.call.Level)), Lock: f.t.spec.Takes.Key(f.call.Level), At: task.At,
	}
	if late {
		o.Next = NextCopy
	}
	if choice < 0 {
		o.Reason = Waits
	}
	return append(list, o)
}

// option is a task of a thread's process. One in which its business has a lock
// call made, and waits for it, is its business.
func (s *Stepper) option(t *thread, task clock.Task, choice int) Option {
	o := Option{
		Thread: t.spec.Name, Background: !task.Business && task.Name != lock.Acquisition, Choice: choice, Next: NextNothing,
		Call: t.coming(), Retries: t.spec.Retry.Times, At: task.At,
	}
	r, sends := task.Doing.(request)
	if sends {
		o.Call, o.Node = r.call, r.node
	}
	o.First = s.r.protocol().FirstCommand(o.Call.Name, s.r.inLock(o.Call.Level))
	switch task.State {
	case clock.Starting:
		o.Next = NextStart
	case clock.Sleeping:
		o.Next = NextRetry
		if t.working {
			o.Next = NextWork
		}
	case clock.Working:
		o.Next = NextWork
	case clock.AtGate:
		switch {
		case !o.Background:
			o.Next = NextCall
		case o.Call.Name == lock.CallRenew:
			o.Next = NextRenew
		default:
			o.Next = NextAsk
		}
	case clock.Armed:
		switch task.Name {
		case lock.Watchdog:
			o.Next, o.Call, o.First = NextRenew, lock.Call{Name: lock.CallRenew}, s.r.protocol().FirstCommand(lock.CallRenew, 1)
		case protocol.AskingNode:
			o.Next = NextAsk
		}
	}
	o.Lock = t.spec.Takes.Key(o.Call.Level)
	if o.Next == NextRetry && o.Call.Name == lock.CallLock && o.Retries != scenario.Unlimited && o.Call.Attempt > o.Retries+1 {
		o.Next = NextEnd
	}
	// Without a watchdog it asks all the same, for a whole lease.
	o.Handed = o.Next == NextRetry && o.Call.Name == lock.CallLock && t.handed.Load() && s.r.sc.Lock.Watchdog > 0
	switch {
	case choice >= 0:
	case t.stalls.Load() && !o.Background:
		o.Next, o.Reason = NextNothing, Hangs
	case task.State == clock.Waiting && (task.Paused == 0 || awaits(task.WaitsFor) != AwaitsLate):
		o.Next, o.Reason = NextNothing, awaits(task.WaitsFor)
	case task.Paused > 0: // of who waits for an answer: until then it hears none
		o.Reason, o.At = IsPaused, max(task.At, task.Paused)
	default:
		o.Reason = Waits
	}
	return o
}

// awaits says why a thread that waits for a task does not move.
func awaits(task string) Reason {
	switch task {
	case protocol.AskingNode:
		return AwaitsNode
	case lock.Watchdog:
		return AwaitsOwn
	default:
		return AwaitsLate
	}
}

// Now is the present instant, since the run began.
func (s *Stepper) Now() time.Duration { return s.clock.Now() }

// Expiry is the instant at which Redis will drop the key if nobody renews it.
func (s *Stepper) Expiry() (time.Duration, bool) {
	if s.over {
		return 0, false
	}
	return s.expiry()
}

// NextEvent is the next instant at which anything happens by itself.
func (s *Stepper) NextEvent() (time.Duration, bool) {
	if s.over {
		return 0, false
	}
	next, ok := s.clock.Next()
	if !ok {
		next = forever
	}
	if len(s.faults) > 0 {
		next = min(next, s.faults[0].Time)
	}
	if expiry, ok := s.expiry(); ok {
		next = min(next, expiry)
	}
	if next >= forever { // what hangs, hangs for ever
		return 0, false
	}
	return next, true
}

// NextSeen is the next instant at which anything happens by itself that can be
// seen: a thread that goes on when it has lost the lock does not show when its
// client stops relying on the lease.
func (s *Stepper) NextSeen() (time.Duration, bool) {
	next, ok := s.NextEvent()
	if !ok {
		return 0, false
	}
	goesOn := map[string]bool{}
	for _, t := range s.r.threads {
		goesOn[t.spec.Name] = t.spec.OnLost == scenario.OnLostIgnore
	}
	seen := forever
	for _, task := range s.clock.Pending() {
		silent := task.State == clock.Waiting || task.Name == lock.OwnLease && goesOn[task.Process]
		if !silent && task.At > s.clock.Now() {
			seen = min(seen, task.At)
		}
	}
	if len(s.faults) > 0 {
		seen = min(seen, s.faults[0].Time)
	}
	if expiry, ok := s.expiry(); ok {
		seen = min(seen, expiry)
	}
	if seen >= forever {
		return next, true
	}
	return seen, true
}

// Step makes the next move of the policy: it lets time pass until something
// has happened or somebody can move, and then, if nothing has happened yet,
// moves whom the policy chooses. It returns the move. It fails like Apply.
func (s *Stepper) Step(ctx context.Context) (scenario.Move, error) {
	if s.over {
		return scenario.Move{}, &Refusal{Reason: IsOver}
	}
	events := s.r.log.Len()
	for len(s.ready) == 0 && !s.over {
		if err := s.pass(ctx, forever); err != nil {
			return scenario.Move{}, err
		}
		if s.r.log.Len() > events {
			return scenario.Move{Until: s.clock.Now()}, nil
		}
	}
	choice := s.policy.choose(s.decisions, len(s.ready))
	return scenario.Move{Choice: choice}, s.choose(ctx, func() (int, error) { return choice, nil })
}

// StepOption makes the move of an option of a thread that is wanted, as soon as nobody
// else can move before. It returns the move, and fails like Apply.
func (s *Stepper) StepOption(ctx context.Context, thread string, wanted func(Option) bool) (scenario.Move, error) {
	if s.over {
		return scenario.Move{}, &Refusal{Reason: IsOver}
	}
	if err := s.comesFirst(thread, wanted); err != nil {
		return scenario.Move{}, err
	}
	events := s.r.log.Len()
	for len(s.ready) == 0 && !s.over {
		if err := s.pass(ctx, forever); err != nil {
			return scenario.Move{}, err
		}
		if s.r.log.Len() > events { // it has to be looked at first
			return scenario.Move{Until: s.clock.Now()}, nil
		}
	}
	for _, o := range s.Options() {
		if o.Thread == thread && wanted(o) && o.Choice >= 0 {
			return scenario.Move{Choice: o.Choice}, s.choose(ctx, func() (int, error) { return o.Choice, nil })
		}
	}
	return scenario.Move{Until: s.clock.Now()}, nil // what it waited for has ended it
}

// comesFirst refuses what cannot move now, or what others precede.
func (s *Stepper) comesFirst(thread string, wanted func(Option) bool) error {
	var want *Option
	options := s.Options()
	for i, o := range options {
		if o.Thread == thread && wanted(o) && (want == nil || o.Choice >= 0) {
			want = &options[i]
		}
	}
	switch {
	case want == nil:
		return &Refusal{Reason: NeverMoves}
	case want.Choice >= 0:
		return nil
	case want.Reason != Waits && want.Reason != IsPaused, len(s.ready) > 0:
		return want.refusal(want.Reason)
	}
	for _, o := range options {
		if (o.Reason == Waits || o.Reason == IsPaused) && o.At < want.At && o.Next != NextNothing {
			refusal := want.refusal(AfterOther)
			refusal.Other = o.Thread
			return refusal
		}
	}
	return nil
}

// refusal is of the move that the option is.
func (o Option) refusal(why Reason) *Refusal {
	if o.Network {
		why = OnItsWay
	}
	return &Refusal{Reason: why, Thread: o.Thread, At: o.At}
}
