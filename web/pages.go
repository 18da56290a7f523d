package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"relock/engine"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/export"
	"relock/web/link"
	"relock/web/page"
	"relock/web/session"
	"relock/web/site"
	"relock/web/templates"
	"relock/web/words"
)

// start runs the editor's scenario, or steps through it.
func (s *Server) start(w http.ResponseWriter, r *http.Request) error {
	values, err := readForm(w, r)
	if err != nil {
		return err
	}
	e := s.edited(words.From(r.Context()), values, "")
	sc, err := scenario.Parse([]byte(e.Text))
	slow, ok := page.SlowMotion(values)
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
	o := engine.Options{ID: s.NewID(), Wall: e.Store == page.StoreWall, Slow: slow}
	if e.Store == page.StoreExternal {
		o.External = s.external
	}
	started, err := s.sessions.Start(session.Visitor{Address: site.Address(r), Name: s.visitor(w, r)}, sc, o, encoder{})
	if site.LimitName(err) != "" {
		return site.OfLimit(err)
	}
	if why, ok := words.From(r.Context()).Explain(err); ok {
		e.Problem = why
		return s.editor(w, r, http.StatusUnprocessableEntity, e, "")
	}
	if err != nil {
		return err
	}
	s.meter.started.WithLabelValues(e.Store).Inc()
	http.Redirect(w, r, "/runs/"+started.Run.ID(), http.StatusSeeOther)
	return nil
}

func (s *Server) session(r *http.Request) (*session.Session, error) {
	found, ok := s.sessions.Get(r.PathValue("id"))
	if !ok {
		return nil, site.ErrNoRun
	}
	return found, nil
}

// show is the page of a run, with all rows so far or some of them.
func (s *Server) show(w http.ResponseWriter, r *http.Request) error {
	found, err := s.session(r)
	if err != nil {
		return err
	}
	l := words.From(r.Context())
	events, ended := found.Run.Log().Since(0)
	f, err := s.filmOf(r, found, false, func(f *footage) bool { return f.long && f.events >= len(events) && f.ended == ended })
	if err != nil {
		return err
	}
	run, err := runOf(r, "/runs/"+found.Run.ID(), f, found.Scenario)
	if err != nil {
		return err
	}
	run.ID, run.Place, run.Edit = found.Run.ID(), page.Place(l, f.header, s.externalName()), "/edit?run="+found.Run.ID()
	run.Socket = "/runs/" + run.ID + "/socket?lang=" + l.Code() + "&"
	run.Slow = page.ClockNote(l, f.header.Clock, found.Slow)
	if f.header.Clock == trace.ClockWall && !f.ended {
		run.Quiet = found.Quiet().Milliseconds()
	}
	if f.header.Clock == trace.ClockWall && !f.ended && found.Owned(s.visitorOf(r)) {
		run.Controls = page.NewControls(l, found.Run.Controls())
	}
	return s.showRun(w, r, run, l.Say("A run"))
}

// runOf returns what the pages of a run and of a trace from elsewhere have in
// common: a film of sc at path, as r asks for it.
func runOf(r *http.Request, path string, f *footage, sc *scenario.Scenario) (page.Run, error) {
	l := words.From(r.Context())
	open, err := link.Encode(link.State{Scenario: sc})
	if err != nil {
		return page.Run{}, fmt.Errorf("web: %w", err)
	}
	viewer, err := f.shown(r, path)
	return page.Run{
		Title: titleOf(l, sc), Viewer: viewer, LastSeq: f.events, Ended: f.ended, Verdict: f.verdict, Tone: f.tone,
		Picture: path + "/lanes?lang=" + l.Code() + "&row=", Portions: path + "/rows?lang=" + l.Code() + "&",
		Exports: path + "/export?format=", Files: export.Files(l), Step: "/play#" + open,
	}, err
}

// showRun answers with the page of a run. Untitled is its title if the scenario
// has none.
func (s *Server) showRun(w http.ResponseWriter, r *http.Request, run page.Run, untitled string) error {
	shown := s.frame(r, cmp.Or(run.Title, untitled))
	run.Reach, run.Viewer.Shared = s.reach(r), true
	return site.Render(r.Context(), w, http.StatusOK, templates.RunPage(page.RunPage{Page: shown, Run: run}))
}

// filmOf returns the film of a run: the kept one if it is good enough, else the
// run as it is now. The film has portions if its page needs them, or if
// portioned says so.
func (s *Server) filmOf(r *http.Request, found *session.Session, portioned bool, good func(*footage) bool) (*footage, error) {
	return s.film(r, "/runs/"+found.Run.ID(), portioned, func() (*recording, bool, error) {
		events, ended := found.Run.Log().Since(0)
		return &recording{found.Run.Scenario(), found.Run.Header(), events}, ended, nil
	}, good)
}

// runRows answers with rows of a run, for its page.
func (s *Server) runRows(w http.ResponseWriter, r *http.Request) error {
	found, err := s.session(r)
	if err != nil {
		return err
	}
	from, count, err := which(r)
	if err != nil {
		return err
	}
	// While a run goes on, its last row can change until the next one begins.
	f, err := s.filmOf(r, found, true, func(f *footage) bool { return f.ended || from+count < f.rows })
	if err != nil {
		return err
	}
	return answerRows(w, r, f, from, count)
}

// runLanes answers with a run's lanes around a row, as a part of its page.
func (s *Server) runLanes(w http.ResponseWriter, r *http.Request) error {
	found, err := s.session(r)
	if err != nil {
		return err
	}
	events, _ := found.Run.Log().Since(0)
	return answerLanes(w, r, &recording{found.Run.Scenario(), found.Run.Header(), events})
}

// answerLanes answers with the lanes around the row that r asks for.
func answerLanes(w http.ResponseWriter, r *http.Request, run *recording) error {
	row, err := strconv.Atoi(r.URL.Query().Get("row"))
	if err != nil || row < 0 {
		return site.Refuse(http.StatusBadRequest, "That is no place in a run", "The row of a picture is the number of a step, 0 or more.")
	}
	l := words.From(r.Context())
	return site.Render(r.Context(), w, http.StatusOK, templates.Lanes(lanesOf(l, run.lanes(), row)))
}

// trace answers with the run as JSON Lines.
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

// visitorCookie identifies a visitor, who may steer the runs started with it.
const visitorCookie = "relock-visitor"

func (s *Server) visitorOf(r *http.Request) string {
	c, err := r.Cookie(visitorCookie)
	if err != nil {
		return ""
	}
	return c.Value
}

// visitor returns the name of the visitor who sent r, a new one if there is
// none yet.
func (s *Server) visitor(w http.ResponseWriter, r *http.Request) string {
	if name := s.visitorOf(r); name != "" {
		return name
	}
	name := rand.Text()
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure wherever the request came by TLS
		Name: visitorCookie, Value: name, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.Secure(r),
	})
	return name
}

// rendered returns a part of a page in l.
func rendered(l words.Language, c templ.Component) (string, error) {
	var b strings.Builder
	if err := c.Render(words.With(context.Background(), l), &b); err != nil {
		return "", fmt.Errorf("render: %w", err)
	}
	return b.String(), nil
}
