package web

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"relock/engine"
	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/export"
	"relock/web/link"
	"relock/web/site"
	"relock/web/words"
)

// exportLink runs the scenario of a link and answers with a file. If the link
// has a position, the run is what the link shows: its moves up to there.
// Otherwise the run goes on to its end.
func (s *Server) exportLink(w http.ResponseWriter, r *http.Request) error {
	format, err := formatOf(r)
	if err != nil {
		return err
	}
	state, whole, err := s.sentLink(w, r, "That cannot be exported")
	if err != nil {
		return err
	}
	file := export.Run{Scenario: state.Scenario}
	if whole {
		state.At = len(state.Scenario.Schedule)
		file.Header, file.Events, err = toTheEnd(r.Context(), state.Scenario)
	} else {
		file.Header, file.Events, err = upTo(r.Context(), state)
	}
	if err != nil {
		return notShown(r, err, "That cannot be exported")
	}
	return s.answerFile(w, r, format, file, state)
}

// exportRun answers with a run so far as a file.
func (s *Server) exportRun(w http.ResponseWriter, r *http.Request) error {
	format, err := formatOf(r)
	if err != nil {
		return err
	}
	found, err := s.session(r)
	if err != nil {
		return err
	}
	events, _ := found.Run.Log().Since(0)
	file := export.Run{Header: found.Run.Header(), Events: events, Scenario: found.Run.Scenario()}
	return s.answerFile(w, r, format, file, link.State{Scenario: found.Scenario})
}

// formatOf returns the format that r asks for.
func formatOf(r *http.Request) (export.Format, error) {
	format, err := export.ParseFormat(r.URL.Query().Get("format"))
	if err != nil {
		return "", site.Refuse(http.StatusBadRequest, "There is no such format", "A run can be had in these formats: %s.", export.Allowed())
	}
	return format, nil
}

// sentLink reads a link that was sent as the body. Whole is true if it has no
// position, which means the run to its end. Head is the heading of refusals.
func (s *Server) sentLink(w http.ResponseWriter, r *http.Request, head phrase.Text) (state link.State, whole bool, err error) {
	if err := s.sessions.Allow(site.Address(r)); err != nil {
		return state, false, site.OfLimit(err)
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, link.MaxPacked))
	if err != nil {
		return state, false, site.Explained(http.StatusRequestEntityTooLarge, head, link.ErrTooLong)
	}
	packed := strings.TrimSpace(string(text))
	if whole = !strings.Contains(packed, "~"); whole {
		packed += "~0"
	}
	if state, err = link.Decode(packed); err != nil {
		return state, false, site.Unusable(err, head)
	}
	return state, whole, nil
}

// notShown returns the error to answer with when a run could not be made.
func notShown(r *http.Request, err error, head phrase.Text) error {
	if r.Context().Err() != nil {
		return nil //nolint:nilerr // the visitor has left
	}
	return site.Unusable(err, head)
}

// toTheEnd plays a scenario to its end.
func toTheEnd(ctx context.Context, sc *scenario.Scenario) (trace.Header, []trace.Event, error) {
	r, err := engine.Start(ctx, sc, engine.Options{})
	if err != nil {
		return trace.Header{}, nil, err
	}
	err = r.Wait()
	events, _ := r.Log().Since(0)
	return r.Header(), events, err
}

// upTo plays the moves up to a link's position.
func upTo(ctx context.Context, state link.State) (trace.Header, []trace.Event, error) {
	session, err := engine.Open(ctx, state.Scenario.WithSchedule(state.Scenario.Schedule[:state.At]))
	if err != nil {
		return trace.Header{}, nil, err
	}
	defer session.Close()
	return session.Trace(0)
}

// answerFile answers with a run as a file. State is the link under which it can
// be stepped.
func (s *Server) answerFile(w http.ResponseWriter, r *http.Request, f export.Format, file export.Run, state link.State) error {
	open, err := link.Encode(state)
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	file.Language = words.From(r.Context())
	file.Title = titleOf(file.Language, file.Scenario)
	file.Link = s.Origin(r) + "/play#" + open
	file.Pause = func() error { return pause.Here(r.Context()) }
	file.Style = s.Static.PictureStyle()
	data, err := export.Render(f, file)
	switch {
	case r.Context().Err() != nil:
		return nil //nolint:nilerr // the visitor has left
	case err != nil:
		return fmt.Errorf("web: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", f.MediaType())
	h.Set("Content-Length", strconv.Itoa(len(data)))
	h.Set("Content-Language", file.Language.Code())
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.FileName(file.Title)}))
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(data) // the visitor has left: nobody to tell
	return nil
}
