package web_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"relock/engine/racetest"
	"relock/web"
	door "relock/web/site"
	"relock/web/webtest"
)

// A name that somebody else has made to point here opens nothing.
func TestForeignNamesAreRefused(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.Open(t, webtest.AsPublic(t, "https://Relock.example.org:8443/"))
	for host, own := range map[string]bool{
		s.Listener.Addr().String(): true, "127.0.0.1": true, "127.0.0.1:9": true, "[::1]:8080": true, "localhost:8080": true,
		"LOCALHOST": true, "localhost.": true,
		"relock.example.org": true, "Relock.Example.org:8443": true,
		"evil.com": false, "evil.com:8080": false, "localhost.evil.com": false, "relock.example.org.evil.com": false,
		"127.0.0.1.evil.com": false, "192.0.2.7": false, "192.0.2.7:8080": false, "[2001:db8::1]:80": false, "0.0.0.0": false, "2130706433": false,
		"xlocalhost": false, "evil.localhost": false, "evil.localhost.:8080": false, "localhost..": false,
	} {
		for _, c := range []struct {
			method, path string
			form         url.Values
			well         int
		}{
			{http.MethodGet, "/", nil, http.StatusOK},
			{http.MethodGet, "/static/js/app.js", nil, http.StatusOK},
			{http.MethodPost, "/runs", webtest.TwoThreads(), http.StatusSeeOther},
		} {
			want := http.StatusMisdirectedRequest
			if own {
				want = c.well
			}
			res, body := s.Ask(t, c.method, c.path, host, c.form)
			if res.StatusCode != want || !own && !strings.Contains(body, "-public-url") {
				t.Errorf("%s %s of %s: %d, want %d", c.method, c.path, host, res.StatusCode, want)
			}
		}
		for _, origin := range []string{"", "http://" + host} {
			head := http.Header{"Host": {host}}
			if origin != "" {
				head.Set("Origin", origin)
			}
			conn, res, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+"/play/socket", head)
			switch {
			case own && err != nil:
				t.Errorf("a socket of %s from %q: %v", host, origin, err)
			case own:
				_ = conn.Close()
			case err == nil || res.StatusCode != http.StatusMisdirectedRequest:
				t.Errorf("a socket of %s from %q: %v", host, origin, err)
			}
		}
	}
	if res, body := s.Ask(t, http.MethodGet, "/", "evil.com", nil, "Accept-Language", "zh"); res.StatusCode != http.StatusMisdirectedRequest || !strings.Contains(body, "这台服务器不叫这个名字") {
		t.Errorf("in Chinese: %d\n%s", res.StatusCode, body)
	}
	if res, _ := s.Ask(t, http.MethodGet, "/healthz", "pod-7", nil); res.StatusCode != http.StatusOK {
		t.Errorf("a health check under another name gets %d", res.StatusCode)
	}
	plain := webtest.Open(t, nil)
	if res, _ := plain.Ask(t, http.MethodGet, "/", "relock.example.org", nil); res.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("a name that is public elsewhere: %d", res.StatusCode)
	}
}

// Browsers are told to come encrypted where this server itself is, by the name
// that visitors know.
func TestBrowsersAreToldToComeEncrypted(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	for _, c := range []struct {
		public, host string
		serves, came bool // encrypted
		want         bool
	}{
		{"https://relock.example.org", "relock.example.org", true, true, true},
		{"https://relock.example.org:8443", "Relock.example.org:8443", true, true, true},
		{"https://relock.example.org", "relock.example.org", false, false, false}, // a proxy may say so, or not
		{"https://relock.example.org", "relock.example.org", true, false, false},
		{"https://relock.example.org", "127.0.0.1", true, true, false},
		{"https://relock.example.org", "localhost", true, true, false},
		{"https://relock.example.org", "evil.com", true, true, false},
		{"https://192.0.2.7", "192.0.2.7", true, true, false},
		{"https://localhost", "localhost", true, true, false},
	} {
		s := webtest.Open(t, func(config *web.Config) {
			webtest.AsPublic(t, c.public)(config)
			if c.serves {
				config.Secure = &tls.Config{MinVersion: tls.VersionTLS12}
			}
		})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", nil)
		if r.Host = c.host; c.came {
			r.TLS = &tls.ConnectionState{}
		}
		w := httptest.NewRecorder()
		s.Web.ServeHTTP(w, r)
		want := ""
		if c.want {
			want = "max-age=31536000"
		}
		if got := w.Header().Get("Strict-Transport-Security"); got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}

func TestPublicURLs(t *testing.T) {
	racetest.Skip(t)
	for text, want := range map[string]string{
		"https://relock.example.org": "https://relock.example.org", "http://192.168.1.5:8080/": "http://192.168.1.5:8080",
		"HTTPS://Relock.Example.org": "https://relock.example.org", "http://[fd00::1]:80": "http://[fd00::1]:80",
		"": "", "relock.example.org": "", "relock.example.org:8080": "", "ftp://x": "", "https://": "", "https://x/play": "",
		"https://me@x": "", "https://x?y": "", "https://x?": "", "https://x#y": "", "https://x y": "",
	} {
		got, err := door.ParsePublicURL(text)
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%q is %v, %v; want %q", text, got, err, want)
		}
	}
}

