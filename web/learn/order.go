package learn

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"

	"relock/engine/course"
	"relock/web/film"
	"relock/web/page"
	"relock/web/templates"
)

// order puts the pieces of a script on the page, and says what came of the script that was
// made of them.
func order(ctx context.Context, a *asking, task *course.Ordering) error {
	places := placesIn(a.query, len(task.Pieces))
	a.Answered = len(places) > 0
	var shown page.Ordering
	for _, n := range placed(task.Shuffled(), places) {
		shown.Pieces = append(shown.Pieces, page.LessonPiece{Name: pieceName(n), Lua: film.Coloured(task.Pieces[n].Lua), Place: places[n]})
	}
	a.parts.Ask = templates.LessonOrder(shown.Pieces)
	if !a.Answered {
		return nil
	}
	tried, err := task.Try(ctx, places)
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	switch {
	case tried.Twice > 0:
		a.Feedback = a.paragraph("Two pieces have the place %d. Give each its own.", tried.Twice)
	case tried.Solved:
		a.Feedback = page.Prose(a.prose.After)
	}
	if a.Feedback == "" {
		a.Brief = a.l.Say("Not yet: in at least one case it does something else.")
	}
	shown.TryError = tried.Err
	for _, c := range tried.Cases {
		shown.Tries = append(shown.Tries, page.LessonTry{
			Owner: c.Owner, Was: a.l.Sentence(c.Was), Wanted: a.l.Sentence(c.Wanted), WantedReply: c.WantedReply,
			Got: a.l.Sentence(c.Got), GotReply: c.GotReply, Right: c.Right,
		})
	}
	a.parts.Below = templates.LessonTries(shown)
	if a.Solved = tried.Solved; a.Solved {
		a.stage, a.Watching = all(a.made.Solved), a.l.Say("Your script at work.")
	}
	return nil
}

// placed are numbers of pieces, first those that were placed, in their order.
func placed(pieces []int, places map[int]int) []int {
	unplacedLast := func(n int) int { return cmp.Or(places[n], math.MaxInt) }
	slices.SortStableFunc(pieces, func(a, b int) int { return cmp.Compare(unplacedLast(a), unplacedLast(b)) })
	return pieces
}

// placesIn are the places that a form gives to pieces, 0 for what is left out.
func placesIn(query url.Values, pieces int) map[int]int {
	places := map[int]int{}
	for n := range pieces {
		if place, err := strconv.Atoi(query.Get(pieceName(n))); err == nil && place >= 0 {
			places[n] = place
		}
	}
	return places
}

// pieceName is the field of the nth piece.
func pieceName(n int) string { return fmt.Sprintf("p%d", n+1) }

// orderHints are the first piece, one that does not belong, and the script.
func orderHints(a *asking, task *course.Ordering) {
	code := func(p course.Piece) string { return "<pre>" + templates.Escaped(p.Lua) + "</pre>" }
	a.hint("what comes first", code(task.Pieces[0]))
	stray := slices.IndexFunc(task.Pieces, func(p course.Piece) bool { return p.Stray })
	if stray >= 0 {
		a.hint("what does not belong", code(task.Pieces[stray]))
	}
	query, script := url.Values{"told": {"1"}}, ""
	for n, piece := range task.Pieces {
		if piece.Stray {
			query.Set(pieceName(n), "0")
			continue
		}
		query.Set(pieceName(n), strconv.Itoa(n+1))
		script += code(piece)
	}
	a.hint("the solution", script+a.button(query.Encode(), "Put them in this order"))
}
