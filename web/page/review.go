package page

import "slices"

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
	Read   bool // nobody marks it here
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
