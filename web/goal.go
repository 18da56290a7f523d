package web

import (
	"context"
	"slices"

	"relock/engine"
	"relock/engine/course"
	"relock/engine/explore"
	"relock/engine/phrase"
	"relock/web/board"
	"relock/web/page"
	"relock/web/templates"
)

// errNoGoal is returned for a goal of which nothing is known, or of another scenario.
var errNoGoal = phrase.New("no item of the course with something to break has this address and this scenario")

type goalArgs struct {
	stood

	Item string `json:"item"` // of the course, "lease/outlast"
}

// goalJSON is whether a goal can still be reached from where a page stands.
type goalJSON struct {
	Branch int    `json:"branch"`
	Moves  int    `json:"moves"`
	HTML   string `json:"html"` // "" where it can
}

// goal begins to look whether the goal of an item can still be reached from where a
// page stands, in the place of the search before. It is asked after each move, and so
// does not count as a start: one address has one search at a time all the same.
func (r *reader) goal(ctx context.Context, c goalArgs) (answered, error) {
	at, err := r.look(ctx, c.Branch)
	if err != nil {
		return answered{}, err
	}
	b := at.list[0]
	item, ok := r.s.course().Item(c.Item)
	switch {
	case !ok || item.Kind != course.Break || !item.Plays(at.scenario):
		return answered{}, errNoGoal
	case c.Moves < 0 || c.Moves > len(b.Moves):
		return answered{}, engine.ErrNoMove
	}
	moves := slices.Clone(b.Moves[:c.Moves])
	r.forget()
	searching, x := r.newSearch(at.scene)
	r.search.mu.Lock()
	r.search.going = x
	r.search.mu.Unlock()
	silent := func() error { return nil } // who steps on need not know
	return answered{}, r.begin(ctx, searching, x, ofSearch{
		begun: silent, failed: silent,
		search: func(_, within context.Context, t *spareTurn) {
			found, err := item.Outlook(within, moves, explore.Options{Workers: 1, Progress: t.takes})
			if t.over() {
				return
			}
			_ = t.hold(0) // nothing of the space is kept
			var html string
			if err == nil {
				html, err = templates.Text(r.l, templates.GoalOutlook(page.NewGoalOutlook(r.l, found)))
			}
			if err != nil {
				t.fail(board.DoGoal, err)
				return
			}
			t.away(func() error { return r.tell(x, toldBySearch{Goal: &goalJSON{c.Branch, c.Moves, html}}) })
		},
	})
}
