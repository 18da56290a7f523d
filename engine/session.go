package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"relock/engine/panics"
	"relock/engine/phrase"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Limits of a session.
const (
	MaxBranches = 6    // what a person can tell apart; the oldest can be dropped
	MaxMoves    = 5000 // of a branch: for each the page holds what was possible

	// MaxSize is in bytes, as Session.Size counts them: some 14,000 events of
	// sixteen threads and one lock, or 4,000 of sixteen threads and nine nodes.
	MaxSize = 32 << 20
)

// Errors of a session's methods. A move that cannot be made fails with a
// *run.Refusal.
var (
	ErrBranches = phrase.New("there are %d branches already; drop one first", MaxBranches)
	ErrMoves    = phrase.New("a branch can have %d moves; run the scenario as a whole instead", MaxMoves)
	ErrSize     = sizeError{}
	ErrNoBranch = phrase.New("there is no such branch")
	ErrNoMove   = phrase.New("the branch has no such move")
)

// sizeError is the type of ErrSize. Servers count how often this limit is met.
type sizeError struct{}

// Error implements error.
func (e sizeError) Error() string { return e.Says().String() }

// Says implements phrase.Speaker.
func (sizeError) Says() phrase.Wording {
	return phrase.Say("a session can hold %d MB; drop a branch, or run the scenario as a whole", MaxSize>>20)
}

// Limit returns the limit's name in metrics and logs.
func (sizeError) Limit() string { return "session-size" }

// ErrUnrepeated is a bug in this program or its store: a session's methods fail
// with it when a branch cannot be continued.
var ErrUnrepeated = errors.New("the moves of a branch gave another run when they were made again")

// Session is a scenario that a person steps through on the virtual clock: a
// tree of branches, each no more than its moves. It is not safe for concurrent
// use. Close ends it. If a thread of the scenario panics, its methods panic
// with a *panics.Error; then only Close may be called.
type Session struct {
	sc       *scenario.Scenario
	branches []*Branch
	made     int // branches so far

	live    *run.Stepper // is at the end of liveOn, or nil
	liveRun *run.Run
	liveOn  *Branch
}

// Branch is one line of moves and what came of it. Only its session changes it.
type Branch struct {
	ID     int
	Parent int // the branch it left, or -1
	Fork   int // after so many moves

	Moves     []scenario.Move
	Positions []Position // before the first move, and after each
	Header    trace.Header
	Events    []trace.Event

	size int // in bytes, see Session.Size
}

// Size estimates how many bytes of memory the session takes: its branches'
// events, what was possible at each of their positions, and OpenSize. Measured
// with six scenarios (BenchmarkHeldByASession), it was 0.8 to 1.1 of the heap.
func (s *Session) Size() int {
	size := OpenSize
	for _, b := range s.branches {
		size += b.size
	}
	return size
}

// OpenSize is about how many bytes a new session takes: the embedded Redis and
// the threads of its run.
const OpenSize = 300 << 10

// full fails with ErrSize if the session, including b, holds more than it may.
func (s *Session) full(b *Branch) error {
	size := s.Size()
	if b != nil && !slices.Contains(s.branches, b) {
		size += b.size
	}
	if size > MaxSize {
		return ErrSize
	}
	return nil
}

// grown adds the size of what came with the branch's last position.
func (b *Branch) grown(events []trace.Event) {
	p := b.Positions[len(b.Positions)-1]
	b.size += int(unsafe.Sizeof(p)+unsafe.Sizeof(scenario.Move{})) * 5 / 4
	if n := len(b.Positions); len(p.Pointless) > 0 && (n < 2 || len(b.Positions[n-2].Pointless) == 0 || &p.Pointless[0] != &b.Positions[n-2].Pointless[0]) {
		b.size += len(p.Pointless) * int(unsafe.Sizeof(p.Pointless[0]))
	}
	b.size += len(p.Plans) * int(unsafe.Sizeof(run.Plan{})) * 5 / 4
	for _, o := range p.Options {
		b.size += int(unsafe.Sizeof(o)) * 5 / 4
		b.size += len(o.Armed) * int(unsafe.Sizeof(scenario.Fault{}))
	}
	for _, e := range events {
		b.size += e.Size() + int(unsafe.Sizeof(e))*5/4 // the run's log has it, too
	}
}

// Position is where a branch is after some of its moves.
type Position struct {
	Seq     int           // of the last event
	Row     int           // its step
	At      time.Duration // since the run began
	Options []run.Option
	Next    time.Duration // when something next happens by itself, or 0
	Seen    time.Duration // when something of it can be seen, or 0
	Expiry  time.Duration // when Redis will drop the key, or 0
	Over    bool          // the run has ended
	Plans   []run.Plan    // what will be by itself

	Pointless []run.Pointless // faults that would change nothing; shared among positions
}

