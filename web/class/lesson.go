package class

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"relock/engine"
	"relock/engine/course"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/lessons"
	"relock/web/board"
	"relock/web/lesson"
	"relock/web/link"
	"relock/web/page"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/stepper"
	"relock/web/words"
)

// workshop is a lesson that comes with the playground.
type workshop struct {
	name   string
	lesson *lesson.Lesson
}

// fits reports whether a course has all items and chapters that the workshop asks for.
func (w workshop) fits(c *course.Course) bool {
	return !slices.ContainsFunc(w.lesson.Steps, func(s lesson.Step) bool {
		_, item := c.Item(s.Item)
		_, chapter := c.Chapter(s.Chapter)
		return s.Item != "" && !item || s.Chapter != "" && !chapter
	})
}

// workshops are read when somebody first asks.
var workshops = sync.OnceValue(func() []workshop {
	var list []workshop
	files := lessons.Workshops()
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		panic(err) // the pattern is the one above
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err == nil {
			var read *lesson.Lesson
			if read, err = lesson.Parse(text); err == nil {
				list = append(list, workshop{strings.TrimSuffix(name, ".yaml"), read})
				continue
			}
		}
		panic(fmt.Errorf("class: lesson %s: %w", name, err)) // it is embedded
	}
	return list
})

// lessonOf is the lesson that somebody sent: the name of one that comes with the
// playground, a link's text, or a file's.
func lessonOf(sent string) (*lesson.Lesson, error) {
	sent = strings.TrimSpace(sent)
	for _, w := range workshops() {
		if w.name == sent {
			return w.lesson, nil
		}
	}
	if _, text, is := strings.Cut(sent, "#"); is && lesson.IsLink(text) {
		sent = text // the whole address
	}
	if lesson.IsLink(sent) {
		return lesson.FromLink(sent)
	}
	read, err := lesson.Parse([]byte(sent))
	if err != nil {
		if sc, _ := scenario.Parse([]byte(sent)); sc != nil {
			return lessonAround(sc)
		}
	}
	return read, err
}

// lessonAround is a lesson of one step: somebody has the file of a scenario.
func lessonAround(sc *scenario.Scenario) (*lesson.Lesson, error) {
	text, err := link.Encode(link.Contents{Scenario: sc})
	if err != nil {
		return nil, fmt.Errorf("class: %w", err)
	}
	return &lesson.Lesson{Title: named(nil, sc), Steps: []lesson.Step{{Place: lesson.Place{Link: text}}}}, nil
}

// errNoChapter is returned for a chapter that a class cannot be asked.
var errNoChapter = phrase.New("the course has no chapter of that name with a question for a class")

// asked are the steps of what a step's chapter can ask a class, each an item's own
// question: the first has the step's words. Without a chapter it is the step alone.
func (s *plans) asked(ctx context.Context, step lesson.Step) ([]lesson.Step, error) {
	if step.Chapter == "" {
		return []lesson.Step{step}, nil
	}
	chapter, ok := s.course().Chapter(step.Chapter)
	if !ok {
		return nil, errNoChapter
	}
	var list []lesson.Step
	for _, item := range chapter.Items {
		_, _, err := s.examine(ctx, item.Path())
		switch _, speaks := phrase.Of(err); {
		case err == nil:
			one := lesson.Step{Place: lesson.Place{Item: item.Path()}, Ask: lesson.AskItem}
			if len(list) == 0 {
				one.Title, one.Hold, one.Minutes, one.Notes = step.Title, step.Hold, step.Minutes, step.Notes
			}
			list = append(list, one)
		case !speaks:
			return nil, err
		}
	}
	if len(list) == 0 {
		return nil, errNoChapter
	}
	return list, nil
}

// inStep says in which step of a lesson somebody made a mistake, and where it is a file's
// on which line.
func inStep(sent string, n int, err error) error {
	says, ok := phrase.Of(err)
	if !ok {
		return err
	}
	if lines := lesson.Lines([]byte(sent)); n < len(lines) {
		return phrase.New("line %d, step %d of the lesson: %s", lines[n], n+1, says)
	}
	return phrase.New("step %d of the lesson: %s", n+1, says)
}

