package stepper

import (
	"context"
	"slices"

	"relock/engine/course"
	"relock/engine/explore"
	"relock/engine/phrase"
	"relock/web/board"
	"relock/web/page"
	"relock/web/site"
	"relock/web/templates"
	"relock/web/words"
)

// errNoGoal is returned for a goal of which nothing is known, or of another scenario.
var errNoGoal = phrase.New("no item of the course with something to break has this address and this scenario")

// goal begins to look whether the goal of an item can still be reached from where a page
// is, and replaces the search before. It is asked after each move, and so does not count
// as a start: one address has one search at a time all the same.
func (r *Reader) goal(ctx context.Context, c board.Command) (Answered, error) {
	at, err := r.Look(ctx, c.Branch)
	if err != nil {
		return Answered{}, err
	}
	b := at.List[0]
	item, ok := r.Sockets.Course().Item(c.Item)
	switch {
	case !ok || item.Kind != course.Break || !item.Plays(at.Scenario):
		return Answered{}, errNoGoal
	case c.Stood < 0 || c.Stood > len(b.Moves):
		return Answered{}, board.ErrNoMove
	}
	moves := slices.Clone(b.Moves[:c.Stood])
	r.Forget()
	searching, x := r.newSearch(at.Scene)
	err = r.begin(ctx, searching, &r.search.going, x, ofSearch{
		own:   at.Scenario.Lock.Own(),
		begun: func() error { return nil }, failed: func(string) error { return nil }, // who steps on need not know
		search: func(_, within context.Context, t *spareTurn) {
			var found course.Outlook
			task, err := course.TaskOf[*course.Breaking](item)
			if err == nil {
				found, err = task.Outlook(within, moves, explore.Options{Workers: 1, Progress: t.takes})
			}
			if t.over() {
				return
			}
			_ = t.hold(0) // nothing of the space is kept
			var html string
			if err == nil {
				html, err = templates.Text(r.Language, templates.GoalOutlook(newGoalOutlook(r.Language, found)))
			}
			if err != nil {
				t.fail(board.DoGoal, err)
				return
			}
			t.away(func() error { return r.Tell(x, Told{Goal: &goalJSON{c.Branch, c.Stood, html}}) })
		},
	})
	if site.LimitName(err) != "" { // and where the line is full, steps on without it
		r.Sockets.NoteRefusal(ctx, r.Address, site.LimitName(err))
		err = nil
	}
	return Answered{}, err
}

// newGoalOutlook words what a search from somebody's place has found.
func newGoalOutlook(l words.Language, o course.Outlook) page.GoalOutlook {
	switch {
	case o.Open:
		return page.GoalOutlook{}
	case !o.Lost():
		return page.GoalOutlook{Says: l.Say("The search found no way from here. But it could not search every order, so there may be one.")}
	}
	g := page.GoalOutlook{Lost: true, Back: o.Back, Go: l.Say("Back to move %d", o.Back)}
	if o.Back == 0 {
		g.Go = l.Say("Back to the start")
	}
	if o.Orders.Sign() > 0 && o.Orders.IsInt64() && o.Orders.Int64() > 1 {
		g.Says = l.Say("From here it can no longer be done: %s orders with %s were searched.", page.Grouped(o.Orders), page.Bounds(l, o.Within))
		return g
	}
	g.Says = l.Say("From here it can no longer be done: the rest can come in one order only.")
	return g
}
