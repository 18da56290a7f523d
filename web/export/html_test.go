package export_test

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"relock/lessons/lessonstest"
	"relock/web/export"
	"relock/web/film"
	"relock/web/words"
)

// unwoven is one of several values that are side by side, as js/file.js reads it.
func unwoven(v any, n int) any {
	switch v := v.(type) {
	case []any:
		return v[min(n, len(v)-1)]
	case map[string]any:
		if list, ok := v["#"].([]any); ok {
			out := []any{}
			for _, one := range list {
				out = append(out, unwoven(one, n))
			}
			return out
		}
		out := map[string]any{}
		for name, one := range v {
			out[name] = unwoven(one, n)
		}
		return out
	}
	return v
}

// A film in a file has every row in each language, and a policy that lets it use what is in it alone.
func TestAFilmIsOneFile(t *testing.T) {
	zh, ok := words.BuiltIn().Find("zh-CN")
	if !ok {
		t.Fatal("no Chinese")
	}
	for _, c := range []struct {
		name  string
		bytes int // at most, or 0
	}{{"textbook.yaml", 150_000}, {"lease-expiry.yaml", 0}, {"redlock.yaml", 0}, {"fenced-late-write.yaml", 0}} {
		played := lessonstest.Play(t, c.name)
		data, err := export.Render(t.Context(), export.HTML, export.Run{Header: played.Header, Events: played.Events, Scenario: played.Scenario, Language: words.English, Link: "https://example.org/play#v1"})
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		if c.bytes > 0 && len(text) > c.bytes {
			t.Errorf("%s: %d bytes, at most %d", c.name, len(text), c.bytes)
		}
		for _, part := range []string{"script type=\"module\"", "style"} {
			kind, _, _ := strings.Cut(part, " ")
			_, rest, _ := strings.Cut(text, "<"+part+">")
			inside, _, _ := strings.Cut(rest, "</"+kind+">")
			sum := sha256.Sum256([]byte(inside))
			if hash := base64.StdEncoding.EncodeToString(sum[:]); inside == "" || !strings.Contains(text, kind+"-src &#39;sha256-"+hash) {
				t.Errorf("%s: the policy does not name the %s", c.name, kind)
			}
		}
		if outside := regexp.MustCompile(`(?:src|href)="[^#"]|@import|url\(`).FindString(text); outside != "" {
			t.Errorf("%s: it needs something else: %s", c.name, outside)
		}
		packed := regexp.MustCompile(`id="film">([^<]*)<`).FindStringSubmatch(text)
		raw, err := base64.StdEncoding.DecodeString(packed[1])
		if err != nil {
			t.Fatal(err)
		}
		var all any
		if err := json.NewDecoder(flate.NewReader(bytes.NewReader(raw))).Decode(&all); err != nil {
			t.Fatal(err)
		}
		for n, l := range []words.Language{words.English, zh} {
			of, _ := json.Marshal(unwoven(all, n))
			var shown struct {
				Code, Title, Body string
				Words             map[string]string
				Shown             struct {
					Stage string
					Film  struct{ Rows []struct{ HTML string } }
				}
				Lanes map[string]string
			}
			if err := json.Unmarshal(of, &shown); err != nil {
				t.Fatal(err)
			}
			if shown.Code != l.Code() || shown.Lanes["0"] == "" || shown.Shown.Stage == "" || !strings.Contains(shown.Body, l.Say("Open in the playground")) {
				t.Errorf("%s in %s: %q, %d lanes, a stage of %d bytes", c.name, l.Code(), shown.Code, len(shown.Lanes), len(shown.Shown.Stage))
			}
			if want := film.CountRows(played.Events); len(shown.Shown.Film.Rows) != want {
				t.Errorf("%s in %s: %d rows, want %d", c.name, l.Code(), len(shown.Shown.Film.Rows), want)
			}
			if n == 1 && shown.Words["No rule is broken from here to the end."] == "" {
				t.Errorf("%s: the scripts speak English alone", c.name)
			}
		}
	}
}
