// Package learn is the pages of the course, and questions made of a run.
//
// engine/course computes what an item asks and what is right.
package learn

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"relock/engine/course"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/export"
	"relock/web/film"
	"relock/web/frame"
	"relock/web/link"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/site"
	"relock/web/step"
	"relock/web/templates"
	"relock/web/words"
)

// kindName is what a badge calls a kind of item.
func kindName(k course.Kind) phrase.Text {
	switch k {
	case course.Read:
		return "read"
	case course.Predict:
		return "predict"
	case course.Why:
		return "why"
	case course.Break:
		return "break"
	case course.Mend:
		return "mend"
	case course.Arrange:
		return "order"
	case course.Rank:
		return "rank"
	case course.ReviewCode:
		return "review"
	case course.Diagnose:
		return "diagnose"
	default:
		return "write it"
	}
}

func wayItem(l words.Language, i *course.Item) *page.WayItem {
	if i == nil {
		return nil
	}
	again := ""
	if i.Again != nil {
		again = i.Again.Path()
	}
	return &page.WayItem{
		Again: again,
		Path:  i.Path(), Title: i.Title(l), Kind: l.Say(kindName(i.Kind)), Number: i.Number(), Extra: i.Extra,
		Asked: i.Kind == course.Predict || i.Kind == course.Why || i.Kind == course.Rank || i.Kind == course.Arrange || i.Kind == course.ReviewCode || i.Kind == course.Diagnose,
	}
}

func wayChapter(l words.Language, ch *course.Chapter) (page.WayChapter, error) {
	out := page.WayChapter{Number: ch.Number, ID: ch.ID, Title: ch.Title(l), Minutes: ch.Minutes}
	for _, i := range ch.Items {
		out.Items = append(out.Items, *wayItem(l, i))
	}
	intro, err := ch.Intro(l)
	if err != nil {
		return out, fmt.Errorf("learn: %w", err)
	}
	out.Intro = page.Prose(intro)
	return out, nil
}

// Pages are the course, and questions made of a run.
type Pages struct {
	*frame.Pages

	Course   func() *course.Course
	Own      bool           // it is the operator's: pages link to chapters and items that it may lack
	Searches *step.Searches // that judge what is written
}

// Learn is the way through the course.
func (s *Pages) Learn(w http.ResponseWriter, r *http.Request) error {
	l := words.From(r.Context())
	p := page.Way{Page: s.Frame(r, l.Say("Learn"), "js/course-way.js"), Title: cmp.Or(s.Course().Title(l), l.Say("Learn how locks work, and how they fail"))}
	for _, ch := range s.Course().Chapters {
		one, err := wayChapter(l, ch)
		if err != nil {
			return err
		}
		p.Chapters = append(p.Chapters, one)
		p.Items += len(ch.Items)
		p.Minutes += ch.Minutes
		items, minutes := ch.Brief()
		p.BriefItems += items
		p.BriefMinutes += minutes
		if ch.Short {
			p.Short = append(p.Short, one)
		}
	}
	if check := s.Course().Check; check != nil && len(check.Items) > 0 {
		p.Check = len(check.Items)
		for _, i := range check.Items {
			p.CheckBefore, p.CheckAfter = append(p.CheckBefore, i.Path()), append(p.CheckAfter, i.Again.Path())
		}
	}
	return site.Render(r.Context(), w, http.StatusOK, templates.WayPage(p))
}