// Movable reports whether somebody can move there; else time passes by itself.
func (p Position) Movable() bool {
	return slices.ContainsFunc(p.Options, func(o run.Option) bool { return o.Choice >= 0 })
}

// Open begins a session with one branch: the moves of sc's schedule. It fails
// with run.ErrDiverged if the schedule does not fit, with ErrMoves, with a
// *panics.Error, or if the run cannot be begun.
func Open(ctx context.Context, sc *scenario.Scenario) (*Session, error) {
	s := &Session{sc: sc.WithSchedule(nil)}
	err := panics.Catch(func() error {
		_, err := s.Add(ctx, -1, 0, sc.Schedule)
		return err
	})
	if err != nil {
		_ = panics.Try(s.Close) // if this panics too, the first panic says more
		return nil, err
	}
	return s, nil
}

// Close ends what the session has running, even if that panics.
func (s *Session) Close() {
	if live := s.live; live != nil {
		s.live, s.liveRun, s.liveOn = nil, nil, nil
		live.Close(nil)
	}
}

// Scenario returns what is stepped through, without a schedule.
func (s *Session) Scenario() *scenario.Scenario { return s.sc }

// Branches returns the branches, oldest first.
func (s *Session) Branches() []*Branch { return s.branches }

// Branch returns the branch with an ID. It fails with ErrNoBranch.
func (s *Session) Branch(id int) (*Branch, error) {
	for _, b := range s.branches {
		if b.ID == id {
			return b, nil
		}
	}
	return nil, fmt.Errorf("%w: %d", ErrNoBranch, id)
}

// Add adds a branch that makes these moves from the start. It shares the first
// fork of them with parent. It fails like Open, and then adds nothing.
func (s *Session) Add(ctx context.Context, parent, fork int, moves []scenario.Move) (*Branch, error) {
	b, err := s.fork(ctx, parent, fork, moves)
	if err == nil {
		s.keep(b)
	}
	return b, err
}

// fork returns a branch as Add adds it; nobody sees it until it is kept. The live run is
// at its end.
func (s *Session) fork(ctx context.Context, parent, fork int, moves []scenario.Move) (*Branch, error) {
	switch {
	case len(s.branches) >= MaxBranches:
		return nil, ErrBranches
	case len(moves) > MaxMoves:
		return nil, ErrMoves
	}
	b := &Branch{Parent: parent, Fork: fork}
	if err := s.replay(ctx, b, moves, func(made ...scenario.Move) error { return s.note(ctx, made...) }); err != nil {
		return nil, err
	}
	return b, nil
}

// keep adds a branch made by fork.
func (s *Session) keep(b *Branch) {
	b.ID = s.made
	s.made++
	s.branches = append(s.branches, b)
}

// Drop removes a branch, unless it is the only one.
func (s *Session) Drop(id int) error {
	b, err := s.Branch(id)
	if err != nil {
		return err
	}
	if len(s.branches) == 1 {
		return fmt.Errorf("%w: the last branch stays", ErrNoBranch)
	}
	if s.liveOn == b {
		s.Close()
	}
	s.branches = slices.DeleteFunc(s.branches, func(o *Branch) bool { return o == b })
	return nil
}

// replay makes moves in a fresh run of b's, which replaces the live run. It
// calls stood at the start, without a move, and after each move.
func (s *Session) replay(ctx context.Context, b *Branch, moves []scenario.Move, stood func(made ...scenario.Move) error) error {
	s.Close()
	r, err := run.New(s.sc, run.Options{})
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	live, err := r.Begin(ctx)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	s.live, s.liveRun, s.liveOn = live, r, b
	b.Header = r.Header()
	if err = stood(); err == nil {
		err = live.Replay(ctx, moves, func(m scenario.Move) error { return stood(m) })
	}
	if err != nil {
		s.Close()
	}
	return err
}

// note records where the live run is, and the move that led there. There may be none: a
// fault can strike before anybody moves. If note fails, the move was not made.
func (s *Session) note(ctx context.Context, made ...scenario.Move) error {
	p, err := s.position(ctx)
	if err != nil {
		s.Close()
		return err
	}
	b := s.liveOn
	if err := s.full(b); err != nil {
		s.Close()
		return err
	}
	events, _ := s.liveRun.Log().Since(len(b.Events))
	b.Events = append(b.Events, events...)
	b.Moves = append(b.Moves, made...)
	b.Positions = append(b.Positions, p)
	b.grown(events)
	return nil
}

