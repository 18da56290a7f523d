package learn

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"relock/engine/course"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/templates"
	"relock/web/words"
)

// given are the answers to the concept check that an address carries, so that it needs no
// script: for each question the number of an option; of code under review the lines that were
// marked, "3-7", or noLine; of mends that were put in order their numbers, "2-1-3".
type given struct {
	so    []string // of this half
	other []string // of the other half, nil if we know nothing about it
}

const (
	unanswered = "0"
	noLine     = "none" // is at fault
)

// anAnswer is what an answer looks like in an address.
var anAnswer = regexp.MustCompile(`^(none|[1-9]\d?(-[1-9]\d?){0,29})$`)

// nothingGiven are no answers to n questions.
func nothingGiven(n int) []string { return slices.Repeat([]string{unanswered}, n) }

// carried is a half as an address has it.
func carried(half []string) string { return strings.Join(half, ".") }

// carry is the query that takes them along.
func (g given) carry() string {
	query := url.Values{"so": {carried(g.so)}}
	if g.other != nil {
		query.Set("other", carried(g.other))
	}
	return "?" + query.Encode()
}

// turned is the same as the other half carries it.
func (g given) turned() given { return given{so: g.other, other: g.so} }

// givenIn reads the answers to n questions.
func givenIn(query url.Values, n int) given {
	read := func(key string) []string {
		made := nothingGiven(n)
		for at, answer := range strings.SplitN(query.Get(key), ".", n+1) {
			if at < n && anAnswer.MatchString(answer) {
				made[at] = answer
			}
		}
		return made
	}
	g := given{so: read("so")}
	if other := read("other"); !slices.Equal(other, nothingGiven(n)) {
		g.other = other
	}
	return g
}

// givenOf is givenIn, with the answer to item that the query may have.
func givenOf(item *course.Item, query url.Values) given {
	g := givenIn(query, len(item.Half()))
	answer := query.Get("pick")
	if of := kinds[item.Kind].sent; of != nil {
		answer = of(query, len(item.Options))
	}
	if anAnswer.MatchString(answer) {
		g.so[item.Number()-1] = answer
	}
	return g
}

// ofCheck is the address of what came of both halves, or of the half that when names.
func ofCheck(when string, g given) string { return "/learn/check" + g.carry() + "&half=" + when }

// Checked is the result of the concept check: the address has the answers, of one half or
// of both.
func (s *Pages) Checked(w http.ResponseWriter, r *http.Request) error {
	if s.Course().Check == nil {
		return site.ErrNoPage
	}
	l, query := words.From(r.Context()), r.URL.Query()
	ideas := s.Course().Check.Items
	g := givenIn(query, len(ideas))
	before, after := g, g.turned()
	if query.Get("half") == "after" {
		before, after = after, before
	}
	p := page.Checked{Page: s.Frame(r, l.Say("What you know"))}
	if before.so != nil {
		p.Halves = append(p.Halves, page.CheckedHalf{Again: ideas[0].Path(), Onward: "/learn/" + ideas[0].Again.Path() + given{so: nothingGiven(len(ideas)), other: before.so}.carry()})
	}
	if after.so != nil {
		p.Halves = append(p.Halves, page.CheckedHalf{Again: ideas[0].Again.Path(), After: true})
	}
	if !p.Both() {
		s.Scripted(&p.Page, shell.App, "js/course-check.js")
	}
	for n, idea := range ideas {
		row := page.CheckedRow{Taught: *wayItem(l, idea.Taught)}
		for h := range p.Halves {
			half, item, g := &p.Halves[h], idea, before
			if half.After {
				item, g = idea.Again, after
			}
			one, err := s.checkedAnswer(r, l, item, g, n, p.Told())
			if err != nil {
				return err
			}
			if one.Answer == "" {
				half.Open = cmp.Or(half.Open, "/learn/"+item.Path()+one.Carry)
			} else {
				half.Answered++
			}
			if one.Right {
				half.Right++
			}
			row.Answers = append(row.Answers, *one)
		}
		p.Rows = append(p.Rows, row)
	}
	return site.Render(r.Context(), w, http.StatusOK, templates.CheckedPage(p))
}

// checkedAnswer is the nth question and the answer; told says whether it may show what is
// right, and why an answer is wrong.
func (s *Pages) checkedAnswer(r *http.Request, l words.Language, item *course.Item, g given, n int, told bool) (*page.CheckedAnswer, error) {
	asked, err := s.newAsking(r.URL.Query(), l, item)
	if err != nil {
		return nil, err
	}
	out := &page.CheckedAnswer{Item: *wayItem(l, item), Carry: g.carry()}
	if of := kinds[item.Kind].judge; of != nil {
		return out, of(asked, g.so[n], told, out)
	}
	answers := asked.made.Answers
	at, err := strconv.Atoi(g.so[n])
	if err != nil || at < 1 || at > len(answers) {
		return out, nil //nolint:nilerr // it is no answer
	}
	a := answers[at-1]
	out.Answer, out.Right = asked.label(a), a.Right
	if a.Right || !told {
		return out, nil
	}
	for _, other := range answers {
		if other.Right {
			out.Wanted = asked.label(other)
		}
	}
	if a.Option.None {
		out.Why = l.Say("One of the changes would have done it.")
		return out, nil
	}
	out.Watch, out.WatchIt = fmt.Sprintf("/learn/%s%s&watch=%d", item.Path(), out.Carry, at), l.Say(mendsNothing)
	if task, err := course.TaskOf[*course.Diagnosis](item); err == nil {
		out.WatchIt = l.Say(trueElsewhere)
		var logs []page.DiagnosisLog
		for _, g := range task.Logs {
			logs = append(logs, diagnosisLog(l, g))
		}
		out.Why = parted(l, logs, a.Parts).Says
		return out, nil
	}
	out.Why, err = stillWrong(r.Context(), l, a)
	return out, err
}

// stillWrong says how it goes wrong in the run of a wrong answer all the same.
func stillWrong(ctx context.Context, l words.Language, a *course.Answer) (string, error) {
	reel, err := (&runs.Recording{Scenario: a.Run.Scenario, Header: a.Run.Header, Events: a.Run.Events[:a.Shown]}).Film(ctx, l)
	if err != nil {
		return "", fmt.Errorf("learn: %w", err)
	}
	rows := reel.Rows()
	last := rows[len(rows)-1]
	return l.Say("With that change it still goes wrong, at T%[1]d · %[2]s: %[3]s", last.Step, last.At, last.Why), nil
}
