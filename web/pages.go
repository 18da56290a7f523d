package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
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

// edit shows an example, ready to be run.
func (s *Server) edit(w http.ResponseWriter, r *http.Request) error {
	name := r.URL.Query().Get("example")
	if name == "" {
		name = firstExample
	}
	for _, e := range s.examples {
		if e.name == name {
			form := view.NewForm(e.sc, view.StoreVirtual, s.externalName())
			return s.playground(w, r, http.StatusOK, form, name)
		}
	}
	return errNoPage
}

func (s *Server) playground(w http.ResponseWriter, r *http.Request, status int, f view.Form, current string) error {
	title := f.Title
	if title == "" {
		title = words.From(r.Context()).Say("Playground")
	}
	p := view.Playground{Page: s.frame(r, title), Form: f}
	p.Examples = s.grouped(current)
	return render(r.Context(), w, status, templates.Playground(p))
}

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

// start runs what the form says, or changes the form.
func (s *Server) start(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, MaxForm)
	if err := r.ParseForm(); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return refuse(http.StatusRequestEntityTooLarge, "That form is too large", "A form may have %d KiB.", MaxForm>>10)
		}
		return refuse(http.StatusBadRequest, "That form cannot be read", "Please go back and send it again.")
	}
	values := r.PostForm
	if changed := change(values); changed {
		return s.playground(w, r, http.StatusOK, view.ShowForm(values, s.externalName()), "")
	}
	form, sc := view.ReadForm(values, s.externalName())
	if sc == nil {
		return s.playground(w, r, http.StatusUnprocessableEntity, form, "")
	}
	if values.Get("action") == "step" {
		open, err := link.Encode(link.State{Scenario: sc})
		if err != nil {
			return fmt.Errorf("web: %w", err)
		}
		http.Redirect(w, r, "/play#"+open, http.StatusSeeOther)
		return nil
	}
	o := engine.Options{Wall: form.Store == view.StoreWall, Slow: form.SlowMotion()}
	if form.Store == view.StoreExternal {
		o.External = s.external
	}
	started, err := s.sessions.Start(session.Visitor{Address: address(r), Name: s.visitor(w, r)}, sc, o, encoder{})
	if why, ok := view.NotThere(words.From(r.Context()), err, o.Slow); ok {
		form.Mistakes = []string{why}
		return s.playground(w, r, http.StatusUnprocessableEntity, form, "")
	}
	if err != nil {
		return limitError(err)
	}
	http.Redirect(w, r, "/runs/"+started.Run.ID(), http.StatusSeeOther) //nolint:gosec // the id is ours
	return nil
}

// change adds or removes a thread where the form asks for that.
func change(v url.Values) bool {
	action := v.Get("action")
	if action == "add" {
		view.AddThread(v)
		return true
	}
	index, ok := strings.CutPrefix(action, "remove-")
	if !ok {
		return false
	}
	if i, err := strconv.Atoi(index); err == nil {
		view.RemoveThread(v, i)
	}
	return true
}

func limitError(err error) error {
	switch {
	case errors.Is(err, session.ErrTooFast), errors.Is(err, session.ErrTooManyOwn):
		return refuse(http.StatusTooManyRequests, "One moment, please", limitText(err))
	case errors.Is(err, session.ErrTooMany), errors.Is(err, session.ErrStepping), errors.Is(err, session.ErrClosed):
		return refuse(http.StatusServiceUnavailable, "No room just now", limitText(err))
	default:
		return err
	}
}

// limitText says which limit was met.
func limitText(err error) words.Text {
	switch {
	case errors.Is(err, session.ErrTooFast):
		return "Too many runs were started from your address in the last minute; wait a moment."
	case errors.Is(err, session.ErrTooManyOwn):
		return "Your address has as many scenarios running as it may; wait until one has ended."
	case errors.Is(err, session.ErrTooMany):
		return "The server is running as many scenarios as it can; try again in a moment."
	case errors.Is(err, session.ErrStepping):
		return "As many people step through scenarios as this server can serve; try again in a moment."
	default:
		return "The server is shutting down."
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
	l := words.From(r.Context())
	header, sc := found.Run.Header(), found.Run.Scenario()
	events, ended := found.Run.Log().Since(0)
	film := view.NewFilm(l, sc, header.Owners)
	for _, e := range events {
		film.Add(e)
	}
	path := "/runs/" + found.Run.ID()
	open, err := link.Encode(link.State{Scenario: found.Scenario})
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	run := view.Run{
		Step: "/play#" + open, Edit: "/edit?run=" + found.Run.ID(), Exports: path + "/export?format=",
		ID: found.Run.ID(), Title: sc.Title, Place: view.Place(l, header, s.externalName()),
		LastSeq: len(events), Ended: ended, Socket: path + "/socket?lang=" + l.Code() + "&",
	}
	run.Viewer = s.recorded(l, sc, film)
	run.Slow = view.ClockNote(l, header.Clock, found.Slow)
	if header.Clock == trace.ClockWall && !ended && found.Owned(s.visitorOf(r)) {
		run.Controls = view.NewControls(l, found.Run.Controls())
	}
	run.Verdict, run.Tone = view.Verdict(l, film.Rows(), ended)
	title := run.Title
	if title == "" {
		title = l.Say("A run")
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

// encoder renders each new or changed row once for all viewers of a language.
type encoder struct{}

// Rows implements session.Encoder.
func (encoder) Rows(run *engine.Run, l words.Language) session.Encode {
	film := view.NewFilm(l, run.Scenario(), run.Header().Owners)
	seq := 0
	return func(events []trace.Event, ended bool) ([]byte, error) {
		first := len(film.Rows())
		f := frameJSON{V: 1, Ended: ended}
		for _, e := range events {
			first = min(first, film.Add(e))
			seq = e.Seq
		}
		f.Seq = seq
		var err error
		if f.Rows, err = framesOf(l, film, first, len(film.Rows())); err != nil {
			return nil, err
		}
		if f.Verdict, err = rendered(l, templates.Verdict(view.Verdict(l, film.Rows(), ended))); err != nil {
			return nil, err
		}
		if f.Lanes, err = rendered(l, templates.Lanes(lanesOf(l, film, len(film.Rows())))); err != nil {
			return nil, err
		}
		return json.Marshal(f)
	}
}

// framesOf are the rows of a film from one to before another, each with its
// HTML.
func framesOf(l words.Language, film *view.Film, from, to int) ([]view.Frame, error) {
	list := slices.Clone(film.Frames()[from:to])
	for i, row := range film.Rows()[from:to] {
		html, err := rendered(l, templates.RowView(row))
		if err != nil {
			return nil, err
		}
		list[i].HTML = html
	}
	return list, nil
}

// Controls implements session.Encoder.
func (encoder) Controls(run *engine.Run, l words.Language) ([]byte, error) {
	html, err := rendered(l, templates.Controls(view.NewControls(l, run.Controls())))
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

// rendered is a part of a page in l.
func rendered(l words.Language, c templ.Component) (string, error) {
	var b strings.Builder
	if err := c.Render(words.With(context.Background(), l), &b); err != nil {
		return "", fmt.Errorf("render: %w", err)
	}
	return b.String(), nil
}
