package learn

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"relock/engine/course"
	"relock/web/frame"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/site"
	"relock/web/templates"
	"relock/web/words"
)

// given are the answers to the concept check that an address carries, so that it needs no
// script: for each question the number of an option, 0 for none.
type given struct {
	so    string // of this half
	other string // of the other half, "" where nothing is known of it
}

// carry is the query that takes them along.
func (g given) carry() string {
	query := url.Values{"so": {g.so}}
	if g.other != "" {
		query.Set("other", g.other)
	}
	return "?" + query.Encode()
}

// turned is the same as the other half carries it.
func (g given) turned() given { return given{so: g.other, other: g.so} }

// givenIn reads the answers to n questions.
func givenIn(query url.Values, n int) given {
	read := func(text string) string {
		made := bytes.Repeat([]byte("0"), n)
		for at, c := range []byte(text) {
			if at < n && c >= '0' && c <= '9' {
				made[at] = c
			}
		}
		return string(made)
	}
	g := given{so: read(query.Get("so"))}
	if other := read(query.Get("other")); strings.Trim(other, "0") != "" {
		g.other = other
	}
	return g
}

// givenOf is givenIn, with the answer to item that the query may have.
func givenOf(item *course.Item, query url.Values) given {
	g := givenIn(query, len(item.Half()))
	if pick := query.Get("pick"); len(pick) == 1 && pick > "0" && pick <= "9" {
		made := []byte(g.so)
		made[item.Number()-1] = pick[0]
		g.so = string(made)
	}
	return g
}

// ofCheck is the address of what came of both halves, or of the half that when names.
func ofCheck(when string, g given) string { return "/learn/check" + g.carry() + "&half=" + when }

// seenWrong puts the run on the stage in which a wrong answer to the concept check does not
// help: watch is its number.
func seenWrong(l words.Language, p *page.Lesson, item *course.Item, made *course.Made, query url.Values, stage *shownRun) {
	n, err := strconv.Atoi(query.Get("watch"))
	if err != nil || n < 1 || n > len(made.Answers) || made.Answers[n-1].Right {
		return
	}
	a := made.Answers[n-1]
	*stage = shownRun{a.Run, a.Shown, true}
	p.Watching = l.Say("With answer %d it still goes wrong.", n)
	p.Leave = ofCheck(item.When(), given{p.SoFar, p.Other})
}

// Checked is what came of the concept check: the answers stand in the address, those of
// one half or of both.
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
	if before.so != "" {
		p.Halves = append(p.Halves, page.CheckedHalf{Again: ideas[0].Path(), Onward: "/learn/" + ideas[0].Again.Path() + given{so: strings.Repeat("0", len(ideas)), other: before.so}.carry()})
	}
	if after.so != "" {
		p.Halves = append(p.Halves, page.CheckedHalf{Again: ideas[0].Again.Path(), After: true})
	}
	if !p.Both() {
		s.Scripted(&p.Page, frame.App, "js/course-check.js")
	}
	for n, idea := range ideas {
		row := page.CheckedRow{Taught: *wayItem(l, idea.Taught)}
		for h := range p.Halves {
			half, item, g := &p.Halves[h], idea, before
			if half.After {
				item, g = idea.Again, after
			}
			one, err := checkedAnswer(r.Context(), l, item, g, n, p.Told())
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

// checkedAnswer is the nth question and what was answered; told says whether what is right
// may be told, and why an answer is wrong.
func checkedAnswer(ctx context.Context, l words.Language, item *course.Item, g given, n int, told bool) (*page.CheckedAnswer, error) {
	made, err := item.Made()
	if err != nil {
		return nil, fmt.Errorf("learn: %w", err)
	}
	prose, err := item.Prose(l)
	if err != nil {
		return nil, fmt.Errorf("learn: %w", err)
	}
	out := &page.CheckedAnswer{Item: *wayItem(l, item), Carry: g.carry()}
	at := int(g.so[n]-'0') - 1
	if at < 0 || at >= len(made.Answers) {
		return out, nil
	}
	a := made.Answers[at]
	out.Answer, out.Right = page.Prose(prose.Labels[a.Option.ID]), a.Right
	if a.Right || !told {
		return out, nil
	}
	for _, other := range made.Answers {
		if other.Right {
			out.Wanted = page.Prose(prose.Labels[other.Option.ID])
		}
	}
	out.Watch = fmt.Sprintf("/learn/%s%s&watch=%d", item.Path(), out.Carry, at+1)
	out.Why, err = stillWrong(ctx, l, a)
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
