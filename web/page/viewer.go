package page

import (
	"relock/web/film"
)

// Viewer is a film with what is around it on a page.
type Viewer struct {
	Scenario film.Scenario
	Steps    bool   // its threads can be stepped
	Room     bool   // by who leads a room
	Rows     int    // how many the film has
	Table    string // HTML of those that are in the page's table
	Tail     Tail   // others that are in the page
	Lanes    film.Picture
	Scripts  []film.Script
	Recorded *film.Recorded
	Part     *TablePart // nil where all rows are in the page
	Standing Standing   // where you are who has no scripts
	Shared   bool       // its page has a dialog for sharing it
	Options  int        // answers to choose from, by their numbers
	Asked    string     // the row after the last, which somebody is to predict: "T7 · 210 ms", or ""
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

// Standing is a step, and what acts beside the key after it.
type Standing struct {
	Step  int // 0 for none
	Cards []film.Card
}
