package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"relock/engine/racetest"
	"relock/engine/store"
	"relock/engine/store/storetest"
	"relock/lessons"
	"relock/web"
	"relock/web/runs"
	"relock/web/webtest"
)

func TestMetricsCountWhatGoesOn(t *testing.T) {
	s := webtest.Open(t, func(c *web.Config) { c.Limits.SteppingAddress, c.Limits.StartsPerMinute = 1, 2 })
	p := s.Page(t)
	p.Must(webtest.Object{"do": "open", "scenario": webtest.LeaseExpiry})
	p.Ask(webtest.Object{"do": "\"} fly"})
	s.Ended(t, s.Run(t, webtest.TwoThreads()))
	_, _ = s.Do(t, http.MethodPost, "/runs", webtest.TwoThreads())
	_, _ = s.Do(t, http.MethodGet, "/play/socket", nil)
	_, _ = s.Ask(t, http.MethodGet, "/", "evil.com", nil)
	for name, want := range map[string]string{
		`relock_runs_started_total{store="virtual"}`:              "1",
		`relock_runs_kept`:                                        "1",
		`relock_runs_running`:                                     "0",
		`relock_steppers`:                                         "1",
		`relock_films_bytes`:                                      "0",
		`relock_sockets{for="play"}`:                              "1",
		`relock_refusals_total{limit="max-starts"}`:               "1",
		`relock_refusals_total{limit="max-stepping-per-address"}`: "1",
		`relock_refusals_total{limit="host"}`:                     "1",
		`relock_command_seconds_count{do="open"}`:                 "1",
		`relock_command_seconds_count{do="none"}`:                 "1",
		`relock_requests_total{status="421"}`:                     "1",
		`relock_redis_errors_total{kind="network"}`:               "0",
	} {
		if got := s.Metric(t, name); got != want {
			t.Errorf("%s is %q, want %s", name, got, want)
		}
	}
	if frames := s.Metric(t, "relock_frames_sent_total"); frames == "" || frames == "0" {
		t.Errorf("%q frames", frames)
	}
	off := webtest.Open(t, func(c *web.Config) { c.NoMetrics = true })
	if res, _ := off.Do(t, http.MethodGet, "/metrics", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("switched off: %d", res.StatusCode)
	}
}

func TestMetricsCountWhatTheOperatorsRedisAnswers(t *testing.T) {
	external, err := store.Connect(t.Context(), storetest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = external.Close() })
	s := webtest.Open(t, func(c *web.Config) { c.External = external })
	s.Ended(t, s.Run(t, webtest.TwoThreads("store", "external")))
	if n := s.Metric(t, "relock_redis_seconds_count"); n == "" || n == "0" {
		t.Errorf("%q commands", n)
	}
	for _, kind := range []string{"reply", "network"} {
		if n := s.Metric(t, `relock_redis_errors_total{kind="`+kind+`"}`); n != "0" {
			t.Errorf("%s errors: %s of a run in which all went well", kind, n)
		}
	}
	_ = external.Client().Do(t.Context(), "nonsense").Err()
	if n := s.Metric(t, `relock_redis_errors_total{kind="reply"}`); n != "1" {
		t.Errorf("%s errors after one", n)
	}
}

func TestReadyUntilItCloses(t *testing.T) {
	s := webtest.Open(t, nil)
	if res, body := s.Do(t, http.MethodGet, "/readyz", nil); res.StatusCode != http.StatusOK || body != "ready\n" {
		t.Errorf("%d %q", res.StatusCode, body)
	}
	s.Web.Close()
	if res, _ := s.Do(t, http.MethodGet, "/readyz", nil); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("after the end: %d", res.StatusCode)
	}
}

// A server that gives nobody a turn says so to monitors, who need none.
func TestMonitorsHearThatNobodyGetsATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := web.New(web.Config{Log: slog.New(slog.DiscardHandler), Limits: runs.DefaultLimits(), Scenarios: lessons.Scenarios()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ask := func(ctx context.Context, path string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
			r.Host = "localhost"
			s.ServeHTTP(w, r)
			return w
		}
		want := func(when string, status int, says, metric string) {
			t.Helper()
			for path, well := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
				if status != http.StatusOK {
					well = says
				}
				if w := ask(t.Context(), path); w.Code != status || w.Body.String() != well {
					t.Errorf("%s: %s says %d %q, want %d %q", when, path, w.Code, w.Body, status, well)
				}
			}
			if w := ask(t.Context(), "/metrics"); !strings.Contains(w.Body.String(), "\nrelock_turns_stalled_seconds "+metric+"\n") {
				t.Errorf("%s: the metric is not %s", when, metric)
			}
		}
		work := 0 // that hangs
		for ; ; work++ {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if s.Turns.Take(ctx, strconv.Itoa(work)) != nil {
				cancel()
				break // all turns are taken, and this one has waited for a second
			}
			cancel()
		}
		want("nobody waits", http.StatusOK, "", "0")
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan int)
		go func() { left <- ask(ctx, "/play").Code }()
		synctest.Wait()
		time.Sleep(3999 * time.Millisecond)
		want("after 4.999 s", http.StatusOK, "", "4.999")
		time.Sleep(2001 * time.Millisecond)
		want("after 7 s", http.StatusServiceUnavailable, "stalled: nobody has got a turn for 7 s; waiting for one: 1\n", "7")
		s.Turns.Done("0")
		if code := <-left; code != http.StatusOK {
			t.Errorf("the page is answered with %d", code)
		}
		want("after one gave way", http.StatusOK, "", "0")
		leave()
	})
}

// lockedBuffer is written by many requests.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// An address that asks all the time is written down once a minute.
func TestRefusalsAreLoggedOnceAMinute(t *testing.T) {
	racetest.Skip(t)
	var log lockedBuffer
	s := webtest.Open(t, func(c *web.Config) {
		c.Log, c.Limits.StartsPerMinute = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})), 1
	})
	for range 20 {
		_, _ = s.Do(t, http.MethodPost, "/runs", webtest.TwoThreads())
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(log.b.String()), "\n")
	var line struct {
		Msg, Limit, From string
		Times            int
	}
	if err := json.Unmarshal([]byte(lines[0]), &line); err != nil || len(lines) != 1 || line.Msg != "refused" || line.Limit != "max-starts" || line.From != "127.0.0.1" || line.Times != 1 {
		t.Errorf("%d lines: %v, %v", len(lines), lines, err)
	}
}

// Something too large has met a limit, too.
func TestWhatIsTooLargeIsCounted(t *testing.T) {
	s := webtest.Open(t, nil)
	if res, _ := s.Do(t, http.MethodPost, "/edit", url.Values{"yaml": {strings.Repeat("x", web.MaxForm)}}); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Fatalf("a form: %d", res.StatusCode)
	}
	if n := s.Metric(t, `relock_refusals_total{limit="request-size"}`); n != "1" {
		t.Errorf("%q requests counted", n)
	}
	p := s.Page(t)
	if err := p.Conn.WriteMessage(websocket.TextMessage, bytes.Repeat([]byte(" "), 1<<20+1)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Conn.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseMessageTooBig) {
		t.Fatalf("a message: %v", err)
	}
	for s.Metric(t, `relock_sockets{for="play"}`) != "0" { // its reader has ended before it
		if t.Context().Err() != nil {
			t.Fatal("the socket never ends")
		}
	}
	if n := s.Metric(t, `relock_refusals_total{limit="message-size"}`); n != "1" {
		t.Errorf("%q messages counted", n)
	}
}
