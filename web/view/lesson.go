package view

// Way is the page of the whole course.
type Way struct {
	Page     Page
	Chapters []WayChapter
	Items    int
	Minutes  int

	Check                   int // questions of the concept check
	CheckBefore, CheckAfter string
}

// Class is the page on which teachers see what several people have done.
type Class struct {
	Page     Page
	Chapters string // JSON: id, title, and the items' addresses
}

// WayChapter is a chapter on it.
type WayChapter struct {
	Number  int
	ID      string
	Title   string
	Intro   string // HTML
	Minutes int
	Items   []WayItem
}

// WayItem is an item of a chapter.
type WayItem struct {
	Path   string // "lease/who-knows"
	Title  string
	Kind   string // as a badge says it
	Asked  bool   // it is a question, which returns
	Number int
}

// Lesson is the page of an item.
type Lesson struct {
	Page    Page
	Chapter WayChapter
	Number  int // of the item in the chapter, from 1
	Item    WayItem
	Check   string // of the concept check: "before" or "after"
	Kind    string // read, predict, why, break, mend or order

	Body, Goal string // HTML
	Options    []LessonOption
	Pieces     []LessonPiece
	Hints      []LessonHint
	Feedback   string // HTML: what is said to who chose what they chose
	After      string // HTML: once it is solved, or beforehand where a script shows it
	Answered   bool
	Solved     bool
	Watching   string // what is shown instead of the item's run, or ""
	Leave      string // the address at which the item's own run is shown

	Viewer   Viewer
	Stand    int      // the row to stand at
	Stepping *Play    // of break
	Controls string   // of break, separated by spaces
	Facts    []string // of the scenario
	Title    string   // of the scenario
	Textbook []TextbookRow
	Judge    string // of break: where moves are judged
	Hidden   string // of what was made of a run: that run as a link
	Made     string // and where it can be had as YAML
	Open     string // the stage's run as a link
	Lua      bool   // the scripts are a part of it

	Before, After2 *WayItem  // in the course
	Earlier        []WayItem // at the end of a chapter, to be answered once more
}

// LessonOption is an answer to choose.
type LessonOption struct {
	Number  int
	HTML    string
	Chosen  bool
	Right   bool   // told only of one that is chosen
	Watch   string // the address where it is replayed, "" where it is not to be
	Play    string // where to go on from there
	Address string // that chooses it
}

// LessonPiece is a piece to put in its place.
type LessonPiece struct {
	Name  string // of its field
	Text  string
	Place int // that was chosen, 0 for none
	Right bool
	Wrong bool
}

// LessonHint is one of four.
type LessonHint struct {
	Name string // "a nudge"
	HTML string
}

// TextbookRow is a row of the article's table beside our run.
type TextbookRow struct {
	Row     string // "T8"
	Article string
	Ours    []string // what our run did, each with its step
	Differs string   // why they differ, "" where they do not
}
