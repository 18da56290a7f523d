package runs

import (
	"context"
	"fmt"

	"relock/engine"
	"relock/engine/pause"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/film"
	"relock/web/page"
	"relock/web/templates"
	"relock/web/words"
)

// Recording is a scenario and its run, over or so far.
type Recording struct {
	Scenario *scenario.Scenario
	Header   trace.Header
	Events   []trace.Event
	Covered  bool // a question about it is open: its film does not tell what is asked

	once bool // its events are for one film, which forgets each as it takes it
}

// Record runs a scenario to the end on the virtual clock. It fails if the scenario cannot
// be run, or with ctx's cause.
func Record(ctx context.Context, sc *scenario.Scenario) (*Recording, error) {
	r, err := engine.Start(ctx, sc, engine.Options{})
	if err != nil {
		return nil, fmt.Errorf("runs: %w", err)
	}
	if err := r.Wait(); err != nil {
		return nil, fmt.Errorf("runs: record %s: %w", sc.Title, err)
	}
	events, _ := r.Log().Since(0)
	return &Recording{Scenario: r.Scenario(), Header: r.Header(), Events: events}, nil
}

// Film returns the recording as pictures, in l. It yields to others between events,
// and fails as pause.Here does.
func (r *Recording) Film(ctx context.Context, l words.Language) (*film.Film, error) {
	return r.film(ctx, l, nil)
}

// film is Film, and calls each after every event, unless it is nil.
func (r *Recording) film(ctx context.Context, l words.Language, each func(*film.Film) error) (*film.Film, error) {
	f := film.Of(l, r.Scenario, r.Header)
	f.Expect(r.rows())
	for i, e := range r.Events {
		if err := pause.Here(ctx); err != nil {
			return nil, err
		}
		f.Add(e)
		if r.once {
			r.Events[i] = trace.Event{}
		}
		if each == nil {
			continue
		}
		if err := each(f); err != nil {
			return nil, err
		}
	}
	if r.Covered {
		f.Cover()
	}
	return f, nil
}

// Replay is a whole film: a page with it needs nothing more from the server, but for the
// lanes of a long one.
type Replay struct {
	Title string         `json:"title"`
	Key   string         `json:"key"`
	Head  string         `json:"head"`  // HTML
	Stage string         `json:"stage"` // HTML
	Lua   string         `json:"lua"`
	Lanes string         `json:"lanes"`
	Film  *film.Recorded `json:"film"`
	At    int            `json:"at"` // the row to stop at

	lanes *film.Lanes
}

// Replay returns the recording's film in l, with the lanes around a row. It fails like Film.
func (r *Recording) Replay(ctx context.Context, l words.Language, title string, at int) (*Replay, error) {
	reel, err := r.Film(ctx, l)
	if err != nil {
		return nil, err
	}
	shown := film.NewScenario(l, r.Scenario)
	out := &Replay{Title: title, Key: shown.Key, Film: reel.Recorded(), At: at, lanes: reel.Lanes()}
	if out.Film.Rows, err = RowsOf(l, reel, 0, len(reel.Rows())); err != nil {
		return nil, err
	}
	if out.Head, err = templates.Text(l, templates.Head(shown)); err != nil {
		return nil, err
	}
	if out.Stage, err = templates.Text(l, templates.Stage(shown, page.Before(l, r.Scenario))); err != nil {
		return nil, err
	}
	if out.Lua, err = templates.Text(l, templates.Lua(reel.Scripts())); err != nil {
		return nil, err
	}
	out.Lanes, err = templates.Text(l, templates.Lanes(LanesAround(l, reel.Lanes(), at)))
	return out, err
}

// AllLanes returns the lanes around each row, HTML by the first row for which they are.
func (r *Replay) AllLanes(l words.Language) (map[int]string, error) {
	all, drawn := map[int]string{}, -1
	for row := range r.lanes.Len() + 1 {
		first := firstLaneRow(r.lanes, row)
		if first == drawn {
			continue
		}
		text, err := templates.Text(l, templates.Lanes(LanesAround(l, r.lanes, row)))
		if err != nil {
			return nil, err
		}
		all[row], drawn = text, first
	}
	return all, nil
}

// rows is how many rows the recording's film has.
func (r *Recording) rows() int { return film.CountRows(r.Events) }

// Lanes returns only the recording's picture, at far less cost than its film. It fails
// like Film.
func (r *Recording) Lanes(ctx context.Context) (*film.Lanes, error) {
	lanes := film.LanesOf(r.Scenario, r.Header.Owners)
	for _, e := range r.Events {
		if err := pause.Here(ctx); err != nil {
			return nil, err
		}
		lanes.Add(e)
	}
	return lanes, nil
}

// Rows of the lanes on a page. Every step brings a new picture, and the
// browser's work grows with its rows: 96 rows are twice as wide as a large
// screen. Pictures begin only at every 32nd row, so that from one step to the
// next a single row is added.
const (
	laneRows   = 96
	laneStride = 32
)

// LanesAround returns the lanes around a row, with the cursor on it.
func LanesAround(l words.Language, lanes *film.Lanes, row int) film.Picture {
	p := lanes.Window(l, "lanes", firstLaneRow(lanes, row), laneRows)
	p.Cursor = row
	return p
}

// followed is LanesAround for pages that choose their row themselves, and draw
// the lanes again as rows are added.
func followed(l words.Language, lanes *film.Lanes, row int) film.Picture {
	return lanes.Follow(l, "lanes", firstLaneRow(lanes, row), laneRows)
}

// firstLaneRow returns where the lanes around a row begin.
func firstLaneRow(lanes *film.Lanes, row int) int {
	if lanes.Len() <= laneRows {
		return 0
	}
	return max(0, min(row, lanes.Len())-laneRows/2) / laneStride * laneStride
}

// Unplayed is a film of sc before anything has happened.
func Unplayed(l words.Language, sc *scenario.Scenario) page.Viewer {
	f := film.New(l, sc, nil)
	return page.Viewer{Scenario: film.NewScenario(l, sc), Scripts: f.Scripts(), Lanes: LanesAround(l, f.Lanes(), 0), Standing: page.Before(l, sc)}
}
