package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"

	"relock/engine/scenario"
	"relock/web/export"
	"relock/web/link"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/site/keep"
	"relock/web/templates"
	"relock/web/words"
)

// Play is the page for stepping through a scenario: an example, or what the
// address' fragment says. No server ever sees a fragment.
func (s *Links) Play(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("example")
	if name == "" {
		return s.playPage(w, r, played{})
	}
	l := words.From(r.Context())
	for _, e := range s.Examples {
		if e.Name != name {
			continue
		}
		open, err := link.Encode(link.Contents{Scenario: e.Scenario()})
		if err != nil {
			return fmt.Errorf("catalog: %w", err)
		}
		exhibit, err := shell.ExhibitOf(name)
		if err != nil {
			return err
		}
		ending, err := shell.EndingOf(l, name)
		if err != nil {
			return err
		}
		return s.playPage(w, r, played{name: name, open: open, shown: e.Scenario(), title: l.Say(exhibit.Title), shows: l.Say(exhibit.Shows), ending: ending})
	}
	return site.ErrNoPage
}

// roomCode matches what may be the code of a room.
var roomCode = regexp.MustCompile(`^[A-Za-z0-9]+$`)

// played is what a page for stepping opens with, nothing for what its address says.
type played struct {
	name         string // of an example, or ""
	open         string // a link
	row          int    // where the page is in it, 0: at its end
	shown        *scenario.Scenario
	title, shows string
	ending       page.Ending
	incident     *page.Staged
	problem      string // why what was asked for is not shown
	elsewhere    bool   // it opens elsewhere than at the start
}

func (s *Links) playPage(w http.ResponseWriter, r *http.Request, of played) error {
	l := words.From(r.Context())
	groups, err := shell.Shelves(l)
	if err != nil {
		return err
	}
	p := page.Play{
		Files: export.Files(l), Gallery: groups, Scenario: of.open, Row: of.row, Problem: of.problem, Reach: s.ReachOf(r),
		Example: of.name, Shows: of.shows, Ending: of.ending, Incident: of.incident, Elsewhere: of.elsewhere,
	}
	p.SetFaults(l)
	shown := of.shown
	if shown == nil {
		shown = s.Examples[0].Scenario()
	}
	scripts := []string{"js/alone.js"}
	if query := r.URL.Query(); roomCode.MatchString(query.Get("room")) {
		p.Room, p.Scene = query.Get("room"), query.Get("scene")
		scripts = append(scripts, "js/room-back.js")
	}
	p.Page = s.Frame(r, cmp.Or(of.title, shell.TitleOf(l, shown), l.Say("Your scenario")), scripts...)
	p.Page.Preview = s.preview(r)
	p.Viewer = runs.Unplayed(l, shown)
	text, err := shown.Compact()
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	settings := page.NewSettings(l, string(text))
	p.Viewer.Steps, p.Viewer.Shared, p.Viewer.Setup = true, true, &settings
	if of.shows != "" {
		p.Viewer.Standing.Why = of.shows // what is to be seen, until something is
	}
	p.SetLocks(l)
	if of.open == "" {
		// The default, if the address says nothing.
		if p.Scenario, err = link.Encode(link.Contents{Scenario: shown}); err != nil {
			return fmt.Errorf("catalog: %w", err)
		}
	}
	if p.Text, err = unscripted(p.Scenario); err != nil {
		return err
	}
	return site.Render(r.Context(), w, http.StatusOK, templates.PlayPage(p))
}

// unscripted returns the scenario of a link as YAML.
func unscripted(packed string) (string, error) {
	state, err := link.Decode(packed)
	if err != nil {
		return "", fmt.Errorf("catalog: %w", err)
	}
	return shell.Written(state.Scenario)
}

// Keep puts a link on the shelf and answers with its short address.
func (s *Links) Keep(w http.ResponseWriter, r *http.Request) error {
	if err := s.Starts.Allow(site.Address(r)); err != nil {
		return site.OfLimit(err)
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, link.MaxPacked))
	if err != nil {
		return site.Explained(http.StatusRequestEntityTooLarge, "That is too long to be kept", link.ErrTooLong)
	}
	state, err := link.Decode(string(text))
	if err != nil {
		return site.Unusable(err, "That cannot be kept")
	}
	var id string
	site.SeatOf(r).Away(r.Context(), func() { id, err = s.Shelf.Keep(r.Context(), state) })
	if err != nil {
		return s.NotKept(r, err)
	}
	site.AnswerJSON(w, http.StatusCreated, map[string]string{"path": "/s/" + id})
	return nil
}

// Kept opens a short link.
func (s *Links) Kept(w http.ResponseWriter, r *http.Request) error {
	text, err := s.findLink(r, r.PathValue("id"))
	if errors.Is(err, keep.ErrNotKept) {
		return site.Explained(http.StatusNotFound, "Nothing is kept here", keep.ErrNotKept)
	}
	if err != nil {
		return s.NotKept(r, err)
	}
	state, err := link.Decode(text)
	if err != nil {
		problem, _ := words.From(r.Context()).Explain(err) // visitors can read all of the shelf's errors
		return s.playPage(w, r, played{problem: problem})
	}
	return s.playPage(w, r, played{open: text, shown: state.Scenario, elsewhere: state.At > 0})
}
