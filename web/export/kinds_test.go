package export_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"relock/engine/check"
	"relock/engine/outside/logs"
	"relock/web/export"
	"relock/web/words"
)

// The table of a run, and what is told beside its picture, tell readers from a writer, and
// count permits.
func TestKindsOfLocks(t *testing.T) {
	for _, c := range []struct {
		log, key string
		kind     check.Kind
		want     map[export.Format]string
	}{
		{"readers-and-a-writer", "page:7", check.Kind{Readers: true}, map[export.Format]string{
			export.Markdown: "`{mode: read,`<br>A `client-1: 1,`<br>B `client-2: 1}`<br>480 ms", export.SVG: "A and B read.",
		}},
		{"three-permits", "printers", check.Kind{Permits: 3}, map[export.Format]string{
			export.Markdown: "C `job-3: 1700000000430}`<br>3 of 3 permits<br>370 ms", export.SVG: "All 3 permits are taken.",
		}},
	} {
		data, err := os.ReadFile("../film/testdata/" + c.log + ".log")
		if err != nil {
			t.Fatal(err)
		}
		log, err := logs.Read(t.Context(), bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		p, err := log.Trace(t.Context(), logs.Options{Key: c.key, Kind: c.kind})
		if err != nil {
			t.Fatal(err)
		}
		r := export.Run{Header: p.Header, Events: p.Events, Scenario: p.Scenario, Language: words.English, Link: link, Style: style}
		for f, want := range c.want {
			if got := render(t, f, r); !strings.Contains(got, want) {
				t.Errorf("%s has no %q:\n%s", c.log, want, got)
			}
		}
	}
}