func (s *Session) position(ctx context.Context) (Position, error) {
	pointless, err := s.live.Pointless(ctx)
	if err != nil {
		return Position{}, fmt.Errorf("engine: %w", err)
	}
	p := Position{At: s.live.Now(), Options: s.live.Options(), Over: s.live.Over(), Plans: s.live.Plans(), Pointless: pointless}
	if next, ok := s.live.NextEvent(); ok {
		p.Next = next
	}
	if seen, ok := s.live.NextSeen(); ok {
		p.Seen = seen
	}
	if expiry, ok := s.live.Expiry(); ok {
		p.Expiry = expiry
	}
	if events, _ := s.liveRun.Log().Since(0); len(events) > 0 {
		last := events[len(events)-1]
		p.Seq, p.Row = last.Seq, last.Step
	}
	return p, nil
}

// stand takes the live run to where it has made the first at moves of a branch:
// on the branch itself if it ends there, else on a fork of it that is not kept
// yet.
func (s *Session) stand(ctx context.Context, id, at int) (from, on *Branch, err error) {
	from, err = s.upTo(id, at)
	switch {
	case err != nil:
		return nil, nil, err
	case at < len(from.Moves):
		on, err = s.fork(ctx, id, at, from.Moves[:at])
		return from, on, err
	case s.liveOn == from:
		return from, from, nil
	}
	if err := s.replay(ctx, from, from.Moves, func(...scenario.Move) error { return nil }); err != nil {
		return nil, nil, err
	}
	if err := s.repeats(from); err != nil {
		s.Close()
		return nil, nil, err
	}
	return from, from, nil
}

// upTo returns the branch if it has at least that many moves and there is room
// for one more.
func (s *Session) upTo(id, at int) (*Branch, error) {
	b, err := s.Branch(id)
	switch {
	case err != nil:
		return nil, err
	case at < 0 || at > len(b.Moves):
		return nil, fmt.Errorf("%w: %d, it has %d", ErrNoMove, at, len(b.Moves))
	case at == MaxMoves:
		return nil, ErrMoves
	}
	return b, nil
}

// repeats fails if the live run, having made b's moves, differs from b: then
// all that is known of b would be wrong, and it cannot be continued.
func (s *Session) repeats(b *Branch) error {
	now, _ := s.liveRun.Log().Since(0)
	same := func(a, b trace.Event) bool {
		return a.Step == b.Step && a.At == b.At && a.Thread == b.Thread && a.Kind() == b.Kind()
	}
	if !slices.EqualFunc(now, b.Events, same) {
		return fmt.Errorf("%w: branch %d, %d events and %d now", ErrUnrepeated, b.ID, len(b.Events), len(now))
	}
	return nil
}

// Cut makes a branch from the first at moves of another.
func (s *Session) Cut(ctx context.Context, id, at int) (*Branch, error) {
	b, err := s.upTo(id, at)
	if err != nil {
		return nil, err
	}
	return s.Add(ctx, id, at, b.Moves[:at])
}

// act makes one move on branch id after its first at moves; if the branch goes
// on from there, the move begins a new branch. A refused move leaves nothing
// behind, and the move that the branch itself made there leads along it.
// Foreseen is the move that it will be, if the branch's position tells: then nothing has
// to be made again to go along.
func (s *Session) act(ctx context.Context, id, at int, foreseen func(Position) (scenario.Move, bool), move func() (scenario.Move, error)) (*Branch, error) {
	from, err := s.upTo(id, at)
	if err == nil && at < len(from.Moves) {
		if m, ok := foreseen(from.Positions[at]); ok && from.Moves[at].Equal(m) {
			return from, nil
		}
	}
	if err == nil {
		err = s.full(nil)
	}
	if err != nil {
		return nil, err // before the expensive work
	}
	from, on, err := s.stand(ctx, id, at)
	if err != nil {
		return nil, err
	}
	m, err := move()
	if err != nil {
		s.Close() // time may have passed
		return nil, err
	}
	if on != from && from.Moves[at].Equal(m) {
		s.Close()
		return from, nil // the branch made this very move, once time had passed
	}
	if err := s.note(ctx, m); err != nil {
		return nil, err
	}
	if on != from {
		s.keep(on)
	}
	return on, nil
}

// Step makes the policy's next move at the end of a branch. It fails with a
// *run.Refusal, ErrNoBranch or ErrMoves.
func (s *Session) Step(ctx context.Context, id int) (*Branch, error) {
	b, err := s.Branch(id)
	if err != nil {
		return nil, err
	}
	atEnd := func(Position) (scenario.Move, bool) { return scenario.Move{}, false }
	return s.act(ctx, id, len(b.Moves), atEnd, func() (scenario.Move, error) { return s.live.Step(ctx) })
}

