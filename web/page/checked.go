package page

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
