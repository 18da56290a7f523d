package learn

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"relock/engine/course"
	"relock/engine/phrase"
	"relock/web/page"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/templates"
	"relock/web/words"
)

// kind is how items of a kind are asked, each kind in a file of its own.
type kind struct {
	badge phrase.Text
	asked bool                                 // it is a question, which returns
	show  func(context.Context, *asking) error // puts on the page what is asked, the reply to an answer, and hints
	right func(*asking) (url.Values, error)    // the query of a right answer; nil where there is no saying one

	// Of the concept check, nil where an answer is the number of an option: what came of it, and
	// how an address carries it.
	judge func(a *asking, given string, told bool, out *page.CheckedAnswer) error
	sent  func(query url.Values, options int) string
}

// kinds are all of them.
var kinds = map[course.Kind]kind{
	course.Read:       {badge: "read", show: read},
	course.Predict:    {badge: "predict", asked: true, show: predict, right: rightPick},
	course.Why:        {badge: "why", asked: true, show: why, right: rightPick},
	course.Break:      {badge: "break", show: shows(breakIt, breakHints)},
	course.Mend:       {badge: "mend", show: mend, right: rightPick},
	course.Arrange:    {badge: "order", asked: true, show: shows(order, orderHints)},
	course.Rank:       {badge: "rank", asked: true, show: shows(rank, rankHints), right: rightOf(rightRanks), judge: checkedRank, sent: orderIn},
	course.Write:      {badge: "write it", show: shows(write, writeHints)},
	course.ReviewCode: {badge: "review", asked: true, show: shows(review, reviewHints), right: rightOf(rightLines), judge: checkedReview, sent: linesIn},
	course.Diagnose:   {badge: "diagnose", asked: true, show: shows(diagnose, diagnoseHints), right: rightOf(rightCommand)},
}

// shows is how an item with a task is shown, and hints go on after the nudge, each saying more.
func shows[T any](ask func(context.Context, *asking, T) error, hints func(*asking, T)) func(context.Context, *asking) error {
	return func(ctx context.Context, a *asking) error {
		task, err := course.TaskOf[T](a.item)
		if err == nil {
			err = ask(ctx, a, task)
		}
		if err == nil && a.Check == "" {
			a.hint("a nudge", page.Prose(a.prose.Nudge))
			hints(a, task)
		}
		return err
	}
}

// rightOf is the query of a right answer to an item with a task.
func rightOf[T any](right func(*asking, T) url.Values) func(*asking) (url.Values, error) {
	return func(a *asking) (url.Values, error) {
		task, err := course.TaskOf[T](a.item)
		if err != nil {
			return nil, fmt.Errorf("learn: %w", err)
		}
		return right(a, task), nil
	}
}

// rightPick chooses the right answer, the last where there are several.
func rightPick(a *asking) (url.Values, error) {
	return url.Values{"pick": {strconv.Itoa(a.rightAnswer())}}, nil
}

// rightAnswer is the number of the right answer, of the last where there are several.
func (a *asking) rightAnswer() int {
	right := 0
	for n, one := range a.made.Answers {
		if one.Right {
			right = n + 1
		}
	}
	return right
}

// asking is an item, or a question that was made of a run, on the way to its page.
type asking struct {
	*page.Lesson

	made  *course.Made
	s     *Pages
	r     *http.Request
	l     words.Language
	query url.Values
	item  *course.Item // nil for what was made of a run
	prose *course.Prose
	given given    // in the concept check
	wrote *writing // what somebody wrote, or nil

	parts templates.LessonParts
	class bool // it is a class that is asked: it votes elsewhere
	stage shownRun
	ahead int // the step that is asked for, 0 for none: the stage leaves it open
}

// shownRun is a part of a run on the stage.
type shownRun struct {
	run   *course.Run
	count int  // of its events that are seen
	whole bool // the rest is there too, after where you are
}

// all is the whole of a run.
func all(run *course.Run) shownRun { return shownRun{run, len(run.Events), true} }

// newAsking begins with an item and its texts.
func (s *Pages) newAsking(query url.Values, l words.Language, item *course.Item) (*asking, error) {
	a := &asking{s: s, l: l, query: query, item: item}
	var err error
	if a.made, err = item.Made(); err != nil {
		return nil, fmt.Errorf("learn: %w", err)
	}
	if a.prose, err = item.Prose(l); err != nil {
		return nil, fmt.Errorf("learn: %w", err)
	}
	a.stage = shownRun{run: a.made.Run, count: a.made.Stand}
	return a, nil
}

// paragraph is a text as HTML.
func (a *asking) paragraph(t phrase.Text, args ...any) string {
	return "<p>" + templates.Escaped(a.l.Say(t, args...)) + "</p>"
}

// hint adds a hint.
func (a *asking) hint(name phrase.Text, html string) {
	a.Hints = append(a.Hints, page.LessonHint{Name: a.l.Say(name), HTML: html})
}

