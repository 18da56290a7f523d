package site

import (
	"net/http"
	"net/url"
	"slices"

	"relock/web/words"
)

// Cookies that keep a visitor's settings.
const (
	languageCookie = "relock-language"
	themeCookie    = "relock-theme" // the page's script sets it too
)

// Themes that a visitor can choose; without a choice the browser's preference
// applies.
var Themes = []string{"auto", "light", "dark", "stage"}

const year = 365 * 24 * 60 * 60 // in seconds

// Settings are how a visitor wants pages to look.
type Settings struct {
	Language words.Language // as pages say it
	Theme    string         // one of themes
}

// SettingsOf reads a visitor's settings: from the address for this page only,
// from a cookie for all pages, else from the browser.
func (s *Site) SettingsOf(r *http.Request) Settings {
	query := r.URL.Query()
	set := Settings{
		Language: s.Languages.Match(query.Get("lang"), Cookie(r, languageCookie), r.Header.Get("Accept-Language")).OnPages(),
		Theme:    "auto",
	}
	for _, t := range []string{query.Get("theme"), Cookie(r, themeCookie)} {
		if slices.Contains(Themes, t) {
			set.Theme = t
			break
		}
	}
	return set
}

// keepSettings remembers the settings in the address.
func (s *Site) keepSettings(w http.ResponseWriter, r *http.Request, set Settings) {
	query := r.URL.Query()
	for name, value := range map[string]string{languageCookie: set.Language.Code(), themeCookie: set.Theme} {
		if name == languageCookie && query.Has("lang") || name == themeCookie && query.Get("theme") == set.Theme {
			http.SetCookie(w, &http.Cookie{ //nolint:gosec // the theme's is read by the page's script
				Name: name, Value: value, Path: "/", MaxAge: year, SameSite: http.SameSiteLaxMode, Secure: s.Secure(r),
			})
		}
	}
}

// Cookie returns the value of a cookie, "" without one.
func Cookie(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// Switched returns the page's own address with one setting changed.
func Switched(r *http.Request, name, value string) string {
	query := url.Values{}
	for k, v := range r.URL.Query() {
		query[k] = v
	}
	query.Set(name, value)
	path := r.URL.Path
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		path = "/edit" // a form is not sent again
	}
	return path + "?" + query.Encode()
}
