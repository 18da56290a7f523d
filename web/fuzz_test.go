package web_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"relock/engine/scenario"
	"relock/lessons"
	"relock/web"
	"relock/web/export"
	"relock/web/link"
	"relock/web/runs"
	"relock/web/webtest"
)

// patient is longer than anything that a fuzzer sends may take, on a machine
// that does other things too.
const patient = time.Minute

// fuzzed is a server that admits everybody, and a log of what went wrong. Runs that
// a fuzzer leaves at a gate end after a second: more of them would fill it.
func fuzzed(f *testing.F) (server *web.Server, trouble *lockedBuffer) {
	f.Helper()
	limits := runs.DefaultLimits()
	limits.StartsPerMinute, limits.Longest, limits.Kept = 1<<30, time.Second, 400
	trouble = &lockedBuffer{}
	server, err := web.New(web.Config{
		Log: slog.New(slog.NewTextHandler(trouble, &slog.HandlerOptions{Level: slog.LevelError})), Limits: limits, Scenarios: lessons.Scenarios(),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(server.Close)
	return server, trouble
}

// calm fails where anything went wrong that nobody sent.
func (b *lockedBuffer) calm(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.b.Len() > 0 {
		defer b.b.Reset()
		t.Fatal(b.b.String())
	}
}

// FuzzPlayFrames sends what anybody may send who steps, a frame a line: each is
// answered once, with done or a refusal, and nothing goes wrong.
func FuzzPlayFrames(f *testing.F) {
	server, trouble := fuzzed(f)
	h := httptest.NewServer(server)
	f.Cleanup(h.Close)
	opening, err := json.Marshal(webtest.Object{"id": 1, "do": "open", "scenario": webtest.LeaseExpiry})
	if err != nil {
		f.Fatal(err)
	}
	for _, frames := range []string{
		`{"id":2,"do":"step","branch":0,"thread":"A"}` + "\n" + `{"do":"run","to":"end"}` + "\n" + `{"do":"strike","branch":0,"at":1,"fault":{"do":"crash","thread":"A"}}`,
		`{"do":"time","to":"by","by":"50ms"}` + "\n" + `{"do":"time","to":"expiry"}` + "\n" + `{"do":"step","at":0,"thread":"B","background":true}`,
		`{"do":"run","to":"outcome","thread":"B"}` + "\n" + `{"do":"cut","at":2}` + "\n" + `{"do":"compare","with":1,"names":["x","y"]}` + "\n" + `{"do":"drop","branch":1}`,
		`{"do":"locks","protocols":["reentrant","fenced"]}` + "\n" + `{"do":"lanes","row":3}` + "\n" + `{"do":"trace"}`,
		`{"do":"open","branches":[{"parent":-1,"moves":[0,1,0]},{"id":1,"parent":0,"fork":2,"moves":[0,1,{"until":"7ms"}]}],"scenario":"{\"threads\":[{\"name\":\"A\"},{\"name\":\"B\"}]}"}` + "\n" + `{"do":"step","branch":1}`,
		`{"do":"open","link":"~0"}` + "\n" + `{"id":-1,"do":"step","at":-1,"branch":-7}` + "\n[]\n\"\n{\"do\":\"strike\",\"fault\":{\"do\":\"pause\",\"for\":\"1ns\"}}",
	} {
		f.Add([]byte(frames))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		u := "ws" + strings.TrimPrefix(h.URL, "http") + "/play/socket"
		conn, res, err := websocket.DefaultDialer.DialContext(t.Context(), u, http.Header{"Origin": {h.URL}})
		if err != nil {
			t.Fatal(err, res)
		}
		defer func() { _ = conn.Close() }()
		for _, frame := range append([][]byte{opening}, bytes.SplitN(data, []byte("\n"), 20)...) {
			if err := conn.WriteMessage(websocket.TextMessage, bytes.ToValidUTF8(frame, nil)); err != nil {
				t.Fatal(err)
			}
			for over := false; !over; {
				_ = conn.SetReadDeadline(time.Now().Add(patient))
				var answer webtest.PlayFrame
				if err := conn.ReadJSON(&answer); err != nil {
					t.Fatalf("%s: %v", frame, err)
				}
				over = answer.Done || answer.Refused != ""
			}
		}
		trouble.calm(t)
	})
}

// FuzzSteerFrames sends what anybody may send who has a run before them: it is
// carried out or refused, and the socket goes on.
func FuzzSteerFrames(f *testing.F) {
	server, trouble := fuzzed(f)
	h := httptest.NewServer(server)
	f.Cleanup(h.Close)
	for _, frames := range []string{
		`{"thread":"A","do":"pause"}` + "\n" + `{"thread":"A","do":"resume"}` + "\n" + `{"thread":"A","do":"admit"}`,
		`{"thread":"B","do":"gate"}` + "\n" + `{"thread":"B","do":"admit"}` + "\n" + `{"thread":"B","do":"ungate"}` + "\n" + `{"thread":"B","do":"crash"}`,
		`{"thread":"","do":""}` + "\n" + `{"thread":"A"` + "\n[]\n" + `{"do":"fly"}{"thread":7}`,
	} {
		f.Add([]byte(frames))
	}
	form := webtest.TwoThreads("store", "wall", "yaml", "threads: [{name: A, work: 5ms}, {name: B, work: 5ms, retry: {times: 5, interval: 1ms}}]\ndefaults: {depth: 2}")
	f.Fuzz(func(t *testing.T, data []byte) {
		start, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/runs", strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		start.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := http.DefaultTransport.RoundTrip(start)
		if err != nil || res.StatusCode != http.StatusSeeOther || len(res.Cookies()) == 0 {
			t.Fatal(err, res)
		}
		_ = res.Body.Close()
		u := "ws" + strings.TrimPrefix(h.URL, "http") + res.Header.Get("Location") + "/socket"
		mine := res.Cookies()[0].Name + "=" + res.Cookies()[0].Value
		conn, res, err := websocket.DefaultDialer.DialContext(t.Context(), u, http.Header{"Origin": {h.URL}, "Cookie": {mine}})
		if err != nil {
			t.Fatal(err, res)
		}
		defer func() { _ = conn.Close() }()
		for _, frame := range bytes.SplitN(data, []byte("\n"), 20) {
			if conn.WriteMessage(websocket.TextMessage, bytes.ToValidUTF8(frame, nil)) != nil {
				break // the run is over
			}
		}
		heard := false
		conn.SetPongHandler(func(string) error {
			heard = true
			return conn.SetReadDeadline(time.Now())
		})
		_ = conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(patient))
		_ = conn.SetReadDeadline(time.Now().Add(patient))
		for {
			var any json.RawMessage
			if err = conn.ReadJSON(&any); err != nil {
				break
			}
		}
		if !heard && !websocket.IsCloseError(err, 4010) {
			t.Errorf("%q: neither answered nor over: %v", data, err)
		}
		trouble.calm(t)
	})
}

