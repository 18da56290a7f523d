package static_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"relock/web/static"
)

// most is how many bytes scripts and styles may have, each compressed by
// itself, as a proxy in front of the program sends them.
const most = 72_000

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
