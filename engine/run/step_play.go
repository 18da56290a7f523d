package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"relock/engine/clock"
	"relock/engine/journal"
	"relock/engine/outside/ownlock"
	"relock/engine/panics"
	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/recall"
	"relock/engine/scenario"
	"relock/engine/store"
	"relock/engine/trace"
)

// ErrVirtual is returned by Begin for a run on the wall clock.
var ErrVirtual = errors.New("only a run on the virtual clock can be stepped")

// ErrDiverged is returned where a schedule does not fit what can move.
var ErrDiverged = errors.New("the schedule does not fit the scenario")

// stepping is the machine of a run on the virtual clock: threads are moved, and
// not steered.
type stepping struct{ r *Run }

func (stepping) awaitGate(*thread) {}

func (stepping) hasAsked(*thread) {}

func (m stepping) controls() []Control {
	list := make([]Control, 0, len(m.r.threads))
	for _, t := range m.r.threads {
		list = append(list, Control{Thread: t.spec.Name, Ended: !t.alive()})
	}
	return list
}

func (stepping) steer(name string, _ *thread, _ Action) error {
	return &Refusal{Reason: NotLive, Thread: name}
}

// execute plays the scenario's schedule, and then what its policy
// chooses.
func (m stepping) execute(ctx context.Context) error {
	if err := pause.Here(ctx); err != nil {
		return err
	}
	s, err := m.r.Begin(ctx)
	if err != nil {
		return err
	}
	err = because(ctx, panics.Catch(func() error { return s.play(ctx) }))
	s.Close(err)
	return err
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
		faults: r.timedFaults(), policy: inOrder{}, waiting: map[*thread][]scenario.Fault{},
	}
	if r.sc.Policy == scenario.PolicyRandom {
		s.policy = random(r.sc.Seed)
	}
	r.rec = s
	r.resource.times(s.clock.Now)
	s.failsOver = true
	if r.o.Memory != nil {
		r.told = r.newHistories(s.clock.Now)
		s.foresee(r.o.ByHand)
	}
	memory := r.o.Memory
	if memory == nil && r.sc.Lock.Own() {
		var err error
		if memory, err = ownlock.NewMemory(ctx, r.sc); err != nil {
			return nil, fmt.Errorf("run: %w", err)
		}
		s.memory = memory
	}
	client := s.serve(memory)
	if err := because(ctx, panics.Catch(func() error { return r.wireUp(ctx, client, s.mail, s.clock.Process) })); err != nil {
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

// serve gives the run its nodes, and returns how to reach them.
func (s *Stepper) serve(m *recall.Memory) func(thread string, node int) journal.Scripter {
	var clients []func() journal.Scripter
	var subscribe []func(ctx context.Context, channel string) (subscription, error)
	for range s.r.sc.Lock.Nodes {
		n := &node{outages: outages{}, wrote: map[string]int{}}
		if m != nil {
			r := m.NewRedis(clock.Epoch)
			n.server = r
			n.split = func(ctx context.Context) (server, journal.Scripter, error) {
				old, err := r.Split(ctx)
				return old, old, err
			}
			clients = append(clients, func() journal.Scripter { return r })
			subscribe = append(subscribe, recalled{r}.subscribe)
		} else {
			r := store.NewEmbedded(clock.Epoch)
			n.server = r
			n.split = func(ctx context.Context) (server, journal.Scripter, error) {
				old, err := r.Split(ctx)
				if err != nil {
					return nil, nil, err
				}
				return old, old.Client(), nil
			}
			clients = append(clients, func() journal.Scripter { return r.Client() })
			subscribe = append(subscribe, embedded{r}.subscribe)
		}
		s.nodes = append(s.nodes, n)
	}
	s.mail = &mailbox{subscribe: subscribe[0], boxes: map[string]box{}}
	return func(thread string, node int) journal.Scripter {
		if old := s.nodes[node].old; old != nil && old.threads[thread] {
			return old.client
		}
		return clients[node]()
	}
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
