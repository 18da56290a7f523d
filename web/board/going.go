package board

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"relock/engine"
	"relock/engine/panics"
	"relock/engine/phrase"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// How many moves a run makes before they are in the log and everybody sees them:
// whichever bound comes first.
const (
	sliceMoves = 32
	sliceTime  = 50 * time.Millisecond
)

var errParent = phrase.New("another branch begins at that one, so it stays")

// Going is a run that goes on by itself at the end of a branch.
type Going struct {
	Branch int    `json:"branch"`
	To     string `json:"to"`               // what ends it, see Aim; "" where it has ended
	Thread string `json:"thread,omitempty"` // whose outcome
}

// Aim returns what ends a run to something: an event that is an aim, or only the
// end of the run. Thread counts for an outcome; matters says which events are
// marked. It fails with an error that lists the allowed aims.
func Aim(sc *scenario.Scenario, to, thread string, matters func(trace.Event) bool) (is func(trace.Event) bool, err error) {
	switch to {
	case "end":
		return func(trace.Event) bool { return false }, nil
	case "mark":
		return matters, nil
	case "violation":
		return func(e trace.Event) bool { return e.Kind() == trace.KindViolation }, nil
	case "outcome":
		if !slices.ContainsFunc(sc.Threads, func(t scenario.Thread) bool { return t.Name == thread }) {
			return nil, phrase.New("say whose outcome: name one of the scenario's threads")
		}
		return func(e trace.Event) bool { return e.Kind() == trace.KindOutcome && e.Thread == thread }, nil
	default:
		return nil, phrase.New("cannot run to %q; allowed: end, mark, violation, outcome", to)
	}
}

// goOn has the run go on from the end of the branch on which all are, until the wanted
// event has come.
func (f *referee) goOn(ctx context.Context, _ *Member, c Command) (Entry, error) {
	return f.slice(ctx, Going{Branch: f.state.Stand.Branch, To: c.To, Thread: c.Thread})
}

// slice makes the next moves of a run. The moves it made are in the entry, even with an
// error.
func (f *referee) slice(ctx context.Context, g Going) (Entry, error) {
	is, err := Aim(f.run.Scenario(), g.To, g.Thread, f.matters)
	if err != nil {
		return Entry{}, err
	}
	made, ended, err := f.goOnUntil(ctx, g.Branch, is)
	var e Entry
	if made != nil {
		e.Made = []Made{*made}
		e.Stand = &Stand{Branch: made.Branch, At: made.After + len(made.Moves), Focus: f.state.Stand.Focus}
	}
	switch {
	case err == nil && !ended:
		e.Going = &g
	case f.state.Going != nil:
		e.Going = &Going{}
	}
	return e, err
}

// goOnUntil makes moves at the end of a branch, as many as a slice has, until an event has
// come that is wanted, or the run has ended. What it made counts, even with an error.
func (f *referee) goOnUntil(ctx context.Context, branch int, wanted func(trace.Event) bool) (made *Made, ended bool, err error) {
	b := f.state.Branch(branch)
	if b == nil {
		return nil, false, ErrNoBranch
	}
	after := len(b.Moves)
	t, err := f.from(ctx, f.state, branch, after)
	if err != nil {
		return nil, false, err
	}
	path, began := t.Path, f.now()
	if path.End().Over {
		return nil, true, &run.Refusal{Reason: run.IsOver}
	}
	for n := 0; !ended && n < cmp.Or(f.most, sliceMoves) && f.now().Sub(began) < sliceTime; n++ {
		if f.tooLong() {
			err = errLong
			break
		}
		var next *engine.Path
		if next, err = f.run.try(ctx, path.Moves, engine.Wish{}); err != nil {
			break
		}
		// A slice can end where the run does.
		ended = next.End().Over || slices.ContainsFunc(next.Events[len(path.Events):], wanted)
		path = next
	}
	if len(path.Moves) == after {
		return nil, ended, err
	}
	list, failed := written(path.Moves[after:])
	return &Made{Branch: branch, After: after, Moves: list}, ended, errors.Join(err, failed)
}

