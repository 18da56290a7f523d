package board

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"relock/engine"
	"relock/engine/panics"
	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/scenario"
)

// Run is the run of a scene on this server, the same for the leader of the room and
// for those who follow it: the branches, replayed from their moves. The leader is
// ahead of the log by the entries it has not appended yet. It is safe for
// concurrent use.
type Run struct {
	text     json.RawMessage
	scenario *scenario.Scenario

	mu      sync.Mutex      // held while the engine works
	shared  bool            // by a room
	session *engine.Session // nil: to be opened
	own     map[int]int     // session's branches, by the room's

	reading sync.Mutex // taken after mu, and held only to look up
	made    map[int]made

	size atomic.Int64 // of the session, as it was when it was used last
}

// made is what the run has of one of the room's branches. It only grows.
type made struct {
	branch engine.Branch     // a copy: the session's own goes on
	moves  []json.RawMessage // its moves as the log has them, or will have
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
func runOf(sc *scenario.Scenario) *Run { return &Run{scenario: sc} }

// Scenario returns the scenario of the run, without moves.
func (r *Run) Scenario() *scenario.Scenario { return r.scenario }

// Close ends the run's goroutines.
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
	r.reading.Lock()
	defer r.reading.Unlock()
	r.own, r.made = map[int]int{}, map[int]made{}
}

// Size is about how many bytes the run takes.
func (r *Run) Size() int { return int(r.size.Load()) }

// Events returns how many events the run's branches have.
func (r *Run) Events() int {
	r.reading.Lock()
	defer r.reading.Unlock()
	n := 0
	for _, m := range r.made {
		n += len(m.branch.Events)
	}
	return n
}

// rest has the session opened again when it is next needed, unless it is used
// just now.
func (r *Run) rest() {
	if r.mu.TryLock() {
		defer r.mu.Unlock()
		r.forget()
	}
}

