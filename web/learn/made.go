package learn

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"relock/engine/course"
	"relock/engine/phrase"
	"relock/web/film"
	"relock/web/frame"
	"relock/web/lesson"
	"relock/web/link"
	"relock/web/page"
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
	var p *page.Lesson
	if r.URL.Query().Get("kind") == string(course.Break) {
		p, err = s.madeBreak(r, l, state)
	} else {
		p, err = s.madeQuestion(r, l, state)
	}
	if err != nil {
		return frame.NotShown(r, err, "No question can be made of that")
	}
	if p.Room, err = roomOfMade(state, course.Kind(p.Kind)); err != nil {
		return err
	}
	p.Made = "/learn/made.yaml?" + url.Values{"from": {r.URL.Query().Get("from")}, "kind": {p.Kind}}.Encode()
	return s.show(w, r, p)
}

func (s *Pages) madeQuestion(r *http.Request, l words.Language, state link.Contents) (*page.Lesson, error) {
	q, err := course.Ask(r.Context(), state.Scenario, state.At)
	if err != nil {
		return nil, err
	}
	at := q.Until()
	query := r.URL.Query()
	own := url.Values{"from": {query.Get("from")}}
	p := &page.Lesson{
		Page: s.Frame(r, l.Say("What happens next?")), Kind: string(course.Predict), Item: page.WayItem{Title: l.Say("What happens next?"), Path: "made"},
		Goal:   "<p>" + templates.Escaped(l.Clause(q.Asks())) + "</p>",
		Hidden: own.Get("from"), Leave: "/learn/made?" + own.Encode(),
	}
	stage := shownRun{q.Run, q.Stand, false}
	pick, _ := strconv.Atoi(query.Get("pick")) // 0 is none
	for n, a := range q.Answers {
		o := page.LessonOption{Number: n + 1, Chosen: pick == n+1, Right: a.Right, HTML: templates.Escaped(frame.Said(l, a.Says))}
		if o.Chosen {
			p.Answered, p.Solved = true, a.Right
			own.Set("pick", strconv.Itoa(pick))
			switch {
			case a.Right:
				p.Feedback = "<p>" + templates.Escaped(l.Say("That is what the run did.")) + "</p>"
				stage = shownRun{a.Run, a.Shown, true}
			case query.Has("watch"):
				stage = shownRun{a.Run, a.Shown, true}
				p.Watching = l.Say("Here answer %d is true.", o.Number)
				fallthrough
			default:
				p.Feedback = "<p>" + templates.Escaped(l.Say("That happens %s.", l.Clause(a.Because))) + "</p>"
				p.WatchIt = l.Say("Watch it where it is true")
				if !query.Has("watch") {
					o.Watch = "/learn/made?" + own.Encode() + "&watch=1"
				}
			}
		}
		p.Options = append(p.Options, o)
	}
	if err := s.stage(r.Context(), l, p, stage); err != nil {
		return nil, err
	}
	if !stage.whole {
		p.Viewer.Asked, p.Open = at.Step, ""
	}
	return p, nil
}

func (s *Pages) madeBreak(r *http.Request, l words.Language, state link.Contents) (*page.Lesson, error) {
	item, err := course.BreakOf(r.Context(), state.Scenario)
	if err != nil {
		return nil, err
	}
	rule := film.RuleNamed(l, item.Rule())
	made, err := item.Made()
	if err != nil {
		return nil, fmt.Errorf("learn: %w", err)
	}
	p := &page.Lesson{
		Page: s.Frame(r, l.Say("Break it")), Kind: string(course.Break), Item: page.WayItem{Title: l.Say("Break it"), Path: "made"},
		Body:     "<p>" + templates.Escaped(l.Say("Left alone, this run does not break that rule. You are the scheduler.")) + "</p>",
		Goal:     "<p>" + templates.Escaped(l.Say("Break this rule: %s.", rule)) + "</p>",
		After:    "<p>" + templates.Escaped(l.Say("There is an order in which it breaks, so it will break one day.")) + "</p>",
		Controls: strings.Join(item.Controls, " "), Judge: fmt.Sprintf("/learn/made/judge?rule=%s&par=%d", url.QueryEscape(item.Rule()), made.Par),
		Leave: "/learn/made?" + url.Values{"from": {r.URL.Query().Get("from")}, "kind": {"break"}}.Encode(),
	}
	if p.Stepping, err = s.stepping(r, l, item); err != nil {
		return nil, err
	}
	shown := film.NewScenario(l, item.Scenario)
	p.Facts, p.Title = shown.Facts, frame.TitleOf(l, item.Scenario)
	return p, nil
}

// MadeYAML is the same as an item of the course, to be kept.
func (s *Pages) MadeYAML(w http.ResponseWriter, r *http.Request) error {
	state, err := s.madeOf(r)
	if err != nil {
		return err
	}
	var text string
	if r.URL.Query().Get("kind") == string(course.Break) {
		var item *course.Item
		if item, err = course.BreakOf(r.Context(), state.Scenario); err == nil {
			text, err = item.YAML()
		}
	} else {
		var q *course.Question
		if q, err = course.Ask(r.Context(), state.Scenario, state.At); err == nil {
			text, err = q.YAML()
		}
	}
	if err != nil {
		return frame.NotShown(r, err, "No question can be made of that")
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
		return frame.NotShown(r, err, "That cannot be shown")
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
