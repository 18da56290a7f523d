package own_test

import (
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons"
	"relock/web"
	"relock/web/export"
	"relock/web/link"
	"relock/web/webtest"
)

func TestExportOfALink(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	text := webtest.Packed(t, webtest.Scheduled, 2)
	for _, c := range []struct {
		format, media, extension, has string
	}{
		{"md", "text/markdown", ".md", "| 时间 | 线程 A | 线程 B |"},
		{"csv", "text/csv", ".csv", "seq,step,sub_step,"},
		{"mermaid", "text/vnd.mermaid", ".mmd", "sequenceDiagram\n"},
		{"svg", "image/svg+xml", ".svg", "@media (prefers-color-scheme: dark)"},
		{"redis-cli", "text/plain", ".txt", "127.0.0.1:6379> EXISTS "},
		{"redis-commands", "text/plain", ".redis", "EXISTS "},
		{"jsonl", "application/jsonl", ".jsonl", `{"relock":1,`},
		{"otel", "application/jsonl", ".otlp.jsonl", `{"resourceSpans":[`},
	} {
		res, body := s.Post(t, "/export?format="+c.format, text, "Accept-Language", "zh-CN")
		kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
		how, params, derr := mime.ParseMediaType(res.Header.Get("Content-Disposition"))
		if res.StatusCode != http.StatusOK || kind != c.media || err != nil || how != "attachment" || derr != nil || !strings.HasSuffix(params["filename"], c.extension) {
			t.Errorf("%s: %d, %s, %s", c.format, res.StatusCode, res.Header.Get("Content-Type"), res.Header.Get("Content-Disposition"))
		}
		if !strings.Contains(body, c.has) || res.Header.Get("Content-Language") != "zh-CN" {
			t.Errorf("%s in %q lacks %q:\n%.600s", c.format, res.Header.Get("Content-Language"), c.has, body)
		}
	}
	for _, language := range []string{"en", "zh-CN"} {
		_, body := s.Post(t, "/export?format=svg", text, "Accept-Language", language)
		if err := xml.Unmarshal([]byte(body), new(struct{})); err != nil {
			t.Errorf("the picture in %s: %v\n%.600s", language, err, body)
		}
	}
	if _, body := s.Post(t, "/export?format=md", text); !strings.Contains(body, "[Step through this run]("+s.URL+"/play#"+text+")") {
		t.Errorf("no link back to %s:\n%.300s", text, body)
	}
	secure := "https" + strings.TrimPrefix(s.URL, "http")
	if _, body := s.Post(t, "/export?format=md", text, "Origin", secure, "Sec-Fetch-Site", "same-origin"); !strings.Contains(body, "]("+secure+"/play#") {
		t.Errorf("behind a proxy the link is not the browser's:\n%.300s", body)
	}
}

func TestExportGoesAsFarAsTheLink(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	last := func(body string) trace.Event {
		_, events, err := trace.Read(t.Context(), strings.NewReader(body))
		if err != nil || len(events) == 0 {
			t.Fatalf("%v\n%s", err, body)
		}
		return events[len(events)-1]
	}
	text := webtest.Packed(t, webtest.Scheduled, 2)
	body, _, _ := strings.Cut(text, "~")
	for _, c := range []struct {
		text string
		step int
		over bool
	}{{body + "~1", 1, false}, {body + "~2", 2, false}, {body + "~3", 3, false}, {body + "~99", 3, false}, {body + "\n", 0, true}, {body + "~0", 0, true}} {
		res, got := s.Post(t, "/export?format=jsonl", c.text)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d\n%s", c.text, res.StatusCode, got)
		}
		e := last(got)
		over := e.Kind() == trace.KindEnd && e.Thread == ""
		if over != c.over || !over && e.Step != c.step {
			t.Errorf("%s: ends at step %d with %s", c.text[len(c.text)-3:], e.Step, e.Kind())
		}
	}
}

