package page

// Way is the page of the whole course.
type Way struct {
	Page     Page
	Title    string
	Chapters []WayChapter
	Items    int
	Minutes  int
	Short    []WayChapter // for those with little time

	BriefItems, BriefMinutes int // without what is extra

	Check                   int      // questions of the concept check
	CheckBefore, CheckAfter []string // the addresses of its questions, one half each
}

// Ladder is the page of the way to a lock of one's own.
type Ladder struct {
	Page      Page
	Title     string
	Intro     string // HTML
	Levels    []LadderLevel
	Sentences []string // how they begin that a learner completes
	Workers   []LadderWorker
}

// LadderLevel is one level; what is said of it is HTML.
type LadderLevel struct {
	ID, Path, Title, Lab       string
	Holds, Does, Missing, Hint string
}

// LadderWorker is a worker to start from.
type LadderWorker struct{ File, ID, Text string }

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
	Extra  bool   // the short way leaves it out
	Number int

	Answered bool   // of the concept check
	Again    string // another question on the same idea, or ""
}

// Lesson is the page of an item; what only its kind has is in a model of its own.
type Lesson struct {
	LessonCheck

	Page    Page
	Chapter WayChapter
	Number  int // of the item in the chapter, from 1
	Item    WayItem
	Counts  string // the address of the item that it counts for
	Kind    string // read, predict, why, rank, break, mend, order, write, review or diagnose

	Body, Goal string // HTML
	Options    []LessonOption
	Hints      []LessonHint
	Brief      string // the whole reply, a sentence
	Feedback   string // HTML: the reply to an answer
	Answered   bool
	Solved     bool
	GoesOn     bool   // a wrong answer is to be mended: "Not yet"
	Secret     bool   // until it is answered, the stage must not tell
	Unstaged   bool   // there is no run to look at unless one is watched
	Watching   string // what is shown instead of the item's run, or ""
	WatchIt    string // the words that lead to the run of a wrong answer
	Leave      string // the address at which the item's own run is shown

	Viewer   Viewer
	Stand    int             // the row to stop at
	Stepping *LessonStepping // of break, until its solution is shown
	Facts    []string        // of the scenario
	Title    string          // of the scenario
	Textbook []TextbookRow
	Hidden   string // of what was made of a run: that run as a link
	Made     string // and where to get it as YAML
	Room     string // of a made question: where a room is made for it
	Open     string // the stage's run as a link
	Lab      bool   // it is what a lab recorded: nobody can step it
	Lua      bool   // the scripts are a part of it
	Scenes   []Scene

	Before, Next *WayItem  // in the course
	Without      *WayItem  // where the short way goes on, if it leaves out what comes next
	Earlier      []WayItem // at the end of a chapter, to be answered once more
}

// LessonCheck is where a question of the concept check belongs; nothing elsewhere.
type LessonCheck struct {
	Check string // "before" or "after"
	Given string // the answer to this question, as its address has it
	SoFar string // and what was answered so far
	Other string // the same of its other half, or ""
	Carry string // and the query that takes both along
}

// LessonStepping is a stage on which a run is to be broken.
type LessonStepping struct {
	Play

	Controls string // separated by spaces
	Judge    string // the address that judges moves
}

// Asking reports whether a question waits for its answer: then the stage must not
// tell. The concept check tells at its end.
func (l *Lesson) Asking() bool {
	return l.Secret && (!l.Answered || l.Check != "" && l.Watching == "")
}

// Staged reports whether there is a run to look at.
func (l *Lesson) Staged() bool { return !l.Unstaged || l.Watching != "" }

// LessonOption is an answer to choose.
type LessonOption struct {
	Number int
	HTML   string
	Chosen bool
	Right  bool   // told only of one that is chosen
	Watch  string // the address where it is replayed, "" where it is not to be
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
