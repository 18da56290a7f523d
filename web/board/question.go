package board

import (
	"context"
	"maps"
	"slices"
	"time"
)

// plain is the language in which every question has its options.
const plain = "en"

// Predict is the kind of question that asks what is seen next.
const Predict = "predict"

func (f *referee) question(ctx context.Context, _ *Member, c Command) (Entry, error) {
	switch {
	case c.Kind != Predict && (c.Item == "" || c.Kind != ""):
		return Entry{}, errKind
	case len(f.state.Past) >= maxQuestion:
		return Entry{}, errQuestions
	}
	e, err := f.asked(ctx, c.Item)
	if err != nil {
		return Entry{}, err
	}
	q, at := e.Question, f.state.Stand
	if e.Stand != nil {
		at = *e.Stand
	}
	q.ID, q.Round, q.Scene = len(f.state.Past)+1, 1, len(f.state.Earlier)
	if f.state.Question != nil {
		q.ID++
	}
	if e.Scene != nil {
		q.Scene++
	}
	q.Stand = Stand{Branch: at.Branch, At: at.At}
	if e.Seats == nil {
		e.Seats = f.state.still() // no table moves while all are asked
	}
	return e, nil
}

// asked is a question of where the room stands, or an item's own, for which all
// go to the item's place.
func (f *referee) asked(ctx context.Context, item string) (Entry, error) {
	if item == "" {
		at := f.state.Stand
		b, err := f.run.Track(ctx, f.state, at.Branch)
		if err != nil {
			return Entry{}, err
		}
		q, err := f.ask(ctx, f.run.Scenario().WithSchedule(b.Moves), at.At)
		if err != nil {
			return Entry{}, err
		}
		q.Kind, q.Step = Predict, b.Positions[at.At].Row
		return Entry{Question: q}, nil
	}
	plan, q, err := f.exam(ctx, item)
	if err != nil {
		return Entry{}, err
	}
	e, err := f.goToPlan(ctx, plan)
	e.Question = q
	return e, err
}

// unclosed returns the question that is asked, if its votes are not counted yet.
func (f *referee) unclosed() (*Question, error) {
	switch q := f.state.Question; {
	case q == nil:
		return nil, errNoQuestion
	case q.Closed:
		return nil, errNotOpen
	default:
		return q, nil
	}
}

func (f *referee) vote(_ context.Context, m *Member, c Command) (Entry, error) {
	q, err := f.unclosed()
	switch {
	case err != nil:
		return Entry{}, err
	case c.Option == nil || *c.Option < 0 || *c.Option >= len(q.Options[plain]):
		return Entry{}, errOption
	}
	return Entry{Vote: &Vote{m.ID, *c.Option}}, nil
}

func (f *referee) reveal(context.Context, *Member, Command) (Entry, error) {
	q, err := f.unclosed()
	if err != nil {
		return Entry{}, err
	}
	closed := q.clone()
	closed.Closed = true
	return Entry{Question: closed}, nil
}

func (f *referee) again(context.Context, *Member, Command) (Entry, error) {
	q := f.state.Question
	switch {
	case q == nil:
		return Entry{}, errNoQuestion
	case !q.Closed:
		return Entry{}, errNotClosed
	}
	next := q.clone()
	next.Before = append(slices.Clone(q.Before), maps.Clone(q.Votes))
	next.Votes, next.Closed, next.Until = nil, false, 0
	next.Round++
	return Entry{Question: next}, nil
}

// clock gives a vote some time, which all see run out, and nothing happens then.
func (f *referee) clock(_ context.Context, _ *Member, c Command) (Entry, error) {
	q, err := f.unclosed()
	switch {
	case err != nil:
		return Entry{}, err
	case c.Seconds < 0 || c.Seconds > mostSeconds:
		return Entry{}, errSeconds
	}
	timed := q.clone()
	timed.Until = 0
	if c.Seconds > 0 {
		timed.Until = f.now().Add(time.Duration(c.Seconds) * time.Second).UnixMilli()
	}
	return Entry{Question: timed}, nil
}

// tell shows all of a question whose votes are counted: what is right though few
// were, and the bars that were for hosts alone.
func (f *referee) tell(context.Context, *Member, Command) (Entry, error) {
	q := f.state.Question
	switch {
	case q == nil:
		return Entry{}, errNoQuestion
	case !q.Closed:
		return Entry{}, errNotClosed
	}
	told := q.clone()
	told.Told = true
	return Entry{Question: told}, nil
}

// veil has the bars of a first vote be for hosts alone until the second.
func (f *referee) veil(_ context.Context, _ *Member, c Command) (Entry, error) {
	rules := f.state.Rules
	rules.Veiled = c.On == nil || *c.On
	return Entry{Rules: &rules}, nil
}

func (f *referee) shelve(context.Context, *Member, Command) (Entry, error) {
	if f.state.Question == nil {
		return Entry{}, errNoQuestion
	}
	return Entry{Shelved: true}, nil
}
