package lesson

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/web/link"
	"relock/web/words"

	"go.yaml.in/yaml/v3"
)

// Mistake is why a text is no lesson: the first thing that is wrong in it.
type Mistake struct {
	Line int // from 1
	What phrase.Wording
}

// Error says it in English.
func (m *Mistake) Error() string { return m.Says().String() }

// Says implements phrase.Speaker.
func (m *Mistake) Says() phrase.Wording {
	return phrase.Say("line %d of the lesson: %s", m.Line, m.What)
}

func wrong(line int, text phrase.Text, args ...any) *Mistake {
	return &Mistake{max(line, 1), phrase.Say(text, args...)}
}

// ErrTooLong is returned for a text that is longer than a lesson may be.
var ErrTooLong = phrase.New("a lesson may have %d KiB", MaxBytes>>10)

// Parse reads a lesson as YAML, or as JSON. It fails with ErrTooLong or a
// *Mistake; then there is no lesson. Whether examples, links and items are there
// it does not know.
func Parse(text []byte) (*Lesson, error) {
	if len(text) > MaxBytes {
		return nil, ErrTooLong
	}
	dec := yaml.NewDecoder(bytes.NewReader(scenario.JoinSurrogates(text)))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF), err == nil && len(doc.Content) == 0:
		return nil, wrong(1, "it is empty: a lesson has title and steps")
	case err == nil:
		if err = dec.Decode(&more); err == nil {
			return nil, wrong(more.Line, "a second document begins: a lesson is only one")
		}
		if errors.Is(err, io.EOF) {
			return readLesson(doc.Content[0])
		}
	}
	why := scenario.WhyUnread(err)[0]
	return nil, wrong(why.Line, "this is not YAML (%s)", why.What)
}

// field reads what one key of a mapping has.
type field struct {
	key  string
	read func(*yaml.Node) error
}

// read reads a mapping whose keys are the fields', each once at most.
func read(n *yaml.Node, what phrase.Text, fields ...field) error {
	if n.Kind != yaml.MappingNode {
		return wrong(n.Line, "%s must have keys and values here", phrase.Say(what))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := slices.IndexFunc(fields, func(f field) bool { return key.Kind == yaml.ScalarNode && f.key == key.Value })
		switch {
		case at < 0:
			var known phrase.Names
			for _, f := range fields {
				known = append(known, f.key)
			}
			return wrong(key.Line, "%s has no key %q; it can have %s", phrase.Say(what), short(key.Value), known)
		case seen[key.Value]:
			return wrong(key.Line, "%s is here twice", key.Value)
		}
		seen[key.Value] = true
		if err := fields[at].read(value); err != nil {
			return err
		}
	}
	return nil
}

// short is so much of what somebody wrote as fits into a sentence.
func short(text string) string {
	const most = 40
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}

func readLesson(n *yaml.Node) (*Lesson, error) {
	l := &Lesson{}
	var steps *yaml.Node
	err := read(
		n, "a lesson", field{"title", readWords(&l.Title, "title", MaxTitle)},
		field{"steps", func(n *yaml.Node) error {
			steps = n
			return nil
		}},
	)
	switch {
	case err != nil:
		return nil, err
	case l.Title == nil:
		return nil, wrong(n.Line, "a lesson needs a title")
	case steps == nil || steps.Kind != yaml.SequenceNode || len(steps.Content) == 0 || len(steps.Content) > MaxSteps:
		line := n.Line
		if steps != nil {
			line = steps.Line
		}
		return nil, wrong(line, "steps is a list of 1 to %d steps", MaxSteps)
	}
	var before Place
	for _, one := range steps.Content {
		s, err := readStep(one, before)
		if err != nil {
			return nil, err
		}
		l.Steps, before = append(l.Steps, *s), s.Place
	}
	return l, nil
}

