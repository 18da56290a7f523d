// Package catalog is the pages for all: what there is to read, scenarios to step through, and
// what other sites show of these.
package catalog

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/web/export"
	"relock/web/film"
	"relock/web/link"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/templates"
	"relock/web/words"
)

// Pages are what there is to read: the front page, the gallery, the locks,
// the glossary and the interface for programs.
type Pages struct {
	*shell.Pages

	gallery map[string]func() picture

	front     sync.Mutex
	frontFilm *runs.Recording // what the front page shows, from its first request on
	frontMend string          // where its last button leads, in the same form
}

// New returns the pages of a server that there are to read. Their pictures are drawn
// when somebody first asks, or by prepare.
func New(common *shell.Pages) *Pages {
	s := &Pages{Pages: common, gallery: map[string]func() picture{}}
	for _, e := range common.Examples {
		s.gallery[e.Name] = pictured(e)
	}
	return s
}

// prepareDelay is how long prepare leaves the processors to those who open the first
// page as soon as the server listens.
const prepareDelay = time.Second

// Prepare gets first ready, the other languages' texts, and pictures of the
// gallery that are not kept, while nobody else wants the processor.
func (s *Pages) Prepare(ctx context.Context, first func()) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(prepareDelay):
	}
	seat := s.Turns.SeatSpare("")
	defer seat.Done()
	ready := []func(){first}
	for _, l := range s.Languages.All() {
		ready = append(ready, func() { l.Say("Locks") })
	}
	for _, picture := range s.gallery {
		ready = append(ready, func() { picture() })
	}
	for _, one := range ready {
		if seat.Pause(ctx) != nil {
			return
		}
		s.Guarded(ctx, site.OfPage, one)
	}
}

// Home is the front door.
func (s *Pages) Home(w http.ResponseWriter, r *http.Request) error {
	l := words.From(r.Context())
	shown, err := s.replayed()
	if err != nil {
		return err
	}
	reel, err := shown.Film(r.Context(), l)
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	rows := reel.Rows()
	stops := page.StopsOf(rows, l.Each(frontMoves))
	mends, err := s.mends(shown, stops[len(stops)-1].Row)
	if err != nil {
		return err
	}
	p := page.Home{
		Page: s.Frame(r, l.Say("A lock lets one in at a time."), "js/home.js"), Name: frontExample, Stops: stops,
		Mend: mends, Last: l.Say("What would have saved it?"),
	}
	sc := film.NewScenario(l, shown.Scenario)
	p.Viewer = page.Viewer{Scenario: sc, Rows: len(rows), Lanes: runs.LanesAround(l, reel.Lanes(), stops[0].Row), Standing: page.Before(l, shown.Scenario).After(&rows[stops[0].Row-1])}
	return site.Render(r.Context(), w, http.StatusOK, templates.Home(p))
}

// frontExample is what is played on the front page: a lock that goes wrong, and
// what that does to what it protects, in some ten steps.
const frontExample = "late-write-without-a-token"

// frontMoves are what comes after each of its stops but the last.
var frontMoves = []phrase.Text{"Let 95 ms pass", "B asks again", "B writes and leaves", "A wakes up and writes"}

// replayed returns the recording on the front page. It is made at the first
// request.
func (s *Pages) replayed() (*runs.Recording, error) {
	s.front.Lock()
	defer s.front.Unlock()
	if s.frontFilm == nil {
		at := slices.IndexFunc(s.Examples, func(e shell.Example) bool { return e.Name == frontExample })
		made, err := runs.Record(context.Background(), s.Examples[max(at, 0)].Scenario()) // without pauses: others keep their turns while they wait for front
		if err != nil {
			return nil, err
		}
		s.frontFilm = made
	}
	return s.frontFilm, nil
}

// mends is the address of what would have saved the run on the front page, at the row
// that it shows last.
func (s *Pages) mends(shown *runs.Recording, row int) (string, error) {
	s.front.Lock()
	defer s.front.Unlock()
	if s.frontMend == "" {
		at, err := page.AtRow(context.Background(), shown.Scenario, row)
		if err != nil {
			return "", fmt.Errorf("catalog: %w", err)
		}
		open, err := link.Encode(link.Contents{Scenario: at.Scenario, At: len(at.Scenario.Schedule)})
		if err != nil {
			return "", fmt.Errorf("catalog: %w", err)
		}
		s.frontMend = fmt.Sprintf("/play/%s?mend=%d#%s", frontExample, row, open)
	}
	return s.frontMend, nil
}

// Scenarios is the gallery.
func (s *Pages) Scenarios(w http.ResponseWriter, r *http.Request) error {
	l := words.From(r.Context())
	groups, err := shell.Shelves(l)
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
				return fmt.Errorf("catalog: %w", err)
			}
			e.Picture, e.Broken = shown.svg(), shown.Broken
			e.First = i == 0 && n == 0
			if e.Steps = shown.Steps; e.Steps > 0 {
				e.Minutes = page.MinutesOf(e.Steps)
			}
			if len(shown.Broken) == 0 {
				e.Failed = film.OnlyFailed(l, shown.Failed)
			}
			if at := slices.IndexFunc(s.Examples, func(x shell.Example) bool { return x.Name == e.Name }); at >= 0 {
				sc := s.Examples[at].Scenario()
				e.Protocol, e.Terms, e.Level = sc.Lock.Protocol, page.FoundBy(sc), page.LevelOf(sc)
				if kind := sc.Kind; kind == scenario.KindHeartbeat {
					e.Protocol = kind
				}
			}
		}
	}
	return site.Render(r.Context(), w, http.StatusOK, templates.Gallery(page.Gallery{Page: s.Frame(r, l.Say("Scenarios"), "js/finder.js"), Groups: groups}))
}

// About says what the playground is.
func (s *Pages) About(w http.ResponseWriter, r *http.Request) error {
	title := words.From(r.Context()).Say("About Relock")
	return site.Render(r.Context(), w, http.StatusOK, templates.About(s.Frame(r, title)))
}

// API is the interface for programs.
func (s *Pages) API(w http.ResponseWriter, r *http.Request) error {
	l := words.From(r.Context())
	p := page.API{Page: s.Frame(r, l.Say("The interface for programs")), Sections: page.Reference(l, export.Allowed())}
	return site.Render(r.Context(), w, http.StatusOK, templates.API(p))
}
