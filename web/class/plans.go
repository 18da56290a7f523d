package class

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"relock/engine"
	"relock/engine/course"
	"relock/engine/outside/ownlock"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/board"
	"relock/web/lesson"
	"relock/web/link"
	"relock/web/page"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/words"
)

// plans are what a room can be around, and what it asks.
type plans struct {
	*shell.Pages

	course func() *course.Course
}

// errNoPlan is returned for what is nothing that a room can be around.
var errNoPlan = phrase.New("a room needs a scenario or a lesson: an example by its name, a link's text, or an item of the course, chapter/item")

// noPlan is the page that says why no room can be made of something.
func noPlan(err error) error { return site.Unusable(err, "No room can be made of that") }

// planOf is the plan of a room: its run, and where the class is. An error that speaks
// says why it is nothing.
func (s *plans) planOf(ctx context.Context, at lesson.Place) (board.Plan, error) {
	plan := board.Plan{}
	switch {
	case at.Example != "":
		i := slices.IndexFunc(s.Examples, func(e shell.Example) bool { return e.Name == at.Example })
		if i < 0 {
			return plan, errNoPlan
		}
		plan.Scenario = s.Examples[i].Scenario()
	case at.Link != "":
		state, err := link.Decode(strings.TrimPrefix(at.Link, "#"))
		if err != nil {
			return plan, fmt.Errorf("class: %w", err)
		}
		plan.Scenario, plan.At = state.Scenario, state.At
	case at.Item != "":
		found, ok := s.course().Item(at.Item)
		if !ok {
			return plan, errNoPlan
		}
		if found.Lab() != nil {
			return plan, errOnlySeen
		}
		plan.Title = inAll(func(l words.Language) string { return found.Title(l) })
		if plan.Scenario = found.Scenario; found.Kind == course.Break {
			if _, err := found.Made(); err != nil { // now, not while others wait to see the room
				return plan, fmt.Errorf("class: %w", err)
			}
			plan.Goal = at.Item
		}
	default:
		return plan, errNoPlan
	}
	if at.Row() == 0 {
		return plan, nil
	}
	var err error
	plan.Scenario, plan.At, err = movesToRow(ctx, plan.Scenario, at.Row())
	return plan, err
}

// examine is what an item of the course asks, in every language, and where.
func (s *plans) examine(ctx context.Context, item string) (board.Plan, *board.Question, error) {
	found, ok := s.course().Item(item)
	if !ok {
		return board.Plan{}, nil, errNoPlan
	}
	apart := isApart(string(found.Kind))
	if !apart && !slices.Contains([]course.Kind{course.Predict, course.Why, course.Mend, course.Write}, found.Kind) {
		return board.Plan{}, nil, errNoVote
	}
	if found.Scenario.Lock.Own() && s.Box == nil {
		return board.Plan{}, nil, ownlock.ErrNoBox
	}
	if found.Lab() != nil && !apart {
		return board.Plan{}, nil, errOnlySeen
	}
	made, err := found.Made()
	if err != nil {
		return board.Plan{}, nil, fmt.Errorf("class: %w", err)
	}
	q := &board.Question{Kind: string(found.Kind), Text: map[string]string{}, Options: map[string][]string{}}
	for _, l := range s.Languages.All() {
		if err := put(q, l, found, made); err != nil {
			return board.Plan{}, nil, fmt.Errorf("class: %w", err)
		}
	}
	plan := board.Plan{Title: inAll(func(l words.Language) string { return found.Title(l) })}
	if apart {
		return plan, q, nil
	}
	plan.Scenario = found.Scenario
	if task, err := course.TaskOf[*course.Writing](found); err == nil {
		q.Kind, q.Call, q.Start, q.Right = board.Write, task.Call, strings.TrimSuffix(task.Start, "\n"), int(isRight)
	}
	if found.Kind == course.Mend || found.Kind == course.Write { // it is at the end of what went wrong
		plan.Scenario, plan.At = made.Solved.Scenario, len(made.Solved.Scenario.Schedule)
		q.Step = stepOf(made.Solved.Events)
		return plan, q, nil
	}
	q.Step = stepOf(made.Run.Events[:made.Stand])
	plan.Scenario, plan.At, err = movesUntil(ctx, found.Scenario, made.Stand, found.Kind == course.Why)
	return plan, q, err
}

// isApart reports whether a question of a kind is asked without a run: it would tell.
func isApart(kind string) bool {
	return slices.Contains([]course.Kind{course.ReviewCode, course.Rank, course.Diagnose}, course.Kind(kind))
}

