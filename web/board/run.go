package board

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"relock/engine"
	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/scenario"
)

// MaxBranches is what a person can tell apart; another can be dropped.
const MaxBranches = 6

// Errors of branches.
var (
	ErrBranches = phrase.New("there are %d branches already; drop one first", MaxBranches)
	ErrNoBranch = phrase.New("there is no such branch")
	ErrNoMove   = phrase.New("the branch has no such move")
)

// Track is a branch, and what its moves have come to. Nobody may change it.
type Track struct {
	*engine.Path

	ID, Parent, Fork int
}

// Run is the run of a scene on this server, the same for the leader of the room and
// for those who follow it: what the moves of its branches come to. The leader is
// ahead of the log by the entries it has not appended yet. It is safe for
// concurrent use.
type Run struct {
	text  json.RawMessage
	paths *engine.Paths

	mu     sync.Mutex
	shared bool                     // by a room
	read   map[string]scenario.Move // moves of the log, by their text
}

// newRun returns a run that is opened when it is first needed.
func newRun(text json.RawMessage) (*Run, error) {
	sc, err := scenario.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("board: the scenario: %w", err)
	}
	r := runOf(sc)
	r.text = text
	return r, nil
}

// runOf returns a run of a scenario without moves, that is opened when it is
// first needed.
func runOf(sc *scenario.Scenario) *Run {
	return &Run{paths: engine.NewPaths(sc), read: map[string]scenario.Move{}}
}

// Scenario returns the scenario of the run, without moves.
func (r *Run) Scenario() *scenario.Scenario { return r.paths.Scenario() }

// Close ends the run's goroutines. Whoever needs it has it opened again.
func (r *Run) Close() { r.paths.Close() }

// Size is about how many bytes the run takes.
func (r *Run) Size() int { return r.paths.Size() }

// Track returns a branch of the room with the room's moves and their results, without
// moves that are not in the log. It fails with ErrNoBranch, or if the moves cannot be made.
// It does not wait if they have been.
func (r *Run) Track(ctx context.Context, s *State, id int) (*Track, error) {
	b := s.Branch(id)
	if b == nil {
		return nil, ErrNoBranch
	}
	path, err := r.path(ctx, b)
	if err != nil {
		return nil, err
	}
	return &Track{path, b.ID, b.Parent, b.Fork}, nil
}

// Tracks returns all branches of the room, the oldest first, as Track does.
func (r *Run) Tracks(ctx context.Context, s *State) ([]*Track, error) {
	list := make([]*Track, len(s.Branches))
	for i, b := range s.Branches {
		var err error
		if list[i], err = r.Track(ctx, s, b.ID); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// events is how many events the branches have, as far as they are known.
func (r *Run) events(s *State) int {
	n := 0
	for i := range s.Branches {
		moves, err := r.moves(s.Branches[i].Moves)
		if known := r.paths.Known(moves); err == nil && known != nil {
			n += len(known.Events)
		}
	}
	return n
}

// retain forgets what no branch needs.
func (r *Run) retain(s *State) {
	var needed [][]scenario.Move
	for i := range s.Branches {
		if moves, err := r.moves(s.Branches[i].Moves); err == nil {
			needed = append(needed, moves)
		}
	}
	r.paths.Retain(needed)
}

func (r *Run) path(ctx context.Context, b *Branch) (*engine.Path, error) {
	moves, err := r.moves(b.Moves)
	if err != nil {
		return nil, err
	}
	return r.paths.Path(r.within(ctx), moves)
}

// within has the work of a room's run yield to nobody: who waits for the run can have
// a turn, which a room's work must not wait for then.
func (r *Run) within(ctx context.Context) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shared {
		return pause.Never(ctx)
	}
	return ctx
}

// mostRead bounds what is remembered of moves: those of all branches, if each is as long as
// it may be.
const mostRead = MaxBranches * engine.MaxMoves

// moves reads moves of the log, each text once.
func (r *Run) moves(list []json.RawMessage) ([]scenario.Move, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	moves := make([]scenario.Move, len(list))
	for i, text := range list {
		m, known := r.read[string(text)]
		if !known {
			one, err := r.parse(list[i : i+1])
			if err != nil {
				return nil, err
			}
			if m = one[0]; len(r.read) >= mostRead {
				clear(r.read)
			}
			r.read[string(text)] = m
		}
		moves[i] = m
	}
	return moves, nil
}

// parse reads moves that somebody has sent.
func (r *Run) parse(list []json.RawMessage) ([]scenario.Move, error) {
	if len(list) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("board: %w", err)
	}
	return r.Scenario().ParseMoves(text)
}

// written returns moves as the log has them.
func written(moves []scenario.Move) ([]json.RawMessage, error) {
	list := make([]json.RawMessage, len(moves))
	for i, m := range moves {
		var err error
		if list[i], err = json.Marshal(m); err != nil {
			return nil, fmt.Errorf("board: %w", err)
		}
	}
	return list, nil
}

// common is how many moves two lists have in common at their start.
func common(a, b []json.RawMessage) int {
	n := 0
	for n < len(a) && n < len(b) && bytes.Equal(a[n], b[n]) {
		n++
	}
	return n
}

// try returns what moves come to, and after them one more that is wished for.
func (r *Run) try(ctx context.Context, moves []scenario.Move, w engine.Wish) (*engine.Path, error) {
	return r.paths.Try(r.within(ctx), moves, w)
}

// runs are the runs of a room on this server, by scene: of the one that the
// class is in, and of the next while it is not in the log yet. It is safe for
// concurrent use.
type runs struct {
	mu   sync.Mutex
	list map[int]*Run
}

// of returns the run of a scene. It is another one where the run that is there
// is of another scenario, which never came into the log.
func (r *runs) of(scene int, text json.RawMessage) (*Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if run := r.list[scene]; run != nil && bytes.Equal(run.text, text) {
		return run, nil
	}
	run, err := newRun(text)
	if err == nil {
		r.put(scene, run)
	}
	return run, err
}

// take has a scene run by a run that is open already.
func (r *runs) take(scene int, run *Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(scene, run)
}

// put is take for callers that hold mu.
func (r *runs) put(scene int, run *Run) {
	if old := r.list[scene]; old != nil {
		old.Close()
	}
	if r.list == nil {
		r.list = map[int]*Run{}
	}
	run.mu.Lock()
	run.shared = true
	run.mu.Unlock()
	r.list[scene] = run
}

// leave closes the runs of the scenes before one.
func (r *runs) leave(scene int) {
	r.each(func(n int, run *Run) {
		if n < scene {
			run.Close()
			delete(r.list, n)
		}
	})
}

// size is about how many bytes they take.
func (r *runs) size() (n int) {
	r.each(func(_ int, run *Run) { n += run.Size() })
	return n
}

// rest closes those that nobody uses just now.
func (r *runs) rest() { r.each(func(_ int, run *Run) { run.paths.Rest() }) }

// close closes all of them.
func (r *runs) close() { r.each(func(_ int, run *Run) { run.Close() }) }

// each calls f with each run and its scene.
func (r *runs) each(f func(scene int, run *Run)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, run := range r.list {
		f(n, run)
	}
}
