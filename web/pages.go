package web

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"
	"strconv"

	"relock/engine"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/export"
	"relock/web/link"
	"relock/web/page"
	"relock/web/runs"
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
	started, err := s.sessions.Start(runs.Visitor{Address: site.Address(r), Name: s.visitor(w, r)}, sc, o, runs.HTML{})
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

func (s *Server) session(r *http.Request) (*runs.Session, error) {
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
	f, err := s.filmOf(r, found, false, func(f *runs.Footage) bool { return f.Long && f.Events >= len(events) && f.Ended == ended })
	if err != nil {
		return err
	}
	run, err := runOf(r, "/runs/"+found.Run.ID(), f, found.Scenario)
	if err != nil {
		return err
	}
	run.ID, run.Place, run.Edit = found.Run.ID(), page.Place(l, f.Header, s.externalName()), "/edit?run="+found.Run.ID()
	run.Socket = "/runs/" + run.ID + "/socket?lang=" + l.Code() + "&"
	run.Slow = page.ClockNote(l, f.Header.Clock, found.Slow)
	if f.Header.Clock == trace.ClockWall && !f.Ended {
		run.Quiet = found.Quiet().Milliseconds()
	}
	if f.Header.Clock == trace.ClockWall && !f.Ended && found.Owned(s.visitorOf(r)) {
		run.Controls = page.NewControls(l, found.Run.Controls())
	}
	return s.showRun(w, r, run, l.Say("A run"))
}

// runOf returns what the pages of a run and of a trace from elsewhere have in
// common: a film of sc at path, as r asks for it.
func runOf(r *http.Request, path string, f *runs.Footage, sc *scenario.Scenario) (page.Run, error) {
	l := words.From(r.Context())
	open, err := link.Encode(link.State{Scenario: sc})
	if err != nil {
		return page.Run{}, fmt.Errorf("web: %w", err)
	}
	viewer, err := f.Shown(r, path)
	return page.Run{
		Title: titleOf(l, sc), Viewer: viewer, LastSeq: f.Events, Ended: f.Ended, Verdict: f.Verdict, Tone: f.Tone,
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
func (s *Server) filmOf(r *http.Request, found *runs.Session, portioned bool, good func(*runs.Footage) bool) (*runs.Footage, error) {
	return s.films.Of(r, "/runs/"+found.Run.ID(), portioned, func() (*runs.Recording, bool, error) {
		events, ended := found.Run.Log().Since(0)
		return &runs.Recording{Scenario: found.Run.Scenario(), Header: found.Run.Header(), Events: events}, ended, nil
	}, good)
}

// runRows answers with rows of a run, for its page.
func (s *Server) runRows(w http.ResponseWriter, r *http.Request) error {
	found, err := s.session(r)
	if err != nil {
		return err
	}
	from, count, err := runs.AskedRows(r)
	if err != nil {
		return err
	}
	// While a run goes on, its last row can change until the next one begins.
	f, err := s.filmOf(r, found, true, func(f *runs.Footage) bool { return f.Ended || from+count < f.Rows })
	if err != nil {
		return err
	}
	return runs.AnswerRows(w, r, f, from, count)
}

// runLanes answers with a run's lanes around a row, as a part of its page.
func (s *Server) runLanes(w http.ResponseWriter, r *http.Request) error {
	found, err := s.session(r)
	if err != nil {
		return err
	}
	events, _ := found.Run.Log().Since(0)
	return answerLanes(w, r, &runs.Recording{Scenario: found.Run.Scenario(), Header: found.Run.Header(), Events: events})
}

// answerLanes answers with the lanes around the row that r asks for.
func answerLanes(w http.ResponseWriter, r *http.Request, run *runs.Recording) error {
	row, err := strconv.Atoi(r.URL.Query().Get("row"))
	if err != nil || row < 0 {
		return site.Refuse(http.StatusBadRequest, "That is no place in a run", "The row of a picture is the number of a step, 0 or more.")
	}
	l := words.From(r.Context())
	return site.Render(r.Context(), w, http.StatusOK, templates.Lanes(runs.LanesAround(l, run.Lanes(), row)))
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
