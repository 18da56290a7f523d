package static_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"relock/web/static"
)

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

// scripts are the names of all scripts of pages.
func scripts(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("js/*.js")
	if err != nil || len(names) == 0 {
		t.Fatal("no scripts: ", err)
	}
	return names
}

func opened(t *testing.T) *static.Files {
	t.Helper()
	files, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func got(t *testing.T, files *static.Files, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	files.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w
}

func TestScriptsComeFromNowhereElse(t *testing.T) {
	files := opened(t)
	foreign := regexp.MustCompile(`\b(?:from |import |import\()["'](?:[^."']|\.\.)|https?://(?:[^w]|w[^w])`)
	for _, name := range scripts(t) {
		for line := range strings.Lines(got(t, files, files.Path(name)).Body.String()) {
			if foreign.MatchString(line) {
				t.Errorf("%s is not its own: %s", name, line)
			}
		}
	}
}

// A file stays in a browser's cache for good, and what was changed has another name.
// The name of another version leads to the file that there is.
func TestAHashedNameIsForEver(t *testing.T) {
	files := opened(t)
	hash := regexp.MustCompile(`[0-9a-f]{16}`)
	for _, name := range []string{static.Style, "js/dom.js", "icons/favicon.svg"} {
		path := files.Path(name)
		w := got(t, files, path)
		if !hash.MatchString(path) || w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Errorf("%s: %d, %v", path, w.Code, w.Header())
		}
		plain := got(t, files, static.Prefix+name)
		if plain.Code != http.StatusOK || plain.Header().Get("Cache-Control") != "no-cache" || plain.Body.String() != w.Body.String() {
			t.Errorf("%s: %d, %v", name, plain.Code, plain.Header())
		}
		other := got(t, files, hash.ReplaceAllString(path, "0123456789abcdef"))
		if other.Code != http.StatusFound || other.Header().Get("Location") != static.Prefix+name || other.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("another version of %s: %d, %v", name, other.Code, other.Header())
		}
	}
	if w := got(t, files, static.Prefix+"nothing.0123456789abcdef.css"); w.Code != http.StatusNotFound {
		t.Errorf("no such file: %d", w.Code)
	}
	// A script finds what it imports beside it.
	if a, b := files.Path("js/dom.js"), files.Path("js/app.js"); path.Dir(a) != path.Dir(b) {
		t.Errorf("%s is not beside %s", a, b)
	}
}

// Every part is in the sheet of all pages or in that of rooms, and those that others build
// on stand first.
func TestTheStyleSheetsHaveAllParts(t *testing.T) {
	files := opened(t)
	text := ""
	for _, sheet := range []string{static.Style, static.Rooms} {
		w := got(t, files, files.Path(sheet))
		if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, "text/css") {
			t.Errorf("%s is %q", sheet, got)
		}
		text += w.Body.String()
	}
	names, err := filepath.Glob("css/*.css")
	if err != nil || len(names) < 20 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		rule := regexp.MustCompile(`(?m)^[^/ @\n].*\{.*\}$|^[^/ @\n].*\{$`).FindString(string(source))
		if rule == "" || !strings.Contains(text, strings.NewReplacer(" { ", "{", " {", "{", "; }", "}", "; ", ";", ": ", ":", ", ", ",", " > ", ">").Replace(rule)) {
			t.Errorf("%s: %q is not in it", name, rule)
		}
	}
	if !strings.HasPrefix(text, ":root") {
		t.Errorf("it begins with %.80s", text)
	}
}

// remark matches a line of code with a remark at its end, where no text comes before it.
var remark = regexp.MustCompile("^([^'\"`/]*\\S)\\s+//")

// TestScriptsAreServedWithoutComments compares what is served with the source:
// nothing but comments is left out, and each line is where it was.
func TestScriptsAreServedWithoutComments(t *testing.T) {
	files := opened(t)
	for _, path := range scripts(t) {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w := got(t, files, files.Path(path))
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
			if m := remark.FindStringSubmatch(line); m != nil && !comment {
				code = strings.TrimSpace(m[1])
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

// Phones may join a room over a slow line: at 400 kbit/s this is there within a
// second.
func TestAPhoneInARoomGetsLittle(t *testing.T) {
	const little = 45_000
	files := opened(t)
	needs := files.Needs("js/room-phone.js")
	styles, all := compressed(t, got(t, files, files.Path(static.Phone)).Body.String()), 0
	for _, path := range needs {
		all += compressed(t, got(t, files, path).Body.String())
		if strings.Contains(path, "viewer") || strings.Contains(path, "lanes") {
			t.Errorf("a phone gets %s", path)
		}
	}
	t.Logf("styles: %d bytes, %d scripts: %d bytes", styles, len(needs), all)
	if styles+all > little {
		t.Errorf("a phone gets %d bytes of styles and scripts, at most %d are allowed: %s", styles+all, little, needs)
	}
}

// A script that is not among them comes one round trip later.
func TestAScriptNeedsWhatItImports(t *testing.T) {
	files := opened(t)
	needs := files.Needs("js/room.js")
	for _, name := range []string{"room.js", "class.js", "board.js", "viewer.js", "connection.js", "words.js"} {
		if !slices.Contains(needs, files.Path("js/"+name)) {
			t.Errorf("js/room.js does not need %s, but %s", name, needs)
		}
	}
	if both := files.Needs("js/app.js", "js/home.js"); !slices.Contains(both, files.Path("js/settings.js")) || !slices.Contains(both, files.Path("js/stage.js")) {
		t.Errorf("two scripts need %s", both)
	}
	for _, name := range scripts(t) {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(source), "import {\n") {
			t.Errorf("%s: an import over several lines is not found", name)
		}
	}
}
