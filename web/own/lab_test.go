package own_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"relock/engine/outside/lab"
	"relock/engine/racetest"
	"relock/lessons"
	"relock/web"
	"relock/web/labs"
	"relock/web/runs"
	"relock/web/webtest"
)

// A sign of any proxy means that a request over loopback comes from elsewhere.
func TestNoLabThroughAProxy(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	start := func(ctx context.Context, o lab.Options) (lab.Desk, error) { return lab.Steer(ctx, o) }
	s := webtest.Open(t, func(c *web.Config) {
		webtest.AsPublic(t, "https://relock.example.org")(c)
		c.Lab = web.LabConfig{Start: start, Limits: labs.DefaultLimits()}
	})
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, c := range map[string]struct {
		change func(*http.Request)
		may    bool
	}{
		"a browser":               {header("User-Agent", "Mozilla/5.0"), true},
		"its own page":            {header("Origin", "http://localhost:8080"), true},
		"by an address":           {func(r *http.Request) { r.Host, r.RemoteAddr = "[::1]:8080", "[::1]:4000" }, true},
		"with a dot":              {func(r *http.Request) { r.Host = "LocalHost.:8080" }, true},
		"from another machine":    {func(r *http.Request) { r.RemoteAddr = "192.0.2.7:4000" }, false},
		"by its public name":      {func(r *http.Request) { r.Host = "relock.example.org" }, false},
		"nginx, told nothing":     {func(r *http.Request) { r.Proto, r.ProtoMinor, r.Close = "HTTP/1.0", 0, true }, false},
		"nginx, told HTTP/1.1":    {func(r *http.Request) { r.Close = true }, false},
		"a form under a name":     {header("Origin", "https://relock.example.org"), false},
		"X-Real-IP":               {header("X-Real-IP", "192.0.2.7"), false},
		"X-Real-IP of loopback":   {header("X-Real-IP", "127.0.0.1"), false},
		"Via":                     {header("Via", "1.1 proxy"), false},
		"X-Forwarded-For":         {header("X-Forwarded-For", ""), false},
		"X-Forwarded-Host":        {header("X-Forwarded-Host", "relock.example.org"), false},
		"X-Forwarded-Proto":       {header("X-Forwarded-Proto", "https"), false},
		"X-Forwarded-Server":      {header("X-Forwarded-Server", "web1"), false},
		"Forwarded":               {header("Forwarded", "proto=https"), false},
		"True-Client-IP":          {header("True-Client-IP", "192.0.2.7"), false},
		"CF-Connecting-IP":        {header("CF-Connecting-IP", "192.0.2.7"), false},
		"X-Client-IP":             {header("X-Client-IP", "192.0.2.7"), false},
		"X-Cluster-Client-IP":     {header("X-Cluster-Client-IP", "192.0.2.7"), false},
		"X-ProxyUser-Ip":          {header("X-ProxyUser-Ip", "192.0.2.7"), false},
		"X-Azure-ClientIP":        {header("X-Azure-ClientIP", "192.0.2.7"), false},
		"X-Envoy-External-Addr…":  {header("X-Envoy-External-Address", "192.0.2.7"), false},
		"X-Original-Forwarded-F…": {header("X-Original-Forwarded-For", "192.0.2.7"), false},
		"CDN-Loop":                {header("CDN-Loop", "cdn"), false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/lab", nil)
		r.RemoteAddr, r.Host = "127.0.0.1:4000", "localhost:8080"
		c.change(r)
		w := httptest.NewRecorder()
		s.Web.ServeHTTP(w, r)
		if may := strings.Contains(w.Body.String(), `name="threads"`); w.Code != http.StatusOK || may != c.may || may == strings.Contains(w.Body.String(), "not directly") {
			t.Errorf("%s: %d, may open a lab: %v", name, w.Code, may)
		}
	}
}

// A lab is for visitors on this machine, unless its operator says otherwise.
func TestWhoMayOpenALab(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	start := func(ctx context.Context, o lab.Options) (lab.Desk, error) { return lab.Steer(ctx, o) }
	limits := labs.Limits{Open: 2, OpenAddress: 1, Idle: time.Minute}
	proxy := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	form := url.Values{"threads": {"2"}}
	for _, c := range []struct {
		name    string
		of      web.LabConfig
		proxies []netip.Prefix
		from    string // X-Forwarded-For
		form    url.Values
		status  int
		says    string
	}{
		{"from this machine", web.LabConfig{Start: start, Limits: limits}, nil, "", form, http.StatusSeeOther, ""},
		{"from elsewhere", web.LabConfig{Start: start, Limits: limits}, proxy, "192.0.2.7", form, http.StatusForbidden, "you are not on it"},
		{"through a proxy that nobody knows", web.LabConfig{Start: start, Limits: limits}, nil, "192.0.2.7", form, http.StatusForbidden, "you are not on it"},
		{"from elsewhere, where everybody may", web.LabConfig{Start: start, Limits: limits, Anyone: true}, proxy, "192.0.2.7", form, http.StatusSeeOther, ""},
		{"without labs", web.LabConfig{}, nil, "", form, http.StatusForbidden, "This server has no lab."},
		{"with seven threads", web.LabConfig{Start: start, Limits: limits}, nil, "", url.Values{"threads": {"7"}, "key": {"k"}}, http.StatusUnprocessableEntity, "allowed: 1 to 6"},
		{"with one key for both", web.LabConfig{Start: start, Limits: limits}, nil, "", url.Values{"threads": {"2"}, "key": {"k"}, "resource": {"k"}}, http.StatusUnprocessableEntity, "two keys"},
		{"with no number", web.LabConfig{Start: start, Limits: limits}, nil, "", url.Values{"threads": {"two"}}, http.StatusUnprocessableEntity, "allowed: 1 to 6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := web.New(web.Config{Log: slog.New(slog.DiscardHandler), Limits: runs.DefaultLimits(), Scenarios: lessons.Scenarios(), Lab: c.of, Proxies: c.proxies})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			ask := func(method, path string, form url.Values) *httptest.ResponseRecorder {
				r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
				r.RemoteAddr, r.Host = "127.0.0.1:4000", "localhost"
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				if c.from != "" {
					r.Header.Set("X-Forwarded-For", c.from)
				}
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				return w
			}
			w := ask(http.MethodPost, "/lab", c.form)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
				t.Fatalf("it answers %d, %.0s; want %d, %q", w.Code, w.Body, c.status, c.says)
			}
			if door := ask(http.MethodGet, "/lab", nil); door.Code != http.StatusOK || (c.status == http.StatusForbidden) == strings.Contains(door.Body.String(), `name="threads"`) {
				t.Errorf("its door answers %d", door.Code)
			}
			if c.status != http.StatusSeeOther {
				return
			}
			at := w.Header().Get("Location")
			if page := ask(http.MethodGet, at, nil); page.Code != http.StatusOK || !strings.Contains(page.Body.String(), "REDIS_URL=redis://") {
				t.Errorf("%s answers %d", at, page.Code)
			}
			if trace := ask(http.MethodGet, at+"/trace?branch=0", nil); trace.Code != http.StatusOK || !strings.Contains(trace.Body.String(), `"store":"lab"`) {
				t.Errorf("its trace is %d, %s", trace.Code, trace.Body)
			}
			if file := ask(http.MethodGet, at+"/export?branch=0&format=md", nil); file.Code != http.StatusOK || strings.Contains(file.Body.String(), "/play#") { // its scenario is a frame
				t.Errorf("its table is %d, %s", file.Code, file.Body)
			}
			for _, none := range []string{"/lab/x", at + "/trace?branch=1", at + "/trace", at + "/export?branch=z&format=md"} {
				if got := ask(http.MethodGet, none, nil); got.Code != http.StatusNotFound {
					t.Errorf("%s answers %d", none, got.Code)
				}
			}
			if again := ask(http.MethodPost, "/lab", c.form); again.Code != http.StatusTooManyRequests && again.Code != http.StatusServiceUnavailable || !strings.Contains(again.Body.String(), "close one") {
				t.Errorf("a second lab: %d, %s", again.Code, again.Body)
			}
		})
	}
}
