package page

// Ranking is the situations in which mends are put in order, and, once that is done, which
// mend saves which.
type Ranking struct {
	Of         string        // the item's title
	Pieces     []LessonPiece // the mends
	Situations []string      // HTML
	Rows       []RankingRow  // in the right order, once there is an answer
	Right      []string      // what is right in an order that is not
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
