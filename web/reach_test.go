package web_test

import (
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"relock/web"
	"relock/web/webtest"
)

// A page that was opened as localhost says that its links go no further, and
// offers what does.
func TestAPageSaysHowFarItsLinksGo(t *testing.T) {
	t.Parallel()
	const alone = "A link with localhost opens only on this computer."
	for _, c := range []struct {
		name          string
		listening     net.IP
		public, host  string
		says, offered bool
	}{
		{"on this machine alone", net.IPv4(127, 0, 0, 1), "", "localhost:8080", true, false},
		{"everywhere", net.IPv6unspecified, "", "127.0.0.1:8080", true, true},
		{"with a public address", net.IPv4zero, "https://relock.example.org", "localhost:8080", false, false},
		{"asked for by it", net.IPv4zero, "https://relock.example.org", "relock.example.org", false, false},
	} {
		s := webtest.Open(t, func(conf *web.Config) {
			if c.public != "" {
				webtest.AsPublic(t, c.public)(conf)
			}
			conf.Listening = &net.TCPAddr{IP: c.listening, Port: 8080}
		})
		_, body := s.Ask(t, http.MethodGet, "/play", c.host, nil)
		if strings.Contains(body, alone) != c.says {
			t.Errorf("%s: says that links open here alone: %v", c.name, !c.says)
		}
		m := regexp.MustCompile(`data-origin="([^"]+)"`).FindStringSubmatch(body)
		if addresses, _ := net.InterfaceAddrs(); len(addresses) < 2 {
			continue // a machine without a network
		}
		if (m != nil) != c.offered {
			t.Errorf("%s: it offers %v", c.name, m)
			continue
		}
		if m == nil {
			continue
		}
		if u, err := url.Parse(m[1]); err != nil || u.Port() != "8080" || net.ParseIP(u.Hostname()) == nil || net.ParseIP(u.Hostname()).IsLoopback() {
			t.Errorf("%s: it offers %q", c.name, m[1])
		}
		if res, _ := s.Ask(t, http.MethodGet, "/qr?text="+url.QueryEscape(m[1]+"/play"), c.host, nil); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s is no QR code: %d", c.name, m[1], res.StatusCode)
		}
	}
}
