package view

import (
	"strconv"
	"strings"

	"relock/engine/lock/exhibit"
	"relock/engine/scenario"
	"relock/web/words"
)

// Editor is the page on which a scenario is written.
type Editor struct {
	Page     Page
	Text     string // the YAML
	Base     string // the YAML that the form was made of
	Form     Form
	Mistakes []Mistake
	Problem  string // why something was not done, "" if it was
	Store    string
	Slow     string
	SlowBad  string // what is wrong with it
	External string // name of the operator's Redis, "" without one
	Presets  []Presets
}

// Presets are some scenarios that come with the playground.
type Presets struct {
	Name string
	List []Preset
}

// Preset is one of them.
type Preset struct {
	Name    string
	Title   string
	Shows   string // what is seen in its run, in one line
	Current bool
}

// Mistake is a mistake of a scenario, for people and for scripts.
type Mistake struct {
	Line     int    `json:"line"`
	Key      string `json:"key"` // "" for the whole
	Given    string `json:"given"`
	Allowed  string `json:"allowed"`
	Sentence string `json:"sentence"`
	Short    string `json:"-"`     // what is said beside the input
	Input    string `json:"input"` // id of the form's input for it, "" without one
}

// NewMistakes says what is wrong with a scenario.
func NewMistakes(l words.Language, found scenario.Mistakes) []Mistake {
	list := make([]Mistake, 0, len(found))
	for _, m := range found {
		one := Mistake{Line: m.Line, Key: m.Key, Given: l.Clause(m.Given), Allowed: l.Clause(m.Allowed)}
		one.Short = l.Say("Given %s; allowed: %s.", one.Given, one.Allowed)
		if m.Key == "" {
			one.Sentence = l.Say("Line %[1]s: given %[2]s; allowed: %[3]s.", digits(m.Line), one.Given, one.Allowed)
		} else {
			one.Sentence = l.Say("Line %[1]s, %[2]s: given %[3]s; allowed: %[4]s.", digits(m.Line), m.Key, one.Given, one.Allowed)
		}
		list = append(list, one)
	}
	return list
}

// Status says what has come of a text.
func (e Editor) Status(l words.Language) string {
	switch n := len(e.Mistakes); {
	case e.Problem != "":
		return e.Problem
	case !e.Form.Readable && n > 0:
		return l.Say("The YAML cannot be read; the form waits until it can.")
	case n == 1:
		return l.Say("One mistake. Nothing is run until it is mended.")
	case n > 1:
		return l.Say("%d mistakes. Nothing is run until they are mended.", n)
	default:
		return l.Say("This scenario can be run.")
	}
}

// Lines are the numbers of the text's lines, and which of them has a mistake.
func (e Editor) Lines() []TextLine {
	lines := make([]TextLine, strings.Count(e.Text, "\n")+1)
	for i := range lines {
		lines[i].Number = i + 1
	}
	for _, m := range e.Mistakes {
		if m.Line >= 1 && m.Line <= len(lines) {
			lines[m.Line-1].Wrong = true
		}
	}
	return lines
}

// TextLine is a line of the YAML.
type TextLine struct {
	Number int
	Wrong  bool
}

func renews(protocol string) bool { return exhibit.Named(protocol).HasWatchdog() }

// digits are a line's number, which no language groups.
func digits(n int) string { return strconv.Itoa(n) }
