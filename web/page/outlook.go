package page

import (
	"relock/engine/course"
	"relock/web/words"
)

// GoalOutlook says whether the goal of something to break can still be reached.
type GoalOutlook struct {
	Says string // "" where it can
	Lost bool   // it is known that it cannot
	Back int    // after so many moves it still could; of one that is lost
	Go   string // the words of the button that leads there
}

// NewGoalOutlook words what a search from where somebody stands has found.
func NewGoalOutlook(l words.Language, o course.Outlook) GoalOutlook {
	switch {
	case o.Open:
		return GoalOutlook{}
	case !o.Lost():
		return GoalOutlook{Says: l.Say("No way there was found from here. But not every order could be searched, so there may be one.")}
	}
	g := GoalOutlook{Lost: true, Back: o.Back, Go: l.Say("Back to move %d", o.Back)}
	if o.Back == 0 {
		g.Go = l.Say("Back to the start")
	}
	if o.Orders.Sign() > 0 && o.Orders.IsInt64() && o.Orders.Int64() > 1 {
		g.Says = l.Say("From here it can no longer be done: %s orders with %s were searched.", Grouped(o.Orders), Bounds(l, o.Within))
		return g
	}
	g.Says = l.Say("From here it can no longer be done: nothing is left that could come in another order.")
	return g
}
