package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/a-h/templ"

	"relock/engine"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/link"
	"relock/web/session"
	"relock/web/templates"
	"relock/web/view"
	"relock/web/words"
)

// grouped are the examples by lock, in the order in which locks are listed.
func (s *Server) grouped(current string) []view.Examples {
	var groups []view.Examples
	for _, p := range scenario.Protocols() {
		g := view.Examples{Protocol: p.Name}
		for _, e := range s.examples {
			if e.sc.Lock.Protocol == p.Name {
				g.List = append(g.List, view.Example{Name: e.name, Title: e.sc.Title, Current: e.name == current})
			}
		}
		if len(g.List) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// start runs or steps through what the editor says.
func (s *Server) start(w http.ResponseWriter, r *http.Request) error {
	values, err := readForm(w, r)
	if err != nil {
		return err
	}
	e := s.edited(words.From(r.Context()), values, "")
	sc, err := scenario.Parse([]byte(e.Text))
	slow, ok := view.SlowMotion(values)
	if err != nil || e.Problem != "" || !ok {
		return s.editor(w, r, http.StatusUnprocessableEntity, e, "")
	}
	if values.Get("action") == "step" {
		open, err := link.Encode(link.State{Scenario: sc})
		if err != nil {
			return fmt.Errorf("web: %w", err)
		}
		http.Redirect(w, r, "/play#"+open, http.StatusSeeOther)
		return nil
	}
	o := engine.Options{Wall: e.Store == view.StoreWall, Slow: slow}
	if e.Store == view.StoreExternal {
		o.External = s.external
	}
	started, err := s.sessions.Start(session.Visitor{Address: address(r), Name: s.visitor(w, r)}, sc, o, encoder{})
	if errors.Is(err, engine.ErrFault) || errors.Is(err, scenario.ErrSlow) {
		e.Problem = notThere(err)
		return s.editor(w, r, http.StatusUnprocessableEntity, e, "")
	}
	if err != nil {
		return limitError(err)
	}
	http.Redirect(w, r, "/runs/"+started.Run.ID(), http.StatusSeeOther) //nolint:gosec // the id is ours
	return nil
}

// notThere says why a scenario cannot be run where it was to be.
func notThere(err error) string {
	text := err.Error()
	for _, kind := range []error{engine.ErrFault, scenario.ErrSlow} {
		if _, why, ok := strings.Cut(text, kind.Error()+": "); ok {
			return view.Sentence(why)
		}
	}
	return view.Sentence(text)
}

func limitError(err error) error {
	switch {
	case errors.Is(err, session.ErrTooFast), errors.Is(err, session.ErrTooManyOwn):
		return &statusError{http.StatusTooManyRequests, "One moment, please", words.Text(view.Sentence(err.Error()))}
	case errors.Is(err, session.ErrTooMany), errors.Is(err, session.ErrClosed):
		return &statusError{http.StatusServiceUnavailable, "No room just now", words.Text(view.Sentence(err.Error()))}
	default:
		return err
	}
}

func (s *Server) session(r *http.Request) (*session.Session, error) {
	found, ok := s.sessions.Get(r.PathValue("id"))
	if !ok {
		return nil, errNoRun
	}
	return found, nil
}

// show is the page of a run with all rows so far.
func (s *Server) show(w http.ResponseWriter, r *http.Request) error {
	found, err := s.session(r)
	if err != nil {
		return err
	}
	header := found.Run.Header()
	events, ended := found.Run.Log().Since(0)
	sc := view.NewScenario(found.Run.Scenario())
	timeline := view.NewTimeline(sc, header.Owners)
	for _, e := range events {
		timeline.Add(e)
	}
	path := "/runs/" + found.Run.ID()
	open, err := link.Encode(link.State{Scenario: found.Scenario})
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	run := view.Run{
		Step: "/play#" + open, Edit: "/edit?run=" + found.Run.ID(),
		ID: found.Run.ID(), Title: sc.Title, Place: view.Place(header, s.externalName()),
		Seed: sc.Seed, Threads: sc.Threads, Key: sc.Key, Lease: sc.Lease, Watchdog: sc.Watchdog,
		Rows: timeline.Rows(), LastSeq: len(events), Ended: ended, Socket: path + "/socket", TracePath: path + "/trace",
	}
	run.Slow = view.ClockNote(header.Clock, found.Slow)
	if header.Clock == trace.ClockWall && !ended && found.Owned(s.visitorOf(r)) {
		run.Controls = view.NewControls(found.Run.Controls())
	}
	run.Verdict, run.Tone = view.Verdict(run.Rows, ended)
	title := run.Title
	if title == "" {
		title = "A run"
	}
	return render(r.Context(), w, http.StatusOK, templates.RunPage(view.RunPage{Page: s.frame(r, title), Run: run}))
}

// trace is the run as JSON Lines.
func (s *Server) trace(w http.ResponseWriter, r *http.Request) error {
	found, err := s.session(r)
	if err != nil {
		return err
	}
	events, _ := found.Run.Log().Since(0)
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Disposition", `inline; filename="relock-trace.jsonl"`)
	return trace.Write(w, found.Run.Header(), events)
}

// encoder renders each new or changed row once for all viewers.
type encoder struct{}

// Rows implements session.Encoder.
func (encoder) Rows(run *engine.Run) session.Encode {
	timeline := view.NewTimeline(view.NewScenario(run.Scenario()), run.Header().Owners)
	seq := 0
	return func(events []trace.Event, ended bool) ([]byte, error) {
		first := len(timeline.Rows())
		f := frameJSON{V: 1, Rows: []rowJSON{}, Ended: ended}
		for _, e := range events {
			first = min(first, timeline.Add(e))
			seq = e.Seq
		}
		f.Seq = seq
		rows := timeline.Rows()
		for _, row := range rows[first:] {
			html, err := rendered(templates.RowView(row))
			if err != nil {
				return nil, err
			}
			f.Rows = append(f.Rows, rowJSON{row.Step, html})
		}
		var err error
		if f.Verdict, err = rendered(templates.Verdict(view.Verdict(rows, ended))); err != nil {
			return nil, err
		}
		return json.Marshal(f)
	}
}

// Controls implements session.Encoder.
func (encoder) Controls(run *engine.Run) ([]byte, error) {
	html, err := rendered(templates.Controls(view.NewControls(run.Controls())))
	if err != nil {
		return nil, err
	}
	return json.Marshal(controlsJSON{V: 1, Controls: html})
}

// visitorCookie names who may steer the runs that were started with it.
const visitorCookie = "relock-visitor"

func (s *Server) visitorOf(r *http.Request) string {
	c, err := r.Cookie(visitorCookie)
	if err != nil {
		return ""
	}
	return c.Value
}

// visitor is the name of who sent r, a new one if there is none yet.
func (s *Server) visitor(w http.ResponseWriter, r *http.Request) string {
	if name := s.visitorOf(r); name != "" {
		return name
	}
	name := rand.Text()
	http.SetCookie(w, &http.Cookie{
		Name: visitorCookie, Value: name, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	return name
}

func rendered(c templ.Component) (string, error) { return renderedIn(context.Background(), c) }

// renderedIn renders in the language of the context.
func renderedIn(ctx context.Context, c templ.Component) (string, error) {
	var b strings.Builder
	if err := c.Render(ctx, &b); err != nil {
		return "", fmt.Errorf("render: %w", err)
	}
	return b.String(), nil
}
