package catalog_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"relock/web/webtest"
)

func TestOEmbed(t *testing.T) {
	s := webtest.Open(t, nil)
	own := webtest.Packed(t, "title: Mine & <yours>\n"+webtest.Scheduled, 2)
	path := s.Short(t, own)
	for _, c := range []struct{ name, address, title, src string }{
		{"an example", "/play/lease-expiry", "The lease ends before the work", "/embed/play/lease-expiry"},
		{"what is opened first", "/play", "Two threads, one reentrant lock", "/embed/play"},
		{"its look and language", "/play/lease-expiry?theme=dark&lang=zh&x=1", "活没干完，租约先到期", "/embed/play/lease-expiry?lang=zh&theme=dark"},
		{"a short link", path, "Mine & <yours>", "/embed" + path},
		{"a link", "/play#" + own, "Mine & <yours>", "/embed/play#" + own},
		{"a link over an example", "/play/lease-expiry#" + own, "Mine & <yours>", "/embed/play/lease-expiry#" + own},
		{"a place on the page", "/play/lease-expiry#row-3", "The lease ends before the work", "/embed/play/lease-expiry"},
		{"without a title", "/play#" + webtest.Packed(t, "threads: [{name: A}]", 0), "Your scenario", ""},
	} {
		status, d, body := s.Oembed(t, url.Values{"url": {s.URL + c.address}}.Encode())
		if status != http.StatusOK || d.Version != "1.0" || d.Type != "rich" || d.Title != c.title || d.Width != 800 || d.Height != 480 || d.Name != "Relock" || d.Site != s.URL+"/" {
			t.Errorf("%s: %d\n%s", c.name, status, body)
			continue
		}
		m := regexp.MustCompile(`^<iframe src="([^"<>]*)" title="([^"<>]*)" loading="lazy" width="800" height="480" sandbox="allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox" referrerpolicy="no-referrer"></iframe>$`).FindStringSubmatch(d.HTML)
		if m == nil || html.UnescapeString(m[2]) != c.title {
			t.Errorf("%s: %s", c.name, d.HTML)
			continue
		}
		src, own := strings.CutPrefix(html.UnescapeString(m[1]), s.URL)
		if !own || c.src != "" && src != c.src {
			t.Errorf("%s: %s, want %s", c.name, m[1], c.src)
		}
		if res, _ := s.Do(t, http.MethodGet, src, nil); res.StatusCode != http.StatusOK || !strings.Contains(res.Header.Get("Content-Security-Policy"), "frame-ancestors *") {
			t.Errorf("%s: its frame: %d", c.name, res.StatusCode)
		}
	}
}

func TestOEmbedSizes(t *testing.T) {
	s := webtest.Open(t, nil)
	for query, want := range map[string][2]int{
		"&format=json": {800, 480}, "&maxwidth=500": {500, 480}, "&maxheight=200": {800, 200}, "&maxwidth=9999&maxheight=9999": {800, 480}, "&maxwidth=1&maxheight=1": {1, 1},
	} {
		status, d, _ := s.Oembed(t, "url="+url.QueryEscape(s.URL+"/play")+query)
		if status != http.StatusOK || d.Width != want[0] || d.Height != want[1] {
			t.Errorf("%s: %d, %d by %d", query, status, d.Width, d.Height)
		}
	}
}

func TestOEmbedRefuses(t *testing.T) {
	s := webtest.Open(t, nil)
	of := func(address string) string { return url.Values{"url": {address}}.Encode() }
	broken := webtest.Packed(t, webtest.Scheduled, 2)
	for _, c := range []struct {
		query  string
		status int
		says   string
	}{
		{"", 404, "under /play and /s"},
		{of(s.URL + "/edit"), 404, "under /play and /s"},
		{of(s.URL + "/play/nowhere"), 404, "under /play and /s"},
		{of(s.URL + "/play/../edit"), 404, "under /play and /s"},
		{of(s.URL + "/s/AAAAAAAAAAA"), 404, "under /play and /s"},
		{of(s.URL + "/embed/play"), 404, "under /play and /s"},
		{of(s.URL + "/play#" + broken[:40]), 404, "under /play and /s"},
		{of(s.URL + "/play#v1.z." + strings.Repeat("A", 100<<10)), 404, "under /play and /s"},
		{of("https://elsewhere.example/play"), 404, "under /play and /s"},
		{of("ftp" + strings.TrimPrefix(s.URL, "http") + "/play"), 404, "under /play and /s"},
		{of("http://me@" + strings.TrimPrefix(s.URL, "http://") + "/play"), 404, "under /play and /s"},
		{of("/play"), 404, "under /play and /s"},
		{of("%"), 404, "under /play and /s"},
		{of(s.URL+"/play") + "&format=xml", 501, "format=json"},
		{of(s.URL+"/play") + "&maxwidth=0", 400, "from 1"},
		{of(s.URL+"/play") + "&maxheight=tall", 400, "from 1"},
	} {
		if status, _, body := s.Oembed(t, c.query); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%.90s: %d, want %d\n%.300s", c.query, status, c.status, body)
		}
	}
}

// Other sites find what they show of a page, and how to frame it, in its head.
func TestPreviews(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	meta := func(body, name string) string {
		m := regexp.MustCompile(`<meta property="og:` + name + `" content="([^"]*)">`).FindStringSubmatch(body)
		if m == nil {
			return ""
		}
		return html.UnescapeString(m[1])
	}
	path := s.Short(t, webtest.Packed(t, "title: Mine & <yours>\n"+webtest.Scheduled, 2))
	for _, c := range []struct{ path, language, title, shows string }{
		{"/play/lease-expiry", "en", "The lease ends before the work", ""},
		{"/play/lease-expiry", "zh", "活没干完，租约先到期", ""},
		{"/play", "en", "Two threads, one reentrant lock", ""},
		{path, "en", "Mine & <yours>", "Goroutines take a real lock"},
	} {
		_, body := s.Do(t, http.MethodGet, c.path, nil, "Accept-Language", c.language)
		if meta(body, "title") != c.title || meta(body, "url") != s.URL+c.path || len(meta(body, "description")) < 20 || !strings.HasPrefix(meta(body, "description"), c.shows) {
			t.Errorf("%s: %q, %q, %q", c.path, meta(body, "title"), meta(body, "description"), meta(body, "url"))
		}
		m := regexp.MustCompile(`<link rel="alternate" type="application/json\+oembed" href="([^"]*)"`).FindStringSubmatch(body)
		if m == nil {
			t.Errorf("%s: nothing says how to frame it", c.path)
			continue
		}
		_, query, _ := strings.Cut(html.UnescapeString(m[1]), "?")
		if status, d, body := s.Oembed(t, query, "Accept-Language", c.language); status != http.StatusOK || d.Title != c.title {
			t.Errorf("%s: %d\n%s", c.path, status, body)
		}
	}
	for _, path := range []string{"/", "/edit", "/embed/play/lease-expiry", "/nowhere", "/play/nowhere"} {
		if _, body := s.Do(t, http.MethodGet, path, nil); strings.Contains(body, "og:title") || strings.Contains(body, "oembed\"") {
			t.Errorf("%s has a preview", path)
		}
	}
}
