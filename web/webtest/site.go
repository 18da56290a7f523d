// Package webtest has a site for tests, and those who visit it: pages that step, searches, people in
// rooms, and attackers.
package webtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"relock/engine/scenario"
	"relock/lessons"
	"relock/web"
	"relock/web/link"
	"relock/web/runs"
	door "relock/web/site"
	"relock/web/site/wire"
)

// Site is a server and a client that does not follow redirects.
type Site struct {
	*httptest.Server

	Web *web.Server
}

// Open starts a server, which ends with the test.
func Open(t testing.TB, change func(*web.Config)) Site {
	t.Helper()
	c := web.Config{Log: slog.New(slog.DiscardHandler), Limits: runs.DefaultLimits(), Scenarios: lessons.Scenarios()}
	if change != nil {
		change(&c)
	}
	s, err := web.New(c)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	h.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(func() {
		s.Close()
		h.Close()
	})
	return Site{Server: h, Web: s}
}

// AsRead is a text as a person reads it: one does not see which space it is that stands before
// a unit. TestANumberAndItsUnitNeverPartOnPages does.
func AsRead(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\u00a0"), []byte(" ")) }

// Do is sent, asRead where it is a text.
func (s Site) Do(t testing.TB, method, path string, form url.Values, headers ...string) (*http.Response, string) {
	t.Helper()
	res, body := s.Sent(t, method, path, form, headers...)
	if res.Header.Get("Content-Encoding") != "" {
		return res, body
	}
	return res, string(AsRead([]byte(body)))
}

// Sent makes a request and returns the answer as it comes.
func (s Site) Sent(t testing.TB, method, path string, form url.Values, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
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

// TwoText is a scenario of two threads.
const TwoText = `title: Two
lock: {lease: 200ms, watchdog: 100ms}
threads: [{name: A}, {name: B}]
defaults: {depth: 2, work: 50ms-100ms}
`

// TwoThreads is the editor's form as a person would send it, with some inputs
// changed.
func TwoThreads(changes ...string) url.Values {
	v := url.Values{"base": {TwoText}, "yaml": {TwoText}, "store": {"virtual"}, "slow": {"1"}, "action": {"run"}}
	for i := 0; i < len(changes); i += 2 {
		v.Set(changes[i], changes[i+1])
	}
	return v
}

// Run starts a run and returns its path.
func (s Site) Run(t testing.TB, form url.Values) string {
	t.Helper()
	res, body := s.Do(t, http.MethodPost, "/runs", form)
	path := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(path, "/runs/") {
		t.Fatalf("POST /runs = %d, to %q\n%s", res.StatusCode, path, body)
	}
	return path
}

// Ended waits on the socket until the run is over, and returns its frames.
func (s Site) Ended(t *testing.T, path string) []Frame {
	t.Helper()
	frames, code := s.Watch(t, path, 0)
	if code != wire.CloseOver {
		t.Fatalf("socket closed with %d, want %d", code, wire.CloseOver)
	}
	return frames
}

// Frame is a frame of rows, or one of the run's lanes.
type Frame struct {
	Lanes string

	V    int
	Seq  int
	Rows []struct {
		Step int
		HTML string
	}
	Verdict string
	Ended   bool
}

// Dial opens the socket of a run from its frame since.
func (s Site) Dial(t *testing.T, path string, since int, header http.Header) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	address := "ws" + strings.TrimPrefix(s.URL, "http") + path + "/socket?since=" + strconv.Itoa(since)
	conn, res, err := websocket.DefaultDialer.DialContext(t.Context(), address, header)
	if res != nil && res.Body != nil {
		_ = res.Body.Close()
	}
	return conn, res, err
}

// Watch returns the frames of rows after an event.
func (s Site) Watch(t *testing.T, path string, since int) ([]Frame, int) {
	t.Helper()
	conn, _, err := s.Dial(t, path, since, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	var frames []Frame
	for {
		_, data, err := conn.ReadMessage()
		if err != nil {
			var closed *websocket.CloseError
			if ce, ok := err.(*websocket.CloseError); ok { //nolint:errorlint // gorilla's own
				closed = ce
				return frames, closed.Code
			}
			t.Fatal(err)
		}
		var f Frame
		if err := json.Unmarshal(data, &f); err != nil {
			t.Fatal(err)
		}
		if f.Lanes == "" {
			frames = append(frames, f)
		}
	}
}

// LongText is a scenario of more steps than a page has in its table.
const LongText = `
lock: {lease: 200ms, retry: {times: 1000, interval: 25ms}}
threads: [{name: A}, {name: B}]
defaults: {depth: 2, repeat: 100, work: 10ms}
`

// Found fails unless a page is there and has what it should.
func (s Site) Found(t *testing.T, path, part string) string {
	t.Helper()
	res, body := s.Do(t, http.MethodGet, path, nil)
	if res.StatusCode != http.StatusOK || !strings.Contains(body, part) {
		t.Fatalf("%s: %d, with %q: %t", path, res.StatusCode, part, strings.Contains(body, part))
	}
	return body
}

// Ask sends a request under a name of choice.
func (s Site) Ask(t *testing.T, method, path, host string, form url.Values, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
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

// AsPublic gives a server a public address.
func AsPublic(t *testing.T, address string) func(*web.Config) {
	t.Helper()
	u, err := door.ParsePublicURL(address)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *web.Config) { c.PublicURL = u }
}

// Metric reads a value from /metrics, "" where there is none.
func (s Site) Metric(t testing.TB, name string) string {
	t.Helper()
	res, body := s.Do(t, http.MethodGet, "/metrics", nil)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("/metrics: %d", res.StatusCode)
	}
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(body)
	if m == nil {
		return ""
	}
	return m[1]
}

// Viewers is how many now get the frames of runs.
func (s Site) Viewers(t testing.TB) int {
	t.Helper()
	n, err := strconv.Atoi(s.Metric(t, "relock_viewers"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Post sends a body as it is.
func (s Site) Post(t *testing.T, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var b bytes.Buffer
	if _, err := b.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	return res, string(AsRead(b.Bytes()))
}

// Packed is the link to a scenario, at a position.
func Packed(t *testing.T, yaml string, at int) string {
	t.Helper()
	sc, err := scenario.Parse([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	text, err := link.Encode(link.Contents{Scenario: sc, At: at})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Scheduled is LeaseExpiry with a schedule.
const Scheduled = LeaseExpiry + "schedule: [0, 0, 0]"

// Dripped sends a request with a body whose pieces come one at a time, with a
// pause before each, and returns the answer.
func (s Site) Dripped(t *testing.T, path, headers string, size int, pieces []string, pause time.Duration) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n%s\r\n", path, s.Listener.Addr(), size, headers)
	go func() {
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for _, p := range pieces {
			<-tick.C
			if _, err := io.WriteString(conn, p); err != nil {
				return // it was answered already
			}
		}
	}()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(path, ": ", err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(path, ": ", err)
	}
	return res, string(body)
}

// counted counts the bytes that arrive on a connection.
type counted struct {
	net.Conn

	read *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// Wired is a viewer of a run who negotiates compression, as browsers do.
func (s Site) Wired(t testing.TB, path string) (conn *websocket.Conn, read *atomic.Int64) {
	t.Helper()
	read = new(atomic.Int64)
	d := websocket.Dialer{EnableCompression: true, NetDial: func(network, address string) (net.Conn, error) {
		c, err := net.Dial(network, address)
		return counted{c, read}, err
	}}
	conn, res, err := d.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	t.Cleanup(func() { _ = conn.Close() })
	return conn, read
}

// Answered is what a server answers, without a network.
func Answered(t *testing.T, server *web.Server, method, path, kind string, body []byte) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(body))
	r.Host = "localhost"
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	got := httptest.NewRecorder()
	server.ServeHTTP(got, r)
	return got
}
