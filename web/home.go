package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"relock/engine"
	"relock/engine/lock/exhibit"
	"relock/engine/pause"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons"
	"relock/web/export"
	"relock/web/film"
	"relock/web/page"
	"relock/web/templates"
	"relock/web/words"
)

// recording is a scenario and its run.
type recording struct {
	sc     *scenario.Scenario
	header trace.Header
	events []trace.Event
}

func record(ctx context.Context, sc *scenario.Scenario) (*recording, error) {
	r, err := engine.Start(ctx, sc, engine.Options{})
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	if err := r.Wait(); err != nil {
		return nil, fmt.Errorf("web: record %s: %w", sc.Title, err)
	}
	events, _ := r.Log().Since(0)
	return &recording{r.Scenario(), r.Header(), events}, nil
}

func (r *recording) film(l words.Language) *film.Film {
	f := film.New(l, r.sc, r.header.Owners)
	for _, e := range r.events {
		f.Add(e)
	}
	return f
}

// lanes returns only the recording's picture, at far less cost than its film.
func (r *recording) lanes() *film.Lanes {
	lanes := film.LanesOf(r.sc, r.header.Owners)
	for _, e := range r.events {
		lanes.Add(e)
	}
	return lanes
}

// home is the front door.
func (s *Server) home(w http.ResponseWriter, r *http.Request) error {
	l := words.From(r.Context())
	shown, err := s.replayed()
	if err != nil {
		return err
	}
	reel, err := newFootage(l, shown, true, nil, false)
	if err != nil {
		return err
	}
	shows, err := exhibitOf(frontExample)
	if err != nil {
		return err
	}
	ending, err := endingOf(l, frontExample)
	if err != nil {
		return err
	}
	reel.viewer.Lanes.Cursor = 0 // it begins at its beginning
	return render(r.Context(), w, http.StatusOK, templates.Home(page.Home{
		Page: s.frame(r, l.Say("A lock lets one in at a time.")), Title: l.Say(shows.Title), Shows: l.Say(shows.Shows), Name: frontExample,
		Count: len(s.examples), Locks: len(exhibit.Names()), Viewer: reel.viewer, Ending: ending,
	}))
}

// frontExample is what is played on the front page: a lock that goes wrong, and
// what that does to what it protects, in some ten steps.
const frontExample = "late-write-without-a-token"

// endingOf is where to go on at the end of a scenario of the gallery.
func endingOf(l words.Language, name string) (page.Ending, error) {
	groups, err := lessons.Gallery()
	if err != nil {
		return page.Ending{}, fmt.Errorf("web: %w", err)
	}
	var all []lessons.Exhibit
	for _, g := range groups {
		all = append(all, g.Scenarios...)
	}
	way := func(name string) *page.Onward {
		at := slices.IndexFunc(all, func(e lessons.Exhibit) bool { return e.Name == name })
		if at < 0 {
			return nil
		}
		return &page.Onward{Name: name, Title: l.Say(all[at].Title)}
	}
	var ending page.Ending
	for i, e := range all {
		if e.Name == name {
			ending.Cure = way(e.Cure)
			if i+1 < len(all) && all[i+1].Name != e.Cure {
				ending.Next = way(all[i+1].Name)
			}
		}
	}
	return ending, nil
}

// replayed returns the recording on the front page. It is made at the first
// request.
func (s *Server) replayed() (*recording, error) {
	s.front.Lock()
	defer s.front.Unlock()
	if s.frontFilm == nil {
		at := slices.IndexFunc(s.examples, func(e example) bool { return e.name == frontExample })
		made, err := record(context.Background(), s.examples[max(at, 0)].sc()) // without pauses: others keep their turns while they wait for front
		if err != nil {
			return nil, err
		}
		s.frontFilm = made
	}
	return s.frontFilm, nil
}

// Rows of the lanes on a page. Every step brings a new picture, and the
// browser's work grows with its rows: 96 rows are twice as wide as a large
// screen. Pictures begin only at every 32nd row, so that from one step to the
// next a single row is added.
const (
	laneRows   = 96
	laneStride = 32
)