// planOfLesson is the plan of a room for a lesson. It fails, saying in which step, where
// an example, an item, a chapter or a row is not there, or a link cannot be read. A scene
// is called as the step that opens it, or else as what the step names.
func (s *plans) planOfLesson(ctx context.Context, sent string) (board.Plan, error) {
	read, err := lessonOf(sent)
	if err != nil {
		return board.Plan{}, err
	}
	full := &lesson.Lesson{Title: read.Title}
	var first, scene board.Plan // scene opened the step before
	for n, written := range read.Steps {
		steps, err := s.asked(ctx, written)
		if err == nil && len(full.Steps)+len(steps) > lesson.MaxSteps {
			err = phrase.New("with its chapters a lesson has at most %d steps", lesson.MaxSteps)
		}
		if err != nil {
			return board.Plan{}, inStep(sent, n, err)
		}
		for _, step := range steps {
			var plan board.Plan
			if step.Ask == lesson.AskItem {
				plan, _, err = s.examine(ctx, step.Item)
			} else {
				plan, err = s.planOf(ctx, step.Place)
			}
			if err != nil {
				return board.Plan{}, inStep(sent, n, err)
			}
			opens := len(full.Steps) == 0
			switch {
			case plan.Scenario == nil && opens: // nobody sees it
				if scene, err = s.planOf(ctx, lesson.Place{Example: s.Examples[0].Name}); err != nil {
					return board.Plan{}, err
				}
				first = scene
			case plan.Scenario == nil:
			case opens:
				first, scene = plan, plan
			default:
				if opens, err = plan.Opens(scene.Scenario, scene.Goal); err != nil {
					return board.Plan{}, fmt.Errorf("class: %w", err)
				}
				if opens {
					scene = plan
				}
			}
			switch {
			case plan.Scenario == nil:
				step.Scene = plan.Title
			case !opens:
				step.Scene = full.Steps[len(full.Steps)-1].Scene
			case step.Title != nil:
				step.Scene = step.Title
			case plan.Title != nil:
				step.Scene = plan.Title
			default:
				step.Scene = inAll(func(l words.Language) string { return shell.TitleOf(l, plan.Scenario) })
			}
			full.Steps = append(full.Steps, step)
		}
	}
	first.Title = full.Steps[0].Scene
	first.Lesson = full
	return first, nil
}

// read is a lesson as its page shows it before a room is made: what is done, asked and said.
func (s *plans) read(ctx context.Context, l words.Language, sent string) (*page.LessonPlan, error) {
	plan, err := s.planOfLesson(ctx, sent)
	if err != nil {
		return nil, err
	}
	p := &page.LessonPlan{Sent: sent, Heading: plan.Lesson.Title.In(l), Minutes: plan.Lesson.Before(len(plan.Lesson.Steps))}
	for n, step := range plan.Lesson.Steps {
		one := page.PlanStep{Title: stepTitle(l, step), From: plan.Lesson.Before(n), Minutes: step.Minutes, Notes: step.Notes.In(l), Item: step.Item, Predict: step.Ask == lesson.AskPredict}
		if step.Hold != nil {
			one.Leads, one.Plays = *step.Hold, !*step.Hold
		}
		switch q := step.Question; {
		case q != nil:
			one.Text, one.Right = q.Text.In(l), q.Right
			for _, option := range q.Options {
				one.Options = append(one.Options, option.In(l))
			}
		case step.Ask == lesson.AskItem:
			_, asked, err := s.examine(ctx, step.Item)
			if err != nil {
				return nil, err
			}
			one.Text, one.Options, one.Right = inLanguage(asked.Text, l), inLanguage(asked.Options, l), asked.Right+1
		}
		p.Steps = append(p.Steps, one)
	}
	return p, nil
}

// roomLesson is how far the class has come in its lesson, for hosts.
type roomLesson struct {
	Title string   `json:"title"`
	Step  int      `json:"step"`  // from 0
	Steps []string `json:"steps"` // what each is called
	Notes string   `json:"notes"` // for the host alone, "" for none
	Next  string   `json:"next"`  // what comes next: go, return, ask, reveal or tell; "" at the end
}

