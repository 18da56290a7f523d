package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"relock/engine"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/export"
	"relock/web/link"
	"relock/web/view"
	"relock/web/words"
)

// exportLink runs the scenario of a link and answers with a file. With a
// position the run is what the link shows: its first so many moves. Without
// one it goes on to the end.
func (s *Server) exportLink(w http.ResponseWriter, r *http.Request) error {
	format, err := formatOf(r)
	if err != nil {
		return err
	}
	if err := s.sessions.Allow(address(r)); err != nil {
		return limitError(err)
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, link.MaxPacked))
	if err != nil {
		return &statusError{http.StatusRequestEntityTooLarge, "That cannot be exported", said(view.Sentence(link.ErrTooLong.Error()))}
	}
	packed := strings.TrimSpace(string(text))
	whole := !strings.Contains(packed, "~")
	if whole {
		packed += "~0"
	}
	state, err := link.Decode(packed)
	if err != nil {
		return notExported(linkProblem(err))
	}
	if !s.turn(r.Context()) {
		return nil // the visitor has left
	}
	defer s.done()
	file := export.Run{Scenario: state.Scenario}
	if whole {
		state.At = len(state.Scenario.Schedule)
		file.Header, file.Events, err = toTheEnd(r.Context(), state.Scenario)
	} else {
		file.Header, file.Events, err = upTo(r.Context(), state)
	}
	refused, known := view.Refused(err)
	switch {
	case err == nil:
	case r.Context().Err() != nil:
		return nil // the visitor has left
	case known:
		return notExported(refused)
	case errors.Is(err, engine.ErrFault):
		return notExported(notThere(err))
	case errors.Is(err, run.ErrLimit):
		return notExported(view.Sentence(run.ErrLimit.Error()))
	default:
		return fmt.Errorf("web: export: %w", err)
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
	if !s.turn(r.Context()) {
		return nil // the visitor has left
	}
	defer s.done()
	events, _ := found.Run.Log().Since(0)
	file := export.Run{Header: found.Run.Header(), Events: events, Scenario: found.Run.Scenario()}
	return s.answerFile(w, r, format, file, link.State{Scenario: found.Scenario})
}

// turn waits until the machine has room for one more piece of work; done
// gives the room back. It is false where ctx has ended first.
func (s *Server) turn(ctx context.Context) bool {
	select {
	case s.working <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *Server) done() { <-s.working }

// formatOf is the format that r asks for.
func formatOf(r *http.Request) (export.Format, error) {
	format, err := export.ParseFormat(r.URL.Query().Get("format"))
	if err != nil {
		text := words.From(r.Context()).Say("A run can be had in these formats: %s.", export.Allowed())
		return "", &statusError{http.StatusBadRequest, "There is no such format", said(text)}
	}
	return format, nil
}

func notExported(sentence string) error {
	return &statusError{http.StatusUnprocessableEntity, "That cannot be exported", said(sentence)}
}

// said is a text that is in the visitor's language already: nothing in it is
// a verb.
func said(text string) words.Text { return words.Text(strings.ReplaceAll(text, "%", "%%")) }

// toTheEnd plays a scenario to its end.
func toTheEnd(ctx context.Context, sc *scenario.Scenario) (trace.Header, []trace.Event, error) {
	r, err := engine.Start(ctx, sc, engine.Options{})
	if err != nil {
		return trace.Header{}, nil, err //nolint:wrapcheck // known to the caller
	}
	err = r.Wait()
	events, _ := r.Log().Since(0)
	return r.Header(), events, err //nolint:wrapcheck // known to the caller
}

// upTo plays the moves that lead to where a link stands.
func upTo(ctx context.Context, state link.State) (trace.Header, []trace.Event, error) {
	session, err := engine.Open(ctx, state.Scenario.WithSchedule(state.Scenario.Schedule[:state.At]))
	if err != nil {
		return trace.Header{}, nil, err //nolint:wrapcheck // known to the caller
	}
	defer session.Close()
	return session.Trace(0) //nolint:wrapcheck // known to the caller
}

// answerFile answers with a run that can be stepped at state.
func (s *Server) answerFile(w http.ResponseWriter, r *http.Request, f export.Format, file export.Run, state link.State) error {
	open, err := link.Encode(state)
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	file.Language = words.From(r.Context())
	file.Link = origin(r) + "/play#" + open
	data, err := export.Render(f, file)
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", f.MediaType())
	h.Set("Content-Length", strconv.Itoa(len(data)))
	h.Set("Content-Language", file.Language.Code())
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.FileName(file.Scenario.Title)}))
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(data) // the visitor has left: nobody to tell
	return nil
}

// origin is this site as the visitor's browser names it. Behind a proxy only
// the browser knows whether the line is encrypted.
func origin(r *http.Request) string {
	for _, header := range []string{"Origin", "Referer"} {
		u, err := url.Parse(r.Header.Get(header))
		if err == nil && u.Host == r.Host && (u.Scheme == "http" || u.Scheme == "https") {
			return u.Scheme + "://" + u.Host
		}
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
