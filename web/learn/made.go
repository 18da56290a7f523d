package learn

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"relock/engine/course"
	"relock/engine/phrase"
	"relock/web/film"
	"relock/web/lesson"
	"relock/web/link"
	"relock/web/page"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/templates"
	"relock/web/words"
)

// madeOf is the run to make a question from: a link's text.
func (s *Pages) madeOf(r *http.Request) (link.Contents, error) {
	if err := s.Starts.Allow(site.Address(r)); err != nil {
		return link.Contents{}, site.OfLimit(err)
	}
	text := r.URL.Query().Get("from")
	state, err := link.Decode(text)
	if err != nil {
		return state, site.Unusable(err, "No question can be made of that")
	}
	return state, nil
}

// Made is a question that was made of a run: what is seen next, or break it.
func (s *Pages) Made(w http.ResponseWriter, r *http.Request) error {
	state, err := s.madeOf(r)
	if err != nil {
		return err
	}
	l := words.From(r.Context())
	var a *asking
	if r.URL.Query().Get("kind") == string(course.Break) {
		a, err = s.madeBreak(r, l, state)
	} else {
		a, err = s.madeQuestion(r, l, state)
	}
	if err != nil {
		return shell.NotShown(r, err, "No question can be made of that")
	}
	if a.Room, err = roomOfMade(state, course.Kind(a.Kind)); err != nil {
		return err
	}
	a.Made = "/learn/made.yaml?" + url.Values{"from": {r.URL.Query().Get("from")}, "kind": {a.Kind}}.Encode()
	return s.show(w, r, a)
}

func (s *Pages) madeQuestion(r *http.Request, l words.Language, state link.Contents) (*asking, error) {
	q, err := course.Ask(r.Context(), state.Scenario, state.At)
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	own := url.Values{"from": {query.Get("from")}}.Encode()
	a := &asking{s: s, r: r, l: l, query: query, stage: shownRun{run: q.Run, count: q.Stand}, ahead: q.Until().Step}
	a.Lesson = &page.Lesson{
		Page: s.Frame(r, l.Say("What happens next?")), Kind: string(course.Predict), Item: page.WayItem{Title: l.Say("What happens next?"), Path: "made"},
		Goal:   "<p>" + templates.Escaped(l.Clause(q.Asks())) + "</p>",
		Hidden: query.Get("from"), Leave: "/learn/made?" + own, Secret: true,
	}
	a.choose(q.Answers, choice{
		label: func(one *course.Answer) string { return templates.Escaped(shell.Said(l, one.Says)) },
		reply: func(one *course.Answer) string {
			if one.Right {
				return a.paragraph("That is what the run did.")
			}
			return a.paragraph("That happens %s.", l.Clause(one.Because))
		},
		address: "/learn/made?" + own + "&", watchIt: trueElsewhere, watching: hereItIsTrue,
	})
	a.parts.Ask = templates.LessonChoice(*a.Lesson)
	return a, a.staged(r.Context())
}

func (s *Pages) madeBreak(r *http.Request, l words.Language, state link.Contents) (*asking, error) {
	task, err := course.BreakOf(r.Context(), state.Scenario)
	if err != nil {
		return nil, err
	}
	a := &asking{s: s, r: r, l: l}
	rule := task.Item.Rule()
	a.Lesson = &page.Lesson{
		Page: s.Frame(r, l.Say("Break it")), Kind: string(course.Break), Item: page.WayItem{Title: l.Say("Break it"), Path: "made"},
		Body:  a.paragraph("Left alone, this run does not break that rule. You are the scheduler."),
		Goal:  a.paragraph("Break this rule: %s.", film.RuleNamed(l, rule)),
		Leave: "/learn/made?" + url.Values{"from": {r.URL.Query().Get("from")}, "kind": {"break"}}.Encode(),
	}
	judge := fmt.Sprintf("/learn/made/judge?rule=%s&par=%d", url.QueryEscape(rule), task.Par)
	if err := a.stepped(task, judge, a.paragraph("There is an order in which it breaks, so it will break one day.")); err != nil {
		return nil, err
	}
	a.stage.run = &course.Run{Scenario: task.Item.Scenario}
	return a, a.staged(r.Context())
}

// MadeYAML is the same as an item of the course, to be kept.
func (s *Pages) MadeYAML(w http.ResponseWriter, r *http.Request) error {
	state, err := s.madeOf(r)
	if err != nil {
		return err
	}
	var text string
	if r.URL.Query().Get("kind") == string(course.Break) {
		var task *course.Breaking
		if task, err = course.BreakOf(r.Context(), state.Scenario); err == nil {
			text, err = task.YAML()
		}
	} else {
		var q *course.Question
		if q, err = course.Ask(r.Context(), state.Scenario, state.At); err == nil {
			text, err = q.YAML()
		}
	}
	if err != nil {
		return shell.NotShown(r, err, "No question can be made of that")
	}
	w.Header().Set("Content-Type", "application/yaml; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="item.yaml"`)
	_, _ = io.WriteString(w, text) // the visitor has left: nobody to tell
	return nil
}

// JudgeMade tells whether the moves of a link, the request's body, break a rule.
func (s *Pages) JudgeMade(w http.ResponseWriter, r *http.Request) error {
	state, _, err := s.SentLink(w, r, "That cannot be shown")
	if err != nil {
		return err
	}
	verdict, err := course.Breaks(r.Context(), state.Scenario.WithSchedule(state.Scenario.Schedule[:state.At]), r.URL.Query().Get("rule"))
	if err != nil {
		return shell.NotShown(r, err, "That cannot be shown")
	}
	verdict.Par, _ = strconv.Atoi(r.URL.Query().Get("par")) // as the page had it
	verdict.Proven = verdict.Par > 0
	site.AnswerJSON(w, http.StatusOK, verdict)
	return nil
}

// roomOfMade is where a room is made for a question that was made of a run: a
// lesson of one step, at its place.
func roomOfMade(state link.Contents, kind course.Kind) (string, error) {
	step := lesson.Step{Title: lesson.Words{}}
	asks := phrase.Text("What happens next?")
	if kind == course.Break {
		asks = "Break it"
		state = link.Contents{Scenario: state.Scenario.WithSchedule(nil)}
	} else {
		step.Ask = lesson.AskPredict
	}
	for _, l := range words.All() {
		step.Title[l.Code()] = l.Say(asks)
	}
	var err error
	if step.Link, err = link.Encode(state); err != nil {
		return "", fmt.Errorf("learn: %w", err)
	}
	packed, err := (&lesson.Lesson{Title: step.Title, Steps: []lesson.Step{step}}).Link()
	if err != nil {
		return "", fmt.Errorf("learn: %w", err)
	}
	return "/room/new#" + packed, nil
}
