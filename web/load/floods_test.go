package load_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"relock/engine/racetest"
	"relock/engine/strict"
	"relock/web/webtest"
)

// Texts that are small to send, and were large to answer.
func TestAFormIsAsLargeAsAScenarioCanBe(t *testing.T) {
	racetest.Skip(t)
	site := webtest.Open(t, nil)
	for name, text := range map[string]string{
		"faults":       "faults: [" + strings.Repeat("{},", 16_000) + "]",
		"threads":      "threads: [" + strings.Repeat("1,", 30_000) + "]",
		"unknown keys": strings.Repeat("a", 3) + ": 1\n" + keys(8_000),
		"too long":     "threads: [" + strings.Repeat("1,", 200_000) + "]",
		"deep":         strings.Repeat("[", 20_000),
	} {
		for _, path := range []string{"/edit/scenario", "/edit", "/runs"} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			res, err := site.Client().PostForm(site.URL+path, url.Values{"yaml": {text}, "base": {text}, "action": {"show"}})
			if err != nil {
				t.Fatal(err)
			}
			page, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			runtime.ReadMemStats(&after)
			if err != nil || res.StatusCode >= http.StatusInternalServerError {
				t.Fatalf("%s to %s: %d, %v", name, path, res.StatusCode, err)
			}
			if len(page) > 1<<20 {
				t.Errorf("%s to %s is answered with %d KB", name, path, len(page)>>10)
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 120 {
				t.Errorf("%s to %s costs %d MB", name, path, used)
			}
			if path != "/edit/scenario" || res.StatusCode == http.StatusRequestEntityTooLarge {
				continue
			}
			var out struct{ Mistakes []any }
			if err := json.Unmarshal(page, &out); err != nil || len(out.Mistakes) == 0 || len(out.Mistakes) > strict.MaxMistakes {
				t.Errorf("%s: %d mistakes, %v", name, len(out.Mistakes), err)
			}
		}
	}
}

// keys are n lines with a key each.
func keys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("k" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + ": 1\n")
	}
	return b.String()
}

// A session says when it holds as much as it may, and goes on when a branch was
// dropped.
func TestASessionHoldsSoMuchAndNoMore(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.Open(t, nil)
	p := s.Page(t)
	p.Must(webtest.Object{"do": "open", "scenario": webtest.Crowd(webtest.DearestRedlock)})
	refused, _ := p.Ask(webtest.Object{"do": "run", "to": "end"})
	if !strings.Contains(refused, "32 MB") {
		t.Fatalf("refused: %q", refused)
	}
	if refused, _ = p.Ask(webtest.Object{"do": "step"}); !strings.Contains(refused, "32 MB") {
		t.Errorf("one step more: %q", refused)
	}
	if n := s.Metric(t, `relock_refusals_total{limit="session-size"}`); n != "2" {
		t.Errorf("%q refusals counted", n)
	}
	p.Must(webtest.Object{"do": "open", "scenario": webtest.LeaseExpiry})
	p.Must(webtest.Object{"do": "run", "to": "end"})
}
