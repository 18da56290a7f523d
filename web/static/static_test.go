package static_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"relock/web/static"
)

// most is how many bytes scripts and styles may have, each compressed by
// itself, as a proxy in front of the program sends them.
const most = 88_500

func compressed(t *testing.T, text string) int {
	t.Helper()
	var n counter
	w := gzip.NewWriter(&n)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return int(n)
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// TestScriptsAndStylesAreSmall also sees that scripts come from nowhere else.
func TestScriptsAndStylesAreSmall(t *testing.T) {
	files, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	foreign := regexp.MustCompile(`(?:from|import|import\()\s*["'](?:[^."']|\.\.)|https?://(?:[^w]|w[^w])`)
	all := compressed(t, files.Style(static.Pages))
	t.Logf("styles: %d bytes", all)
	for _, path := range files.Scripts() {
		w := httptest.NewRecorder()
		files.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d", path, w.Code)
		}
		for line := range strings.Lines(w.Body.String()) {
			if foreign.MatchString(line) {
				t.Errorf("%s is not its own: %s", path, line)
			}
		}
		all += compressed(t, w.Body.String())
	}
	t.Logf("styles and scripts: %d bytes", all)
	if all > most {
		t.Errorf("scripts and styles have %d bytes compressed, at most %d are allowed", all, most)
	}
}

// TestScriptsAreServedWithoutComments compares what is served with the source:
// nothing but comments is left out, and each line is where it was.
func TestScriptsAreServedWithoutComments(t *testing.T) {
	files, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files.Scripts() {
		source, err := os.ReadFile(strings.TrimPrefix(path, static.Prefix))
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		files.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, "text/javascript") {
			t.Errorf("%s is %q", path, got)
		}
		was, served := strings.Split(string(source), "\n"), strings.Split(w.Body.String(), "\n")
		if len(was) != len(served) {
			t.Fatalf("%s: %d lines are served of %d", path, len(served), len(was))
		}
		comment := false // since an earlier line
		for i, line := range was {
			if strings.Count(line, "`")%2 != 0 {
				t.Errorf("%s:%d: a text over several lines may look like a comment", path, i+1)
			}
			code := strings.TrimSpace(line)
			if comment || strings.HasPrefix(code, "//") || strings.HasPrefix(code, "/**") {
				_, after, over := strings.Cut(code, "*/")
				if comment = !over && !strings.HasPrefix(code, "//"); !over || strings.HasPrefix(code, "//") {
					after = ""
				}
				code = strings.TrimSpace(after)
			}
			for strings.Contains(code, "/**") {
				before, rest, _ := strings.Cut(code, "/**")
				_, after, over := strings.Cut(rest, "*/")
				comment = !over
				code = strings.TrimSpace(before + after)
			}
			if got := strings.TrimSpace(served[i]); got != code {
				t.Errorf("%s:%d is served as %q, want %q", path, i+1, got, code)
			}
		}
	}
}

// served is how many bytes scripts have, each compressed by itself.
func served(t *testing.T, files *static.Files, paths []string) int {
	t.Helper()
	all := 0
	for _, path := range paths {
		w := httptest.NewRecorder()
		files.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d", path, w.Code)
		}
		all += compressed(t, w.Body.String())
	}
	return all
}

// Phones may join a room over a slow line: at 400 kbit/s this is there within
// half a second.
func TestAPhoneInARoomGetsLittle(t *testing.T) {
	const little = 25_000
	files, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	scripts := files.Needs("js/room-phone.js")
	styles, all := compressed(t, files.Style(static.Phone)), served(t, files, scripts)
	t.Logf("styles: %d bytes, %d scripts: %d bytes", styles, len(scripts), all)
	if styles+all > little {
		t.Errorf("a phone gets %d bytes of styles and scripts, at most %d are allowed: %s", styles+all, little, scripts)
	}
	for _, path := range scripts {
		if strings.Contains(path, "viewer") || strings.Contains(path, "lanes") {
			t.Errorf("a phone gets %s", path)
		}
	}
}

// A script that is not among them comes one round trip later.
func TestAScriptNeedsWhatItImports(t *testing.T) {
	files, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	needs := files.Needs("js/room.js")
	for _, name := range []string{"room.js", "class.js", "board.js", "viewer.js", "connection.js", "words.js"} {
		if !slices.Contains(needs, static.Prefix+"js/"+name) {
			t.Errorf("js/room.js does not need %s, but %s", name, needs)
		}
	}
	for _, path := range append(files.Scripts(), needs...) {
		source, err := os.ReadFile(strings.TrimPrefix(path, static.Prefix))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(source), "import {\n") {
			t.Errorf("%s: an import over several lines is not found", path)
		}
	}
}
