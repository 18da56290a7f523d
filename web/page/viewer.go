package page

import (
	"relock/engine/scenario"
	"relock/web/film"
	"relock/web/words"
)

// Viewer is a film with what is around it on a page.
type Viewer struct {
	Scenario film.Scenario
	Steps    bool   // its threads can be stepped
	Gated    bool   // their commands come by themselves, and wait
	Room     bool   // by who leads a room
	Rows     int    // how many the film has
	Table    string // HTML of those that are in the page's table
	Tail     Tail   // others that are in the page
	Lanes    film.Picture
	Scripts  []film.Script
	Recorded *film.Recorded
	Part     *TablePart // nil where all rows are in the page
	Broken   []Broken   // of a long table whose film has ended
	Standing Standing   // where you are before a script goes on
	Shared   bool       // its page has a dialog for sharing it
	Setup    *Settings  // what can be changed of it where it is stepped, nil for nothing
	Options  int        // answers to choose from, by their numbers
	Checked  bool       // it is of the concept check: that tells nothing once it is answered
	Asked    int        // the step after the last row, which somebody is to predict, or 0: its time would tell
}

// Tail are rows that are in a page as text, of which its script makes those
// that are looked at.
type Tail struct {
	First int // step
	Count int // 0 for none
	HTML  string
}

// TablePart is what a page without its script has in its table of a film that is
// in portions.
type TablePart struct {
	From, To       int    // steps
	Previous, Next string // addresses of the parts before it and after it, or ""
}

// Broken is a row that breaks rules.
type Broken struct {
	Step int
	Says string // "T8. two inside at once"
}

// BrokenIn returns the first places of each rule that the rows of a long table break.
func BrokenIn(l words.Language, rows []film.Row) []Broken {
	if len(rows) <= film.LongTable {
		return nil
	}
	var list []Broken
	for _, s := range film.Stretches(rows) {
		for _, i := range s.Broken {
			list = append(list, Broken{rows[i].Step, l.Say("%[1]s. %[2]s", rows[i].Time, rows[i].Broken)})
		}
	}
	return list
}

// Standing is what is on the stage: before the first row, or after the last.
type Standing struct {
	Start  film.Stage `json:"-"`    // before the first row
	Step   int        `json:"step"` // the row's, 0 before the first
	Stage  film.Stage `json:"stage"`
	Broken string     `json:"broken,omitempty"` // what a person calls the rule that the row breaks
	Why    string     `json:"why"`
}

// Before is the state of a run of sc before its first row.
func Before(l words.Language, sc *scenario.Scenario) Standing {
	start := film.Start(l, sc)
	return Standing{Start: start, Stage: start, Why: l.Say("Nothing has happened yet.")}
}

// At is the state of a run after some rows, or at a command of the last one, 0 for none:
// sceneAt in stage.js does the same.
func At(start film.Stage, rows []film.Row, moment int) Standing {
	s := Standing{Start: start, Stage: start}
	if len(rows) == 0 {
		return s
	}
	last := &rows[len(rows)-1]
	if moment <= 0 || moment > len(last.Inside) {
		return s.After(last)
	}
	if len(rows) > 1 {
		s.Stage = rows[len(rows)-2].Stage
	}
	for _, one := range last.Inside[:moment] {
		if one.Stage != nil {
			s.Stage = *one.Stage
		}
	}
	s.Step, s.Why = last.Step, last.Inside[moment-1].Why
	return s
}

// Covered is s while a question is open.
func (s Standing) Covered() Standing {
	return Standing{Start: s.Start.Cover(), Stage: s.Stage.Cover()}
}

// After is s after a row.
func (s Standing) After(r *film.Row) Standing {
	return Standing{Start: s.Start, Step: r.Step, Stage: r.Stage, Broken: r.Broken, Why: r.Why}
}
