package own

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"relock/engine"
	"relock/engine/lock/protocol"
	"relock/engine/outside/logs"
	"relock/engine/outside/ownlock"
	"relock/engine/scenario"
	"relock/web/draft"
	"relock/web/link"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/stepper"
	"relock/web/templates"
	"relock/web/words"
)

// Editor are the scenario editor, and what it starts.
type Editor struct {
	*shell.Pages

	Sessions *runs.Registry
	Searches *stepper.Searches
	Traces   *Traces
}

// Edit is the scenario editor, opened with an example or with the scenario of a
// run or a trace. A link in the address' fragment is opened by the page's
// script.
func (s *Editor) Edit(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	text, current := "", query.Get("example")
	switch {
	case query.Has("run"):
		found, ok := s.Sessions.Get(query.Get("run"))
		if !ok {
			return site.ErrNoRun
		}
		var err error
		if text, err = shell.Written(found.Scenario); err != nil {
			return err
		}
	case query.Has("trace"):
		kept, err := s.Traces.findTrace(r, query.Get("trace"))
		if err != nil {
			return err
		}
		if text, err = shell.Written(kept.scenario); err != nil {
			return err
		}
	default:
		if current == "" {
			current = shell.FirstExample
		}
		found := false
		for _, e := range s.Examples {
			if e.Name == current {
				text, found = e.Text, true
			}
		}
		if !found {
			return site.ErrNoPage
		}
	}
	return s.editor(w, r, http.StatusOK, s.edited(words.From(r.Context()), url.Values{"yaml": {text}, "store": r.URL.Query()["store"], "slow": r.URL.Query()["slow"]}, ""), current)
}

// Own is the editor with a user's own lock to begin with: the first example's, in scripts.
func (s *Editor) Own(w http.ResponseWriter, r *http.Request) error {
	query, text := r.URL.Query(), s.Examples[0].Text
	e := s.edited(words.From(r.Context()), url.Values{
		"yaml": {text}, "base": {text}, "lock.protocol": {protocol.Own}, "title": {""}, "store": query["store"], "slow": query["slow"],
	}, "")
	e.Notice = "" // nobody has chosen the scenario that it was
	return s.editor(w, r, http.StatusOK, e, "")
}

// edited returns the editor for what was sent: the form's changes are merged
// into the YAML, and the form is made from the result.
func (s *Editor) edited(l words.Language, v url.Values, action string) page.Editor {
	base, text := draft.Lines(v.Get("base")), draft.Lines(v.Get("yaml"))
	merged, err := text, error(nil)
	if len(text) <= scenario.MaxBytes && len(base) <= scenario.MaxBytes { // else a mistake says so
		merged, err = draft.Merge(base, text, action, v)
	}
	e := page.Editor{NoBox: s.NoBox(l), Text: merged, Base: merged, Store: page.StoreOf(v, s.External != nil), Slow: v.Get("slow"), External: s.ExternalName()}
	if draft.Forgot(text, merged) {
		e.Notice = l.Say("This scenario can be run. Its expectations and the comments on its old lock are gone: they belonged to that lock.")
	}
	e.Form, e.Mistakes = page.NewForm(l, merged)
	if err != nil && action != draft.Unfold {
		e.Problem = l.Say("The YAML cannot be read, so your changes in the form were not applied.")
	}
	if !e.Form.Readable {
		e.Base = "" // there is no form whose changes could be merged
	}
	if e.Slow == "" {
		e.Slow = "1"
	}
	if _, ok := page.SlowMotion(v); !ok {
		e.SlowBad = l.Say("Slow motion is from 1 to %d times.", scenario.MaxSlow)
		e.Problem = e.SlowBad
	}
	return e
}

// fit has the scripts of a user's own lock called as they work, where a form has changed one, or
// who wrote them asks for it: what they get and return is tried.
func (s *Editor) fit(r *http.Request, v url.Values, e *page.Editor) {
	if !e.Form.Own || len(e.Mistakes) > 0 || v.Get("action") != useThese && !draft.Rescripted(draft.Lines(v.Get("base")), v) {
		return
	}
	sc, err := scenario.Parse([]byte(e.Text))
	if err != nil {
		return
	}
	var fit ownlock.Fit
	site.SeatOf(r).Away(r.Context(), func() {
		ctx, cancel := context.WithTimeout(r.Context(), fitWithin)
		defer cancel()
		fit, err = ownlock.Try(ctx, sc)
	})
	if err != nil || fit.IsZero() && !fit.Once && !fit.Whole { // a judgement says it
		return
	}
	d, err := draft.Read(e.Text)
	if err != nil {
		return
	}
	d.Call(fit.Args, fit.Keys, fit.Replies, fit.Idle)
	if fit.Key != "" {
		d.Set("lock.key", fit.Key)
	}
	l := words.From(r.Context())
	var said []string
	if !fit.IsZero() {
		said = append(said, l.Say("What your scripts get and return was tried, and stands beside each: change it if your program does otherwise."))
	}
	if len(fit.Idle) > 0 {
		said = append(said, l.Say("The script renew of the lock you started from does nothing here, and is left out."))
	}
	if fit.Once && d.EnterOnce() {
		said = append(said, l.Say("Your lock does not count how often its owner is in, so each thread takes it once."))
	}
	if d.WholeSeconds(fit.Whole) {
		said = append(said, l.Say("EXPIRE takes whole seconds: your lease is longer now, and all other times with it."))
	}
	text, err := d.String()
	if err != nil || len(said) == 0 {
		return
	}
	e.Text, e.Base, e.Notice = text, text, strings.Join(said, " ")
	e.Form, e.Mistakes = page.NewForm(l, text)
}

