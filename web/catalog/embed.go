package catalog

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"relock/engine"
	"relock/engine/pause"
	"relock/web/link"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/site/keep"
	"relock/web/templates"
	"relock/web/words"
)

// Links are what shows a link elsewhere: embeds, previews and files.
type Links struct {
	*shell.Pages

	Shelf *link.Shelf
}

// findLink returns the link kept under id, without the visitor's turn while it
// waits.
func (s *Links) findLink(r *http.Request, id string) (text string, err error) {
	pause.While(r.Context(), func() { text, err = s.Shelf.Find(r.Context(), id) })
	return text, err
}

// Embed is the page that other sites show in a frame: a film to read, of an
// example, of a kept link, or of the link in the address' fragment.
func (s *Links) Embed(w http.ResponseWriter, r *http.Request) error {
	l := words.From(r.Context())
	open := ""
	var err error
	switch {
	case r.PathValue("id") != "":
		open, err = s.findLink(r, r.PathValue("id"))
		if errors.Is(err, keep.ErrNotKept) {
			return site.Refuse(http.StatusNotFound, "Nothing is kept here", "No link is kept under this address; it may be mistyped.")
		}
		if err != nil {
			return s.NotKept(r, err)
		}
	default:
		name := r.PathValue("example")
		if name == "" {
			name = shell.FirstExample
		}
		at := slices.IndexFunc(s.Examples, func(e shell.Example) bool { return e.Name == name })
		if at < 0 {
			return site.ErrNoPage
		}
		if open, err = link.Encode(link.Contents{Scenario: s.Examples[at].Scenario()}); err != nil {
			return fmt.Errorf("catalog: %w", err)
		}
	}
	p := page.Embed{Page: s.Frame(r, l.Say("Relock"), "js/embed.js"), Open: open}
	return site.Render(r.Context(), w, http.StatusOK, templates.EmbedPage(p))
}

// Replay makes the moves of a link, or runs its scenario to the end if it has
// none, and answers with the film. Asked for a row, it answers with the lanes
// around that row only.
func (s *Links) Replay(w http.ResponseWriter, r *http.Request) error {
	state, _, err := s.SentLink(w, r, "That cannot be shown")
	if err != nil {
		return err
	}
	made, at, err := playedBack(r, state)
	if err != nil {
		return shell.NotShown(r, err, "That cannot be shown")
	}
	if r.URL.Query().Has("row") {
		return runs.AnswerLanes(w, r, made)
	}
	answer, err := made.Replay(r.Context(), words.From(r.Context()), shell.TitleOf(words.From(r.Context()), made.Scenario), at)
	if err != nil {
		return err
	}
	site.AnswerJSON(w, http.StatusOK, answer)
	return nil
}

// playedBack returns what a link shows, and the row it stops at.
func playedBack(r *http.Request, state link.Contents) (*runs.Recording, int, error) {
	if len(state.Scenario.Schedule) == 0 {
		made, err := runs.Record(r.Context(), state.Scenario)
		if err != nil {
			return nil, 0, err
		}
		return made, 0, nil
	}
	b, err := engine.PathOf(r.Context(), state.Scenario)
	if err != nil {
		return nil, 0, err
	}
	return &runs.Recording{Scenario: state.Scenario.WithSchedule(nil), Header: b.Header, Events: b.Events}, b.Positions[min(state.At, len(b.Moves))].Row, nil
}
