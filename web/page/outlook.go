package page

// GoalOutlook says whether the goal of something to break can still be reached.
type GoalOutlook struct {
	Says string // "" where it can
	Lost bool   // it is known that it cannot
	Back int    // after so many moves it still could; of one that is lost
	Go   string // the words of the button that leads there
}