// FuzzForms sends what anybody may write into the editor: a scenario as YAML,
// and whatever else as a form. The answer is a page of bounded size.
func FuzzForms(f *testing.F) {
	server, trouble := fuzzed(f)
	f.Add(webtest.TwoText, webtest.TwoThreads().Encode())
	f.Add(webtest.TwoText, "base="+url.QueryEscape(webtest.TwoText)+"&threads.0.name=B&threads.0.work=5ms&faults.0.do=pause&faults.0.thread=A&action=add-fault")
	f.Add("threads: [{}, 1, A, {name: [x]}]\nfaults: [{do: crash, at: {}}, ]", "action=remove-thread-0&store=wall&slow=1e9")
	f.Add("lock: &a {key: *a}", "slow=&store=external&%00=%ff&action=run")
	f.Add("a: &a [x,x]\nb: [*a,*a]\nthreads: *a", "yaml=1;2&yaml=3&base=%")
	f.Fuzz(func(t *testing.T, yaml, rest string) {
		body := []byte("yaml=" + url.QueryEscape(yaml) + "&" + rest)
		for _, path := range []string{"/edit", "/edit/scenario", "/runs"} {
			began := time.Now()
			got := webtest.Answered(t, server, http.MethodPost, path, "application/x-www-form-urlencoded", body)
			if got.Code >= 500 || got.Body.Len() > 4<<20 || time.Since(began) > patient {
				t.Fatalf("%s: status %d, %d bytes after %v", path, got.Code, got.Body.Len(), time.Since(began))
			}
		}
		trouble.calm(t)
	})
}

// FuzzExport exports what anybody may write, as far as they like, in every
// format.
func FuzzExport(f *testing.F) {
	server, trouble := fuzzed(f)
	f.Add([]byte(webtest.TwoText), 0)
	f.Add([]byte(webtest.LeaseExpiry), -1)
	f.Add([]byte(webtest.Scheduled), 2)
	f.Add([]byte("threads: [{name: A}]\ntitle: \"# | <b> ;=1+1\"\nlock: {key: '=1+1|#{x}'}"), -1)
	f.Add([]byte("lock: {protocol: redlock, nodes: 3}\nthreads: [{name: A}, {name: B}]\nfaults: [{time: 1ms, do: down, node: 2}]"), -1)
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		sc, err := scenario.Parse(text)
		if err != nil {
			return
		}
		sent, err := link.Encode(link.Contents{Scenario: sc, At: min(max(at, 0), len(sc.Schedule))})
		if err != nil {
			return // too long
		}
		if at < 0 {
			sent = whole(sent)
		}
		for _, format := range export.Formats() {
			got := webtest.Answered(t, server, http.MethodPost, "/export?format="+string(format), "", []byte(sent))
			if got.Code >= 500 {
				t.Fatalf("%s: status %d: %s", format, got.Code, got.Body)
			}
			if _, err := io.Copy(io.Discard, got.Body); err != nil {
				t.Fatal(err)
			}
		}
		trouble.calm(t)
	})
}
