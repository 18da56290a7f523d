package templates_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"relock/engine/trace"
	"relock/web/film"
	"relock/web/static"
	"relock/web/templates"
	"relock/web/words"
)

var update = flag.Bool("update", false, "write the golden files")

// twoThreads draws a run of two threads, from its trace.
func twoThreads(t testing.TB) *film.Lanes {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "engine", "run", "testdata", "two-threads.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	header, events, err := trace.Read(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	l := film.NewLanes([]string{"A", "B"}, header.Owners, 200)
	for _, e := range events {
		l.Add(e)
	}
	return l
}

func render(t testing.TB, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(words.With(t.Context(), words.English), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestSmallLanes compares with testdata/lanes-small.svg; go test -update
// writes it.
func TestSmallLanes(t *testing.T) {
	got := strings.ReplaceAll(render(t, templates.LanesSmall(twoThreads(t).Small(words.English, "s"))), "><", ">\n<") + "\n"
	name := filepath.Join("testdata", "lanes-small.svg")
	if *update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what is drawn now; look at it, and run go test -update:\n%s", name, got)
	}
}

func TestLanesCanBePointedAt(t *testing.T) {
	p := twoThreads(t).Window(words.English, "p", 2, 3)
	p.Cursor, p.Width = 4, 200
	got := render(t, templates.LanesBox(p))
	for _, want := range []string{
		`data-step="3" data-at="50" data-x="10%"`, `data-step="5"`, `role="img"`, `aria-label="The run as lanes, row by row in the table. Steps: 15; violations: 0."`,
		`class="lane-cursor" data-cursor overflow="visible" x="34.1%"><line class="cursor"`, `id="p-parted-0"`, `id="p-broken-0"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	for _, not := range []string{`data-step="2"`, `data-step="6"`, "style=", `display="none"`} {
		if strings.Contains(got, not) {
			t.Errorf("%s in %s", not, got)
		}
	}
	if p.Cursor = 0; strings.Count(render(t, templates.Lanes(p)), `display="none"`) != 2 {
		t.Error("without a step to stand on, the cursor shows")
	}
}

func TestLanesFileStandsAlone(t *testing.T) {
	files, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	got := render(t, templates.LanesFile(twoThreads(t).Window(words.English, "f", 0, film.MaxLaneRows), film.Told{}, `A & B's <lock>`, files.PictureStyle()))
	d := xml.NewDecoder(strings.NewReader(got))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal("not XML: ", err)
		}
	}
	for _, not := range []string{"var(", "light-dark(", "data-step", "NaN"} {
		if strings.Contains(got, not) {
			t.Errorf("%s in a file that stands alone", not)
		}
	}
	light, dark, ok := strings.Cut(got, "@media (prefers-color-scheme: dark)")
	if !ok || !strings.Contains(light, "#0072b2") || !strings.Contains(dark, "#6cbcf0") || strings.Contains(light, "#6cbcf0") {
		t.Error("the file has not one colour for light and another for dark")
	}
}

func BenchmarkLanes(b *testing.B) {
	l := twoThreads(b)
	b.ReportAllocs()
	for b.Loop() {
		_ = templates.LanesBox(l.Window(words.English, "p", 0, film.MaxLaneRows)).Render(context.Background(), io.Discard)
	}
}

func BenchmarkLanesSmall(b *testing.B) {
	l := twoThreads(b)
	b.ReportAllocs()
	for b.Loop() {
		_ = templates.LanesSmall(l.Small(words.English, "s")).Render(context.Background(), io.Discard)
	}
}