// Requests from other sites' pages are refused in the visitor's language, and counted.
func TestOtherSitesAreToldWhy(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	for language, want := range map[string]string{"en": "A page of another site sent this", "zh": "这是别的网站的页面发来的"} {
		res, body := s.Do(t, http.MethodPost, "/runs", webtest.TwoThreads(), "Origin", "https://evil.com", "Accept-Language", language)
		if res.StatusCode != http.StatusForbidden || !strings.Contains(body, want) {
			t.Errorf("a form, %s: %d\n%s", language, res.StatusCode, body)
		}
		head := http.Header{"Origin": {"https://evil.com"}, "Accept-Language": {language}}
		_, res, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+"/play/socket", head)
		if err == nil || res.StatusCode != http.StatusForbidden {
			t.Fatalf("a socket, %s: %v", language, err)
		}
		part, _ := io.ReadAll(res.Body) // the client keeps the beginning alone
		if !strings.HasPrefix(string(part), "<!doctype html>") {
			t.Errorf("a socket, %s: %s", language, part)
		}
	}
	if n := s.Metric(t, `relock_refusals_total{limit="cross-origin"}`); n != "4" {
		t.Errorf("%q refusals counted", n)
	}
	if res, body := s.Do(t, http.MethodGet, "/play/socket", nil); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "Only a websocket") {
		t.Errorf("no handshake: %d\n%s", res.StatusCode, body)
	}
}

// A proxy that passes on another Host than the visitor's takes nothing from
// the visitor: the public address says whose pages may ask.
func TestBehindAProxyThatChangesTheHost(t *testing.T) {
	racetest.Skip(t)
	const public = "https://relock.example.org"
	s := webtest.Open(t, webtest.AsPublic(t, public))
	for origin, want := range map[string]int{public: http.StatusSeeOther, "https://evil.com": http.StatusForbidden, "http://relock.example.org": http.StatusForbidden} {
		if res, _ := s.Do(t, http.MethodPost, "/runs", webtest.TwoThreads(), "Origin", origin); res.StatusCode != want {
			t.Errorf("a form from %s: %d, want %d", origin, res.StatusCode, want)
		}
	}
	conn, _, err := s.Dial(t, "/play", 0, http.Header{"Origin": {public}})
	if err != nil {
		t.Fatalf("a socket from %s: %v", public, err)
	}
	_ = conn.Close()
	res, body := s.Do(t, http.MethodGet, "/oembed?url="+url.QueryEscape(public+"/play"), nil)
	if res.StatusCode != http.StatusOK || !strings.Contains(body, public+"/embed/play") {
		t.Errorf("oEmbed: %d\n%s", res.StatusCode, body)
	}
	if res, body = s.Do(t, http.MethodGet, "/oembed?url="+url.QueryEscape(s.URL+"/play"), nil); !strings.Contains(body, public+"/embed/play") {
		t.Errorf("oEmbed of the other name: %d\n%s", res.StatusCode, body)
	}
	if _, body = s.Do(t, http.MethodGet, "/play", nil); !strings.Contains(body, `property="og:url" content="`+public+`/play"`) || !strings.Contains(body, `data-site="`+public+`"`) {
		t.Error("the page does not say its public address")
	}
	if res, _ = s.Do(t, http.MethodGet, "/qr?text="+url.QueryEscape(public+"/play"), nil); res.StatusCode != http.StatusOK {
		t.Errorf("the public address as a QR code: %d", res.StatusCode)
	}
	res, _ = s.Ask(t, http.MethodGet, "/?lang=zh", "relock.example.org", nil)
	if cookies := res.Cookies(); len(cookies) == 0 || !cookies[0].Secure {
		t.Errorf("cookies of an encrypted site: %v", cookies)
	}
	if res, _ = s.Do(t, http.MethodGet, "/?lang=zh", nil); len(res.Cookies()) == 0 || res.Cookies()[0].Secure {
		t.Errorf("cookies of the plain name: %v", res.Cookies())
	}
}

// The headers say what other sites may do with what is here.
func TestOtherSitesAreKeptApart(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	for path, want := range map[string][4]string{ // COOP, CORP, COEP, who may frame it
		"/":                        {"same-origin", "same-origin", "", "frame-ancestors 'self'"},
		"/play":                    {"same-origin", "same-origin", "", "frame-ancestors 'self'"},
		"/nowhere":                 {"same-origin", "same-origin", "", "frame-ancestors 'self'"},
		"/oembed":                  {"same-origin", "same-origin", "", "frame-ancestors 'self'"},
		"/static/js/app.js":        {"", "cross-origin", "", "frame-ancestors 'self'"},
		"/embed/play":              {"", "cross-origin", "require-corp", "frame-ancestors * file:"},
		"/embed/play/lease-expiry": {"", "cross-origin", "require-corp", "frame-ancestors * file:"},
	} {
		res, _ := s.Do(t, http.MethodGet, path, nil)
		got := [4]string{
			res.Header.Get("Cross-Origin-Opener-Policy"), res.Header.Get("Cross-Origin-Resource-Policy"),
			res.Header.Get("Cross-Origin-Embedder-Policy"), want[3],
		}
		if got != want || !strings.HasSuffix(res.Header.Get("Content-Security-Policy"), want[3]) {
			t.Errorf("%s: %v, want %v; policy %s", path, got, want, res.Header.Get("Content-Security-Policy"))
		}
	}
}
