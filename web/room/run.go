package room

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"relock/engine"
	"relock/engine/panics"
	"relock/engine/phrase"
	"relock/engine/scenario"
)

// Run is the room's run on this server: the branches of the room, made again
// by their moves. It is safe for concurrent use.
type Run struct {
	mu       sync.Mutex
	scenario *scenario.Scenario
	session  *engine.Session // nil: to be opened
	own      map[int]int     // session's branches, by the room's

	size atomic.Int64 // of the session, as it was when it was used last
}

// newRun returns a run that is opened when it is first needed.
func newRun(text json.RawMessage) (*Run, error) {
	sc, err := scenario.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("room: the scenario: %w", err)
	}
	return &Run{scenario: sc}, nil
}

// Scenario returns what is run, without moves.
func (r *Run) Scenario() *scenario.Scenario { return r.scenario }

// Close ends what the run has running.
func (r *Run) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget()
}

// forget has the session opened again when it is next needed. The caller holds
// mu.
func (r *Run) forget() {
	if r.session != nil {
		_ = panics.Try(r.session.Close)
		r.session = nil
	}
	r.size.Store(0)
}

// Size is about how many bytes the run takes.
func (r *Run) Size() int { return int(r.size.Load()) }

// rest has the session opened again when it is next needed, unless it is used
// just now.
func (r *Run) rest() {
	if r.mu.TryLock() {
		defer r.mu.Unlock()
		r.forget()
	}
}

// With calls f with the branch of a room's branch that has all the moves that
// the room has, and maybe more. F must keep neither. It fails with
// engine.ErrNoBranch, or if the moves cannot be made again.
func (r *Run) With(ctx context.Context, s *State, id int, f func(*engine.Session, *engine.Branch) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.with(ctx, s, id, f)
}

func (r *Run) with(ctx context.Context, s *State, id int, f func(*engine.Session, *engine.Branch) error) error {
	err := panics.Catch(func() error {
		b, err := r.branch(ctx, s, id)
		if err != nil {
			return err
		}
		return f(r.session, b)
	})
	if err != nil {
		if _, told := phrase.Of(err); !told {
			r.forget() // whatever it is in now
		}
	}
	if r.session != nil {
		r.size.Store(int64(r.session.Size()))
	}
	return err
}

// branch returns the session's branch for the room's. The caller holds mu.
func (r *Run) branch(ctx context.Context, s *State, id int) (*engine.Branch, error) {
	want := s.Branch(id)
	if want == nil {
		return nil, engine.ErrNoBranch
	}
	if r.session != nil {
		own, known := r.own[id]
		if known {
			b, err := r.session.Branch(own)
			if err == nil && len(b.Moves) >= len(want.Moves) {
				return b, nil
			}
			if err == nil {
				return r.catchUp(ctx, b, want)
			}
		}
	}
	if err := r.open(ctx, s); err != nil {
		return nil, err
	}
	return r.session.Branch(r.own[id])
}

// open makes all branches of the room. The caller holds mu.
func (r *Run) open(ctx context.Context, s *State) error {
	r.forget()
	var err error
	r.own = map[int]int{}
	for _, b := range s.Branches {
		moves, err := r.moves(b.Moves)
		if err != nil {
			return err
		}
		if r.session == nil {
			if r.session, err = engine.Open(ctx, r.scenario.WithSchedule(moves)); err != nil {
				return fmt.Errorf("room: branch %d: %w", b.ID, err)
			}
			r.own[b.ID] = r.session.Branches()[0].ID
			continue
		}
		added, err := r.session.Add(ctx, -1, 0, moves)
		if err != nil {
			return fmt.Errorf("room: branch %d: %w", b.ID, err)
		}
		r.own[b.ID] = added.ID
	}
	return err
}

// catchUp makes the moves that a branch lacks. The caller holds mu.
func (r *Run) catchUp(ctx context.Context, b *engine.Branch, want *Branch) (*engine.Branch, error) {
	missing, err := r.moves(want.Moves[len(b.Moves):])
	if err != nil {
		return nil, err
	}
	for _, m := range missing {
		if b, err = r.session.Apply(ctx, b.ID, len(b.Moves), m); err != nil {
			return nil, fmt.Errorf("room: make a move again: %w", err)
		}
	}
	return b, nil
}

func (r *Run) moves(list []json.RawMessage) ([]scenario.Move, error) {
	if len(list) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("room: %w", err)
	}
	return r.scenario.ParseMoves(text)
}

// follow drops the branch that an entry has dropped, and those that nobody was
// told of. The caller does not hold mu.
func (r *Run) follow(s *State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.session == nil {
		return
	}
	for id, own := range r.own {
		if s.Branch(id) == nil {
			_ = r.session.Drop(own) // the last one stays until another is there
			delete(r.own, id)
		}
	}
}

// try makes a move after the first at moves of a branch, and returns what is to
// be in the log: nothing, if the branch itself goes on with that move.
func (r *Run) try(ctx context.Context, s *State, id, at int, move func(*engine.Session, *engine.Branch) (*engine.Branch, error)) (*Moved, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var moved *Moved
	err := r.with(ctx, s, id, func(session *engine.Session, b *engine.Branch) error {
		have := len(s.Branch(id).Moves)
		switch {
		case at < 0 || at > have:
			return engine.ErrNoMove
		case len(b.Moves) > have:
			r.forget() // a move that never came into the log
			var err error
			if b, err = r.branch(ctx, s, id); err != nil {
				return err
			}
			session = r.session
		}
		on, err := move(session, b)
		if err != nil {
			return err
		}
		if on == b && at < have {
			return nil // along the branch
		}
		m, err := json.Marshal(on.Moves[len(on.Moves)-1])
		if err != nil {
			return fmt.Errorf("room: %w", err)
		}
		moved = &Moved{Branch: id, After: at, Move: m}
		if on != b {
			moved.Branch, moved.Parent, moved.Fork = s.Made, id, at
			r.own[s.Made] = on.ID
		}
		return nil
	})
	return moved, err
}
