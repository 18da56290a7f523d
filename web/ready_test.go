package web_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"relock/web"
	"relock/web/webtest"
)

// unzipped is what gzip has made of a text.
func unzipped(t *testing.T, body string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A page that is the same for all is made once for each language and theme, however many
// ask, and is the same plain and compressed.
func TestAPageForAllIsMadeOnce(t *testing.T) {
	s := webtest.Open(t, nil)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for _, language := range []string{"en", "zh"} {
				if res, body := s.Do(t, http.MethodGet, "/scenarios", nil, "Accept-Language", language, "Accept-Encoding", "identity"); res.StatusCode != http.StatusOK || !strings.Contains(body, `<html lang="`+language) {
					t.Errorf("%s: %d", language, res.StatusCode)
				}
			}
		})
	}
	all.Wait()
	if n := web.Made(s.Web); n != 2 {
		t.Errorf("made %d times, want once a language", n)
	}
	plain, text := s.Sent(t, http.MethodGet, "/scenarios", nil, "Accept-Encoding", "identity")
	for encoding, packed := range map[string]bool{"gzip": true, "br, gzip;q=0.5, zstd": true, "gzip;q=0": false, "br": false} {
		res, body := s.Sent(t, http.MethodGet, "/scenarios", nil, "Accept-Encoding", encoding)
		if got := res.Header.Get("Content-Encoding"); (got == "gzip") != packed {
			t.Errorf("%q is answered in %q", encoding, got)
			continue
		}
		if packed {
			body = unzipped(t, body)
		}
		if body != text || res.Header.Get("Content-Type") != plain.Header.Get("Content-Type") || !strings.Contains(strings.Join(res.Header.Values("Vary"), ","), "Accept-Encoding") {
			t.Errorf("%q has another page, or other headers: %v", encoding, res.Header)
		}
	}
	if res, body := s.Do(t, http.MethodHead, "/scenarios", nil, "Accept-Encoding", "identity"); res.ContentLength != int64(len(text)) || body != "" {
		t.Errorf("HEAD: %d bytes, %q", res.ContentLength, body)
	}
	if n := web.Made(s.Web); n != 2 {
		t.Errorf("made %d times", n)
	}
	// A visitor's own theme is another page, and so is one that the address asks for.
	if _, dark := s.Do(t, http.MethodGet, "/scenarios", nil, "Cookie", "relock-theme=dark"); !strings.Contains(dark, `data-theme="dark"`) {
		t.Error("the theme of a cookie is not shown")
	}
	if _, asked := s.Do(t, http.MethodGet, "/scenarios?theme=dark&x=1", nil); !strings.Contains(asked, `data-theme="dark"`) || !strings.Contains(asked, "x=1") {
		t.Error("what the address asks for is not shown")
	}
	if n := web.Made(s.Web); n != 3 {
		t.Errorf("made %d times, want once more for a theme", n)
	}
}

// A file has what it had: its type, its tag, its parts, and nothing where there
// is none.
func TestAFileForAllIsAFile(t *testing.T) {
	s := webtest.Open(t, nil)
	const path = "/static/js/app.js"
	_, text := s.Do(t, http.MethodGet, path, nil, "Accept-Encoding", "identity")
	for range 2 {
		res, body := s.Do(t, http.MethodGet, path, nil, "Accept-Encoding", "gzip")
		if unzipped(t, body) != text || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/javascript") || res.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%v", res.Header)
		}
		if again, _ := s.Do(t, http.MethodGet, path, nil, "If-None-Match", res.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
			t.Errorf("with its tag: %d", again.StatusCode)
		}
	}
	if res, part := s.Do(t, http.MethodGet, path, nil, "Range", "bytes=0-9"); res.StatusCode != http.StatusPartialContent || part != text[:10] {
		t.Errorf("a part: %d, %q", res.StatusCode, part)
	}
	if res, _ := s.Do(t, http.MethodGet, "/static/js/nothing.js", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("a file that there is not: %d", res.StatusCode)
	}
	if n := web.Made(s.Web); n != 1 {
		t.Errorf("%d files are kept, want the one that there is", n)
	}
}
