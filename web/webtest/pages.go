package webtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"relock/engine/outside/box"
	"relock/web"
	"relock/web/film"
)

// Converted is what the editor is answered.
type Converted struct {
	V        int
	YAML     string
	Base     string
	Form     string
	Readable bool
	Mistakes []struct {
		Line, Script                         int
		Key, Given, Allowed, Sentence, Input string
	}
	Status string
}

// Convert has the editor convert between its form and its text.
func (s Site) Convert(t *testing.T, v url.Values, headers ...string) Converted {
	t.Helper()
	res, body := s.Do(t, http.MethodPost, "/edit/scenario", v, headers...)
	var c Converted
	if err := json.Unmarshal([]byte(body), &c); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%d, %v\n%s", res.StatusCode, err, body)
	}
	return c
}

// Send sends a file as a form does.
func (s Site) Send(t testing.TB, path, name string, data []byte) (*http.Response, string) {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("file", name)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write(data)
	_ = form.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, &b)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	res, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// Rows is the table's body on a page.
func Rows(page string) string {
	_, after, _ := strings.Cut(page, `<tbody id="rows">`)
	body, _, _ := strings.Cut(after, "</tbody>")
	return body
}

// OwnText is a lock whose unlock deletes without looking, at each level.
const OwnText = `title: Mine
lock:
  protocol: own
  like: reentrant
  lease: 200ms
  scripts:
    unlock: |
      redis.call('DEL', KEYS[1])
      if false then
        redis.call('GET', KEYS[1])
      end
      return 1
threads: [{name: A}, {name: B}]
defaults: {depth: 2, work: 50ms}
`

// Boxed is a box until the test ends, after what is opened later has ended.
func Boxed(t *testing.T) *box.Pool {
	t.Helper()
	b, err := box.New(box.Options{})
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("scripts cannot be walled in on this machine: ", err)
		}
		t.Skip("scripts cannot be walled in on this machine: ", err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// OpenOwn is a server that runs locks of one's own.
func OpenOwn(t *testing.T) Site {
	t.Helper()
	b := Boxed(t)
	return Open(t, func(c *web.Config) { c.Box = b })
}

// Described is what /oembed answers about an address.
type Described struct {
	Version, Type, Title, HTML string
	Name                       string `json:"provider_name"`
	Site                       string `json:"provider_url"`
	Width, Height              int
}

// Oembed asks how a page is embedded, and returns the status, the answer, and its text.
func (s Site) Oembed(t *testing.T, query string, headers ...string) (int, Described, string) {
	t.Helper()
	res, body := s.Do(t, http.MethodGet, "/oembed?"+query, nil, headers...)
	var d Described
	if res.StatusCode == http.StatusOK {
		if err := json.Unmarshal([]byte(body), &d); err != nil || res.Header.Get("Content-Type") != "application/json" {
			t.Fatalf("%s: %v\n%s", query, err, body)
		}
	}
	return res.StatusCode, d, body
}

// Short keeps a link and returns its address.
func (s Site) Short(t *testing.T, text string) string {
	t.Helper()
	var kept struct{ Path string }
	_, body := s.Post(t, "/s", text)
	if err := json.Unmarshal([]byte(body), &kept); err != nil {
		t.Fatal(err, body)
	}
	return kept.Path
}

// Must is a text of which no error came.
func Must(text string, err error) string {
	if err != nil {
		panic(err)
	}
	return text
}

// LongLog is a log of MONITOR with some 16,000 commands, 1 MB.
func LongLog() []byte {
	var b bytes.Buffer
	for n := 0; b.Len() < 1<<20; n++ {
		fmt.Fprintf(&b, "17000%05d.%06d [0 127.0.0.1:5000] \"SET\" \"lock\" \"a\" \"NX\" \"PX\" \"30000\"\n", n/1000, n%1000*1000)
		fmt.Fprintf(&b, "17000%05d.%06d [0 127.0.0.1:5000] \"DEL\" \"lock\"\n", n/1000, n%1000*1000+500)
	}
	return b.Bytes()
}

// Settled waits until nobody steps and nothing runs.
func (s Site) Settled(t *testing.T, runs string) {
	t.Helper()
	for range 500 {
		if s.Metric(t, "relock_steppers") == "0" && s.Metric(t, "relock_runs_running") == runs && s.Metric(t, `relock_sockets{for="play"}`) == "0" {
			return
		}
	}
	t.Errorf("%s step, %s run", s.Metric(t, "relock_steppers"), s.Metric(t, "relock_runs_running"))
}

// Portion is some rows of a run as its page gets them.
type Portion struct {
	V      int
	From   int
	Before json.RawMessage
	Rows   []json.RawMessage
}

// Rows asks for a portion of a run's rows.
func (s Site) Rows(t *testing.T, path string, from, count int) (Portion, *http.Response, string) {
	t.Helper()
	res, body := s.Sent(t, http.MethodGet, fmt.Sprintf("%s/rows?from=%d&count=%d", path, from, count), nil)
	var p Portion
	if res.StatusCode == http.StatusOK {
		if err := json.Unmarshal([]byte(body), &p); err != nil {
			t.Fatal(err)
		}
	}
	return p, res, body
}

// Row is what the tests look at of one.
type Row struct {
	Step  int
	HTML  string
	Mark  film.Mark
	At    string
	Why   string
	After json.RawMessage
}

// FilmIn is what a page's script reads of a run.
func FilmIn(t *testing.T, page string) (reel struct {
	Rows  []Row
	Index *film.Index
},
) {
	t.Helper()
	_, text, _ := strings.Cut(page, `<script id="film" type="application/json">`)
	text, _, _ = strings.Cut(text, "</script>")
	if err := json.Unmarshal([]byte(text), &reel); err != nil {
		t.Fatal(err)
	}
	return reel
}