// Track returns a branch of the room with the room's moves and their results,
// without moves that are not in the log. The caller must not change it. It fails
// with engine.ErrNoBranch, or if the moves cannot be replayed. It does not wait if
// they have been.
func (r *Run) Track(ctx context.Context, s *State, id int) (*engine.Branch, error) {
	want := s.Branch(id)
	if want == nil {
		return nil, engine.ErrNoBranch
	}
	if t := r.track(want); t != nil {
		return t, nil
	}
	ctx, done := r.work(ctx)
	defer done()
	err := r.working(func() error {
		_, err := r.branch(ctx, s, want)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r.track(want), nil
}

// Tracks returns all branches of the room, the oldest first, as Track does.
func (r *Run) Tracks(ctx context.Context, s *State) ([]*engine.Branch, error) {
	list := make([]*engine.Branch, len(s.Branches))
	for i, b := range s.Branches {
		var err error
		if list[i], err = r.Track(ctx, s, b.ID); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// track is the branch as far as the room has it; nil if the run has other moves,
// or lacks some.
func (r *Run) track(want *Branch) *engine.Branch {
	r.reading.Lock()
	m, there := r.made[want.ID]
	r.reading.Unlock()
	n := len(want.Moves)
	if !there || common(m.moves, want.Moves) < n {
		return nil
	}
	t := m.branch
	t.ID, t.Parent, t.Fork = want.ID, want.Parent, want.Fork
	t.Moves, t.Positions = t.Moves[:n:n], t.Positions[:n+1:n+1]
	end := t.Positions[n].Seq
	t.Events = t.Events[:end:end]
	return &t
}

// common is how many moves two lists have in common at their start.
func common(a, b []json.RawMessage) int {
	n := 0
	for n < len(a) && n < len(b) && bytes.Equal(a[n], b[n]) {
		n++
	}
	return n
}

// work takes mu until done, for work that yields as it may: who waits for mu can
// have a turn, which a room's work must not wait for then.
func (r *Run) work(ctx context.Context) (within context.Context, done func()) {
	r.mu.Lock()
	if r.shared {
		ctx = pause.Never(ctx)
	}
	return ctx, r.mu.Unlock
}

// working has the session opened again after anything but a refusal: nobody
// knows what it is in then. The caller holds mu.
func (r *Run) working(f func() error) error {
	err := panics.Catch(f)
	if err != nil {
		if _, told := phrase.Of(err); !told {
			r.forget()
		}
	}
	if r.session != nil {
		r.size.Store(int64(r.session.Size()))
	}
	return err
}

// branch returns the session's branch that has the moves of the room's, and
// maybe more. Any other moves of the run there never came into the log, and are
// forgotten. The caller holds mu.
func (r *Run) branch(ctx context.Context, s *State, want *Branch) (*engine.Branch, error) {
	m, known := r.made[want.ID]
	n := common(m.moves, want.Moves)
	switch {
	case r.session == nil, known && n < len(m.moves) && n < len(want.Moves):
		r.forget()
		if err := r.open(ctx, s); err != nil {
			return nil, err
		}
	case !known:
		r.makeRoom(s)
		if err := r.add(ctx, want); err != nil {
			return nil, err
		}
	case n < len(want.Moves):
		return r.catchUp(ctx, want)
	}
	return r.session.Branch(r.own[want.ID])
}

// open makes all branches of the room. The caller holds mu.
func (r *Run) open(ctx context.Context, s *State) error {
	for i := range s.Branches {
		if err := r.add(ctx, &s.Branches[i]); err != nil {
			return err
		}
	}
	return nil
}

// add makes a branch of the room that the session lacks. The caller holds mu.
func (r *Run) add(ctx context.Context, want *Branch) error {
	moves, err := r.moves(want.Moves)
	if err != nil {
		return err
	}
	var b *engine.Branch
	if r.session == nil {
		var s *engine.Session
		if s, err = engine.Open(ctx, r.scenario.WithSchedule(moves)); err == nil {
			r.session, b = s, s.Branches()[0]
		}
	} else {
		b, err = r.session.Add(ctx, -1, 0, moves)
	}
	if err != nil {
		return fmt.Errorf("board: branch %d: %w", want.ID, err)
	}
	r.has(want.ID, b, want.Moves)
	return nil
}

// has notes what the session has made of one of the room's branches. The caller
// holds mu.
func (r *Run) has(id int, b *engine.Branch, moves []json.RawMessage) {
	r.reading.Lock()
	defer r.reading.Unlock()
	r.own[id] = b.ID
	r.made[id] = made{branch: *b, moves: moves[:len(moves):len(moves)]}
}

// catchUp makes the moves that a branch lacks. The caller holds mu.
func (r *Run) catchUp(ctx context.Context, want *Branch) (*engine.Branch, error) {
	b, err := r.session.Branch(r.own[want.ID])
	if err != nil {
		return nil, err
	}
	missing, err := r.moves(want.Moves[len(b.Moves):])
	if err != nil {
		return nil, err
	}
	for _, m := range missing {
		if b, err = r.session.Apply(ctx, b.ID, len(b.Moves), m); err != nil {
			return nil, fmt.Errorf("board: make a move again: %w", err)
		}
	}
	r.has(want.ID, b, want.Moves)
	return b, nil
}

func (r *Run) moves(list []json.RawMessage) ([]scenario.Move, error) {
	if len(list) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("board: %w", err)
	}
	return r.scenario.ParseMoves(text)
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

// drop drops a branch that an entry has dropped.
func (r *Run) drop(id int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lose(id)
}

// lose is drop for callers that hold mu. The session keeps its last branch until
// another is there.
func (r *Run) lose(id int) {
	own, known := r.own[id]
	if !known || r.session.Drop(own) != nil {
		return
	}
	r.reading.Lock()
	defer r.reading.Unlock()
	delete(r.own, id)
	delete(r.made, id)
}

// makeRoom drops the branches that the room no longer has, or never had, if the session
// has as many as it can. The caller holds mu.
func (r *Run) makeRoom(s *State) {
	if len(r.session.Branches()) < engine.MaxBranches {
		return
	}
	for id := range r.own {
		if s.Branch(id) == nil {
			r.lose(id)
		}
	}
}

// try makes moves after the first at of a branch, and returns what belongs in the log:
// nothing, if the branch itself goes on with them. Move returns the branch that it has
// made, or has gone on with, also beside an error.
func (r *Run) try(ctx context.Context, s *State, id, at int, move func(context.Context, *engine.Session, *engine.Branch) (*engine.Branch, error)) (*Made, error) {
	want := s.Branch(id)
	switch {
	case want == nil:
		return nil, engine.ErrNoBranch
	case at < 0 || at > len(want.Moves):
		return nil, engine.ErrNoMove
	}
	ctx, done := r.work(ctx)
	defer done()
	var what *Made
	err := r.working(func() error {
		b, err := r.branch(ctx, s, want)
		if err == nil && len(b.Moves) > len(want.Moves) {
			r.forget() // a move that never came into the log
			b, err = r.branch(ctx, s, want)
		}
		if err != nil {
			return err
		}
		r.makeRoom(s)
		on, refused := move(ctx, r.session, b)
		if on == nil || on == b && len(on.Moves) == len(want.Moves) {
			return refused // nothing is made, or all went along the branch
		}
		made := Made{Branch: id, After: len(want.Moves)}
		if on != b {
			made.Branch, made.Parent, made.Fork, made.After = s.Made, id, at, at
		}
		if made.Moves, err = written(on.Moves[made.After:]); err != nil {
			return err
		}
		r.has(made.Branch, on, append(want.Moves[:made.After:made.After], made.Moves...))
		what = &made
		return refused
	})
	return what, err
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
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, run := range r.list {
		if n < scene {
			run.Close()
			delete(r.list, n)
		}
	}
}

// size is about how many bytes they take.
func (r *runs) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, run := range r.list {
		n += run.Size()
	}
	return n
}

// rest has those that nobody uses just now opened again when they are next
// needed.
func (r *runs) rest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, run := range r.list {
		run.rest()
	}
}

// close ends what all of them have running. Whoever needs one has it opened again.
func (r *runs) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, run := range r.list {
		run.Close()
	}
}