// readStep reads a step. A step that names no scenario is in the scenario of the step
// before and, without at, in the same place.
func readStep(n *yaml.Node, before Place) (*Step, error) {
	s := &Step{}
	var own string
	err := read(
		n, "a step", field{"title", readWords(&s.Title, "title", MaxTitle)},
		field{"example", readText(&s.Example, "example")}, field{"scenario", readScenario(&own)}, field{"link", readText(&s.Link, "link")},
		field{"item", readText(&s.Item, "item")}, field{"chapter", readText(&s.Chapter, "chapter")},
		field{"at", readAt(&s.At)}, field{"hold", readHold(&s.Hold)}, field{"ask", readAsk(&s.Ask)},
		field{"question", func(n *yaml.Node) (err error) {
			s.Question, err = readQuestion(n)
			return err
		}},
		field{"notes", readWords(&s.Notes, "notes", MaxNotes)},
	)
	if err != nil {
		return nil, err
	}
	given := s.Given()
	for _, more := range []string{own, s.Chapter} {
		if more != "" {
			given++
		}
	}
	switch {
	case given > 1:
		return nil, wrong(n.Line, "a step is in one scenario: say example, scenario, link, item or chapter")
	case s.Chapter != "" && (s.At != "" || s.Asks()):
		return nil, wrong(n.Line, "a chapter asks its own questions, each at its place: leave out at, ask and question")
	case s.Chapter != "":
		return s, nil
	case own != "":
		s.Link = own
	case given == 0 && before.Given() == 0:
		return nil, wrong(n.Line, "the first step, and the one after a chapter, needs a scenario: example, scenario, link or item")
	case given == 0:
		at := s.At
		if s.Place = before; at != "" {
			s.At = at
		}
	}
	if s.At == "T0" {
		s.At = ""
	}
	switch {
	case s.Link != "" && s.At != "" && !s.starts():
		return nil, wrong(n.Line, "a link has its own place after the ~: leave out at")
	case s.Ask != "" && s.Question != nil:
		return nil, wrong(n.Line, "a step asks one question: ask or question")
	case s.Ask == AskItem && s.Item == "":
		return nil, wrong(n.Line, "only a step in an item of the course can ask what the item asks")
	case s.Ask == AskItem && s.At != "":
		return nil, wrong(n.Line, "an item asks at its own place: leave out at")
	}
	return s, nil
}

// readScenario reads a user's own scenario, as a link to its start.
func readScenario(into *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		sc, err := scenario.ParseNode(n)
		var all scenario.Mistakes
		if errors.As(err, &all) {
			one := all[0]
			return wrong(one.Line, "%s: given %s, allowed: %s", strings.TrimSuffix("scenario."+one.Key, "."), one.Given, one.Allowed)
		}
		if err == nil {
			*into, err = link.Encode(link.Contents{Scenario: sc})
		}
		return err
	}
}

// Lines returns the lines of a file on which the steps of its lesson begin, from 1:
// none of what is no file.
func Lines(text []byte) []int {
	var file struct {
		Steps []yaml.Node `yaml:"steps"`
	}
	if len(text) > MaxBytes || yaml.Unmarshal(scenario.JoinSurrogates(text), &file) != nil {
		return nil
	}
	lines := make([]int, len(file.Steps))
	for i, n := range file.Steps {
		lines[i] = n.Line
	}
	return lines
}

func readText(into *string, key string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || n.Value == "" || n.Tag == "!!null" {
			return wrong(n.Line, "%s is a text", key)
		}
		*into = n.Value
		return nil
	}
}

func readAt(into *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if _, ok := rowOf(n.Value); n.Kind != yaml.ScalarNode || !ok || n.Value == "" {
			return wrong(n.Line, "at is a row of the run, T0 to T%d", MaxRow)
		}
		*into = n.Value
		return nil
	}
}

func readHold(into **bool) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		var is bool
		if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" || n.Decode(&is) != nil {
			return wrong(n.Line, "hold is true or false")
		}
		*into = &is
		return nil
	}
}

