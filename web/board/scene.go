package board

import (
	"bytes"
	"context"
	"fmt"

	"relock/engine/phrase"
	"relock/engine/scenario"
)

// What a room keeps of the scenarios that its class has gone through.
const (
	maxScenes  = 32
	maxEarlier = 1 << 20 // bytes

	movesAtOnce = 100 // of a plan
)

var (
	errScenes   = phrase.New("this room has kept as much of its scenarios as it can: at most %d of them, and %d KiB with their branches; make a new room for the next one", maxScenes, maxEarlier>>10)
	errLongPlan = phrase.New("a room's run can hold %d MB, and the moves of this one take more: make fewer of them", maxRun>>20)
	errPlan     = phrase.New("say what to open by one of example, link and item")
)

// Planner returns what a room is to be around: an example by its name, a link
// by its text, or an item of the course, chapter/item. An error that speaks
// says why there is none. It is called by any goroutine.
type Planner func(example, link, item string) (Plan, error)

// Plan is what a room is made from, or goes on to.
type Plan struct {
	Scenario *scenario.Scenario // with the moves of its first branch
	At       int                // where it stands
	By       string             // who makes the room, as its limits count: a digest; "" for nobody
}

// scene returns the scene that is planned, with its first branch, and where
// you stand in it.
func (p Plan) scene(first int) (*Scene, *Stand, error) {
	text, err := p.Scenario.WithSchedule(nil).Compact()
	if err != nil {
		return nil, nil, fmt.Errorf("board: %w", err)
	}
	moves, err := written(p.Scenario.Schedule)
	if err != nil {
		return nil, nil, err
	}
	scene := &Scene{Scenario: text, First: first, Branches: []Branch{{ID: first, Parent: -1, Moves: moves}}}
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
	if given := len(c.Example) + len(c.Link) + len(c.Item); given == 0 || given != max(len(c.Example), len(c.Link), len(c.Item)) {
		return Entry{}, errPlan
	}
	plan, err := f.plan(c.Example, c.Link, c.Item)
	if err != nil {
		return Entry{}, err
	}
	return f.open(ctx, plan)
}

// goToPlan has the class go to the place of a plan: in the scenario in which it is,
// if it is the same one.
func (f *referee) goToPlan(ctx context.Context, plan Plan) (Entry, error) {
	here, err := bare(f.run.Scenario())
	if err != nil {
		return Entry{}, err
	}
	there, err := bare(plan.Scenario)
	if err != nil {
		return Entry{}, err
	}
	if !bytes.Equal(here, there) {
		return f.open(ctx, plan)
	}
	c, err := AddCommand(0, plan.Scenario.Schedule, min(plan.At, len(plan.Scenario.Schedule)), nil)
	if err != nil {
		return Entry{}, err
	}
	e, err := f.add(ctx, nil, c)
	if err == nil {
		e.Stand.Focus = ""
	}
	return e, err
}

// bare is a scenario as what happens in it counts: without moves, and what is
// said of them.
func bare(sc *scenario.Scenario) ([]byte, error) {
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