// StepThread moves a thread's business, or its watchdog.
func (s *Session) StepThread(ctx context.Context, id, at int, thread string, background bool) (*Branch, error) {
	is := func(o run.Option) bool { return o.Thread == thread && o.Background == background && !o.Network }
	return s.act(ctx, id, at, option(is), func() (scenario.Move, error) { return s.live.StepThread(ctx, thread, background) })
}

// StepNetwork lets a thread's request that was held up reach Redis; node, unless
// 0, is the one that it goes to.
func (s *Session) StepNetwork(ctx context.Context, id, at int, thread string, node int) (*Branch, error) {
	is := func(o run.Option) bool { return o.Thread == thread && o.Network && (node == 0 || o.Node == node) }
	return s.act(ctx, id, at, option(is), func() (scenario.Move, error) { return s.live.StepNetwork(ctx, thread, node) })
}

// StepNode lets a thread that asks several nodes at once ask one of them. Nodes
// count from 1.
func (s *Session) StepNode(ctx context.Context, id, at int, thread string, node int) (*Branch, error) {
	is := func(o run.Option) bool { return o.Thread == thread && o.Background && o.Node == node }
	return s.act(ctx, id, at, option(is), func() (scenario.Move, error) { return s.live.StepNode(ctx, thread, node) })
}

// option foresees the move of the first such option that can move.
func option(is func(run.Option) bool) func(Position) (scenario.Move, bool) {
	return func(p Position) (scenario.Move, bool) {
		for _, o := range p.Options {
			if is(o) && o.Choice >= 0 {
				return scenario.Move{Choice: o.Choice}, true
			}
		}
		return scenario.Move{}, false
	}
}

// Apply makes a move of any kind.
func (s *Session) Apply(ctx context.Context, id, at int, m scenario.Move) (*Branch, error) {
	this := func(Position) (scenario.Move, bool) { return m, true }
	return s.act(ctx, id, at, this, func() (scenario.Move, error) { return m, s.live.Apply(ctx, m) })
}

// Passage is how far PassTime goes.
type Passage string

// The passages of PassTime.
const (
	ToEvent  Passage = "event"  // to when something next happens by itself that can be seen
	ToExpiry Passage = "expiry" // to when Redis drops the key
	ByLength Passage = "by"     // by a given length
)

// PassTime lets time pass while nobody moves, as far as the passage says; d is
// the length of ByLength. It fails with a *run.Refusal.
func (s *Session) PassTime(ctx context.Context, id, at int, to Passage, d time.Duration) (*Branch, error) {
	foreseen := func(p Position) (scenario.Move, bool) {
		until := map[Passage]time.Duration{ToEvent: p.Seen, ToExpiry: p.Expiry, ByLength: p.At + max(d, 0)}[to]
		return scenario.Move{Until: until}, until > p.At
	}
	return s.act(ctx, id, at, foreseen, func() (scenario.Move, error) {
		until, ok := s.live.Now()+d, d > 0
		why := run.IsPast
		switch to {
		case ToEvent:
			until, ok = s.live.NextSeen()
			why = run.NeverMoves
		case ToExpiry:
			until, ok = s.live.Expiry()
			why = run.NoExpiry
		case ByLength:
		}
		if s.live.Over() {
			why, ok = run.IsOver, false
		}
		if !ok {
			return scenario.Move{}, &run.Refusal{Reason: why, At: s.live.Now()}
		}
		m := scenario.Move{Until: until}
		return m, s.live.Apply(ctx, m)
	})
}

// Trace returns the branch's trace, with its moves as the schedule of sc, which
// is what it is a branch of. As far as the moves go, such a scenario gives the
// same bytes.
func (b *Branch) Trace(sc *scenario.Scenario) (trace.Header, []trace.Event, error) {
	text, err := sc.WithSchedule(b.Moves).MarshalJSON()
	if err != nil {
		return trace.Header{}, nil, fmt.Errorf("engine: %w", err)
	}
	h := b.Header
	h.Scenario = text
	return h, b.Events, nil
}

// Trace returns the branch's trace. A scenario with the branch's moves as its
// schedule gives the same bytes, as far as the moves go.
func (s *Session) Trace(id int) (trace.Header, []trace.Event, error) {
	b, err := s.Branch(id)
	if err != nil {
		return trace.Header{}, nil, err
	}
	return b.Trace(s.sc)
}
