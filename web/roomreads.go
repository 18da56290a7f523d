package web

import (
	"context"
	"fmt"
	"strings"

	"relock/engine"
	"relock/engine/panics"
	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/board"
	"relock/web/film"
	"relock/web/page"
	"relock/web/templates"
	"relock/web/words"
)

// errNoFilm is returned to members who do not see the run: their phones show one
// thread of it.
var errNoFilm = phrase.New("only who has joined with rows: true can ask for that")

// reads are what members ask of the server that they are connected to: the room
// hears nothing of it.
var reads = map[string]func(*guest, context.Context, board.Command) (roomAnswer, error){
	board.DoPing:    func(*guest, context.Context, board.Command) (roomAnswer, error) { return roomAnswer{}, nil },
	board.DoLanes:   (*guest).lanes,
	board.DoCompare: (*guest).compare,
	board.DoTrace:   (*guest).trace,
	board.DoLocks:   (*guest).locks,
}

// read answers what the room has nothing to do with.
func (g *guest) read(ctx context.Context, c board.Command) roomAnswer {
	var a roomAnswer
	err := panics.Catch(func() (err error) {
		if c.Do != board.DoPing && !g.client.Joined() {
			return board.ErrNotJoined
		}
		a, err = reads[c.Do](g, ctx, c)
		return err
	})
	if err != nil {
		return roomAnswer{Re: c.ID, Refused: g.s.explained(ctx, g.l, c.Do, err)}
	}
	a.Re, a.Done = c.ID, true
	return a
}

// lanes draws the lanes around a row of a branch.
func (g *guest) lanes(_ context.Context, c board.Command) (roomAnswer, error) {
	var drawn *drawing
	err := g.room.Look(func(v board.View) (err error) {
		drawn, err = drawingOf(g.l, v, c.Branch, c.Row)
		return err
	})
	if err != nil {
		return roomAnswer{}, err
	}
	html, err := drawn.html(g.l)
	return roomAnswer{Lanes: html, LanesOf: &c.Branch}, err
}

// largely does something with branches that takes long, and much memory, in the
// member's turn and not in the room's.
func (g *guest) largely(ctx context.Context, ids []int, do func(context.Context, *scenario.Scenario, []*engine.Branch) error) error {
	if !g.rows {
		return errNoFilm
	}
	done, err := g.s.room(ctx, g.reading, g.address)
	if err != nil {
		return err
	}
	defer done()
	var sc *scenario.Scenario
	var list []*engine.Branch
	err = g.room.Look(func(v board.View) error {
		sc = v.Run.Scenario()
		for _, id := range ids {
			b, err := v.Run.Track(v.Context, v.State, id)
			if err != nil {
				return err
			}
			list = append(list, b)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return do(pause.With(ctx, g.reading.Pause), sc, list)
}

// compare shows two branches row by row.
func (g *guest) compare(ctx context.Context, c board.Command) (a roomAnswer, err error) {
	err = g.largely(ctx, []int{c.Branch, c.With}, func(_ context.Context, sc *scenario.Scenario, list []*engine.Branch) error {
		films := make([]*film.Film, len(list))
		for i, b := range list {
			films[i] = film.New(g.l, sc, b.Header.Owners)
			for _, e := range b.Events {
				films[i].Add(e)
			}
		}
		a.Compared, err = compared(g.l, sc, list, films, c.Names)
		return err
	})
	return a, err
}

// trace sends a branch's trace as JSON Lines.
func (g *guest) trace(ctx context.Context, c board.Command) (a roomAnswer, err error) {
	err = g.largely(ctx, []int{c.Branch}, func(_ context.Context, sc *scenario.Scenario, list []*engine.Branch) error {
		a.Trace, err = traced(sc, list[0])
		return err
	})
	return a, err
}

// locks plays a branch's schedule on several locks.
func (g *guest) locks(ctx context.Context, c board.Command) (a roomAnswer, err error) {
	if !g.client.Leads() {
		return a, board.ErrNotHost
	}
	err = g.largely(ctx, []int{c.Branch}, func(ctx context.Context, sc *scenario.Scenario, list []*engine.Branch) error {
		a.Compared, err = onLocks(ctx, g.l, sc, list[0], c.Protocols)
		return err
	})
	return a, err
}

// compared puts two branches beside each other, as HTML; names, of both or of
// none, is what a page calls them.
func compared(l words.Language, sc *scenario.Scenario, list []*engine.Branch, films []*film.Film, names []string) (string, error) {
	if len(names) != 2 {
		names = []string{page.BranchName(l, list[0].ID), page.BranchName(l, list[1].ID)}
	}
	side := func(i int) page.BranchSide {
		b := list[i]
		return page.BranchSide{Name: names[i], Rows: films[i].Rows(), Run: films[i].Lanes(), Over: b.Positions[len(b.Positions)-1].Over}
	}
	return rendered(l, templates.Compared(page.Branches(l, film.NewScenario(l, sc), side(0), side(1))))
}

// onLocks plays a branch's moves on several locks, and puts what comes of that
// beside each other, as HTML.
func onLocks(ctx context.Context, l words.Language, sc *scenario.Scenario, b *engine.Branch, protocols []string) (string, error) {
	played, err := engine.Compare(ctx, sc.WithSchedule(b.Moves), protocols)
	if err != nil {
		return "", err
	}
	return rendered(l, templates.Aligned(page.AlignLocks(l, played)))
}

// traced returns a branch's trace as JSON Lines.
func traced(sc *scenario.Scenario, b *engine.Branch) (string, error) {
	h, events, err := b.Trace(sc)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	if err := trace.Write(&out, h, events); err != nil {
		return "", fmt.Errorf("web: %w", err)
	}
	return out.String(), nil
}
