package board

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"relock/engine/phrase"
	"relock/web/lesson"
)

// Taught is how far a class has come in its lesson.
type Taught struct {
	Step  int   `json:"step"`            // of the lesson, from 0
	Asked bool  `json:"asked,omitempty"` // what the step asks was asked
	Scene int   `json:"scene,omitempty"` // of State.Scenes, in which the step's place is
	Stand Stand `json:"stand"`           // and the place
}

// The next thing in a lesson.
const (
	LessonGoes    = "go"     // to the next step's place
	LessonReturns = "return" // to this step's: the class has gone elsewhere, and there is a question to ask there
	LessonAsks    = "ask"
	LessonReveals = "reveal"
	LessonAgain   = "again" // the second vote, where the class can convince itself
	LessonTells   = "tell"  // what is right, or the bars, though the votes did not show it
	LessonEnds    = ""
)

var (
	errNoLesson     = phrase.New("this room was made without a lesson")
	errLessonEnds   = phrase.New("that was the lesson's last step")
	errLessonBegins = phrase.New("that is the lesson's first step")
	errLessonWay    = phrase.New("a lesson goes to next or back, or to the step at, from 0")
)

// hold has a step say whether the class is held.
func (r *Rules) hold(s lesson.Step) {
	if s.Hold != nil {
		r.Held = *s.Hold
	}
}

// LessonNext returns what comes next in the room's lesson. An open question comes
// first, even if the lesson did not ask it.
func (s *State) LessonNext() string {
	if s.Lesson == nil {
		return LessonEnds
	}
	q := s.Question
	asks := s.Lesson.Steps[s.Taught.Step].Asks() && !s.Taught.Asked
	switch {
	case q != nil && !q.Closed:
		return LessonReveals
	case s.Talks():
		return LessonAgain
	case q != nil && !q.Told && (q.FewRight() || s.Veiled()) && s.unshown():
		return LessonTells
	case asks && s.strays():
		return LessonReturns
	case asks:
		return LessonAsks
	case s.Taught.Step+1 < len(s.Lesson.Steps):
		return LessonGoes
	default:
		return LessonEnds
	}
}

// Awaits reports whether the lesson is about to ask something here: nothing may show
// yet what comes then.
func (s *State) Awaits() bool { return s.LessonNext() == LessonAsks }

// strays reports whether the class is elsewhere than where its lesson has it.
func (s *State) strays() bool {
	at := s.Taught.Stand
	return s.Taught.Scene != len(s.Earlier) || s.Stand.Branch != at.Branch || s.Stand.At != at.At
}

// goThrough takes the class through the room's lesson: to what comes next, back,
// or to a step.
func (f *referee) goThrough(ctx context.Context, m *Member, c Command) (Entry, error) {
	switch l := f.state.Lesson; {
	case l == nil:
		return Entry{}, errNoLesson
	case c.At != nil && c.To == "":
		if *c.At < 0 || *c.At >= len(l.Steps) {
			return Entry{}, errLessonWay
		}
		return f.comeTo(ctx, *c.At)
	case c.To == "next" && c.At == nil:
		return f.nextInLesson(ctx, m)
	case c.To == "back" && c.At == nil:
		return f.backInLesson(ctx)
	default:
		return Entry{}, errLessonWay
	}
}

func (f *referee) nextInLesson(ctx context.Context, m *Member) (Entry, error) {
	switch f.state.LessonNext() {
	case LessonReveals:
		return f.reveal(ctx, m, Command{})
	case LessonAgain:
		return f.again(ctx, m, Command{})
	case LessonTells:
		return f.tell(ctx, m, Command{})
	case LessonReturns:
		return f.comeTo(ctx, f.state.Taught.Step)
	case LessonAsks:
		return f.askInLesson(ctx, m)
	case LessonGoes:
		return f.comeTo(ctx, f.state.Taught.Step+1)
	default:
		return Entry{}, errLessonEnds
	}
}

// backInLesson undoes what came last: what was asked, or that the class has gone
// elsewhere, or else it goes to the step before.
func (f *referee) backInLesson(ctx context.Context) (Entry, error) {
	switch t := f.state.Taught; {
	case t.Asked || f.state.strays():
		return f.comeTo(ctx, t.Step)
	case t.Step == 0:
		return Entry{}, errLessonBegins
	default:
		return f.comeTo(ctx, t.Step-1)
	}
}

// comeTo has all go to a step's place. It puts the question before away.
func (f *referee) comeTo(ctx context.Context, n int) (Entry, error) {
	step := f.state.Lesson.Steps[n]
	plan, err := f.placeOf(ctx, step)
	if err != nil {
		return Entry{}, err
	}
	if step.Scene != nil {
		plan.Title = step.Scene
	}
	e, err := f.goToPlan(ctx, plan)
	if err != nil {
		return Entry{}, err
	}
	e.Taught = &Taught{Step: n, Scene: f.sceneOf(e), Stand: *e.Stand}
	e.Shelved = e.Scene == nil && f.state.Question != nil
	rules := f.state.Rules
	if rules.hold(step); rules.Held != f.state.Rules.Held {
		e.Rules = &rules
		if rules.Held && e.Scene == nil {
			e.Seats = f.state.still()
		}
	}
	return e, nil
}

// placeOf is the place of a step.
func (f *referee) placeOf(ctx context.Context, step lesson.Step) (Plan, error) {
	if step.Ask == lesson.AskItem {
		plan, _, err := f.exam(ctx, step.Item)
		return plan, err
	}
	return f.plan(ctx, step.Place)
}

