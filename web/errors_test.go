package web_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"relock/engine/racetest"
	"relock/web"
	"relock/web/webtest"
)

// A known address says what can be asked for there.
func TestAMethodThatIsNotThereIsNamed(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{http.MethodPut, "/runs", 405, "POST, OPTIONS"},
		{http.MethodGet, "/rooms", 405, "POST, OPTIONS"},
		{http.MethodPost, "/", 405, "GET, HEAD, OPTIONS"},
		{http.MethodOptions, "/", 204, "GET, HEAD, OPTIONS"},
		{http.MethodOptions, "/edit", 204, "GET, HEAD, POST, OPTIONS"},
		{http.MethodDelete, "/runs/nothing", 405, "GET, HEAD, OPTIONS"},
		{http.MethodPost, "/static/js/app.js", 405, "GET, HEAD, OPTIONS"},
		{http.MethodPatch, "/healthz", 405, "GET, HEAD, OPTIONS"},
		{http.MethodDelete, "/nowhere", 404, ""},
		{http.MethodOptions, "/nowhere", 404, ""},
		{http.MethodHead, "/nowhere", 404, ""},
		{http.MethodHead, "/", 200, ""},
	} {
		res, body := s.Do(t, c.method, c.path, nil)
		if res.StatusCode != c.status || res.Header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %d, Allow: %q; want %d, %q", c.method, c.path, res.StatusCode, res.Header.Get("Allow"), c.status, c.allow)
		}
		if c.status == 405 && !strings.Contains(body, "Allowed here: "+c.allow) {
			t.Errorf("%s %s does not say what can be: %s", c.method, c.path, body)
		}
	}
}

// refused are requests that are refused, by what they are refused for.
func refused(s webtest.Site) map[string]func(t *testing.T, headers ...string) (*http.Response, string) {
	ask := func(method, path string, form url.Values, own ...string) func(*testing.T, ...string) (*http.Response, string) {
		return func(t *testing.T, headers ...string) (*http.Response, string) {
			t.Helper()
			return s.Do(t, method, path, form, append(headers, own...)...)
		}
	}
	return map[string]func(t *testing.T, headers ...string) (*http.Response, string){
		"404":        ask(http.MethodGet, "/nowhere", nil),
		"404 long":   ask(http.MethodGet, "/nowhere?x="+strings.Repeat("y", 20_000), nil),
		"404 run":    ask(http.MethodGet, "/runs/nothing", nil),
		"404 room":   ask(http.MethodGet, "/room/ABCDEF", nil),
		"404 door":   ask(http.MethodGet, "/room?code=ABCDEF", nil),
		"405":        ask(http.MethodPut, "/runs", nil),
		"403":        ask(http.MethodPost, "/rooms", url.Values{}, "Sec-Fetch-Site", "cross-site"),
		"413":        ask(http.MethodPost, "/runs", url.Values{"yaml": {strings.Repeat("x", web.MaxForm)}}),
		"422 room":   ask(http.MethodPost, "/rooms", url.Values{"example": {"nothing"}}),
		"400 format": ask(http.MethodGet, "/runs/nothing/export?format=tiff", nil),
		"503":        ask(http.MethodPost, "/runs", webtest.TwoThreads()),
	}
}

// Who reads an error page is often who has a slow line.
func TestErrorPagesAreSmall(t *testing.T) {
	racetest.Skip(t)
	const most = 20_000
	s := webtest.Open(t, func(c *web.Config) { c.Limits.Running, c.Limits.Kept = 0, 0 })
	for name, ask := range refused(s) {
		for _, language := range []string{"en", "zh"} {
			res, body := ask(t, "Accept-Language", language, "Accept-Encoding", "identity")
			if res.StatusCode < 400 || !strings.Contains(body, "<h1>") || !strings.Contains(body, `<html lang="`+language) {
				t.Errorf("%s in %s: %d\n%s", name, language, res.StatusCode, body)
			}
			if len(body) > most {
				t.Errorf("%s in %s: %d bytes, at most %d", name, language, len(body), most)
			}
		}
	}
}

// Programs that ask for JSON get what is wrong as JSON, pages get pages.
func TestProgramsGetErrorsAsJSON(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, func(c *web.Config) { c.Limits.Running, c.Limits.Kept = 0, 0 })
	limits := map[string]string{"403": "cross-origin", "413": "request-size", "503": "max-running"}
	told := func(t *testing.T, res *http.Response, body string) (why, limit string) {
		t.Helper()
		var one map[string]any
		if err := json.Unmarshal([]byte(body), &one); err != nil || res.Header.Get("Content-Type") != "application/json" || len(one) != 2 {
			t.Fatalf("%d as %s: %s", res.StatusCode, res.Header.Get("Content-Type"), body)
		}
		why, _ = one["error"].(string)
		limit, _ = one["limit"].(string)
		return why, limit
	}
	for name, ask := range refused(s) {
		t.Run(name, func(t *testing.T) {
			page, _ := ask(t)
			res, body := ask(t, "Accept", "application/json")
			if why, limit := told(t, res, body); res.StatusCode != page.StatusCode || limit != limits[name] || !strings.Contains(why, ". ") || !strings.HasSuffix(why, ".") {
				t.Errorf("%d instead of %d: %q, limit %q; want %q", res.StatusCode, page.StatusCode, why, limit, limits[name])
			}
			res, body = ask(t, "Accept", "application/json", "Accept-Language", "zh")
			if chinese, _ := told(t, res, body); !strings.Contains(chinese, "。") || strings.Contains(chinese, ". ") {
				t.Errorf("in Chinese: %q", chinese)
			}
			if browser, _ := ask(t, "Accept", "text/html,application/xhtml+xml,application/json;q=0.5"); !strings.HasPrefix(browser.Header.Get("Content-Type"), "text/html") {
				t.Errorf("a browser gets %s", browser.Header.Get("Content-Type"))
			}
		})
	}
	t.Run("mistakes in a scenario", func(t *testing.T) {
		res, body := s.Do(t, http.MethodPost, "/runs", url.Values{"yaml": {"threads: 7\nlock: {lease: x}"}}, "Accept", "application/json")
		if why, limit := told(t, res, body); res.StatusCode != http.StatusUnprocessableEntity || limit != "" ||
			!strings.HasPrefix(why, "That cannot be run. Line ") || !strings.Contains(why, "Line 1, threads: ") || !strings.Contains(why, "Line 2, lock.lease: ") {
			t.Errorf("%d: %q", res.StatusCode, why)
		}
	})
}
