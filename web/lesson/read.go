package lesson

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/strict"
	"relock/web/link"
	"relock/web/words"

	"go.yaml.in/yaml/v3"
)

// Mistake is why a text is no lesson: the first thing that is wrong in it.
type Mistake struct{ strict.Mistake }

// Error says it in English.
func (m *Mistake) Error() string { return m.Says().String() }

// Says implements phrase.Speaker.
func (m *Mistake) Says() phrase.Wording {
	return phrase.Say("line %d of the lesson: %s", m.Line, m.Clause())
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
	r, l := &strict.Reader{}, &Lesson{}
	root, found := strict.Document(text, "", phrase.Say("one YAML or JSON document with title and steps"))
	if found == nil {
		readLesson(r, strict.Value{Node: root}, l)
		found = r.Mistakes.Listed()
	}
	if len(found) > 0 {
		return nil, &Mistake{found[0]}
	}
	return l, nil
}

// lessonKeys are the keys of a lesson.
func lessonKeys() strict.Keys[Lesson] {
	return strict.Keys[Lesson]{
		{Name: "title", Says: "what the lesson is called", Schema: schemaOfWords(MaxTitle, true), Read: wordsOf("title", MaxTitle, func(l *Lesson) *Words { return &l.Title })},
		{Name: "steps", Says: "what the class goes through; a step that names no scenario stays in that of the one before", Schema: strict.AList(1, MaxSteps, stepKeys().Object()), Read: readSteps},
	}
}

func readLesson(r *strict.Reader, v strict.Value, l *Lesson) {
	given := lessonKeys().Read(r, v, l)
	switch {
	case len(r.Mistakes) > 0:
	case l.Title == nil:
		r.Because(v, "a lesson needs a title")
	case !given.Has("steps"):
		r.Because(v, "steps is a list of 1 to %d steps", MaxSteps)
	}
}

func readSteps(r *strict.Reader, v strict.Value, l *Lesson) {
	if v.Kind != yaml.SequenceNode || len(v.Content) == 0 || len(v.Content) > MaxSteps {
		r.Because(v, "steps is a list of 1 to %d steps", MaxSteps)
		return
	}
	var before Place
	for i, n := range v.Content {
		s := readStep(r, strict.Value{Node: n, Key: fmt.Sprintf("steps[%d]", i)}, before)
		l.Steps, before = append(l.Steps, s), s.Place
	}
}

// writtenStep is a step as a file has it.
type writtenStep struct {
	Step

	own string // a user's own scenario, as a link to its start
}

// stepKeys are the keys of a step.
func stepKeys() strict.Keys[writtenStep] {
	type step = writtenStep
	name := strict.Object{"type": "string", "minLength": 1}
	own := scenario.Schema()
	delete(own, "$schema")
	return strict.Keys[step]{
		{Name: "title", Says: "what the step is called; its scene's title if left out", Schema: schemaOfWords(MaxTitle, false), Read: wordsOf("title", MaxTitle, func(s *step) *Words { return &s.Title })},
		{Name: "example", Says: "the name of a bundled scenario", Schema: name, Read: nameOf("example", func(s *step) *string { return &s.Example })},
		{Name: "scenario", Says: "a scenario of your own", Schema: own, Read: readScenario},
		{Name: "link", Says: "what a page of the playground is called, from its v= on", Schema: name, Read: nameOf("link", func(s *step) *string { return &s.Link })},
		{Name: "item", Says: "an item of the course: chapter/item", Schema: name, Read: nameOf("item", func(s *step) *string { return &s.Item })},
		{Name: "chapter", Says: "a chapter of the course: all that it can ask a class", Schema: name, Read: nameOf("chapter", func(s *step) *string { return &s.Chapter })},
		{Name: "at", Says: fmt.Sprintf("the row after which the class stands, T0 to T%d; T0 is the start", MaxRow), Schema: strict.Object{"type": "string", "pattern": `^T(0|[1-9][0-9]{0,4})$`}, Read: readAt},
		{Name: "hold", Says: "true: the host leads from here on; false: the class plays", Schema: strict.Object{"type": "boolean"}, Read: readHold},
		{Name: "minutes", Says: "how long the step takes", Schema: strict.Object{"type": "integer", "minimum": 1, "maximum": MaxMinutes}, Read: readMinutes},
		{Name: "ask", Says: "predict: what is seen next; item: what the item of the course asks", Schema: strict.Object{"enum": []any{AskPredict, AskItem}}, Read: readAsk},
		{Name: "question", Says: "a question of your own", Schema: strict.Required(questionKeys().Object(), "text", "options", "right"), Read: func(r *strict.Reader, v strict.Value, s *step) { s.Question = readQuestion(r, v) }},
		{Name: "notes", Says: "for the host alone", Schema: schemaOfWords(MaxNotes, false), Read: wordsOf("notes", MaxNotes, func(s *step) *Words { return &s.Notes })},
	}
}