// fitWithin is how long trying may take, some hundred calls.
const fitWithin = 2 * time.Second

// compiledWithin is how long a page waits to hear whether its scripts are Lua. If
// judgements have the whole box for that long, judging says so.
const compiledWithin = 500 * time.Millisecond

// readScripts adds mistakes in the scripts of a user's own lock before any runs, if
// nothing else is wrong.
func (s *Editor) readScripts(r *http.Request, e *page.Editor) {
	if !e.Form.Own || len(e.Mistakes) > 0 {
		return
	}
	sc, err := scenario.Parse([]byte(e.Text))
	if err != nil {
		return
	}
	d, err := draft.Read(e.Text)
	if err != nil {
		return
	}
	var found []*ownlock.Mistake
	site.SeatOf(r).Away(r.Context(), func() {
		ctx, cancel := context.WithTimeout(r.Context(), compiledWithin)
		defer cancel()
		found, err = ownlock.Check(ctx, sc.Lock)
	})
	if err != nil { // the judgement says it
		return
	}
	for _, m := range found {
		e.Mistakes = append(e.Mistakes, page.ScriptMistake(words.From(r.Context()), m, d.Line("lock.scripts."+m.Call, m.Line)))
	}
}

func (s *Editor) editor(w http.ResponseWriter, r *http.Request, status int, e page.Editor, current string) error {
	l := words.From(r.Context())
	s.readScripts(r, &e)
	if status != http.StatusOK && site.AsksForJSON(r) {
		return &site.Error{Status: status, Head: "That cannot be run", Text: func(words.Language) string { return e.Wrong() }}
	}
	e.Page = s.Frame(r, l.Say("Scenario editor"), "js/editor.js")
	e.Page.Path = "/edit"
	if e.Form.Own {
		e.Page.Title, e.Page.Path = l.Say("Your own lock"), page.OwnPath
	}
	var err error
	e.Example = current
	if e.Gallery, err = s.gallery(l); err != nil {
		return err
	}
	return site.Render(r.Context(), w, status, templates.EditorPage(e))
}

// gallery returns the examples as the gallery orders and describes them.
func (s *Editor) gallery(l words.Language) ([]page.Group, error) {
	groups, err := shell.Shelves(l)
	if err != nil {
		return nil, err
	}
	for i := range groups {
		groups[i].Exhibits = slices.DeleteFunc(groups[i].Exhibits, func(e page.Exhibit) bool {
			return !slices.ContainsFunc(s.Examples, func(x shell.Example) bool { return x.Name == e.Name })
		})
	}
	return slices.DeleteFunc(groups, func(g page.Group) bool { return len(g.Exhibits) == 0 }), nil
}

// Reedit is the editor for pages without scripts: each button sends the form.
func (s *Editor) Reedit(w http.ResponseWriter, r *http.Request) error {
	values, err := shell.ReadForm(w, r)
	if err != nil {
		return err
	}
	action := values.Get("action")
	e := s.edited(words.From(r.Context()), values, actionOf(action))
	s.fit(r, values, &e)
	if action == "save" {
		save(w, e.Text)
		return nil
	}
	return s.editor(w, r, http.StatusOK, e, "")
}

// useThese is the button beside a judgement that the scripts are called otherwise than they work.
const useThese = "fit"

// actionOf returns what a button asks draft.Merge to do; "" for buttons that
// only send the form.
func actionOf(button string) string {
	switch button {
	case "show", "read", "save", "run", "step", useThese:
		return ""
	default:
		return button
	}
}

var notInName = regexp.MustCompile(`[^\p{L}\p{N}]+`)

// save sends the YAML as a file that is named after its title.
func save(w http.ResponseWriter, text string) {
	name := "scenario"
	if sc, _ := scenario.Draft([]byte(text)); sc != nil && sc.Title != "" {
		name = strings.Trim(notInName.ReplaceAllString(strings.ToLower(sc.Title), "-"), "-")
	}
	w.Header().Set("Content-Type", "application/yaml; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Disposition", "attachment; filename=scenario.yaml; filename*=UTF-8''"+url.PathEscape(name)+".yaml")
	_, _ = io.WriteString(w, text) // the visitor has left: nobody to tell
}