func TestExportOfARun(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	path := s.Run(t, webtest.TwoThreads("title", "=Two | threads"))
	s.Ended(t, path)
	res, body := s.Do(t, http.MethodGet, path+"/export?format=csv", nil)
	lines, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if res.StatusCode != http.StatusOK || err != nil || len(lines) != 72 {
		t.Errorf("%d, %d lines, %v", res.StatusCode, len(lines), err)
	}
	if got := res.Header.Get("Content-Disposition"); got != "attachment; filename=two-threads.csv" {
		t.Error(got)
	}
	if res, body := s.Do(t, http.MethodGet, path+"/export?format=md", nil); res.StatusCode != http.StatusOK || !strings.Contains(body, s.URL+"/play#v1.z.") {
		t.Errorf("%d\n%.300s", res.StatusCode, body)
	}
	if res, _ := s.Do(t, http.MethodGet, "/runs/NONE/export?format=md", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("no such run: %d", res.StatusCode)
	}
}

func TestExportsThatAreRefused(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	good := webtest.Packed(t, webtest.Scheduled, 2)
	sc, err := scenario.Parse([]byte(webtest.LeaseExpiry))
	if err != nil {
		t.Fatal(err)
	}
	sc.Threads[0].Name = "%d %s"
	mistaken, err := link.Encode(link.Contents{Scenario: sc})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, format, body string
		status             int
		says               string
	}{
		{"no format", "", good, 400, export.Allowed()},
		{"unknown format", "word%d", good, 400, export.Allowed()},
		{"no link", "md", "hello", 422, "newer server"},
		{"half a link", "md", good[:40] + "~0", 422, "cut off"},
		{"a schedule that does not fit", "md", webtest.Packed(t, webtest.LeaseExpiry+"schedule: [9]", 1), 422, "decision 1"},
		{"a scenario with a mistake", "md", mistaken, 422, "given &#34;%d %s&#34;"},
		{"more than a link", "md", strings.Repeat("A", 70<<10), 413, "64 KiB"},
	} {
		res, body := s.Post(t, "/export?format="+url.QueryEscape(c.format), c.body)
		if res.StatusCode != c.status || !strings.Contains(body, c.says) || strings.Contains(body, "%!") {
			t.Errorf("%s: %d, want %d saying %q\n%s", c.name, res.StatusCode, c.status, c.says, body)
		}
	}
	res, _ := s.Post(t, "/export?format=md", good, "Origin", "https://elsewhere.example", "Sec-Fetch-Site", "cross-site")
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("from another site: %d", res.StatusCode)
	}
}

func TestExportingIsLimited(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, func(c *web.Config) { c.Limits.StartsPerMinute = 1 })
	good := webtest.Packed(t, webtest.Scheduled, 2)
	first, _ := s.Post(t, "/export?format=md", good)
	second, _ := s.Post(t, "/export?format=md", good)
	if first.StatusCode != http.StatusOK || second.StatusCode != http.StatusTooManyRequests {
		t.Errorf("%d, then %d", first.StatusCode, second.StatusCode)
	}
}

func TestQRCode(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	qr := func(text string) (*http.Response, string) {
		return s.Do(t, http.MethodGet, "/qr?text="+url.QueryEscape(text), nil)
	}
	for _, text := range []string{s.URL + "/", s.URL + "/play#" + webtest.Packed(t, webtest.Scheduled, 2), "https" + strings.TrimPrefix(s.URL, "http") + "/locks", s.URL + "/" + strings.Repeat("a", 1199-len(s.URL))} {
		res, body := qr(text)
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "image/svg+xml" {
			t.Fatalf("%.60s: %d\n%s", text, res.StatusCode, body)
		}
		if err := standard(body); err != nil {
			t.Errorf("%.60s: %v", text, err)
		}
	}
	for text, status := range map[string]int{
		"": 400, "hello": 400, "https://elsewhere.example/": 400, s.URL + "@elsewhere.example/": 400, s.URL + ".elsewhere.example/": 400,
		s.URL: 400, s.URL + "/a b": 400, s.URL + "/\n": 400, s.URL + "/线程": 400, "javascript:alert(1)//" + s.URL + "/": 400,
		s.URL + "/" + strings.Repeat("a", 1200-len(s.URL)): 413,
	} {
		if res, body := qr(text); res.StatusCode != status || strings.Contains(body, "<svg xmlns") && strings.Contains(body, "crispEdges") {
			t.Errorf("%.60q: %d, want %d", text, res.StatusCode, status)
		}
	}
}

