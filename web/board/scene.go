package board

import (
	"bytes"
	"context"
	"fmt"

	"relock/engine"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/web/lesson"
)

// How much a room keeps of the scenarios that its class has gone through.
const (
	maxScenes  = 32
	maxEarlier = 1 << 20 // bytes

	movesAtOnce = 100 // of a plan
)

var (
	errScenes   = phrase.New("this room has kept as much of its scenarios as it can: at most %d of them, and %d KiB with their branches; make a new room for the next one", maxScenes, maxEarlier>>10)
	errLongPlan = phrase.New("a room's run can hold %d MB, and these moves take more: make fewer of them", maxRun>>20)
	errPlan     = phrase.New("say what to open: one of example, link and item")
)

// Planner returns the scenario for a room, and the class's place in it. An error
// that speaks says why there is none. Any goroutine may call it.
type Planner func(context.Context, lesson.Place) (Plan, error)

// Plan is what a room is made from, or goes on to.
type Plan struct {
	Scenario *scenario.Scenario // with the moves of its first branch
	Title    lesson.Words       // what the scene is called; nil: as the scenario
	At       int                // where it stands
	Goal     string             // the item of the course that has the class break it, "" for none
	By       string             // who makes the room, as its limits count: a digest; "" for nobody
	Lesson   *lesson.Lesson     // that a room is made for, and whose first step this is; nil for none
}

// scene returns the planned scene, with its first branch, and where you are in it.
func (p Plan) scene(first int) (*Scene, *Stand, error) {
	text, err := p.Scenario.WithSchedule(nil).Compact()
	if err != nil {
		return nil, nil, fmt.Errorf("board: %w", err)
	}
	moves, err := written(p.Scenario.Schedule)
	if err != nil {
		return nil, nil, err
	}
	scene := &Scene{Scenario: text, Title: p.Title, First: first, Goal: p.Goal, Branches: []Branch{{ID: first, Parent: -1, Moves: moves}}}
	return scene, &Stand{Branch: first, At: min(p.At, len(moves))}, nil
}

// run makes the moves of a scene that is planned. It fails if they cannot be
// made.
func (s *Scene) run(ctx context.Context) (*Run, error) {
	r, err := newRun(s.Scenario)
	if err != nil {
		return nil, err
	}
	first := s.Branches[0]
	for made := 0; err == nil; { // some at a time: too many are noticed early
		made = min(made+movesAtOnce, len(first.Moves))
		part := Scene{Scenario: s.Scenario, First: s.First, Branches: []Branch{{ID: first.ID, Parent: -1, Moves: first.Moves[:made]}}}
		if _, err = r.Track(ctx, &State{Scene: part}, s.First); err == nil && r.Size() > maxRun {
			err = errLongPlan
		}
		if made == len(first.Moves) {
			break
		}
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// goOnTo has the class go on to another scenario.
func (f *referee) goOnTo(ctx context.Context, _ *Member, c Command) (Entry, error) {
	place := lesson.Place{Example: c.Example, Link: c.Link, Item: c.Item}
	if place.Given() != 1 {
		return Entry{}, errPlan
	}
	plan, err := f.plan(ctx, place)
	if err != nil {
		return Entry{}, err
	}
	return f.open(ctx, plan)
}

// goToPlan has the class go to the place of a plan: in the scenario in which it is,
// if it is the same one.
func (f *referee) goToPlan(ctx context.Context, plan Plan) (Entry, error) {
	if plan.Scenario == nil {
		return Entry{Stand: &Stand{Branch: f.state.Stand.Branch, At: f.state.Stand.At}}, nil
	}
	opens, err := plan.Opens(f.run.Scenario(), f.state.Goal)
	if err != nil {
		return Entry{}, err
	}
	if opens {
		return f.open(ctx, plan)
	}
	at := min(plan.At, len(plan.Scenario.Schedule))
	e, extended, err := f.along(ctx, plan.Scenario.Schedule, at)
	if err == nil && !extended {
		var c Command
		if c, err = AddCommand(0, plan.Scenario.Schedule, at, nil); err == nil {
			e, err = f.add(ctx, nil, c)
		}
	}
	if err == nil {
		e.Stand.Focus = ""
	}
	return e, err
}

// along takes everybody to the place after the first at of these moves, on a branch that
// goes on with them, and reports whether there is one.
func (f *referee) along(ctx context.Context, moves []scenario.Move, at int) (Entry, bool, error) {
	list, err := written(moves)
	if err != nil {
		return Entry{}, false, err
	}
	on, same := longestCommon(f.state.Branches, list)
	if b := f.state.Branch(on); same < len(b.Moves) || same == len(list) {
		return Entry{}, false, nil
	}
	if _, err := f.from(ctx, f.state, on, same); err != nil {
		return Entry{}, false, err
	}
	for n, m := range moves[same:] {
		if f.tooLong() {
			return Entry{}, false, errLong
		}
		if _, err := f.run.try(ctx, moves[:same+n], engine.Wish{Move: &m}); err != nil {
			return Entry{}, false, err
		}
	}
	return Entry{Made: []Made{{Branch: on, After: same, Moves: list[same:]}}, Stand: &Stand{Branch: on, At: at}}, true, nil
}

// Opens reports whether the plan opens another scene than that of a scenario and a goal,
// "" for none. It fails if a scenario cannot be written.
func (p Plan) Opens(here *scenario.Scenario, goal string) (bool, error) {
	a, err := Bare(here)
	if err != nil {
		return false, err
	}
	b, err := Bare(p.Scenario)
	return !bytes.Equal(a, b) || p.Goal != "" && p.Goal != goal, err
}

// Bare is a scenario without moves and without their texts. Two scenarios with the
// same Bare run the same.
func Bare(sc *scenario.Scenario) ([]byte, error) {
	one := *sc.WithSchedule(nil)
	one.Expect = nil
	text, err := one.Compact()
	if err != nil {
		return nil, fmt.Errorf("board: %w", err)
	}
	return text, nil
}

// open has the class go on to what is planned, if there is room for one more
// scenario and its moves can be made.
func (f *referee) open(ctx context.Context, plan Plan) (Entry, error) {
	kept := 0
	for _, s := range f.state.Scenes() {
		kept += s.size()
	}
	if len(f.state.Earlier)+1 >= maxScenes || kept > maxEarlier {
		return Entry{}, errScenes
	}
	scene, stand, err := plan.scene(f.state.Made)
	if err != nil {
		return Entry{}, err
	}
	next, err := scene.run(ctx)
	if err != nil {
		return Entry{}, err
	}
	f.run = next
	f.runs.take(len(f.state.Earlier)+1, next)
	return Entry{Scene: scene, Stand: stand, Seats: f.state.kept(next.Scenario())}, nil
}

// kept are the seats of those threads that a scenario has, too: who plays them
// goes on to do so.
func (s *State) kept(sc *scenario.Scenario) map[string]Seat {
	var seats map[string]Seat
	for _, t := range sc.Threads {
		if seat := s.Seats[t.Name]; len(seat.By) > 0 {
			if seats == nil {
				seats = map[string]Seat{}
			}
			seats[t.Name] = Seat{By: seat.By}
		}
	}
	return seats
}
