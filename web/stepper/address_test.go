package stepper_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"relock/lessons"
	"relock/web"
	"relock/web/runs"
	door "relock/web/site"
	"relock/web/webtest"
)

// The visitor is the one whom the last trusted proxy has seen. Whatever a visitor writes
// into the headers changes nothing.
func TestWhoAsksBehindProxies(t *testing.T) {
	proxies, err := door.ParseProxies("10.0.0.0/8, 127.0.0.1 ,2001:db8:1::/48,")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s, err := web.New(web.Config{Log: slog.New(slog.NewJSONHandler(&log, nil)), Limits: runs.DefaultLimits(), Scenarios: lessons.Scenarios(), Proxies: proxies})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	const visitor = "198.51.100.7"
	for _, c := range []struct {
		name, peer string
		headers    [][2]string
		want       string
	}{
		{"no proxy", visitor + ":9", nil, visitor},
		{"a visitor who writes the header", visitor + ":9", [][2]string{{"X-Forwarded-For", "10.0.0.1"}, {"Forwarded", "for=10.0.0.1"}}, visitor},
		{"a proxy", "10.0.0.1:9", [][2]string{{"X-Forwarded-For", visitor}}, visitor},
		{"a proxy that tells nothing", "10.0.0.1:9", nil, "10.0.0.1"},
		{"two proxies", "10.0.0.1:9", [][2]string{{"X-Forwarded-For", visitor + ", 10.0.0.2"}}, visitor},
		{"two proxies, two lines", "10.0.0.1:9", [][2]string{{"X-Forwarded-For", visitor}, {"X-Forwarded-For", "10.0.0.2"}}, visitor},
		{"a visitor who claims another", "10.0.0.1:9", [][2]string{{"X-Forwarded-For", "203.0.113.1, " + visitor}}, visitor},
		{"a visitor who claims a proxy", "10.0.0.1:9", [][2]string{{"X-Forwarded-For", "203.0.113.1, 10.9.9.9, " + visitor}}, visitor},
		{"a visitor who claims in a line of its own", "10.0.0.1:9", [][2]string{{"X-Forwarded-For", "203.0.113.1"}, {"X-Forwarded-For", visitor}}, visitor},
		{"proxies alone", "10.0.0.1:9", [][2]string{{"X-Forwarded-For", "10.0.0.3, 10.0.0.2"}}, "10.0.0.3"},
		{"rubbish", "10.0.0.1:9", [][2]string{{"X-Forwarded-For", visitor + ", unknown"}}, "10.0.0.1"},
		{"rubbish before a visitor", "10.0.0.1:9", [][2]string{{"X-Forwarded-For", "<script>, " + visitor}}, visitor},
		{"an empty header", "10.0.0.1:9", [][2]string{{"X-Forwarded-For", ""}}, "10.0.0.1"},
		{"with a port", "10.0.0.1:9", [][2]string{{"X-Forwarded-For", visitor + ":4711"}}, visitor},
		{"mapped", "[::ffff:10.0.0.1]:9", [][2]string{{"X-Forwarded-For", "::ffff:" + visitor}}, visitor},
		{"version 6", "[2001:db8:1::5]:9", [][2]string{{"X-Forwarded-For", "2001:db8:7:8:1:2:3:4"}}, "2001:db8:7:8::/64"},
		{"version 6 at the door", "[2001:db8:7:8:9::]:9", nil, "2001:db8:7:8::/64"},
		{"this machine", "[::1]:9", nil, "::1"},
		{"the standard header", "127.0.0.1:9", [][2]string{{"Forwarded", "for=" + visitor + ";proto=https;by=10.0.0.1"}}, visitor},
		{"the standard header, quoted", "127.0.0.1:9", [][2]string{{"Forwarded", `Proto=https; For="[2001:db8:7:8::1]:4711"`}}, "2001:db8:7:8::/64"},
		{"the standard header, spoofed", "127.0.0.1:9", [][2]string{{"Forwarded", "for=203.0.113.1, for=" + visitor}}, visitor},
		{"the standard header, hidden", "127.0.0.1:9", [][2]string{{"Forwarded", "for=203.0.113.1, for=_hidden"}}, "127.0.0.1"},
		{"both, of one mind", "127.0.0.1:9", [][2]string{{"Forwarded", "for=" + visitor}, {"X-Forwarded-For", visitor}}, visitor},
		{"both, one of them the visitor's", "127.0.0.1:9", [][2]string{{"Forwarded", "for=203.0.113.1"}, {"X-Forwarded-For", visitor}}, "127.0.0.1"},
	} {
		log.Reset()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", nil)
		r.RemoteAddr = c.peer
		for _, h := range c.headers {
			r.Header.Add(h[0], h[1])
		}
		s.ServeHTTP(httptest.NewRecorder(), r)
		var line struct{ From string }
		if err := json.Unmarshal(log.Bytes(), &line); err != nil || line.From != c.want {
			t.Errorf("%s: %q, want %q (%v)", c.name, line.From, c.want, err)
		}
	}
}

// Limits count the visitors of a proxy one by one.
func TestVisitorsOfAProxyAreCountedOneByOne(t *testing.T) {
	proxies, err := door.ParseProxies("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	s := webtest.Open(t, func(c *web.Config) { c.Proxies, c.Limits.StartsPerMinute = proxies, 1 })
	for _, c := range []struct {
		from string
		want int
	}{
		{"198.51.100.1", http.StatusSeeOther},
		{"198.51.100.1", http.StatusTooManyRequests},
		{"203.0.113.9, 198.51.100.1", http.StatusTooManyRequests},
		{"198.51.100.2", http.StatusSeeOther},
	} {
		if res, _ := s.Do(t, http.MethodPost, "/runs", webtest.TwoThreads(), "X-Forwarded-For", c.from); res.StatusCode != c.want {
			t.Errorf("from %s: %d, want %d", c.from, res.StatusCode, c.want)
		}
	}
}
