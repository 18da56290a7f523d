package stepper

import (
	"context"
	"fmt"

	"relock/engine"
	"relock/engine/explore/mend"
	"relock/engine/scenario"
	"relock/web/board"
	"relock/web/export"
	"relock/web/film"
	"relock/web/page"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/templates"
)

// mend begins to look for what would mend a branch: the scenario, within bounds that
// its moves give. A search that is under way is stopped; what it has found stays.
func (r *Reader) mend(ctx context.Context, c board.Command) (Answered, error) {
	at, err := r.Look(ctx, c.Branch)
	if err != nil {
		return Answered{}, err
	}
	if err := r.Sockets.Starts.Allow(r.Address); err != nil {
		return Answered{}, err
	}
	sc := at.Scenario.WithSchedule(at.List[0].Moves)
	r.search.mu.Lock()
	if r.search.going != nil {
		r.search.going.stop(errHalted)
	}
	r.search.mu.Unlock()
	r.forgetCures()
	searching, x := r.newSearch(at.Scene)
	return Answered{}, r.begin(ctx, searching, &r.search.cures, x, ofSearch{
		begun:  func() error { return r.toldCures(x, page.MendBegun(r.Language, sc)) },
		own:    sc.Lock.Own(),
		failed: func(says string) error { return r.toldCures(x, page.Mended{Ending: says}) },
		search: func(ctx, within context.Context, t *spareTurn) { r.mends(ctx, within, t, sc) },
	})
}

// mends looks for what mends a scenario, and tells the one who asked about each change as
// soon as it knows, and at the end what a post-mortem can say.
func (r *Reader) mends(ctx, within context.Context, t *spareTurn, sc *scenario.Scenario) {
	var failed error
	told := func(report *mend.Report, cured []engine.Played) {
		m, err := page.NewMended(r.Language, report, cured)
		if err == nil && cured != nil && report.Broken() {
			m.Report, err = export.PostMortem(context.WithoutCancel(ctx), r.Language, shell.TitleOf(r.Language, sc), report, cured)
		}
		if err != nil {
			failed = err
			t.stop(err)
			return
		}
		t.away(func() error { return r.toldCures(t.Exploration, m) })
	}
	report, err := engine.Mend(within, sc, mend.BoundsOf(sc), mend.Options{
		Narrow: true, Workers: 1, Searching: t.takes,
		Found: func(report *mend.Report, _ *mend.Cure) {
			if t.due() {
				told(report, nil)
			}
		},
	})
	cause := context.Cause(within)
	if t.over() {
		return
	}
	_ = t.hold(0) // what was found is on the page
	if err == nil {
		var cured []engine.Played // also of what was stopped
		if cured, err = engine.Cured(context.WithoutCancel(ctx), sc, report); err == nil {
			told(report, cured)
			err = failed
		}
	}
	if err != nil {
		t.fail(board.DoMend, err)
		return
	}
	if limit := site.LimitName(cause); report.Stopped && limit != "" {
		r.Sockets.NoteRefusal(ctx, r.Address, limit)
	}
}

// causes says how a branch came to break a rule: at a row, or where that breaks none,
// the first time.
func (r *Reader) causes(ctx context.Context, c board.Command) (f Answered, err error) {
	at, err := r.Look(ctx, c.Branch)
	if err != nil {
		return f, err
	}
	row := 0
	if c.Around != nil {
		row = *c.Around
	}
	h, events, err := at.List[0].Trace(at.Scenario)
	if err != nil {
		return f, fmt.Errorf("stepper: %w", err)
	}
	list := film.Causes(r.Language, at.Scenario, h, events, row)
	f.Causes = &causesJSON{Row: row}
	if len(list) > 0 {
		f.Causes.Row = list[len(list)-1].Row
	}
	f.Causes.HTML, err = templates.Text(r.Language, templates.Causes(list))
	return f, err
}

// toldCures tells the one who asked what we know about the changes.
func (r *Reader) toldCures(x *Exploration, m page.Mended) error {
	html, err := templates.Text(r.Language, templates.Mended(m))
	if err != nil {
		return err
	}
	return r.Tell(x, Told{Mended: &mendedJSON{m.Going, html}})
}