// readStep reads a step. A step that names no scenario is in the scenario of the step
// before and, without at, in the same place.
func readStep(r *strict.Reader, v strict.Value, before Place) Step {
	var w writtenStep
	known := len(r.Mistakes)
	stepKeys().Read(r, v, &w)
	s := w.Step
	given := s.Given()
	for _, more := range []string{w.own, s.Chapter} {
		if more != "" {
			given++
		}
	}
	switch {
	case len(r.Mistakes) > known:
		return s
	case given > 1:
		r.Because(v, "a step is in one scenario: say example, scenario, link, item or chapter")
	case s.Chapter != "" && (s.At != "" || s.Asks()):
		r.Because(v, "a chapter asks its own questions, each at its place: leave out at, ask and question")
	case s.Chapter != "":
		return s
	case w.own != "":
		s.Link = w.own
	case given == 0 && before.Given() == 0:
		r.Because(v, "the first step, and the one after a chapter, needs a scenario: example, scenario, link or item")
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
		r.Because(v, "a link has its own place after the ~: leave out at")
	case s.Ask != "" && s.Question != nil:
		r.Because(v, "a step asks one question: ask or question")
	case s.Ask == AskItem && s.Item == "":
		r.Because(v, "only a step in an item of the course can ask what the item asks")
	case s.Ask == AskItem && s.At != "":
		r.Because(v, "an item asks at its own place: leave out at")
	}
	return s
}

// readScenario reads a user's own scenario, as a link to its start.
func readScenario(r *strict.Reader, v strict.Value, s *writtenStep) {
	sc, found := scenario.ReadNode(strict.Value{Node: v.Node, Key: "scenario"})
	if r.Mistakes = append(r.Mistakes, found...); len(found) > 0 {
		return
	}
	var err error
	if s.own, err = link.Encode(link.Contents{Scenario: sc}); err != nil {
		r.Because(v, "%s", err)
	}
}

// Lines returns the lines of a file on which the steps of its lesson begin, from 1:
// none of what is no file.
func Lines(text []byte) []int {
	var file struct {
		Steps []yaml.Node `yaml:"steps"`
	}
	if len(text) > MaxBytes || yaml.Unmarshal(strict.JoinSurrogates(text), &file) != nil {
		return nil
	}
	lines := make([]int, len(file.Steps))
	for i, n := range file.Steps {
		lines[i] = n.Line
	}
	return lines
}

func nameOf[T any](key string, of func(*T) *string) func(*strict.Reader, strict.Value, *T) {
	return func(r *strict.Reader, v strict.Value, into *T) {
		if v.Kind != yaml.ScalarNode || v.Value == "" || v.Tag == "!!null" {
			r.Because(v, "%s is a text", key)
			return
		}
		*of(into) = v.Value
	}
}

func readAt(r *strict.Reader, v strict.Value, s *writtenStep) {
	if _, ok := rowOf(v.Value); v.Kind != yaml.ScalarNode || !ok || v.Value == "" {
		r.Because(v, "at is a row of the run, T0 to T%d", MaxRow)
		return
	}
	s.At = v.Value
}