// put fills in what an item asks a class in a language: one answer is right. Of an item
// with several right ones the class gets the last of them.
func put(q *board.Question, l words.Language, item *course.Item, made *course.Made) error {
	prose, err := item.Prose(l)
	if err != nil {
		return err
	}
	var options []string
	add := func(right bool, text string) {
		if right {
			q.Right = len(options)
		}
		options = append(options, text)
	}
	text := page.Plain(prose.Goal)
	switch item.Kind {
	case course.Write:
		options = verdicts(l)
	case course.ReviewCode:
		code, err := course.TaskOf[*course.Review](item)
		if err != nil {
			return err
		}
		text = l.Say("Which of these lines is at fault?")
		for _, n := range code.Suspects(lesson.MaxOptions - 1) {
			add(code.Lines[n-1].AtFault(), fmt.Sprintf("%d: %s", n, strings.TrimSpace(code.Lines[n-1].Text)))
		}
		add(len(code.Faults) == 0, l.Say("No line is at fault"))
	case course.Rank:
		task, err := course.TaskOf[*course.Ranking](item)
		if err != nil {
			return err
		}
		text = l.Say("Which of these saves most of these situations?")
		for n, a := range made.Answers {
			add(n == task.Best[0], page.Plain(prose.Labels[a.Option.ID]))
		}
	default:
		last := 0
		for n, a := range made.Answers {
			if a.Right {
				last = n
			}
		}
		for n, a := range made.Answers {
			switch {
			case a.Right && n != last:
			case item.Kind == course.Predict:
				add(a.Right, shell.Said(l, a.Says))
			default:
				add(a.Right, page.Plain(prose.Labels[a.Option.ID]))
			}
		}
	}
	q.Text[l.Code()], q.Options[l.Code()] = text, options
	return nil
}

// stepOf is the step of the last of some events, 0 for none.
func stepOf(events []trace.Event) int {
	if len(events) == 0 {
		return 0
	}
	return events[len(events)-1].Step
}

// movesUntil returns a scenario with the moves of its run as far as so many
// events, or all of them, and how many moves these events take.
func movesUntil(ctx context.Context, sc *scenario.Scenario, events int, all bool) (*scenario.Scenario, int, error) {
	b, err := stepped(ctx, sc, func(p engine.Position) bool { return p.Seq > events && !all })
	if err != nil {
		return nil, 0, err
	}
	at := 0
	for at < len(b.Moves) && b.Positions[at+1].Seq <= events {
		at++
	}
	if all {
		return sc.WithSchedule(b.Moves), at, nil
	}
	return sc.WithSchedule(b.Moves[:at]), at, nil
}

// stepped steps through a scenario, along its schedule and then as its policy
// wants, until it is over or at a position that is enough.
func stepped(ctx context.Context, sc *scenario.Scenario, enough func(engine.Position) bool) (*engine.Path, error) {
	p := engine.NewPaths(sc)
	defer p.Close()
	b, err := p.Path(ctx, sc.Schedule)
	for err == nil && !b.End().Over && !enough(b.End()) {
		b, err = p.Try(ctx, b.Moves, engine.Wish{})
	}
	if err != nil {
		return nil, fmt.Errorf("class: %w", err)
	}
	return b, nil
}

// movesToRow returns a scenario with the moves of its run after which a row of
// it is there, and how many they are.
func movesToRow(ctx context.Context, sc *scenario.Scenario, row int) (*scenario.Scenario, int, error) {
	b, err := stepped(ctx, sc, func(p engine.Position) bool { return p.Row >= row })
	if err != nil {
		return nil, 0, err
	}
	at := slices.IndexFunc(b.Positions, func(p engine.Position) bool { return p.Row >= row })
	if at < 0 {
		return nil, 0, phrase.New("its run ends at T%d: there is no T%d", b.End().Row, row)
	}
	return sc.WithSchedule(b.Moves), at, nil
}

// askRoom makes a question about where a room is, in every language.
func (s *plans) askRoom(ctx context.Context, sc *scenario.Scenario, at int) (*board.Question, error) {
	made, err := course.Ask(ctx, sc, at)
	if err != nil {
		return nil, err
	}
	q := &board.Question{Text: map[string]string{}, Options: map[string][]string{}}
	for _, l := range s.Languages.All() {
		q.Text[l.Code()] = l.Clause(made.Asks())
		for n, a := range made.Answers {
			q.Options[l.Code()] = append(q.Options[l.Code()], shell.Said(l, a.Says))
			if a.Right {
				q.Right = n
			}
		}
	}
	return q, nil
}

// Errors of what an item can ask a class.
var (
	errOnlySeen = phrase.New("that item shows a lab's recording of somebody's own lock: a class can look at it, but a room cannot step it")
	errNoVote   = phrase.New("that item has no question for a class: it is there to be read, played or put in order")
)
