package web

import (
	"net/http"
	"net/url"
	"slices"

	"relock/web/words"
)

// Cookies that keep what a person has switched.
const (
	languageCookie = "relock-language"
	themeCookie    = "relock-theme" // the page's script sets it too
)

// themes that can be switched to; without one the browser's preference holds.
var themes = []string{"auto", "light", "dark", "stage"}

const year = 365 * 24 * 60 * 60 // in seconds

// settings are how a person wants pages to be.
type settings struct {
	language words.Language
	theme    string // one of themes
}

// settingsOf reads them: the address says it for this page, a cookie for all,
// the browser where nobody has switched.
func (s *Server) settingsOf(r *http.Request) settings {
	query := r.URL.Query()
	set := settings{
		language: s.languages.Match(query.Get("lang"), cookie(r, languageCookie), r.Header.Get("Accept-Language")),
		theme:    "auto",
	}
	for _, t := range []string{query.Get("theme"), cookie(r, themeCookie)} {
		if slices.Contains(themes, t) {
			set.theme = t
			break
		}
	}
	return set
}

// keepSettings remembers what the address switches.
func (s *Server) keepSettings(w http.ResponseWriter, r *http.Request, set settings) {
	query := r.URL.Query()
	for name, value := range map[string]string{languageCookie: set.language.Code(), themeCookie: set.theme} {
		if name == languageCookie && query.Has("lang") || name == themeCookie && query.Get("theme") == set.theme {
			http.SetCookie(w, &http.Cookie{ //nolint:gosec // the theme's is read by the page's script
				Name: name, Value: value, Path: "/", MaxAge: year, SameSite: http.SameSiteLaxMode, Secure: s.secure(r),
			})
		}
	}
}

func cookie(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// switched is the page's own address with one setting changed.
func switched(r *http.Request, name, value string) string {
	query := url.Values{}
	for k, v := range r.URL.Query() {
		query[k] = v
	}
	query.Set(name, value)
	path := r.URL.Path
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		path = "/edit" // what was sent is not sent again
	}
	return path + "?" + query.Encode()
}