func readAsk(into *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || n.Value != AskPredict && n.Value != AskItem {
			return wrong(n.Line, "ask is predict or item; a question of your own is a question")
		}
		*into = n.Value
		return nil
	}
}

// readWords reads a text of at most so many characters: one for all languages,
// or one for each.
func readWords(into *Words, key string, most int) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		text := func(n *yaml.Node) (string, error) {
			switch {
			case n.Kind != yaml.ScalarNode:
				return "", wrong(n.Line, "%s is a text, or one for each language", key)
			case n.Tag == "!!null":
				return "", nil
			}
			said := strings.TrimSpace(n.Value)
			if utf8.RuneCountInString(said) > most {
				return "", wrong(n.Line, "%s has at most %d characters", key, most)
			}
			if strings.ContainsFunc(said, func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == utf8.RuneError }) {
				return "", wrong(n.Line, "%s has invisible characters", key)
			}
			return said, nil
		}
		if n.Kind != yaml.MappingNode {
			said, err := text(n)
			*into = Plain(said)
			return err
		}
		by := Words{}
		var fields []field
		for _, l := range words.All() {
			fields = append(fields, field{l.Code(), func(n *yaml.Node) (err error) {
				by[l.Code()], err = text(n)
				return err
			}})
		}
		err := read(n, "a text", fields...)
		*into = by.filled()
		return err
	}
}

func readQuestion(n *yaml.Node) (*Question, error) {
	q := &Question{}
	right := n
	err := read(
		n, "a question", field{"text", readWords(&q.Text, "text", MaxText)},
		field{"options", func(n *yaml.Node) error {
			if n.Kind != yaml.SequenceNode {
				return wrong(n.Line, "options is a list of %d to %d", MinOptions, MaxOptions)
			}
			for _, one := range n.Content {
				var option Words
				if err := readWords(&option, "an option", MaxOption)(one); err != nil {
					return err
				}
				q.Options = append(q.Options, option)
			}
			return nil
		}},
		field{"right", func(n *yaml.Node) error {
			if right = n; n.Tag != "!!int" || n.Decode(&q.Right) != nil {
				return wrong(n.Line, "right is the number of the right option, from 1")
			}
			return nil
		}},
	)
	if err != nil {
		return nil, err
	}
	if err := q.Check(); err != nil {
		says, _ := phrase.Of(err)
		return nil, &Mistake{right.Line, says}
	}
	return q, nil
}

// Errors of a host's own question.
var (
	errNoText    = phrase.New("a question needs a text")
	errLongText  = phrase.New("a question has at most %d characters", MaxText)
	errOptions   = phrase.New("a question has %d to %d options", MinOptions, MaxOptions)
	errNoOption  = phrase.New("an option has 1 to %d characters", MaxOption)
	errTwice     = phrase.New("two options of a question are the same")
	errNoRight   = phrase.New("say which option is right, by its number from 1")
	errInvisible = phrase.New("a question has invisible characters")
)

// Check fails, with an error that speaks, for a question that a class cannot be
// asked.
func (q *Question) Check() error {
	seen := map[string]bool{}
	for _, one := range append([]Words{q.Text}, q.Options...) {
		for _, text := range one {
			if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f || c == utf8.RuneError }) {
				return errInvisible
			}
		}
	}
	switch {
	case q.Text.longest() == 0:
		return errNoText
	case q.Text.longest() > MaxText:
		return errLongText
	case len(q.Options) < MinOptions || len(q.Options) > MaxOptions:
		return errOptions
	}
	for _, option := range q.Options {
		text := option[words.English.Code()]
		switch n := option.longest(); {
		case n == 0 || n > MaxOption:
			return errNoOption
		case seen[text]:
			return errTwice
		}
		seen[text] = true
	}
	if q.Right < 1 || q.Right > len(q.Options) {
		return errNoRight
	}
	return nil
}

// longest is how many characters the text has in the language in which it has
// most.
func (w Words) longest() int {
	n := 0
	for _, text := range w {
		n = max(n, utf8.RuneCountInString(text))
	}
	return n
}