// lessonNow is nil in a room without a lesson.
func lessonNow(l words.Language, s *board.State) *roomLesson {
	if s.Lesson == nil {
		return nil
	}
	step := s.Lesson.Steps[s.Taught.Step]
	out := &roomLesson{Title: s.Lesson.Title.In(l), Step: s.Taught.Step, Notes: step.Notes.In(l), Next: s.LessonNext()}
	if step.Minutes > 0 {
		out.Notes = l.Say("From minute %[1]d, %[2]d minutes.", s.Lesson.Before(s.Taught.Step), step.Minutes) + " " + out.Notes
	}
	for _, step := range s.Lesson.Steps {
		out.Steps = append(out.Steps, stepTitle(l, step))
	}
	return out
}

// Lesson answers a host with what the class has gone through as a lesson: a file, or
// as JSON a link. Of a room with a lesson it is that lesson, with what came to it.
func (s *Pages) Lesson(w http.ResponseWriter, r *http.Request) error {
	found, err := s.hosted(r)
	if err != nil {
		return err
	}
	log, err := found.Log(r.Context())
	if err != nil {
		return fmt.Errorf("class: %w", err)
	}
	var taught *lesson.Lesson
	if err := found.Look(func(v board.View) error {
		taught = v.State.Lesson // which never changes
		return nil
	}); err != nil {
		return fmt.Errorf("class: %w", err)
	}
	made, err := s.plans.lessonMade(r.Context(), log, taught)
	if err != nil {
		return err
	}
	text, err := made.YAML()
	if err == nil {
		_, err = lesson.Parse(text)
	}
	if errors.Is(err, lesson.ErrTooLong) {
		return site.Unusable(err, "No lesson can be made of that")
	}
	if err != nil {
		return fmt.Errorf("class: %w", err)
	}
	w.Header().Set("Cache-Control", "no-store")
	if site.AsksForJSON(r) {
		packed, err := made.Link()
		if err != nil {
			return fmt.Errorf("class: %w", err)
		}
		site.AnswerJSON(w, http.StatusOK, map[string]string{"link": "/room/new#" + packed})
		return nil
	}
	w.Header().Set("Content-Type", "application/yaml; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="lesson-`+found.Code()+`.yaml"`)
	_, _ = w.Write(text) //nolint:gosec // a file, and no HTML; the visitor has left: nobody to tell
	return nil
}

// lessonMade makes a lesson of a room's log, with no notes yet. A host's additions to the
// lesson, nil for none, come after the step in which they were made.
func (s *plans) lessonMade(ctx context.Context, log []board.Entry, taught *lesson.Lesson) (*lesson.Lesson, error) {
	made := &lesson.Lesson{}
	ahead := []lesson.Step{} // of what was taught, not made yet
	if taught != nil {
		made.Title, ahead = taught.Title, taught.Steps
	}
	shipped := shipping{s: s, of: map[string]*shippedRun{}}
	held := false
	follow := func(to int) { // the lesson up to before a step
		for ; len(ahead) > 0 && len(taught.Steps)-len(ahead) < to; ahead = ahead[1:] {
			step := ahead[0]
			if step.Scene = nil; step.Hold != nil {
				held = *step.Hold
			}
			made.Steps = append(made.Steps, step)
		}
	}
	for _, stop := range ownStops(board.Stops(log)) {
		follow(stop.Step + 1)
		if len(made.Steps)+len(ahead) >= lesson.MaxSteps {
			break
		}
		sc, err := scenario.Parse(stop.Scenario)
		if err != nil {
			return nil, fmt.Errorf("class: %w", err)
		}
		moves, err := stepper.MovesOf(sc, stop.Moves)
		if err != nil {
			return nil, fmt.Errorf("class: %w", err)
		}
		step := lesson.Step{}
		if held != stop.Held {
			is := stop.Held
			held, step.Hold = is, &is
		}
		switch q := stop.Question; {
		case q == nil:
		case q.Item != "":
			step.Item, step.Ask = q.Item, lesson.AskItem
		case q.Kind == board.Own:
			step.Question = asLesson(q)
		default:
			step.Ask = lesson.AskPredict
		}
		if step.Item == "" && stop.Goal != "" && len(moves) == 0 {
			step.Item = stop.Goal
		}
		if step.Item == "" {
			if step.Place, err = shipped.place(ctx, sc, moves); err != nil {
				return nil, err
			}
		}
		if stop.opens {
			step.Title = named(stop.Title, sc)
		}
		if made.Title == nil {
			made.Title = named(stop.Title, sc)
		}
		made.Steps = append(made.Steps, step)
	}
	follow(lesson.MaxSteps)
	return made, nil
}

// ownStop is a stop to which no lesson has led.
type ownStop struct {
	board.Stop

	opens bool // a scene
}

// ownStops are they, by the step of the lesson after which each comes.
func ownStops(all []board.Stop) []ownStop {
	var own []ownStop
	for n, stop := range all {
		if !stop.Taught {
			own = append(own, ownStop{stop, n == 0 || !stop.Same(all[n-1])})
		}
	}
	slices.SortStableFunc(own, func(a, b ownStop) int { return cmp.Compare(a.Step, b.Step) })
	return own
}

// asLesson is a host's own question as a lesson has it.
func asLesson(q *board.Question) *lesson.Question {
	out := &lesson.Question{Text: lesson.Words(q.Text), Right: q.Right + 1}
	for n := range q.Options[words.English.Code()] {
		option := lesson.Words{}
		for code, list := range q.Options {
			option[code] = list[n]
		}
		out.Options = append(out.Options, option)
	}
	return out
}

// shipping knows where the runs of scenarios lead, and which come with the playground.
type shipping struct {
	s  *plans
	of map[string]*shippedRun // by the scenario
}

type shippedRun struct {
	name string // of an example, "" for one's own
	of   *scenario.Scenario
	run  *engine.Path
}

// place is where moves lead in a scenario: by a row, where that says it, or as a
// link.
func (p shipping) place(ctx context.Context, sc *scenario.Scenario, moves []scenario.Move) (lesson.Place, error) {
	known, err := p.runOf(ctx, sc, len(moves))
	if err != nil {
		return lesson.Place{}, err
	}
	start := lesson.Place{Example: known.name}
	if known.name == "" {
		if start.Link, err = link.Encode(link.Contents{Scenario: sc.WithSchedule(nil)}); err != nil {
			return lesson.Place{}, fmt.Errorf("class: %w", err)
		}
	}
	if len(moves) == 0 {
		return start, nil
	}
	if len(moves) <= len(known.run.Moves) && reflect.DeepEqual(known.run.Moves[:len(moves)], moves) {
		row := known.run.Positions[len(moves)].Row
		if first := slices.IndexFunc(known.run.Positions, func(p engine.Position) bool { return p.Row >= row }); first == len(moves) && row <= lesson.MaxRow {
			start.At = "T" + strconv.Itoa(row)
			return start, nil
		}
	}
	text, err := link.Encode(link.Contents{Scenario: sc.WithSchedule(moves), At: len(moves)})
	if err != nil {
		return lesson.Place{}, fmt.Errorf("class: %w", err)
	}
	return lesson.Place{Link: text}, nil
}

// runOf returns the run of a scenario by itself: so many moves of it at least, if it has
// them.
func (p shipping) runOf(ctx context.Context, sc *scenario.Scenario, moves int) (*shippedRun, error) {
	bare, err := board.Bare(sc)
	if err != nil {
		return nil, fmt.Errorf("class: %w", err)
	}
	known := p.of[string(bare)]
	if known == nil {
		known = &shippedRun{of: sc.WithSchedule(nil)}
		p.of[string(bare)] = known
		for _, e := range p.s.Examples {
			one, err := board.Bare(e.Scenario())
			if err != nil {
				return nil, fmt.Errorf("class: %w", err)
			}
			if bytes.Equal(one, bare) {
				known.name, known.of = e.Name, e.Scenario()
				break
			}
		}
	}
	if known.run != nil && (len(known.run.Moves) >= moves || known.run.End().Over) {
		return known, nil
	}
	made := 0
	known.run, err = stepped(ctx, known.of, func(engine.Position) bool {
		made++
		return made > 2*moves // it may be asked for more
	})
	return known, err
}
