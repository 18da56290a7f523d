package load_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"regexp"
	"testing"

	"relock/engine/racetest"
	"relock/web/webtest"
)

// zipped is how many bytes a text has as gzip.
func zipped(t *testing.T, text string) int {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Len()
}

// fileOf matches a style sheet or a script that a page begins with.
var fileOf = regexp.MustCompile(`<link rel="(?:stylesheet|modulepreload)" href="([^"]+)"`)

// TestWhatAPageCosts counts the bytes of a page's scripts and styles, each compressed by
// itself, of a browser's first page and of one that comes after it.
func TestWhatAPageCosts(t *testing.T) {
	racetest.Skip(t)
	const (
		first  = 91_000 // /play, which has the most of all pages
		second = 8_000  // any page after /play
	)
	s := webtest.Open(t, nil)
	// cost is that of what a browser does not have of a page yet.
	cost := func(page string, has map[string]bool) int {
		t.Helper()
		_, body := s.Do(t, http.MethodGet, page, nil)
		files := fileOf.FindAllStringSubmatch(body, -1)
		if len(files) == 0 {
			t.Fatalf("%s has no style sheet", page)
		}
		all := 0
		for _, m := range files {
			if has[m[1]] {
				continue
			}
			has[m[1]] = true
			res, text := s.Do(t, http.MethodGet, m[1], nil)
			if res.StatusCode != http.StatusOK || res.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
				t.Errorf("%s: %s: %d, %v", page, m[1], res.StatusCode, res.Header)
			}
			all += zipped(t, text)
		}
		return all
	}
	had := map[string]bool{}
	if n := cost("/play", had); n > first {
		t.Errorf("/play has %d bytes, at most %d are allowed", n, first)
	} else {
		t.Logf("/play: %d bytes", n)
	}
	_, text := s.Do(t, http.MethodGet, "/learn", nil)
	lesson := regexp.MustCompile(`/learn/[\w-]+/[\w-]+`).FindString(text)
	for _, page := range []string{"/", "/play", "/scenarios", "/locks", "/incidents", "/glossary", "/about", "/api", "/edit", "/lab", "/learn", lesson, "/learn/class", "/room", "/room/new", "/embed/play", "/nowhere"} {
		n := cost(page, maps.Clone(had))
		t.Logf("%s after /play: %d bytes", page, n)
		if n > second {
			t.Errorf("%s has %d bytes after /play, at most %d are allowed", page, n, second)
		}
	}
}