// standard tells whether an SVG is a QR code in black on white, with a quiet
// zone of four modules and the three corner marks.
func standard(svg string) error {
	m := regexp.MustCompile(`viewBox="0 0 (\d+) \d+"`).FindStringSubmatch(svg)
	if m == nil || !strings.Contains(svg, `<path fill="#fff"`) {
		return fmt.Errorf("no white square:\n%.300s", svg)
	}
	size, _ := strconv.Atoi(m[1])
	if (size-8-17)%4 != 0 {
		return fmt.Errorf("%d modules are no version of a QR code", size-8)
	}
	got := image.NewGray(image.Rect(0, 0, size, size))
	for _, run := range regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1h-`).FindAllStringSubmatch(svg, -1) {
		x, _ := strconv.Atoi(run[1])
		y, _ := strconv.Atoi(run[2])
		n, _ := strconv.Atoi(run[3])
		for i := range n {
			got.SetGray(x+i, y, color.Gray{Y: 1})
		}
	}
	mark := []string{"1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"}
	for _, corner := range []image.Point{{4, 4}, {size - 11, 4}, {4, size - 11}} {
		for y, row := range mark {
			for x, want := range row {
				if got.GrayAt(corner.X+x, corner.Y+y).Y != uint8(want-'0') {
					return fmt.Errorf("no mark at %v", corner)
				}
			}
		}
	}
	for i := range size {
		for q := range 4 {
			for _, p := range []image.Point{{i, q}, {q, i}, {i, size - 1 - q}, {size - 1 - q, i}} {
				if got.GrayAt(p.X, p.Y).Y != 0 {
					return fmt.Errorf("no quiet zone at %v", p)
				}
			}
		}
	}
	return nil
}

func TestExportsOfALessonHaveItsTitleInTheReadersLanguage(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	text, err := fs.ReadFile(lessons.Scenarios(), "clock-jump.yaml")
	if err != nil {
		t.Fatal(err)
	}
	link := webtest.Packed(t, string(text), 0)
	for lang, want := range map[string]string{"en": "# The clock of Redis jumps ahead\n", "zh": "# Redis 的时钟向前跳\n"} {
		res, body := s.Post(t, "/export?format=md&lang="+lang, link)
		_, params, err := mime.ParseMediaType(res.Header.Get("Content-Disposition"))
		title := strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(want, "# "), "\n"))
		if name := strings.ReplaceAll(title, " ", "-") + ".md"; err != nil || params["filename"] != name {
			t.Errorf("%s: the file is %q, want %q (%v)", lang, params["filename"], name, err)
		}
		if !strings.HasPrefix(body, want) {
			t.Errorf("%s: %.60q, want %q", lang, body, want)
		}
	}
}

// A file that would be too long is refused in a sentence: here lists within lists, each
// line of which a transcript indents.
func TestAFileThatIsTooLongIsRefused(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.Open(t, nil)
	reply := strings.Repeat("[", 90) + strings.TrimSuffix(strings.Repeat("1,", 300_000), ",") + strings.Repeat("]", 90)
	data := `{"relock":1,"scenario":{"lock":{"lease":"1s"},"threads":[{"name":"A"}]},"owners":{"a":"A"},"clock":"virtual"}` + "\n" +
		`{"seq":1,"step":1,"thread":"A","kind":"command","call":"lock","args":["GET","k"],"reply":` + reply + `}` + "\n"
	res, body := s.Send(t, "/traces", "trace.jsonl", []byte(data))
	if res.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d\n%.300s", res.StatusCode, body)
	}
	export := res.Header.Get("Location") + "/export?format="
	res, body = s.Do(t, http.MethodGet, export+"redis-cli", nil)
	if want := "The file has more than 20 MB; allowed: another format, or a shorter run"; res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, want) {
		t.Errorf("%d: no %q in\n%s", res.StatusCode, want, body[strings.LastIndex(body, "<main"):])
	}
	if res, body := s.Do(t, http.MethodGet, export+"csv", nil); res.StatusCode != http.StatusOK || len(body) < len(reply) {
		t.Errorf("%d: %d bytes", res.StatusCode, len(body))
	}
}
