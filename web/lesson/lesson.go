// Package lesson reads and writes lessons: what a class goes through in a room,
// step by step. Each step has its place, its question, and notes for the host.
// A lesson is a YAML file and a link; both hold the same.
package lesson

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"relock/web/words"
)

// Limits of a lesson, whoever wrote it. Texts are counted in characters.
const (
	MaxBytes   = 64 << 10 // of a file
	MaxSteps   = 60
	MaxTitle   = 120
	MaxNotes   = 2000
	MaxText    = 240 // of a question
	MaxOption  = 120
	MinOptions = 2
	MaxOptions = 6
	MaxRow     = 10_000
	MaxMinutes = 180 // of a step
)

// Lesson is a title and steps, at least one. It is not changed once it is read.
type Lesson struct {
	Title Words  `json:"title"`
	Steps []Step `json:"steps"`
}

// HasQuestion reports whether a step asks a question in these words, in English.
func (l *Lesson) HasQuestion(text string) bool {
	return slices.ContainsFunc(l.Steps, func(s Step) bool { return s.Question != nil && s.Question.Text.In(words.English) == text })
}

// Before returns how many minutes the steps before one take, as far as the lesson says.
func (l *Lesson) Before(step int) int {
	minutes := 0
	for _, s := range l.Steps[:step] {
		minutes += s.Minutes
	}
	return minutes
}

// Step is one place that a class comes to.
type Step struct {
	Title Words `json:"title,omitempty"` // nil: its scene's
	Scene Words `json:"scene,omitempty"` // what the room calls the scene that the step is in; no file and no link has it
	Place
	Chapter  string    `json:"chapter,omitempty"`  // of the course, instead of a place: all that it can ask a class
	Hold     *bool     `json:"hold,omitempty"`     // the host leads from here on, or the class plays; nil: as before
	Ask      string    `json:"ask,omitempty"`      // AskPredict or AskItem; "" for neither
	Question *Question `json:"question,omitempty"` // or the host's own
	Minutes  int       `json:"minutes,omitempty"`  // that it takes, 0 where nobody has said so
	Notes    Words     `json:"notes,omitempty"`    // for hosts alone
}

// The questions that a step can ask besides its own.
const (
	AskPredict = "predict" // what is seen next: made of the run
	AskItem    = "item"    // what the item of the course asks
)

// Asks reports whether the class is asked something there.
func (s Step) Asks() bool { return s.Ask != "" || s.Question != nil }

// Place is where a class is: in an example by its name, what a link leads to, or an item
// of the course, chapter/item. One of the three is given. A file writes out a user's own
// scenario; here it is a link to its start.
type Place struct {
	Example string `json:"example,omitempty"`
	Link    string `json:"link,omitempty"` // its text, which has its own place
	Item    string `json:"item,omitempty"`
	At      string `json:"at,omitempty"` // T5: after that row of its run; "" at its start, or where the link points
}

// starts reports whether it is a link to the start of its scenario.
func (p Place) starts() bool { return strings.HasSuffix(p.Link, "~0") }

// Row returns the row after which the class is, 0 if the place names none.
func (p Place) Row() int {
	n, _ := rowOf(p.At)
	return n
}

// rowOf reads T5 as 5, and "" as 0.
func rowOf(at string) (row int, ok bool) {
	if at == "" {
		return 0, true
	}
	digits, is := strings.CutPrefix(at, "T")
	n, err := strconv.Atoi(digits)
	return n, is && err == nil && n >= 0 && n <= MaxRow && digits == strconv.Itoa(n)
}

// Given returns how many of the three ways to say a place it has.
func (p Place) Given() int {
	n := 0
	for _, one := range []string{p.Example, p.Link, p.Item} {
		if one != "" {
			n++
		}
	}
	return n
}

// Question is one of the host's own, with one right option.
type Question struct {
	Text    Words   `json:"text"`
	Options []Words `json:"options"`
	Right   int     `json:"right"` // its number, from 1
}

// Words is a text by language. English is always there, in place of missing languages.
type Words map[string]string

// Plain returns a text that is the same in every language, nil for none.
func Plain(text string) Words {
	if text == "" {
		return nil
	}
	return Words{words.English.Code(): text}
}

// In returns the text in a language, or else in English.
func (w Words) In(l words.Language) string {
	return l.Written(cmp.Or(w[l.Code()], w[words.English.Code()]))
}

// filled puts English where a language is missing or the same, and nothing for a text
// that has no characters in any language.
func (w Words) filled() Words {
	maps.DeleteFunc(w, func(_, text string) bool { return text == "" })
	if len(w) == 0 {
		return nil
	}
	en := words.English.Code()
	if w[en] == "" {
		w[en] = w[slices.Min(slices.Collect(maps.Keys(w)))]
	}
	maps.DeleteFunc(w, func(code, text string) bool { return code != en && text == w[en] })
	return w
}