// lanesOf returns the lanes around a row, standing on it.
func lanesOf(l words.Language, lanes *film.Lanes, row int) film.Picture {
	p := lanes.Window(l, "lanes", firstLaneRow(lanes, row), laneRows)
	p.Cursor = row
	return p
}

// followed returns the same rows for pages that stand on a row of their own
// choice and draw the lanes again as rows are added.
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

func exhibitOf(name string) (lessons.Exhibit, error) {
	groups, err := lessons.Gallery()
	if err != nil {
		return lessons.Exhibit{}, fmt.Errorf("web: %w", err)
	}
	for _, g := range groups {
		for _, e := range g.Scenarios {
			if e.Name == name {
				return e, nil
			}
		}
	}
	return lessons.Exhibit{}, nil
}

// shelves returns the scenarios as the gallery groups them.
func shelves(l words.Language) ([]page.Group, error) {
	groups, err := lessons.Gallery()
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	var out []page.Group
	for _, g := range groups {
		group := page.Group{ID: g.ID, Name: l.Say(g.Name)}
		for _, e := range g.Scenarios {
			group.Exhibits = append(group.Exhibits, page.Exhibit{
				Name: e.Name, Title: l.Say(e.Title), Shows: l.Say(e.Shows),
			})
		}
		out = append(out, group)
	}
	return out, nil
}

// breath is how long Prepare leaves the processors to who opens the first page as
// soon as the server listens.
const breath = time.Second

// Prepare gets ready what the first who asks for it would wait for: the course,
// the other languages' texts, and pictures of the gallery that are not kept. It
// works only while nobody else wants the processor, and returns when all is
// there, or when ctx ends.
func (s *Server) Prepare(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(breath):
	}
	seat := s.turns.SeatSpare()
	defer seat.Done()
	ready := []func(){func() { s.course() }}
	for _, l := range s.languages.All() {
		ready = append(ready, func() { l.Say("Locks") })
	}
	for _, picture := range s.gallery {
		ready = append(ready, func() { picture() })
	}
	for _, one := range ready {
		if seat.Pause(ctx) != nil {
			return
		}
		s.guarded(ctx, ofPage, one)
	}
}

// scenarios is the gallery.
func (s *Server) scenarios(w http.ResponseWriter, r *http.Request) error {
	l := words.From(r.Context())
	groups, err := shelves(l)
	if err != nil {
		return err
	}
	for i := range groups {
		for n := range groups[i].Exhibits {
			e := &groups[i].Exhibits[n]
			var shown picture
			if drawn := s.gallery[e.Name]; drawn != nil {
				shown = drawn()
			}
			if err := pause.Here(r.Context()); err != nil {
				return fmt.Errorf("web: %w", err)
			}
			e.Picture, e.Broken = shown.svg(), shown.Broken
			e.First = i == 0 && n == 0
			if e.Steps = shown.Steps; e.Steps > 0 {
				e.Minutes = page.MinutesOf(e.Steps)
			}
			if len(shown.Broken) == 0 {
				e.Failed = film.OnlyFailed(l, shown.Failed)
			}
			if at := slices.IndexFunc(s.examples, func(x example) bool { return x.name == e.Name }); at >= 0 {
				e.Protocol, e.Level = s.examples[at].sc().Lock.Protocol, page.LevelOf(s.examples[at].sc())
				if kind := s.examples[at].sc().Kind; kind == scenario.KindHeartbeat {
					e.Protocol = kind
				}
			}
		}
	}
	return render(r.Context(), w, http.StatusOK, templates.Gallery(page.Gallery{Page: s.frame(r, l.Say("Scenarios")), Groups: groups}))
}

func (s *Server) about(w http.ResponseWriter, r *http.Request) error {
	title := words.From(r.Context()).Say("About Relock")
	return render(r.Context(), w, http.StatusOK, templates.About(s.frame(r, title)))
}

func (s *Server) api(w http.ResponseWriter, r *http.Request) error {
	l := words.From(r.Context())
	p := page.API{Page: s.frame(r, l.Say("The interface for programs")), Sections: page.Reference(l, export.Allowed())}
	return render(r.Context(), w, http.StatusOK, templates.API(p))
}