// Class is the page on which teachers see what several people have done.
func (s *Pages) Class(w http.ResponseWriter, r *http.Request) error {
	l := words.From(r.Context())
	type questionJSON struct {
		Path  string `json:"path"`
		Title string `json:"title"`
	}
	type chapterJSON struct {
		ID        string         `json:"id"`
		Title     string         `json:"title"`
		Items     []string       `json:"items"`
		Questions []questionJSON `json:"questions"` // of the items: those that are answered
	}
	var list []chapterJSON
	for _, ch := range s.Course().Chapters {
		one := chapterJSON{ID: ch.ID, Title: ch.Title(l)}
		for _, i := range ch.Items {
			one.Items = append(one.Items, i.Path())
			if item := wayItem(l, i); item.Asked {
				one.Questions = append(one.Questions, questionJSON{item.Path, item.Title})
			}
		}
		list = append(list, one)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	return site.Render(r.Context(), w, http.StatusOK, templates.ClassPage(page.Class{Page: s.Frame(r, l.Say("For teachers"), "js/course-class.js"), Chapters: string(text)}))
}

// Chapter opens a chapter at its first item.
func (s *Pages) Chapter(w http.ResponseWriter, r *http.Request) error {
	ch, ok := s.Course().Chapter(r.PathValue("chapter"))
	if !ok || len(ch.Items) == 0 {
		return s.missing(w, r)
	}
	to := url.URL{Path: "/learn/" + ch.Items[0].Path(), RawQuery: r.URL.RawQuery}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
	return nil
}

// missing answers for what the course lacks: one of the operator's own has its
// contents instead of what pages link to.
func (s *Pages) missing(w http.ResponseWriter, r *http.Request) error {
	if !s.Own {
		return site.ErrNoPage
	}
	http.Redirect(w, r, "/learn", http.StatusSeeOther)
	return nil
}

// Lesson is the page of an item. The address has the answer, so that it needs no script:
// pick is the number of an option, watch shows the run in which that is true, p1, p2 …
// are the places of pieces, and solution shows the solution of a break.
func (s *Pages) Lesson(w http.ResponseWriter, r *http.Request) error {
	item, ok := s.Course().Item(r.PathValue("chapter") + "/" + r.PathValue("item"))
	if !ok {
		return s.missing(w, r)
	}
	l := words.From(r.Context())
	p, err := s.lessonOf(r, l, item, nil)
	if err != nil {
		return err
	}
	return s.show(w, r, p)
}

// show answers with an item's page.
func (s *Pages) show(w http.ResponseWriter, r *http.Request, p *page.Lesson) error {
	scripts := []string{"js/course-lesson.js"}
	switch {
	case p.Stepping != nil:
		scripts = append(scripts, "js/alone.js")
	case p.Staged():
		scripts = append(scripts, "js/replay.js")
	}
	s.Scripted(&p.Page, frame.App, scripts...)
	return site.Render(r.Context(), w, http.StatusOK, templates.LessonPage(*p))
}

// shownRun is a part of a run on the stage.
type shownRun struct {
	run   *course.Run
	count int  // of its events that are seen
	whole bool // the rest is there too, after where you are
}

func (s *Pages) lessonOf(r *http.Request, l words.Language, item *course.Item, wrote *writing) (*page.Lesson, error) {
	made, err := item.Made()
	if err != nil {
		return nil, fmt.Errorf("learn: %w", err)
	}
	prose, err := item.Prose(l)
	if err != nil {
		return nil, fmt.Errorf("learn: %w", err)
	}
	chapter, err := wayChapter(l, item.Chapter)
	if err != nil {
		return nil, err
	}
	p := &page.Lesson{
		Page: s.Frame(r, prose.Title), Chapter: chapter, Number: item.Number(), Item: *wayItem(l, item), Counts: item.First().Path(), Kind: string(item.Kind),
		Body: page.Prose(prose.Body), Goal: page.Prose(prose.Goal), Leave: "/learn/" + item.Path(), Lua: item.Lua,
	}
	if p.Check = item.When(); p.Check != "" {
		p.Counts = item.Path() // each half for itself
		chapter.Items = nil
		for _, i := range item.Half() {
			chapter.Items = append(chapter.Items, *wayItem(l, i))
		}
		p.Chapter = chapter
		given := givenOf(item, r.URL.Query())
		p.Given, p.SoFar, p.Other, p.Carry = given.so[item.Number()-1], carried(given.so), carried(given.other), given.carry()
		for n := range p.Chapter.Items {
			p.Chapter.Items[n].Answered = given.so[n] != unanswered
		}
	}
	before, after := s.Course().Around(item)
	p.Before, p.After2 = wayItem(l, before), wayItem(l, after)
	if after != nil && after.Extra {
		p.Without = wayItem(l, s.Course().Without(item))
	}
	for _, i := range s.Course().Earlier(item) {
		p.Earlier = append(p.Earlier, *wayItem(l, i))
	}
	query := r.URL.Query()
	stage := shownRun{made.Run, made.Stand, item.Kind == course.Read || item.Kind == course.Why && query.Has("pick") && p.Check == ""}
	if item.Kind == course.Mend {
		stage = shownRun{made.Solved, made.Par, true}
	}
	switch item.Kind {
	case course.Predict, course.Why, course.Mend:
		s.answered(l, p, item, made, prose, query, &stage)
	case course.Break:
		p.After, p.Controls, p.Judge = page.Prose(prose.After), strings.Join(item.Controls, " "), "/learn/"+item.Path()+"/judge"
		if query.Has("solution") {
			stage = shownRun{made.Solved, len(made.Solved.Events), true}
			p.Watching = l.Say("This is how it can be done.")
		} else if p.Stepping, err = s.stepping(r, l, item); err != nil {
			return nil, err
		}
	case course.Arrange:
		if err := ordered(r, l, p, item, made, prose); err != nil {
			return nil, err
		}
		if p.Solved {
			stage = shownRun{made.Solved, len(made.Solved.Events), true}
			p.Watching = l.Say("Your script at work.")
		}
	case course.Write:
		s.write(l, p, made, prose, wrote, &stage)
	case course.ReviewCode:
		if err := reviewed(l, p, item, made, prose, query, &stage); err != nil {
			return nil, fmt.Errorf("learn: %w", err)
		}
	case course.Rank:
		ranked(l, p, item, made, prose, query, &stage)
	case course.Diagnose:
		if err := diagnosed(r.Context(), l, p, item, made, prose, query, &stage); err != nil {
			return nil, fmt.Errorf("learn: %w", err)
		}
	case course.Read:
	}
	if p.Check == "" {
		p.Hints = hints(l, item, made, prose)
	}
	if item.Table != "" {
		if p.Textbook, err = textbook(l, made.Run); err != nil {
			return nil, err
		}
	}
	if !p.Staged() {
		return p, nil
	}
	p.Scenes = scenes(l, item, made, stage)
	if err := s.stage(r.Context(), l, p, stage); err != nil {
		return nil, err
	}
	if !item.Bundled || !stage.whole { // its own run has one in English only, and a bundled one's would give it away
		p.Title = prose.Title
	}
	if found := stage.run.Lab; found != nil { // its scenario is a frame
		p.Facts, p.Open, p.Lab = []string{found.Line()}, "", true
	}
	if !stage.whole {
		p.Open = "" // the playground would tell
	}
	if item.Kind == course.Predict && !stage.whole {
		p.Viewer.Asked = made.Asked().Step
	}
	return p, nil
}

// stage puts a run on the page's stage.
func (s *Pages) stage(ctx context.Context, l words.Language, p *page.Lesson, on shownRun) error {
	shown := film.NewScenario(l, on.run.Scenario)
	p.Facts, p.Title = shown.Facts, frame.TitleOf(l, on.run.Scenario)
	if p.Stepping != nil {
		return nil
	}
	events := on.run.Events
	if !on.whole {
		events = events[:on.count]
	}
	reel, err := runs.NewFootage(ctx, l, &runs.Recording{Scenario: on.run.Scenario, Header: on.run.Header, Events: events, Covered: p.Asking()}, on.whole, nil, false)
	if err != nil {
		return err
	}
	p.Viewer = reel.Viewer
	p.Viewer.Options, p.Viewer.Checked = len(p.Options), p.Check != ""
	if on.count > 0 {
		p.Stand = on.run.Events[on.count-1].Step
	}
	if p.Open, err = link.Encode(link.Contents{Scenario: on.run.Scenario}); err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	return nil
}

// answered puts the options on the page, and what comes of the one that was
// chosen.
func (s *Pages) answered(l words.Language, p *page.Lesson, item *course.Item, made *course.Made, prose *course.Prose, query url.Values, stage *shownRun) {
	pick, _ := strconv.Atoi(query.Get("pick")) // 0 is none
	if p.Check != "" {
		pick, _ = strconv.Atoi(p.Given)
		seenWrong(l, p, item, made, query, stage)
	}
	for n, a := range made.Answers {
		o := page.LessonOption{Number: n + 1, Chosen: pick == n+1, Right: a.Right}
		if item.Kind == course.Predict {
			o.HTML = templates.Escaped(frame.Said(l, a.Says))
		} else {
			o.HTML = page.Prose(prose.Labels[a.Option.ID])
		}
		if o.Chosen {
			p.Answered, p.Solved = true, a.Right
			if p.Check != "" {
				p.Options = append(p.Options, o)
				continue
			}
			own := ""
			if a.Option != nil {
				own = page.Prose(prose.Says[a.Option.ID])
			}
			if a.Found != nil {
				own = searched(l, item.Rule(), a.Found) + own
			}
			switch {
			case a.Right:
				p.Feedback = own + alsoBroken(l, item, a.Run) + page.Prose(prose.After)
				*stage = shownRun{a.Run, a.Shown, true}
			default:
				p.Feedback = own
				p.WatchIt = l.Say("Watch it where it is true")
				if item.Kind != course.Predict {
					p.WatchIt = l.Say("Watch how it still goes wrong")
				}
				if query.Has("watch") {
					*stage = shownRun{a.Run, a.Shown, true}
					p.Watching = l.Say("Here answer %d is true.", o.Number)
					if item.Kind != course.Predict {
						p.Watching = l.Say("With answer %d it still goes wrong.", o.Number)
					}
				} else {
					o.Watch = fmt.Sprintf("/learn/%s?pick=%d&watch=1", item.Path(), o.Number)
				}
			}
		}
		p.Options = append(p.Options, o)
	}
}

// alsoBroken names the rules that the run of a right answer breaks all the same: the stage says
// so, and the item asks about another one.
func alsoBroken(l words.Language, item *course.Item, run *course.Run) string {
	titles := []string{}
	for _, rule := range course.SceneOf(run, len(run.Events)).Broken {
		titles = append(titles, film.RuleTitle(l, rule))
	}
	if item.Rule() == "" || len(titles) == 0 {
		return ""
	}
	return "<p>" + templates.Escaped(l.Say("On the stage another rule is broken: %[1]s. The one of your task is not: %[2]s.", l.List(titles), film.RuleTitle(l, item.Rule()))) + "</p>"
}

// searched says what a search for an order that breaks a rule has found.
func searched(l words.Language, rule string, f *course.Found) string {
	text := l.Say("All %[1]s orders with %[2]s were searched. None breaks this rule: %[3]s.", page.Grouped(f.All), page.Bounds(l, f.Within), film.RuleTitle(l, rule))
	if standing := page.StandingStill(l, f.Broken, f.Standing); standing != "" {
		text = l.Say("It still breaks, in %[1]s orders with %[2]s, %[3]s. You can watch the smallest of them.", page.Share(l, f.Broken, f.All), page.Bounds(l, f.Within), standing)
	} else if !f.None() {
		text = l.Say("It still breaks, in %s orders with %s. You can watch the smallest of them.", page.Share(l, f.Broken, f.All), page.Bounds(l, f.Within))
	}
	return "<p>" + templates.Escaped(text) + "</p>"
}

// ordered puts the pieces of a script on the page, and says what came of the
// script that was made of them.
func ordered(r *http.Request, l words.Language, p *page.Lesson, item *course.Item, made *course.Made, prose *course.Prose) error {
	places := placesIn(r.URL.Query(), len(made.Pieces))
	p.Answered = len(places) > 0
	order := made.Shuffled(item)
	slices.SortStableFunc(order, func(a, b int) int { // first those that were placed, in their order
		return cmp.Compare(unplacedLast(places[a]), unplacedLast(places[b]))
	})
	for _, n := range order {
		p.Pieces = append(p.Pieces, page.LessonPiece{Name: pieceName(n), Lua: film.Coloured(made.Pieces[n].Lua), Place: places[n]})
	}
	if !p.Answered {
		return nil
	}
	tried, err := item.Try(r.Context(), places)
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	p.Solved = tried.Solved
	switch {
	case tried.Twice > 0:
		p.Feedback = "<p>" + templates.Escaped(l.Say("Two pieces have the place %d. Give each its own.", tried.Twice)) + "</p>"
	case tried.Solved:
		p.Feedback = page.Prose(prose.After)
	}
	p.TryError = tried.Err
	for _, c := range tried.Cases {
		p.Tries = append(p.Tries, page.LessonTry{
			Owner: c.Owner, Was: l.Sentence(c.Was), Wanted: l.Sentence(c.Wanted), WantedReply: c.WantedReply,
			Got: l.Sentence(c.Got), GotReply: c.GotReply, Right: c.Right,
		})
	}
	return nil
}

// placesIn are the places that a form gives to pieces, 0 for what is left out.
func placesIn(query url.Values, pieces int) map[int]int {
	places := map[int]int{}
	for n := range pieces {
		if place, err := strconv.Atoi(query.Get(pieceName(n))); err == nil && place >= 0 {
			places[n] = place
		}
	}
	return places
}

// pieceName is the field of the nth piece.
func pieceName(n int) string { return fmt.Sprintf("p%d", n+1) }

// unplacedLast is a place to sort by.
func unplacedLast(place int) int {
	if place == 0 {
		return math.MaxInt
	}
	return place
}

// stepping is the stage on which an item is broken.
func (s *Pages) stepping(r *http.Request, l words.Language, item *course.Item) (*page.Play, error) {
	open, err := link.Encode(link.Contents{Scenario: item.Scenario})
	if err != nil {
		return nil, fmt.Errorf("learn: %w", err)
	}
	p := &page.Play{Files: export.Files(l), Scenario: open, Reach: s.ReachOf(r)}
	p.SetFaults(l)
	p.Viewer = runs.Unplayed(l, item.Scenario)
	p.Viewer.Steps = true
	return p, nil
}

// hints are four: a nudge, and three that are computed, each saying more.
func hints(l words.Language, item *course.Item, made *course.Made, prose *course.Prose) []page.LessonHint {
	if item.Kind == course.Read {
		return nil
	}
	text := func(t phrase.Text, args ...any) string { return "<p>" + templates.Escaped(l.Say(t, args...)) + "</p>" }
	to := func(query string, t phrase.Text) string {
		return fmt.Sprintf(`<p><a class="button" href="/learn/%s?%s">%s</a></p>`, item.Path(), query, templates.Escaped(l.Say(t)))
	}
	list := []page.LessonHint{{Name: l.Say("a nudge"), HTML: page.Prose(prose.Nudge)}}
	add := func(name phrase.Text, html string) {
		list = append(list, page.LessonHint{Name: l.Say(name), HTML: html})
	}
	if item.Kind == course.Break {
		presses, first := made.Solution()
		add("what it is about", "<p>"+templates.Escaped(l.Sentence(presses[first].About))+"</p>")
		add("which step", text("After move %d: press “%s”.", presses[first].Moves, button(l, presses[first])))
		all := ""
		for _, one := range presses {
			all += "<li><b>" + templates.Escaped(button(l, one)) + "</b></li>"
		}
		add("the solution", "<ol>"+all+"</ol>"+to("solution=1", "Play the solution"))
		return list
	}
	if item.Kind == course.Arrange {
		code := func(p course.Piece) string { return "<pre>" + templates.Escaped(p.Lua) + "</pre>" }
		add("what comes first", code(made.Pieces[0]))
		stray := slices.IndexFunc(made.Pieces, func(p course.Piece) bool { return p.Stray })
		if stray >= 0 {
			add("what does not belong", code(made.Pieces[stray]))
		}
		query, all := url.Values{"told": {"1"}}, ""
		for n, piece := range made.Pieces {
			if piece.Stray {
				query.Set(pieceName(n), "0")
				continue
			}
			query.Set(pieceName(n), strconv.Itoa(n+1))
			all += code(piece)
		}
		add("the solution", all+to(query.Encode(), "Put them in this order"))
		return list
	}
	if item.Kind == course.Write {
		writeHints(l, item, made, add)
		return list
	}
	if item.Kind == course.ReviewCode {
		reviewHints(l, item, made, text, to, add)
		return list
	}
	if item.Kind == course.Rank {
		rankHints(l, item, made, prose, text, to, add)
		return list
	}
	if item.Kind == course.Diagnose {
		diagnoseHints(l, made, text, to, add)
		return list
	}
	if about := made.About(item); about != "" {
		add("whom to watch", text("Watch %s.", about))
	} else {
		add("whom to watch", text("Watch Redis: nobody else moves."))
	}
	right := 0
	for n, a := range made.Answers {
		if a.Right {
			right = n + 1
		}
	}
	for n, a := range made.Answers {
		if !a.Right {
			add("what it is not", text("It is not answer %d.", n+1))
			break
		}
	}
	add("the solution", to(fmt.Sprintf("pick=%d&told=1", right), "Show what is right"))
	return list
}

// button is the name of what is pressed.
func button(l words.Language, one course.Press) string {
	if one.Fault != nil {
		return page.Struck(l, *one.Fault)
	}
	for _, o := range page.NewOptions(l, one.At.Options) {
		if o.Can && one.Mover == (course.Mover{Thread: o.Thread, Background: o.Background, Network: o.Network, Node: o.Node}) {
			return o.Button()
		}
	}
	return l.Say("Let time pass")
}

// movesToJudge are the moves that were sent: a link's text, or as JSON the
// schedule alone.
func movesToJudge(item *course.Item, text []byte) ([]scenario.Move, error) {
	if len(text) > 0 && text[0] == '{' {
		var sent struct {
			Schedule json.RawMessage `json:"schedule"`
		}
		if err := json.Unmarshal(text, &sent); err != nil {
			return nil, site.Unusable(link.ErrBroken, "That cannot be shown")
		}
		moves, err := item.Scenario.ParseMoves(sent.Schedule)
		if err != nil {
			return nil, site.Unusable(err, "That cannot be shown")
		}
		return moves, nil
	}
	state, err := link.Decode(string(text))
	if err != nil {
		return nil, site.Unusable(err, "That cannot be shown")
	}
	if !item.Plays(state.Scenario) {
		return nil, site.Refuse(http.StatusUnprocessableEntity, "That cannot be shown", "These moves belong to another scenario.")
	}
	return state.Scenario.Schedule[:state.At], nil
}

// maxJudged is how many bytes of a link are read to be judged.
const maxJudged = link.MaxPacked

// Judge tells whether the moves of a link, the request's body, reach the goal
// of an item.
func (s *Pages) Judge(w http.ResponseWriter, r *http.Request) error {
	item, ok := s.Course().Item(r.PathValue("chapter") + "/" + r.PathValue("item"))
	if !ok {
		return site.ErrNoPage
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxJudged))
	if err != nil {
		return site.Explained(http.StatusRequestEntityTooLarge, "That cannot be shown", link.ErrTooLong)
	}
	moves, err := movesToJudge(item, text)
	if err != nil {
		return err
	}
	verdict, err := item.Judge(r.Context(), moves)
	if err != nil {
		return frame.NotShown(r, err, "That cannot be shown")
	}
	l := words.From(r.Context())
	html, err := templates.Text(l, templates.Scene(newScene(l, l.Say("Where you are"), verdict.Scene)))
	if err != nil {
		return err
	}
	site.AnswerJSON(w, http.StatusOK, struct {
		course.Verdict

		Scene string `json:"scene"` // HTML
	}{verdict, html})
	return nil
}

