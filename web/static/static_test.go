package static_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"relock/web/static"
)

// most is how many bytes scripts and styles may have, each compressed by
// itself, as a proxy in front of the program sends them.
const most = 60_000

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
	all := compressed(t, files.Style())
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