// convertedJSON is the result of a change to the form or the text.
type convertedJSON struct {
	V          int            `json:"v"`
	YAML       string         `json:"yaml"`
	Base       string         `json:"base"`
	Form       string         `json:"form"` // HTML
	Readable   bool           `json:"readable"`
	Mistakes   []page.Mistake `json:"mistakes"`
	MistakesBy string         `json:"mistakes_by_line"` // HTML
	Status     string         `json:"status"`           // a sentence
}

// setJSON is the result of a change to the settings of what is stepped: the scenario, or what
// is wrong.
type setJSON struct {
	V        int             `json:"v"`
	Scenario json.RawMessage `json:"scenario,omitempty"`
	Setup    string          `json:"setup"`          // HTML
	Said     string          `json:"said,omitempty"` // what has gone with the change, in a sentence
}

// set answers the settings of a page that steps.
func (s *Editor) set(w http.ResponseWriter, l words.Language, values url.Values) error {
	text, gone := draft.Fit(s.edited(l, values, "").Text, values)
	var out setJSON
	sc, err := scenario.Parse([]byte(text))
	if err == nil {
		out.Scenario, err = sc.Compact()
	}
	var wrong scenario.Mistakes
	if err != nil && !errors.As(err, &wrong) {
		return fmt.Errorf("own: %w", err)
	}
	out.V = 1
	if len(gone) > 0 {
		out.Said = l.Say("Left out, because it does not fit what you have chosen: %s.", l.List(gone))
	}
	if out.Setup, err = templates.Text(l, templates.Setup(page.NewSettings(l, text))); err != nil {
		return err
	}
	site.AnswerJSON(w, http.StatusOK, out)
	return nil
}

// Convert is the editor for its script, and for the settings of what is stepped.
func (s *Editor) Convert(w http.ResponseWriter, r *http.Request) error {
	values, err := shell.ReadForm(w, r)
	if err != nil {
		return err
	}
	l := words.From(r.Context())
	if values.Get("action") == "set" {
		return s.set(w, l, values)
	}
	e := s.edited(l, values, actionOf(values.Get("action")))
	s.fit(r, values, &e)
	s.readScripts(r, &e)
	out := convertedJSON{V: 1, YAML: e.Text, Base: e.Base, Readable: e.Form.Readable, Mistakes: e.Mistakes, Status: e.Status(l)}
	if out.Form, err = templates.Text(words.From(r.Context()), templates.EditorForm(e.Form)); err != nil {
		return err
	}
	if out.MistakesBy, err = templates.Text(words.From(r.Context()), templates.EditorMistakes(e.Mistakes)); err != nil {
		return err
	}
	site.AnswerJSON(w, http.StatusOK, out)
	return nil
}

// OpenFile opens a file: a trace on its own page, anything else as a scenario in the
// editor, which says what is wrong with it.
func (s *Editor) OpenFile(w http.ResponseWriter, r *http.Request) error {
	data, err := shell.ReadFile(w, r)
	if err != nil {
		return err
	}
	if runs.IsTrace(data) || logs.Is(data) {
		return s.Traces.takeTrace(w, r, data)
	}
	if len(data) > scenario.MaxBytes {
		return site.Refuse(http.StatusRequestEntityTooLarge, "That file is too large", "A scenario may have 64 KiB, a trace 8 MiB.")
	}
	return s.editor(w, r, http.StatusOK, s.edited(words.From(r.Context()), url.Values{"yaml": {string(data)}}, draft.Unfold), "")
}

// Start runs the editor's scenario, or steps through it.
func (s *Editor) Start(w http.ResponseWriter, r *http.Request) error {
	values, err := shell.ReadForm(w, r)
	if err != nil {
		return err
	}
	e := s.edited(words.From(r.Context()), values, "")
	s.fit(r, values, &e)
	sc, err := scenario.Parse([]byte(e.Text))
	slow, ok := page.SlowMotion(values)
	if err != nil || e.Problem != "" || !ok {
		return s.editor(w, r, http.StatusUnprocessableEntity, e, "")
	}
	if values.Get("action") == "step" {
		open, err := link.Encode(link.Contents{Scenario: sc})
		if err != nil {
			return fmt.Errorf("own: %w", err)
		}
		http.Redirect(w, r, "/play#"+open, http.StatusSeeOther)
		return nil
	}
	switch {
	case !sc.Lock.Own():
	case e.NoBox != "":
		e.Problem = e.NoBox
		return s.editor(w, r, http.StatusUnprocessableEntity, e, "")
	case e.Store == page.StoreExternal:
		e.Problem = words.From(r.Context()).Say("A lock with your own scripts does not run on the operator's Redis: choose the virtual clock.")
		return s.editor(w, r, http.StatusUnprocessableEntity, e, "")
	}
	o := engine.Options{ID: s.NewID(), Wall: e.Store == page.StoreWall, Slow: slow}
	if e.Store == page.StoreExternal {
		o.External = s.External
	}
	started, err := s.Sessions.Start(runs.Visitor{Address: site.Address(r), Name: s.Visitor(w, r)}, sc, o, runs.HTML{})
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
	s.Meter.Started(e.Store)
	http.Redirect(w, r, "/runs/"+started.Run.ID(), http.StatusSeeOther)
	return nil
}
