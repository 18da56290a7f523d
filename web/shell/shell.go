// Package shell is what every page has: its surroundings, the visitor, the examples, what
// forms and links were sent, files to be saved, and the answers that all rooms give alike.
//
// The rooms import it. It knows none of them, nor who serves them.
package shell

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"relock/engine/outside/box"
	"relock/engine/store"
	"relock/web/page"
	"relock/web/site"
	"relock/web/static"
	"relock/web/templates"
	"relock/web/words"
)

// Pages is what every page is made with. It is set before the first request, and then safe
// for concurrent use.
type Pages struct {
	*site.Site

	Log      *slog.Logger
	Starts   Starts
	External *store.External // the operator's Redis, nil without one
	Examples []Example       // the first is what the editor opens with
	Box      *box.Pool       // runs own scripts; nil without one
	BoxErr   error           // why
	Meter    Operations
}

// The purposes of sockets, as a site.Counter counts them.
const (
	RunSocket  = "run"
	PlaySocket = "play"
	RoomSocket = "room"
	LabSocket  = "lab"
)

// Operations counts what a server does, for its operator, apart from what a
// site counts. It is safe for concurrent use.
type Operations interface {
	Started(store string)                    // a run
	Command(do string, within time.Duration) // one for stepping, from when it was read to its last frame
}

// Starts counts how often an address begins something.
type Starts interface{ Allow(address string) error }

// MessagePage answers with a page that says one thing.
func (s *Pages) MessagePage(w http.ResponseWriter, r *http.Request, m site.Message) error {
	p := page.Message{Page: s.SmallFrame(r, m.Head), Status: m.Status, Head: m.Head, Text: m.Text}
	return site.Render(r.Context(), w, m.Status, templates.MessagePage(p))
}

// ReachOf says how far a link made on r's page goes.
func (s *Pages) ReachOf(r *http.Request) page.Reach {
	alone, addresses := s.Reach(r)
	return page.Reach{Alone: alone, Addresses: addresses}
}

// longAddress is how many bytes of an address a small page repeats in its
// switches, which lead to the front page instead.
const longAddress = 1 << 10

// SmallFrame is Frame for a page that says one thing: it needs no script.
func (s *Pages) SmallFrame(r *http.Request, title string) page.Page {
	if len(r.URL.RequestURI()) > longAddress {
		set := s.SettingsOf(r)
		r = r.Clone(r.Context())
		r.URL = &url.URL{Path: "/", RawQuery: url.Values{"lang": {set.Language.Code()}, "theme": {set.Theme}}.Encode()}
	}
	p := s.Frame(r, title)
	p.Script, p.Preloads = "", nil
	return p
}

// App is the script that most pages begin with. It starts what else a page has.
const App = "js/app.js"

// Frame returns what surrounds the page that r asks for. Parts are the page's own scripts
// that App starts, like "js/editor.js".
func (s *Pages) Frame(r *http.Request, title string, parts ...string) page.Page {
	set := s.SettingsOf(r)
	p := page.Page{
		Title: title, Styles: []string{s.Static.Path(static.Style)}, Icon: s.Static.Path("icons/favicon.svg"), Theme: set.Theme, Path: r.URL.Path,
	}
	s.Scripted(&p, App, parts...)
	for _, l := range s.Languages.All() {
		p.Languages = append(p.Languages, page.Language{Name: l.Name(), Code: l.Code(), Address: site.Switched(r, "lang", l.Code()), Current: l == set.Language.Plain()})
	}
	if s.Public() != nil {
		p.Site = s.Public().String()
	}
	for _, t := range site.Themes {
		p.Themes = append(p.Themes, page.Theme{Name: t, Address: site.Switched(r, "theme", t), Current: t == set.Theme})
	}
	return p
}

// Scripted has a page begin with a script, which starts its parts.
func (s *Pages) Scripted(p *page.Page, script string, parts ...string) {
	p.Script, p.Preloads = s.Static.Path(script), s.Static.Needs(append(parts, script)...)
}

// Styled returns a page that has a style sheet more, one of package static's.
func (s *Pages) Styled(p page.Page, sheet string) page.Page {
	p.Styles = append(p.Styles, s.Static.Path(sheet))
	return p
}

// ExternalName is what the operator's Redis is called, "" without one.
func (s *Pages) ExternalName() string {
	if s.External == nil {
		return ""
	}
	return s.External.Name()
}

// visitorCookie identifies a visitor, who may steer the runs started with it.
const visitorCookie = "relock-visitor"

// VisitorOf returns the name of the visitor who sent r, "" if there is none yet.
func (s *Pages) VisitorOf(r *http.Request) string {
	c, err := r.Cookie(visitorCookie)
	if err != nil {
		return ""
	}
	return c.Value
}

// Visitor returns the name of the visitor who sent r, a new one if there is
// none yet.
func (s *Pages) Visitor(w http.ResponseWriter, r *http.Request) string {
	if name := s.VisitorOf(r); name != "" {
		return name
	}
	name := rand.Text()
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure wherever the request came by TLS
		Name: visitorCookie, Value: name, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.Secure(r),
	})
	return name
}

// NoBox says why users' own locks do not run here, "" if they do.
func (s *Pages) NoBox(l words.Language) string {
	switch {
	case s.Box != nil:
		return ""
	case s.BoxErr == nil:
		return l.Say("This server does not run your own scripts. In your own terminal it works: playground explore FILE.")
	default:
		return l.Say("This server does not run your own scripts, because nothing would confine them: %s. In your own terminal it works: playground explore FILE.", s.BoxErr.Error())
	}
}
