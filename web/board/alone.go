package board

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"time"

	"relock/engine/phrase"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Alone is a board without a log: nobody joins, the server keeps nothing of it, and each
// command says where it acts. It is not safe for concurrent use. Close ends it.
type Alone struct {
	referee referee
	host    Member
	machine Machine // nil: the run of a scenario
	dropped []Misfit
}

// Misfit are the last moves of a branch, which the scenario does not have: it was changed after they
// were made.
type Misfit struct {
	Moves, Dropped int // of how many, and how many
	Why            *run.Refusal
}

// Says implements [phrase.Speaker].
func (m Misfit) Says() phrase.Wording {
	return phrase.Say("of %d moves the last %d no longer fit the scenario and are dropped: %s", m.Moves, m.Dropped, m.Why.Says())
}

// Machine makes the moves of a board that has no scenario.
type Machine interface {
	// Make makes a command's moves after the first at of a branch, or of none where that
	// is NoBranch. It tells the board of them by Begin and Follow, and returns the branch
	// that they are on, also beside an error.
	Make(ctx context.Context, branch, at int, c Command) (on int, err error)
}

// NoBranch is in the place of a branch for moves that go on from none.
const NoBranch = -1

// Line is a branch that a board of one begins with.
type Line struct {
	Parent, Fork int
	Moves        []scenario.Move
}

// OpenAlone begins a board of one with branches, which have the IDs from 0 on.
// Matters says which events are marked; full says why there may be no more moves
// now, or returns nil. Where a branch's moves do not fit the scenario, it has those before: Dropped
// says so. It fails if they cannot be made for another reason.
func OpenAlone(ctx context.Context, sc *scenario.Scenario, lines []Line, matters func(trace.Event) bool, full func() error) (*Alone, error) {
	state := &State{Made: len(lines), People: map[string]*Member{}, Seats: map[string]Seat{}}
	a := &Alone{
		referee: referee{state: state, run: runOf(sc.WithSchedule(nil)), matters: matters, full: full, now: time.Now, bytes: math.MaxInt},
		host:    Member{Part: Host},
	}
	for i, line := range lines {
		if err := a.open(ctx, i, line); err != nil {
			a.Close()
			return nil, err
		}
	}
	return a, nil
}

// open begins a branch with the moves of a line that fit.
func (a *Alone) open(ctx context.Context, id int, line Line) error {
	moves, err := written(line.Moves)
	if err != nil {
		return err
	}
	state := a.referee.state
	if 0 <= line.Parent && line.Parent < id { // which may have lost moves
		line.Fork = min(line.Fork, len(state.Branches[line.Parent].Moves))
	}
	state.Branches = append(state.Branches, Branch{ID: id, Parent: line.Parent, Fork: line.Fork, Moves: moves})
	_, err = a.Track(ctx, id)
	var misfit *run.Divergence
	if !errors.As(err, &misfit) {
		return err
	}
	b, fit := &state.Branches[id], misfit.Decision-1
	b.Moves, b.Fork = moves[:fit], min(line.Fork, fit)
	a.dropped = append(a.dropped, Misfit{len(moves), len(moves) - fit, misfit.Why})
	_, err = a.Track(ctx, id)
	return err
}

// Dropped are the moves that it began without.
func (a *Alone) Dropped() []Misfit { return a.dropped }

// OpenOn begins a board, without branches, on a machine. It has Do, Branches, Begin and
// Follow, and need not be closed.
func OpenOn(m Machine) *Alone {
	state := &State{People: map[string]*Member{}, Seats: map[string]Seat{}}
	return &Alone{referee: referee{state: state, now: time.Now}, host: Member{Part: Host}, machine: m}
}

// Branches returns the branches, the oldest first.
func (a *Alone) Branches() []Branch { return a.referee.state.Branches }

// Begin begins a branch with the first moves of another, or of NoBranch, and returns its ID.
func (a *Alone) Begin(parent, fork int) int {
	id := a.referee.state.Made
	a.referee.log(Entry{Made: []Made{{Branch: id, Parent: parent, Fork: fork, After: fork}}})
	return id
}

// Follow notes the moves with which a branch goes on.
func (a *Alone) Follow(branch int, moves []json.RawMessage) {
	after := len(a.referee.state.Branch(branch).Moves)
	a.referee.log(Entry{Made: []Made{{Branch: branch, After: after, Moves: moves}}})
}

// Close ends the board's runs.
func (a *Alone) Close() { a.referee.run.Close() }

// Scenario returns the board's scenario, without moves.
func (a *Alone) Scenario() *scenario.Scenario { return a.referee.run.Scenario() }

// Tracks returns all branches, the oldest first, as Track does.
func (a *Alone) Tracks(ctx context.Context) ([]*Track, error) {
	return a.referee.run.Tracks(ctx, a.referee.state)
}

// Track returns a branch, as Run.Track does.
func (a *Alone) Track(ctx context.Context, id int) (*Track, error) {
	return a.referee.run.Track(ctx, a.referee.state, id)
}

// Events returns how many events the branches have.
func (a *Alone) Events() int { return a.referee.run.events(a.referee.state) }

// Size is about how many bytes the board takes.
func (a *Alone) Size() int { return a.referee.run.Size() }

// Going reports whether a run should go on: GoOn makes its next moves.
func (a *Alone) Going() bool { return a.referee.state.Going != nil }

// Do carries out a command of a host, after the first At moves of its Branch, or
// after all of them. Its results count, even with an error.
func (a *Alone) Do(ctx context.Context, c Command) (Entry, error) {
	f := &a.referee
	if c.Do != DoAdd {
		b := f.state.Branch(c.Branch)
		if b == nil && a.machine != nil && c.Branch == NoBranch {
			b = &Branch{}
		}
		if b == nil {
			return Entry{}, ErrNoBranch
		}
		at := len(b.Moves)
		if c.At != nil {
			at = *c.At
		}
		f.state.Stand = Stand{Branch: c.Branch, At: at}
		if a.machine != nil && c.Do != "drop" {
			if at < 0 || at > len(b.Moves) {
				return Entry{}, ErrNoMove
			}
			on, err := a.machine.Make(ctx, c.Branch, at, c)
			return Entry{Stand: &Stand{Branch: on}}, err
		}
	}
	return a.decided(f.carryOut(ctx, &a.host, c))
}

// GoOn makes the next moves of a running run.
func (a *Alone) GoOn(ctx context.Context) (Entry, error) {
	return a.decided(a.referee.slice(ctx, *a.referee.state.Going))
}

func (a *Alone) decided(e Entry, err error) (Entry, error) {
	a.referee.log(e)
	if e.Dropped != nil && a.machine == nil {
		a.referee.run.retain(a.referee.state)
	}
	return e, err
}