// scenes draws what an item asks for, and beside it what there is on the stage.
func scenes(l words.Language, item *course.Item, made *course.Made, stage shownRun) []page.Scene {
	asked, ok := item.Asked()
	if !ok {
		return nil
	}
	own := course.SceneOf(stage.run, stage.count)
	if item.Kind == course.Break && stage.run != made.Solved {
		own = course.SceneOf(stage.run, 0)
	}
	return []page.Scene{newScene(l, l.Say("The target"), asked), newScene(l, l.Say("Where you are"), own)}
}

// textbook is the article's table beside a run.
func textbook(l words.Language, run *course.Run) ([]page.TextbookRow, error) {
	rows, err := course.Article(run)
	if err != nil {
		return nil, fmt.Errorf("learn: %w", err)
	}
	out := make([]page.TextbookRow, len(rows))
	for n, row := range rows {
		out[n] = page.TextbookRow{Row: row.Row, Article: l.Say(row.Article), Differs: l.Say(row.Differs)}
		for _, one := range row.Ours {
			out[n].Ours = append(out[n].Ours, l.Say("T%d · %s", one.Run.Events[one.Event].Step, happened(l, one)))
		}
	}
	return out, nil
}

// happened is an event of a run in words.
func happened(l words.Language, h course.Happening) string {
	reel := film.New(l, h.Run.Scenario, h.Run.Header.Owners)
	e := h.Run.Events[h.Event]
	row, nth := 0, -1
	for _, one := range h.Run.Events[:h.Event+1] {
		row = reel.Add(one)
		if one.Step != e.Step {
			nth = -1
		} else if one.Kind() == trace.KindCommand {
			nth++
		}
	}
	shown := reel.Rows()[row]
	if _, ok := e.Body.(trace.Command); ok && nth >= 0 && nth < len(shown.Inside) {
		return l.Say("%s: %s", e.Thread, shown.Inside[nth].Line.Spoken)
	}
	if shown.Event != "" {
		return shown.Event
	}
	for _, c := range shown.Cells {
		if c.Acting {
			return l.Say("%s: %s", c.Thread, c.Title)
		}
	}
	return e.Thread
}

// newScene draws a scene.
func newScene(l words.Language, caption string, s course.Scene) page.Scene {
	out := page.Scene{Caption: caption}
	for n, name := range s.Threads {
		t := page.SceneThread{Name: name, Ordinal: n}
		if slices.Contains(s.Inside, name) {
			out.Inside = append(out.Inside, t)
		} else {
			out.Outside = append(out.Outside, t)
		}
		if slices.Contains(s.Holders, name) {
			out.Holders = append(out.Holders, t)
		}
	}
	switch {
	case !s.Key:
		out.Key = l.Say("no key")
	case s.Forever:
		out.Key = l.Say("no expiry")
	}
	if s.Guarded {
		out.Resource = words.Capital(l.Clause(s.Resource))
	}
	for _, rule := range s.Broken {
		out.Broken = append(out.Broken, film.RuleTitle(l, rule))
	}
	return out
}