// goesOn makes the next moves of the run that goes on by itself. If it cannot go on, it
// has ended: nobody waits for an answer, and whoever tries the next move hears why.
func (f *referee) goesOn(ctx context.Context) Entry {
	var e Entry
	err := panics.Catch(func() (err error) {
		e, err = f.slice(ctx, *f.state.Going)
		return err
	})
	if err != nil {
		e.Going = &Going{}
		if _, told := phrase.Of(err); !told {
			f.note(fmt.Errorf("board: go on: %w", err))
		}
	}
	return e
}

// AddCommand returns the command that takes everybody to the place after the first
// at of these moves; the branch made for them replaces another one, unless that is
// nil.
func AddCommand(id int64, moves []scenario.Move, at int, instead *int) (Command, error) {
	list, err := written(moves)
	return Command{ID: id, Do: DoAdd, Moves: list, At: &at, Instead: instead}, err
}

// add takes everybody to the end of the given moves: on a branch that begins with them,
// or on a new one, which can replace a branch from which no other begins.
func (f *referee) add(ctx context.Context, _ *Member, c Command) (Entry, error) {
	if len(c.Moves) > engine.MaxMoves {
		return Entry{}, engine.ErrMoves
	}
	moves, err := f.run.parse(c.Moves)
	if err != nil {
		return Entry{}, err
	}
	at := len(moves)
	if c.At != nil {
		at = *c.At
	}
	if at < 0 || at > len(moves) {
		return Entry{}, ErrNoMove
	}
	if c.Instead != nil {
		if err := f.mayDrop(*c.Instead); err != nil {
			return Entry{}, err
		}
		if slices.ContainsFunc(f.state.Branches, func(b Branch) bool { return b.Parent == *c.Instead }) {
			return Entry{}, errParent
		}
	}
	list, err := written(moves)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Stand: &Stand{At: at, Focus: f.state.Stand.Focus}}
	without := f.state.clone()
	on, same := longestCommon(without.Branches, list)
	if same == len(list) {
		e.Stand.Branch = on
		return e, nil
	}
	if c.Instead != nil {
		e.Dropped = c.Instead
		without.Branches = slices.DeleteFunc(without.Branches, func(b Branch) bool { return b.ID == *c.Instead })
		on, same = longestCommon(without.Branches, list)
	}
	made, err := f.branch(ctx, without, on, same, moves)
	if err != nil {
		return Entry{}, err
	}
	e.Made, e.Stand.Branch = []Made{*made}, made.Branch
	return e, nil
}

// branch makes another branch of a state, of these moves: it leaves one after the first at
// of them.
func (f *referee) branch(ctx context.Context, s *State, id, at int, moves []scenario.Move) (*Made, error) {
	if _, err := f.from(ctx, s, id, at); err != nil {
		return nil, err
	}
	if f.tooLong() {
		return nil, errLong
	}
	if err := mayFork(s); err != nil {
		return nil, err
	}
	if _, err := f.run.paths.Path(f.run.within(ctx), moves); err != nil {
		return nil, err
	}
	return fork(s, id, at, moves)
}

// longestCommon returns the first branch that has most of the moves in common at
// its start, and how many.
func longestCommon(branches []Branch, moves []json.RawMessage) (id, same int) {
	same = -1
	for _, b := range branches {
		if n := common(b.Moves, moves); n > same {
			id, same = b.ID, n
		}
	}
	return id, same
}

// cut begins a branch with the first moves of another, and takes everybody to its end.
// Without a place it cuts where everybody is.
func (f *referee) cut(ctx context.Context, _ *Member, c Command) (Entry, error) {
	id, at := f.state.Stand.Branch, f.state.Stand.At
	if c.At != nil {
		id, at = c.Branch, *c.At
	}
	var moves []scenario.Move
	b, err := f.from(ctx, f.state, id, at)
	if err == nil {
		moves = b.Moves[:at]
	}
	made, err := f.branch(ctx, f.state, id, at, moves)
	if err != nil {
		return Entry{}, err
	}
	return Entry{Made: []Made{*made}, Stand: &Stand{Branch: made.Branch, At: at, Focus: f.state.Stand.Focus}}, nil
}
