package board

import (
	"context"
	"maps"
	"slices"
	"time"

	"relock/web/lesson"
	"relock/web/words"
)

// plain is the language in which every question has its options.
const plain = "en"

// Kinds of questions beside those of the course.
const (
	Predict = "predict" // what is seen next
	Own     = "own"     // a host's own
)

// Write is the kind of a question for which each member writes a script: its
// options are the possible verdicts.
const Write = "write"

// How many bytes of scripts a room keeps.
const (
	maxScript  = 4 << 10
	maxScripts = 1 << 20 // of all questions
)

func (f *referee) question(ctx context.Context, _ *Member, c Command) (Entry, error) {
	if c.Kind == Own && c.Item == "" {
		q := &lesson.Question{Text: lesson.Plain(c.Text)}
		for _, option := range c.Options {
			q.Options = append(q.Options, lesson.Plain(option))
		}
		if c.Right != nil {
			q.Right = *c.Right + 1
		}
		return f.own(ctx, q)
	}
	if c.Kind != Predict && (c.Item == "" || c.Kind != "") || c.Text != "" || len(c.Options) > 0 || c.Right != nil {
		return Entry{}, errKind
	}
	return f.inOrder(f.asked(ctx, c.Item))
}

// turn moves the right answer to another place: where it was last says nothing.
func (q *Question) turn() {
	n := len(q.Options[plain])
	q.Right = (q.Right + 1) % n
	for code, list := range q.Options {
		q.Options[code] = slices.Concat(list[n-1:], list[:n-1])
	}
}

// own asks a host's own question where the room is.
func (f *referee) own(ctx context.Context, asks *lesson.Question) (Entry, error) {
	if err := asks.Check(); err != nil {
		return Entry{}, err
	}
	at := f.state.Stand
	b, err := f.run.Track(ctx, f.state, at.Branch)
	if err != nil {
		return Entry{}, err
	}
	q := &Question{Kind: Own, Text: map[string]string{}, Options: map[string][]string{}, Right: asks.Right - 1, Step: b.Positions[at.At].Row}
	for _, l := range words.All() {
		q.Text[l.Code()] = asks.Text.In(l)
		for _, option := range asks.Options {
			q.Options[l.Code()] = append(q.Options[l.Code()], option.In(l))
		}
	}
	return f.inOrder(Entry{Question: q}, nil)
}

// inOrder makes a question the room's next one, asked where everybody is then.
func (f *referee) inOrder(e Entry, err error) (Entry, error) {
	switch {
	case err != nil:
		return Entry{}, err
	case len(f.state.Past) >= maxQuestion:
		return Entry{}, errQuestions
	}
	q, at := e.Question, f.state.Stand
	if e.Stand != nil {
		at = *e.Stand
	}
	q.ID, q.Round, q.Scene = len(f.state.Past)+1, 1, f.sceneOf(e)
	if f.state.Question != nil {
		q.ID++
	}
	if all := f.state.Questions(); len(all) > 0 && q.Kind != Own && q.Kind != Write {
		if last := all[len(all)-1]; q.Right == last.Right && q.Text[plain] != last.Text[plain] {
			q.turn()
		}
	}
	q.Stand = Stand{Branch: at.Branch, At: at.At}
	if e.Seats == nil {
		e.Seats = f.state.still() // no table moves while all are asked
	}
	return e, nil
}

// asked is a question about the room's place, or an item's own, for which all go to the
// item's place.
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
	q.Item = item
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
	case q.Kind == Write:
		return Entry{}, errScripted
	case c.Option == nil || *c.Option < 0 || *c.Option >= len(q.Options[plain]):
		return Entry{}, errOption
	}
	return Entry{Vote: &Vote{Member: m.ID, Option: *c.Option}}, nil
}

// Writing returns the item whose script the class writes now. It fails if no
// question asks for a script, if the room cannot take the script, and for members
// who do not vote. Client.Give says the same, once the script is judged.
func (s *State) Writing(member, script string) (item string, err error) {
	q := s.Question
	switch m := s.People[member]; {
	case m == nil || !m.votes():
		return "", errVoters
	case q == nil || q.Kind != Write:
		return "", errNoScript
	case q.Closed:
		return "", errNotOpen
	case script == "" || len(script) > maxScript:
		return "", errScript
	}
	kept := len(script) - len(q.Scripts[member])
	for _, one := range s.Questions() {
		for _, text := range one.Scripts {
			kept += len(text)
		}
	}
	if kept > maxScripts {
		return "", errScripts
	}
	return q.Item, nil
}

// write takes a member's script, and what came of it.
func (f *referee) write(_ context.Context, m *Member, c Command) (Entry, error) {
	item, err := f.state.Writing(m.ID, c.Script)
	switch {
	case err != nil:
		return Entry{}, err
	case c.Item != item: // the class has gone on while it was judged
		return Entry{}, errNoScript
	case c.Option == nil || *c.Option < 0 || *c.Option >= len(f.state.Question.Options[plain]):
		return Entry{}, errOption
	}
	return Entry{Vote: &Vote{m.ID, *c.Option, c.Script}}, nil
}

// show takes the class to the lock with the script that a member has written.
func (f *referee) show(ctx context.Context, _ *Member, c Command) (Entry, error) {
	q := f.state.Written()
	switch {
	case q == nil || q.Scripts[c.Member] == "":
		return Entry{}, errNotWritten
	case q == f.state.Question && !q.Closed:
		return Entry{}, errNotClosed
	}
	plan, err := f.written(ctx, q.Item, q.Scripts[c.Member])
	if err != nil {
		return Entry{}, err
	}
	return f.goToPlan(ctx, plan)
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

func (f *referee) shelve(context.Context, *Member, Command) (Entry, error) {
	if f.state.Question == nil {
		return Entry{}, errNoQuestion
	}
	return Entry{Shelved: true}, nil
}
