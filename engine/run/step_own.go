package run

import (
	"context"
	"errors"
	"time"

	"relock/engine/scenario"
)

// Own is a move that the policy would not have made: a thread that was chosen
// before its turn, a time in which somebody could have moved and nobody did, or
// a fault. It says what a person wanted without counting decisions, so that it
// means the same to a lock that needs another number of them.
type Own struct {
	At   time.Duration // the instant at which it was made
	Move scenario.Move // as it was in the schedule

	who    mover
	after  []mover // that the policy moved before it at the same instant
	astray bool    // it did not fit where it comes from
}

// mover is one of those that can move.
type mover struct {
	thread     string
	background bool
	network    bool // a request of it that was held up
	nth        int  // among those of its thread and kind, from 0
}

// movers are who can move now, in the order of their places.
func (s *Stepper) movers() []mover {
	list := make([]mover, len(s.ready))
	times := map[mover]int{}
	for i, task := range s.ready {
		kind := mover{thread: task.Process, background: !task.Business}
		if f, _ := s.r.network.of(task); f != nil {
			kind = mover{thread: f.t.spec.Name, network: true}
		}
		list[i] = kind
		list[i].nth = times[kind]
		times[kind]++
	}
	return list
}

// Own plays a schedule, and returns the moves that are the person's. Of a schedule that
// does not fit, the last is the first move that is refused: it fits nowhere. It fails
// with ErrLimit, with ctx's cause, or with Redis' error.
func (s *Stepper) Own(ctx context.Context, schedule []scenario.Move) ([]Own, error) {
	var list []Own
	var after []mover
	instant := s.clock.Now()
	defer func() { s.ahead = 0 }()
	for i, m := range schedule {
		s.ahead = len(schedule) - i - 1
		one, is, err := s.ownMove(ctx, m)
		if errors.As(err, new(*Refusal)) {
			return append(list, Own{At: s.clock.Now(), Move: m, astray: true}), nil
		}
		if err != nil {
			return nil, err
		}
		if one.At != instant {
			instant, after = one.At, nil
		}
		switch {
		case is:
			one.after = after
			list, after = append(list, one), nil
		case one.who != mover{}:
			after = append(after, one.who)
		}
	}
	return list, nil
}

// ownMove makes a move, and tells whether it is a person's. It fails like
// Apply.
func (s *Stepper) ownMove(ctx context.Context, m scenario.Move) (one Own, is bool, err error) {
	one = Own{At: s.clock.Now(), Move: m}
	switch {
	case s.over, m.Fault != nil:
		return one, true, s.Apply(ctx, m)
	case m.Until > 0:
		if m.Until <= s.clock.Now() {
			return one, true, s.Apply(ctx, m)
		}
		for s.clock.Now() < m.Until && !s.over {
			is = is || len(s.ready) > 0
			if err := s.pass(ctx, m.Until); err != nil {
				return one, is, err
			}
		}
		return one, is, nil
	}
	err = s.choose(ctx, func() (int, error) {
		if m.Choice < len(s.ready) {
			choice, _ := s.chosen()
			one.At, one.who, is = s.clock.Now(), s.movers()[m.Choice], m.Choice != choice
		}
		return s.among(m.Choice)
	})
	return one, is, err
}

// Play makes the moves of a person, each at its instant, and lets the policy
// make all others, to the end of the run. It returns how many fitted: from the
// first that did not, the policy is alone. It fails with ErrLimit, with ctx's
// cause, or with Redis' error.
func (s *Stepper) Play(ctx context.Context, own []Own) (fitted int, err error) {
	for i, one := range own {
		s.ahead = len(own) - i
		err := s.playOwn(ctx, one)
		if errors.As(err, new(*Refusal)) {
			break
		}
		if err != nil {
			return fitted, err
		}
		fitted++
	}
	s.ahead = 0
	for !s.over {
		if err := s.choose(ctx, s.chosen); err != nil {
			return fitted, err
		}
	}
	return fitted, nil
}

// playOwn makes one of them. It fails like Apply.
func (s *Stepper) playOwn(ctx context.Context, one Own) error {
	for s.clock.Now() < one.At && !s.over {
		var err error
		if len(s.ready) > 0 {
			err = s.choose(ctx, s.chosen)
		} else {
			err = s.pass(ctx, one.At)
		}
		if err != nil {
			return err
		}
	}
	for _, who := range one.after { // those who can
		if err := s.moveOne(ctx, who); err != nil && !errors.As(err, new(*Refusal)) {
			return err
		}
	}
	s.ahead-- // this is the one
	switch {
	case one.astray, s.over:
		return &Refusal{Reason: IsOver}
	case one.who != mover{}:
		return s.moveOne(ctx, one.who)
	default:
		return s.Apply(ctx, one.Move)
	}
}

// moveOne moves somebody who can move at this instant, or fails with a
// *Refusal.
func (s *Stepper) moveOne(ctx context.Context, who mover) error {
	for i, can := range s.movers() {
		if can == who {
			return s.choose(ctx, func() (int, error) { return i, nil })
		}
	}
	return &Refusal{Reason: Waits, Thread: who.thread, At: s.clock.Now()}
}