// button leads to the item's page with a query.
func (a *asking) button(query string, t phrase.Text) string {
	return fmt.Sprintf(`<p><a class="button" href="/learn/%s?%s">%s</a></p>`, a.item.Path(), query, templates.Escaped(a.l.Say(t)))
}

// label is what an option says.
func (a *asking) label(one *course.Answer) string { return page.Prose(a.prose.Labels[one.Option.ID]) }

// choice is what there is to say of answers to choose.
type choice struct {
	label    func(*course.Answer) string // HTML
	reply    func(*course.Answer) string // to who chose it, HTML
	address  string                      // that chooses one, without its number
	watchIt  phrase.Text                 // leads to the run of a wrong one
	watching phrase.Text                 // is said there
}

// picked is the number of the answer that was chosen, 0 for none.
func (a *asking) picked() int {
	pick, _ := strconv.Atoi(a.query.Get("pick"))
	if a.Check != "" {
		pick, _ = strconv.Atoi(a.Given)
	}
	return pick
}

// choose puts answers on the page, and the reply to the one that was chosen, if any. The
// concept check tells nothing of it.
func (a *asking) choose(answers []*course.Answer, c choice) (chosen *course.Answer) {
	pick := a.picked()
	for n, one := range answers {
		o := page.LessonOption{Number: n + 1, HTML: c.label(one), Chosen: pick == n+1, Right: one.Right}
		if o.Chosen {
			chosen = one
			a.Answered, a.Solved = true, one.Right
			if a.Check == "" {
				a.replied(&o, one, c)
			}
		}
		a.Options = append(a.Options, o)
	}
	return chosen
}

// replied fills in the reply to an answer, and shows its run, a wrong one's only on demand.
func (a *asking) replied(o *page.LessonOption, one *course.Answer, c choice) {
	a.Feedback = c.reply(one)
	if !one.Right {
		a.WatchIt = a.l.Say(c.watchIt)
		if !a.query.Has("watch") {
			o.Watch = fmt.Sprintf("%spick=%d&watch=1", c.address, o.Number)
			return
		}
		a.Watching = a.l.Say(c.watching, o.Number)
	}
	a.stage = shownRun{one.Run, one.Shown, true}
}

// The words of questions in which a wrong answer is true in another run, or mends nothing.
const (
	trueElsewhere phrase.Text = "Watch it where it is true"
	hereItIsTrue  phrase.Text = "Here answer %d is true."
	mendsNothing  phrase.Text = "Watch how it still goes wrong"
	withItStill   phrase.Text = "With answer %d it still goes wrong."
)

// watched puts the run on the stage in which a wrong answer to the concept check does not
// help: watch is its number.
func (a *asking) watched(says phrase.Text) {
	n, err := strconv.Atoi(a.query.Get("watch"))
	if a.Check == "" || err != nil || n < 1 || n > len(a.made.Answers) || a.made.Answers[n-1].Right {
		return
	}
	one := a.made.Answers[n-1]
	a.stage = shownRun{one.Run, one.Shown, true}
	a.Watching, a.Leave = a.l.Say(says, n), ofCheck(a.item.When(), a.given)
}

func read(_ context.Context, a *asking) error {
	a.stage.whole = true
	return nil
}

// predict asks what is seen next.
func predict(_ context.Context, a *asking) error {
	a.Secret, a.ahead = true, a.made.Asked().Step
	a.ask(choice{
		label:   func(one *course.Answer) string { return templates.Escaped(shell.Said(a.l, one.Says)) },
		watchIt: trueElsewhere, watching: hereItIsTrue,
	})
	return nil
}

// why asks what would prevent what happens.
func why(_ context.Context, a *asking) error {
	a.Secret, a.stage.whole = true, a.query.Has("pick") && a.Check == ""
	a.watched(withItStill)
	a.ask(choice{label: a.label, watchIt: mendsNothing, watching: withItStill})
	return nil
}

// mend asks for every change that mends what the stage shows.
func mend(_ context.Context, a *asking) error {
	a.stage = all(a.made.Solved)
	a.ask(choice{label: a.label, watchIt: mendsNothing, watching: withItStill})
	return nil
}

// ask asks for one of an item's answers.
func (a *asking) ask(c choice) {
	c.address = "/learn/" + a.item.Path() + "?"
	c.reply = func(one *course.Answer) string {
		own := ""
		if one.Found != nil {
			own = searched(a.l, a.item.Rule(), one.Found)
		}
		if one.Option != nil {
			own += page.Prose(a.prose.Says[one.Option.ID])
		}
		if one.Right {
			own += alsoBroken(a.l, a.item, one.Run) + page.Prose(a.prose.After)
		}
		return own
	}
	a.choose(a.made.Answers, c)
	a.parts.Ask = templates.LessonChoice(*a.Lesson)
	if a.Check == "" {
		a.hint("a nudge", page.Prose(a.prose.Nudge))
		a.choiceHints()
	}
}