// sceneOf is the number of the scene in which an entry leaves the class.
func (f *referee) sceneOf(e Entry) int {
	if e.Scene != nil {
		return len(f.state.Earlier) + 1
	}
	return len(f.state.Earlier)
}

// askInLesson asks what the step asks, at whose place all are. If that cannot be asked,
// the lesson goes on all the same.
func (f *referee) askInLesson(ctx context.Context, m *Member) (Entry, error) {
	var e Entry
	var err error
	switch step := f.state.Lesson.Steps[f.state.Taught.Step]; {
	case step.Question != nil:
		e, err = f.own(ctx, step.Question)
	case step.Ask == lesson.AskItem:
		e, err = f.question(ctx, m, Command{Item: step.Item})
	default:
		e, err = f.question(ctx, m, Command{Kind: Predict})
	}
	taught := f.state.Taught
	taught.Asked = true
	if e.Stand != nil {
		taught.Scene, taught.Stand = f.sceneOf(e), *e.Stand
	}
	e.Taught = &taught
	return e, err
}

// Stop is a place at which a class stayed for a while, got a question, or came into
// a scenario.
type Stop struct {
	Scenario json.RawMessage   // without moves
	Moves    []json.RawMessage // that lead there
	Goal     string            // Scene.Goal
	Title    lesson.Words      // Scene.Title
	Held     bool
	Question *Question // nil for none
	Step     int       // of the room's lesson, in which the class was
	Taught   bool      // the lesson has led there, and asked that
}

// at reports whether the stop is where another one is.
func (p Stop) at(other Stop) bool {
	return p.Same(other) && len(p.Moves) == len(other.Moves) && common(p.Moves, other.Moves) == len(p.Moves)
}

// Same reports whether the stop is in the same scene as another, as far as their
// runs can tell.
func (p Stop) Same(other Stop) bool {
	return p.Goal == other.Goal && bytes.Equal(p.Scenario, other.Scenario)
}

// StoppedAfter is how long a class must stay at a place for it to count as a stop.
const StoppedAfter = 20 * time.Second

// Stops returns the places that a host has gone through with the class, from a
// room's log. For the time before the log's last whole entry it has scenarios and
// questions only.
func Stops(log []Entry) []Stop {
	var r recorder
	for _, e := range log {
		r.take(e)
	}
	if n := len(log); n > 0 {
		r.stood(log[n-1].At)
	}
	return r.stops
}

// recorder makes stops of a log. Its zero value is before the first entry.
type recorder struct {
	state State
	since int64 // when the class came to its place
	stops []Stop
}

func (r *recorder) take(e Entry) {
	if e.Whole != nil {
		began := r.since > 0
		if r.state.Fold(e); !began {
			r.begin()
			r.since = e.At
		}
		return
	}
	was := r.state.Stand
	m := r.state.People[e.Member]
	moves := e.Stand != nil && (e.Scene != nil || e.Stand.Branch != was.Branch || e.Stand.At != was.At)
	if moves && m != nil && m.Part == Host {
		r.stood(e.At)
	}
	asked := e.Question != nil && (r.state.Question == nil || r.state.Question.ID != e.Question.ID)
	r.state.Fold(e)
	if moves {
		r.since = e.At
	}
	if e.Scene != nil {
		r.add(r.state.Scene, r.state.Stand, nil, e.Taught != nil)
	}
	if asked {
		r.add(r.state.Scene, e.Question.Stand, e.Question, e.Taught != nil)
	}
}

// begin adds what a room has done before its log begins. Of a room with a lesson all
// that is the lesson's but for questions in other words.
func (r *recorder) begin() {
	l := r.state.Lesson
	for n, scene := range r.state.Scenes() {
		start := Stand{Branch: scene.First}
		if n == len(r.state.Earlier) && len(r.state.Questions()) == 0 {
			start = r.state.Stand
		}
		r.add(scene, start, nil, l != nil)
		for _, q := range r.state.Questions() {
			if q.Scene == n {
				r.add(scene, q.Stand, q, l != nil && (q.Kind != Own || l.HasQuestion(q.Text[plain])))
			}
		}
	}
}

// stood adds the class's place, if it has been there long enough.
func (r *recorder) stood(now int64) {
	if r.since > 0 && now-r.since >= StoppedAfter.Milliseconds() {
		r.add(r.state.Scene, r.state.Stand, nil, r.state.Lesson != nil && !r.state.strays())
	}
}

// add adds a stop, or a question to one that is there. A branch that was dropped
// leads nowhere.
func (r *recorder) add(scene Scene, at Stand, q *Question, taught bool) {
	i := slices.IndexFunc(scene.Branches, func(b Branch) bool { return b.ID == at.Branch })
	if i < 0 || at.At > len(scene.Branches[i].Moves) {
		return
	}
	next := Stop{Scenario: scene.Scenario, Moves: slices.Clone(scene.Branches[i].Moves[:at.At]), Goal: scene.Goal, Title: scene.Title, Held: r.state.Rules.Held, Question: q, Step: r.state.Taught.Step, Taught: taught}
	if n := len(r.stops); n > 0 && r.stops[n-1].at(next) && r.stops[n-1].Taught == taught && (q == nil || r.stops[n-1].Question == nil) {
		if q != nil {
			r.stops[n-1].Question = q
		}
		return
	}
	r.stops = append(r.stops, next)
}
