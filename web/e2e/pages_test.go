package e2e_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// paths are those of all kinds of pages that need nothing before them.
var paths = []string{
	"/", "/scenarios", "/locks", "/incidents", "/incidents/bitnami-5418", "/glossary", "/about", "/api", "/nowhere",
	"/edit", "/play", "/play/lease-expiry", "/embed/play/lease-expiry", "/lab", "/room", "/room/new", "/room/new?from=lease-expiry",
	"/learn", "/learn/class", "/learn/trouble/last-one", "/learn/trouble/sell-it-twice", "/learn/trouble/one-at-a-time",
}

// site is a server with pages of every kind, seen through a proxy.
type site struct {
	url   string
	paths []string

	mu        sync.Mutex
	requested []string        // paths of what was asked for, beside pages
	bare      map[string]bool // pages that are to say nothing of their scripts beforehand
}

// preloaded matches how a page says beforehand which scripts it needs.
var preloaded = regexp.MustCompile(`<link rel="modulepreload" href="([^"]+)" fetchpriority="low">`)

// everyPage serves the site, with a run and a room in it.
func everyPage(t testing.TB) *site {
	t.Helper()
	server := serve(t)
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{bare: map[string]bool{}}
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host
			r.Out.Header.Del("Accept-Encoding")
			s.mu.Lock()
			defer s.mu.Unlock()
			s.requested = append(s.requested, r.In.URL.Path)
		},
		ErrorLog: log.New(io.Discard, "", 0), // of pages that were left
		ModifyResponse: func(res *http.Response) error {
			s.mu.Lock()
			bare := s.bare[res.Request.URL.RequestURI()]
			s.mu.Unlock()
			if !bare {
				return nil
			}
			text, err := io.ReadAll(res.Body)
			if err != nil {
				return err
			}
			text = preloaded.ReplaceAll(text, nil)
			res.Body = io.NopCloser(strings.NewReader(string(text)))
			res.Header.Set("Content-Length", strconv.Itoa(len(text)))
			return nil
		},
	})
	t.Cleanup(front.Close)
	s.url = front.URL
	run, err := url.Parse(played(t, server, "lease-expiry"))
	if err != nil {
		t.Fatal(err)
	}
	_, room := makeRoom(t, front.URL, "lease-expiry")
	room = strings.TrimPrefix(room, front.URL)
	s.paths = append(slices.Clone(paths), run.Path, room, room+"/stage", "/play/lease-expiry?room="+room[strings.LastIndex(room, "/")+1:])
	return s
}

// asked returns what was asked for since.
func (s *site) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.requested
	s.requested = nil
	return list
}

// loaded waits until a page's scripts have run, and returns the paths of those that it
// has loaded.
func loaded(ctx context.Context, t testing.TB, preloads []string) []string {
	t.Helper()
	// Waiting for a module that is there waits for all that it needs.
	for _, path := range preloads {
		if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](fmt.Sprintf(`import(%q).then(() => true)`, path), chromedp.EvalAwaitPromise)); err != nil {
			t.Fatal(path, ": ", err)
		}
	}
	list := get[[]string](ctx, t, `performance.getEntriesByType("resource").map((e) => new URL(e.name).pathname).filter((path) => path.endsWith(".js"))`)
	slices.Sort(list)
	return slices.Compact(list)
}

// TestAPageLoadsItsOwnModules looks at what a page loads that says nothing of its scripts
// beforehand: that is what it has to say, or the browser loads too much, or waits for one
// script to learn of the next.
func TestAPageLoadsItsOwnModules(t *testing.T) {
	t.Parallel()
	s := everyPage(t)
	ctx := tab(t)
	for _, path := range s.paths {
		var said []string
		for _, m := range preloaded.FindAllStringSubmatch(fetched(t, s.url+path), -1) {
			said = append(said, m[1])
		}
		s.mu.Lock()
		s.bare[path] = true
		s.mu.Unlock()
		do(ctx, t, chromedp.Navigate(s.url+path))
		until(ctx, t, `document.readyState === "complete"`)
		scripts := get[[]string](ctx, t, `[...document.querySelectorAll("script[src]")].map((e) => e.getAttribute("src"))`)
		found := loaded(ctx, t, scripts)
		if !slices.Equal(said, found) {
			t.Errorf("%s: it says\n  %s\nand loads\n  %s", path, strings.Join(said, " "), strings.Join(found, " "))
		}
	}
}
