package page

import (
	"slices"

	"relock/web/film"
)

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

// Lesson is the page of an item.
type Lesson struct {
	Page    Page
	Chapter WayChapter
	Number  int // of the item in the chapter, from 1
	Item    WayItem
	Counts  string // the address of the item that it counts for
	Check   string // of the concept check: "before" or "after"
	Kind    string // read, predict, why, rank, break, mend, order, write, review or diagnose

	Body, Goal string // HTML
	Options    []LessonOption
	Pieces     []LessonPiece
	Code       *Review       // of review
	Diagnosis  *Diagnosis    // of diagnose
	Ranking    *Ranking      // of rank
	Misplaced  string        // of rank: why an order is none, or ""
	Script     *Field        // of write: what is being written
	WrongLine  int           // of it, 0 for none
	Beside     []film.Script // once it is right: that, and the bundled one
	NoBox      string        // why it cannot be judged here, or ""
	Tries      []LessonTry   // of order: what came of the pieces
	TryError   string        // why Redis could not run them, or ""
	Hints      []LessonHint
	Feedback   string // HTML: the answer to those who chose this option
	After      string // HTML: once it is solved, or beforehand where a script shows it
	Answered   bool
	Solved     bool
	Watching   string // what is shown instead of the item's run, or ""
	WatchIt    string // the words that lead to the run of a wrong answer
	Leave      string // the address at which the item's own run is shown

	Viewer   Viewer
	Stand    int      // the row to stop at
	Stepping *Play    // of break
	Controls string   // of break, separated by spaces
	Facts    []string // of the scenario
	Title    string   // of the scenario
	Textbook []TextbookRow
	Judge    string // of break: where moves are judged
	Hidden   string // of what was made of a run: that run as a link
	Made     string // and where to get it as YAML
	Room     string // of a made question: where a room is made for it
	Open     string // the stage's run as a link
	Lab      bool   // it is what a lab recorded: nobody can step it
	Lua      bool   // the scripts are a part of it

	Scenes []Scene // of break and mend: what is asked for, and what there is

	Given string // of the concept check: the answer to this question, as its address has it
	SoFar string // and what was answered so far
	Other string // the same of its other half, or ""
	Carry string // and the query that takes both along

	Before, After2 *WayItem  // in the course
	Without        *WayItem  // where the short way goes on, if it leaves out what comes next
	Earlier        []WayItem // at the end of a chapter, to be answered once more
}

// Asking reports whether a question waits for its answer: then the stage must not
// tell. A run does not show what would mend it. The concept check tells at its end.
func (l *Lesson) Asking() bool {
	return (len(l.Options) > 0 && l.Kind != "mend" || l.Code != nil) && (!l.Answered || l.Check != "" && l.Watching == "")
}

// Staged reports whether there is a run to look at. There is none for the cause of an
// incident's logs before somebody has answered, or for a mend at work before all have
// their place.
func (l *Lesson) Staged() bool { return l.Diagnosis == nil && l.Ranking == nil || l.Watching != "" }

// Diagnosis is what was logged of an incident, and what is asked of it.
type Diagnosis struct {
	Logs    []DiagnosisLog
	Cause   int    // the number of the right one, once it is known
	Told    string // HTML: the remark on it then
	Goal    string // what is asked next
	Next    []LessonOption
	Parting *DiagnosisParting // of a wrong cause
	Printed []DiagnosisAnswer // of the command that was chosen
}

// DiagnosisLog is a log of it.
type DiagnosisLog struct {
	Title string
	Tool  bool // the title is what one types
	Lines []string
}

// DiagnosisParting is where the run of a wrong cause writes something else.
type DiagnosisParting struct {
	Says string
	Diff []ReviewDiff // from the log to the cause's log
}

// DiagnosisAnswer is what a command prints under a cause.
type DiagnosisAnswer struct {
	Cause string // HTML
	Reply string
}

// Ranking is the situations in which mends are put in order, and, once that is done, which
// mend saves which.
type Ranking struct {
	Of         string       // the item's title
	Situations []string     // HTML
	Rows       []RankingRow // in the right order, once there is an answer
	Right      []string     // what is right in an order that is not
}

// RankingRow is a mend in each situation.
type RankingRow struct {
	Mend  string // HTML
	Saves int
	Cells []RankingCell
}

// RankingCell is a mend in one situation.
type RankingCell struct {
	Saved bool
	Watch string // the address at which it is played
	Shown bool   // it is on the stage
}

// Review is code as in a pull request.
type Review struct {
	File    string // its name
	Lines   []ReviewLine
	None    bool         // no line is at fault, as somebody says
	Mistake string       // why the answer is none, or ""
	Diff    []ReviewDiff // to what is mended, once it is solved
}

// First is the index of the first line that can be marked.
func (r *Review) First() int {
	return slices.IndexFunc(r.Lines, func(one ReviewLine) bool { return !one.Markup })
}

// ReviewLine is a line of code to be marked.
type ReviewLine struct {
	Number int
	Text   string
	Markup bool // it cannot be marked
	Marked bool
	Judged LineJudged
	Ran    []ReviewRan // when it ran on the stage
}

// LineJudged is what came of a line.
type LineJudged int

// The verdicts on a line.
const (
	LineOpen  LineJudged = iota
	LineFound            // it is at fault, and was marked
	LineToo              // it belongs to a fault that was found
	LineIdle             // it was marked, and is not at fault
)

// ReviewRan is a step of the run in which a line ran.
type ReviewRan struct {
	Step   int
	Thread SceneThread
}

// ReviewDiff is a line of a diff.
type ReviewDiff struct {
	Sign string // "-", "+" or " "
	Text string
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
	Name  string            // of its field
	Lua   []film.ScriptLine // of a script
	HTML  string            // of what is no script
	Place int               // that was chosen, 0 for none
}

// LessonTry is what a script that was put together did in one case, and what
// it was to do.
type LessonTry struct {
	Owner            string // who calls it
	Was, Wanted, Got string // what Redis holds
	WantedReply      string
	GotReply         string // "" where Redis could not run it
	Right            bool
}

// Checked is what came of the concept check: of one half, or of both side by side.
type Checked struct {
	Page   Page
	Halves []CheckedHalf
	Rows   []CheckedRow // one for each idea
}

// Both reports whether both halves are there.
func (c *Checked) Both() bool { return len(c.Halves) > 1 }

// Told reports whether it shows right answers: not before the half after the course.
func (c *Checked) Told() bool { return c.Halves[len(c.Halves)-1].After }

// CheckedHalf is a half of it.
type CheckedHalf struct {
	After    bool // it is the half after the course
	Right    int
	Answered int
	Again    string // the address of its first question
	Open     string // the address of the first that is not answered, "" if all are
	Onward   string // of the half before the course: the address at which the other begins
}

// CheckedRow is an idea: its question in each half that is there.
type CheckedRow struct {
	Answers []CheckedAnswer
	Taught  WayItem
}

// CheckedAnswer is a question and what was answered.
type CheckedAnswer struct {
	Item    WayItem
	Answer  string // that was given, HTML, or ""
	Right   bool
	Wanted  string   // of a wrong answer: what is right, HTML; "" while that is secret
	Why     string   // and why it is wrong, a sentence
	Ranking *Ranking // of an order, once it is shown
	Watch   string   // and the address where that is seen, or ""

	WatchIt string // the words that lead there
	Carry   string // the query that takes the answers along
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