// choiceHints are whom to watch, an answer that is wrong, and what is right.
func (a *asking) choiceHints() {
	if about := a.made.About(a.item); about != "" {
		a.hint("whom to watch", a.paragraph("Watch %s.", about))
	} else {
		a.hint("whom to watch", a.paragraph("Watch Redis: nobody else moves."))
	}
	if wrong := slices.IndexFunc(a.made.Answers, func(one *course.Answer) bool { return !one.Right }); wrong >= 0 {
		a.hint("what it is not", a.paragraph("It is not answer %d.", wrong+1))
	}
	a.hint("the solution", a.button(fmt.Sprintf("pick=%d&told=1", a.rightAnswer()), "Show what is right"))
}

// Sheet is what a class has of an item beside its question, as HTML: its text, code and
// logs; and if it is told, what is right and why. Untold, nothing of that is in there.
func (s *Pages) Sheet(ctx context.Context, l words.Language, item *course.Item, told bool) (asked, after string, err error) {
	a, err := s.newAsking(url.Values{}, l, item)
	if err != nil {
		return "", "", err
	}
	right := kinds[item.Kind].right
	if told && right != nil {
		if a.query, err = right(a); err != nil {
			return "", "", err
		}
	}
	a.class = true
	a.Lesson = &page.Lesson{Item: *wayItem(l, item), Kind: string(item.Kind), Body: page.Prose(a.prose.Body)}
	if err := kinds[item.Kind].show(ctx, a); err != nil {
		return "", "", fmt.Errorf("learn: %w", err)
	}
	if asked, err = templates.Text(l, templates.LessonSheet(*a.Lesson, a.parts)); err != nil || !told {
		return asked, "", err
	}
	if right == nil {
		a.Feedback = page.Prose(a.prose.After)
	}
	after, err = templates.Text(l, templates.LessonTold(*a.Lesson, a.parts))
	return asked, after, err
}

// lessonOf is the page of an item, and of what somebody wrote, if anything.
func (s *Pages) lessonOf(r *http.Request, l words.Language, item *course.Item, wrote *writing) (*asking, error) {
	a, err := s.newAsking(r.URL.Query(), l, item)
	if err != nil {
		return nil, err
	}
	a.r = r
	chapter, err := wayChapter(l, item.Chapter)
	if err != nil {
		return nil, err
	}
	a.wrote = wrote
	a.Lesson = &page.Lesson{
		Page: s.Frame(r, a.prose.Title), Chapter: chapter, Number: item.Number(), Item: *wayItem(l, item), Counts: item.First().Path(), Kind: string(item.Kind),
		Body: page.Prose(a.prose.Body), Goal: page.Prose(a.prose.Goal), Leave: "/learn/" + item.Path(), Lua: item.Lua,
	}
	a.inCheck()
	s.around(a)
	if err := kinds[item.Kind].show(r.Context(), a); err != nil {
		return nil, fmt.Errorf("learn: %w", err)
	}
	if item.Textbook() {
		if a.Lesson.Textbook, err = textbook(l, a.made.Run); err != nil {
			return nil, err
		}
	}
	if !a.Staged() {
		return a, nil
	}
	a.Scenes = scenes(a)
	if err := a.staged(r.Context()); err != nil {
		return nil, err
	}
	if !item.Bundled || !a.stage.whole { // its own run has one in English only, and a bundled one's would give it away
		a.Title = a.prose.Title
	}
	if found := a.stage.run.Lab; found != nil { // its scenario is a frame
		a.Facts, a.Open, a.Lab = []string{found.Line()}, "", true
	}
	return a, nil
}

// inCheck fills in where an item is in the concept check, if it belongs to that.
func (a *asking) inCheck() {
	if a.Check = a.item.When(); a.Check == "" {
		return
	}
	a.Counts = a.item.Path() // each half for itself
	a.given = givenOf(a.item, a.query)
	a.Given, a.SoFar, a.Other, a.Carry = a.given.so[a.item.Number()-1], carried(a.given.so), carried(a.given.other), a.given.carry()
	a.Chapter.Items = nil
	for n, i := range a.item.Half() {
		one := *wayItem(a.l, i)
		one.Answered = a.given.so[n] != unanswered
		a.Chapter.Items = append(a.Chapter.Items, one)
	}
}

// around fills in what comes before an item, and where one goes on.
func (s *Pages) around(a *asking) {
	before, next := s.Course().Around(a.item)
	a.Before, a.Next = wayItem(a.l, before), wayItem(a.l, next)
	if next != nil && next.Extra {
		a.Without = wayItem(a.l, s.Course().Without(a.item))
	}
	for _, i := range s.Course().Earlier(a.item) {
		a.Earlier = append(a.Earlier, *wayItem(a.l, i))
	}
}

// show answers with a page.
func (s *Pages) show(w http.ResponseWriter, r *http.Request, a *asking) error {
	scripts := []string{"js/course-lesson.js"}
	switch {
	case a.Stepping != nil:
		scripts = append(scripts, "js/alone.js")
	case a.Staged():
		scripts = append(scripts, "js/replay.js")
	}
	s.Scripted(&a.Page, shell.App, scripts...)
	return site.Render(r.Context(), w, http.StatusOK, templates.LessonPage(*a.Lesson, a.parts))
}
