package page

import (
	"strings"

	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/web/film"
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
	Notice   string // what was done without being asked for, "" for nothing
	Store    string
	Slow     string
	SlowBad  string  // what is wrong with it
	External string  // name of the operator's Redis, "" without one
	NoBox    string  // why a user's own lock does not run here, "" if it does
	Gallery  []Group // the scenarios to start from
	Example  string  // the one that it was opened with, "" for another text
}

// Status says what has come of a text.
func (e Editor) Status(l words.Language) string {
	switch n := len(e.Mistakes); {
	case e.Problem != "":
		return e.Problem
	case !e.Form.Readable && n > 0:
		return l.Say("The YAML cannot be read; the form waits until it can.")
	case n == 1:
		return l.Say("One mistake. Nothing runs until you fix it.")
	case n > 1:
		return l.Say("%d mistakes. Nothing runs until you fix them.", n)
	case e.Notice != "":
		return e.Notice
	default:
		return l.Say("This scenario can be run.")
	}
}

// Wrong says all that is wrong, in sentences; "" for nothing.
func (e Editor) Wrong() string {
	var all []string
	for _, m := range e.Mistakes {
		all = append(all, m.Sentence)
	}
	if e.Problem != "" {
		all = append(all, e.Problem)
	}
	return strings.Join(all, " ")
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

// Frames are the empty scripts of a user's own lock, in the order of its calls.
func Frames() []film.Script {
	var list []film.Script
	for _, call := range []string{lock.CallLock, lock.CallUnlock, lock.CallRenew} {
		list = append(list, film.Script{Name: call, Lines: film.Coloured(protocol.Frame(call))})
	}
	return list
}
