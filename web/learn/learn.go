// Package learn is the pages of the course, and questions made of a run.
//
// engine/course computes what an item asks and what is right.
package learn

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"relock/engine/course"
	"relock/engine/trace"
	"relock/web/film"
	"relock/web/link"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/stepper"
	"relock/web/templates"
	"relock/web/words"
)

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
		Path:  i.Path(), Title: i.Title(l), Kind: l.Say(kinds[i.Kind].badge), Number: i.Number(), Extra: i.Extra, Asked: kinds[i.Kind].asked,
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
	*shell.Pages

	Course   func() *course.Course
	Own      bool              // it is the operator's: pages link to chapters and items that it may lack
	Searches *stepper.Searches // that judge what is written
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
	a, err := s.lessonOf(r, l, item, nil)
	if err != nil {
		return err
	}
	return s.show(w, r, a)
}

// staged puts a run on the page's stage.
func (a *asking) staged(ctx context.Context) error {
	on := a.stage
	shown := film.NewScenario(a.l, on.run.Scenario)
	a.Facts, a.Title = shown.Facts, shell.TitleOf(a.l, on.run.Scenario)
	if a.Stepping != nil {
		return nil
	}
	events := on.run.Events
	if !on.whole {
		events = events[:on.count]
	}
	reel, err := runs.NewFootage(ctx, a.l, &runs.Recording{Scenario: on.run.Scenario, Header: on.run.Header, Events: events, Covered: a.Asking()}, on.whole, nil, false)
	if err != nil {
		return err
	}
	a.Viewer = reel.Viewer
	a.Viewer.Options, a.Viewer.Checked = len(a.Options), a.Check != ""
	if on.count > 0 {
		a.Stand = on.run.Events[on.count-1].Step
	}
	if !on.whole { // the playground would tell
		a.Viewer.Asked = a.ahead
		return nil
	}
	if a.Open, err = link.Encode(link.Contents{Scenario: on.run.Scenario}); err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	return nil
}

// alsoBroken names the rules that the run of a right answer breaks all the same: the stage says
// so, and the item asks about another one.
func alsoBroken(l words.Language, item *course.Item, run *course.Run) string {
	titles := []string{}
	broken := course.SceneOf(run, len(run.Events)).Broken
	for _, rule := range broken {
		titles = append(titles, film.RuleTitle(l, rule))
	}
	if item.Rule() == "" || len(titles) == 0 || slices.Contains(broken, item.Rule()) { // none of the changes is right
		return ""
	}
	return "<p>" + templates.Escaped(l.Say("The stage shows another rule broken: %[1]s. Not the one of your task: %[2]s.", l.List(titles), film.RuleTitle(l, item.Rule()))) + "</p>"
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

// scenes draws what an item asks for, and beside it what there is on the stage.
func scenes(a *asking) []page.Scene {
	asked, ok := a.item.Asked()
	if !ok {
		return nil
	}
	count := a.stage.count
	if a.Stepping != nil {
		count = 0
	}
	own := course.SceneOf(a.stage.run, count)
	return []page.Scene{newScene(a.l, a.l.Say("The target"), asked), newScene(a.l, a.l.Say("Where you are"), own)}
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