func readHold(r *strict.Reader, v strict.Value, s *writtenStep) {
	var is bool
	if v.Kind != yaml.ScalarNode || v.Tag != "!!bool" || v.Decode(&is) != nil {
		r.Because(v, "hold is true or false")
		return
	}
	s.Hold = &is
}

func readMinutes(r *strict.Reader, v strict.Value, s *writtenStep) {
	if v.Kind != yaml.ScalarNode || v.Tag != "!!int" || v.Decode(&s.Minutes) != nil || s.Minutes < 1 || s.Minutes > MaxMinutes {
		r.Because(v, "minutes is how long the step takes, 1 to %d", MaxMinutes)
	}
}

func readAsk(r *strict.Reader, v strict.Value, s *writtenStep) {
	if v.Kind != yaml.ScalarNode || v.Value != AskPredict && v.Value != AskItem {
		r.Because(v, "ask is predict or item; a question of your own is a question")
		return
	}
	s.Ask = v.Value
}

// wordsOf reads a text of at most so many characters: one for all languages,
// or one for each.
func wordsOf[T any](key string, most int, of func(*T) *Words) func(*strict.Reader, strict.Value, *T) {
	return func(r *strict.Reader, v strict.Value, into *T) { *of(into) = readWords(r, v, key, most) }
}

func readWords(r *strict.Reader, v strict.Value, key string, most int) Words {
	text := func(r *strict.Reader, v strict.Value) string {
		said := strings.TrimSpace(v.Value)
		switch {
		case v.Kind != yaml.ScalarNode:
			r.Because(v, "%s is a text, or one for each language", key)
		case v.Tag == "!!null":
			return ""
		case utf8.RuneCountInString(said) > most:
			r.Because(v, "%s has at most %d characters", key, most)
		case strings.ContainsFunc(said, func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == utf8.RuneError }):
			r.Because(v, "%s has invisible characters", key)
		}
		return said
	}
	if v.Kind != yaml.MappingNode {
		return Plain(text(r, v))
	}
	var each strict.Keys[Words]
	for _, l := range words.All() {
		each = append(each, strict.Key[Words]{Name: l.Code(), Read: func(r *strict.Reader, v strict.Value, by *Words) { (*by)[l.Code()] = text(r, v) }})
	}
	by := Words{}
	each.Read(r, v, &by)
	return by.filled()
}

// questionKeys are the keys of a host's own question.
func questionKeys() strict.Keys[Question] {
	return strict.Keys[Question]{
		{Name: "text", Says: "what the class is asked", Schema: schemaOfWords(MaxText, true), Read: wordsOf("text", MaxText, func(q *Question) *Words { return &q.Text })},
		{Name: "options", Says: "what it can answer", Schema: strict.AList(MinOptions, MaxOptions, schemaOfWords(MaxOption, true)), Read: func(r *strict.Reader, v strict.Value, q *Question) {
			if v.Kind != yaml.SequenceNode {
				r.Because(v, "options is a list of %d to %d", MinOptions, MaxOptions)
				return
			}
			for _, one := range v.Content {
				q.Options = append(q.Options, readWords(r, strict.Value{Node: one, Key: v.Key}, "an option", MaxOption))
			}
		}},
		{Name: "right", Says: "the number of the right option, from 1", Schema: strict.ANumber(1, MaxOptions), Read: func(r *strict.Reader, v strict.Value, q *Question) {
			if v.Tag != "!!int" || v.Decode(&q.Right) != nil {
				r.Because(v, "right is the number of the right option, from 1")
			}
		}},
	}
}

func readQuestion(r *strict.Reader, v strict.Value) *Question {
	q, known := &Question{}, len(r.Mistakes)
	given := questionKeys().Read(r, v, q)
	if err := q.Check(); err != nil && len(r.Mistakes) == known {
		right := v
		if given.Has("right") {
			right = given["right"]
		}
		r.Because(right, "%s", err)
	}
	return q
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
