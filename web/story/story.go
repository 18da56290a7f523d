// Package story shows each component of web/templates in each of its states, on
// one page and without a run: for people who change how something looks, for
// accessibility checks, and for tests that compare the HTML.
//
// The view models are made by hand, not from a trace: states shown side by side
// need not happen together in any run.
package story

import (
	"github.com/a-h/templ"

	"relock/web/film"
	"relock/web/words"
)

// Story is a component in one state.
type Story struct {
	Name      string // the component as the code calls it, and its state
	Component templ.Component
	Moment    *film.ScriptMoment // for a script: what the page's script marks in it
}

// Group is a component with all its states.
type Group struct {
	ID      string // unique, for an address and for a file
	Name    string
	Stories []Story
}

// Groups returns all stories in the language l, made again by each call.
func Groups(l words.Language) []Group {
	m := &maker{l: l}
	return []Group{
		{"buttons", "Buttons", []Story{{Name: "buttons", Component: buttons()}}},
		{"marks", "Marks", m.marks()},
		{"stage", "The stage", m.stage()},
		{"rows", "Rows of the timeline", m.rows()},
		{"inside", "Commands inside of a row", m.inside()},
		{"keys", "The lock's key", m.keys()},
		{"lanes", "Lanes", m.lanes()},
		{"scripts", "Scripts", m.scripts()},
		{"tables", "Comparisons", m.tables()},
		{"controls", "Controls", m.controls()},
		{"explorer", "Every order", m.explorer()},
		{"mender", "What would mend it?", m.mender()},
		{"lab", "Your lock, on the stage", m.lab()},
		{"goals", "A goal, and where you are", m.goals()},
		{"editor", "Editor", m.editor()},
		{"rooms", "Rooms", m.rooms()},
		{"pages", "Parts of pages", m.pages()},
	}
}
