package web_test

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"relock/engine"
	"relock/engine/racetest"
	"relock/engine/run"
	"relock/engine/store"
	"relock/engine/store/storetest"
	"relock/engine/trace"
	"relock/lessons"
	"relock/web"
	"relock/web/film"
	"relock/web/page"
	"relock/web/runs"
	"relock/web/site/wire"
	"relock/web/webtest"
	"relock/web/words"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestRunPageHasAllRowsWithoutScript(t *testing.T) {
	s := webtest.Open(t, nil)
	path := s.Run(t, webtest.TwoThreads())
	frames := s.Ended(t, path)
	last := frames[len(frames)-1]
	if !last.Ended || last.V != 1 || !strings.Contains(last.Verdict, "no rule was broken") {
		t.Errorf("last frame: ended %v, v %d, verdict %q", last.Ended, last.V, last.Verdict)
	}
	res, body := s.Do(t, http.MethodGet, path, nil)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s = %d", path, res.StatusCode)
	}
	steps := 0
	for _, f := range frames {
		for _, r := range f.Rows {
			steps = max(steps, r.Step)
			if !strings.Contains(body, r.HTML) && r.Step != steps {
				t.Errorf("the page lacks row T%d as the socket had it", r.Step)
			}
		}
	}
	if got := strings.Count(body, `<tr id="row-`); got != steps {
		t.Errorf("%d rows on the page, %d on the socket", got, steps)
	}
	for _, want := range []string{"embedded miniredis · virtual clock", "lock: acquired", "HINCRBY", "PEXPIRE", "retry 4: acquired", "unlock: released"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestTheLanesOfALongRunComeInParts(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.Open(t, nil)
	path := s.Run(t, webtest.TwoThreads("base", webtest.LongText, "yaml", webtest.LongText))
	frames := s.Ended(t, path)
	rows := frames[len(frames)-2].Rows
	steps := rows[len(rows)-1].Step
	for _, row := range []int{0, 1, 300, steps, steps + 1000} {
		res, lanes := s.Do(t, http.MethodGet, path+"/lanes?row="+strconv.Itoa(row), nil)
		checkLanes(t, lanes, row, steps)
		if res.StatusCode != http.StatusOK {
			t.Errorf("lanes around row %d: %d", row, res.StatusCode)
		}
	}
	if res, _ := s.Do(t, http.MethodGet, path+"/lanes?row=x", nil); res.StatusCode != http.StatusBadRequest {
		t.Errorf("lanes around row x: %d", res.StatusCode)
	}
}

// checkLanes finds what is wrong with the lanes around a row of so many: more
// or fewer than a page has of a long run, or not those on both sides of it.
func checkLanes(t *testing.T, lanes string, row, of int) {
	t.Helper()
	const fewest, most, beside = 48, 96, 16
	if n := strings.Count(lanes, " data-step="); n < min(fewest, of) || n > most {
		t.Errorf("lanes around row %d of %d have %d rows", row, of, n)
	}
	at := min(max(row, 1), of)
	for _, step := range []int{max(at-beside, 1), at, min(at+beside, of)} {
		if !strings.Contains(lanes, fmt.Sprintf(` data-step="%d"`, step)) {
			t.Errorf("lanes around row %d of %d are without row %d", row, of, step)
		}
	}
}

func TestTraceOfARun(t *testing.T) {
	s := webtest.Open(t, nil)
	path := s.Run(t, webtest.TwoThreads())
	s.Ended(t, path)
	res, body := s.Do(t, http.MethodGet, path+"/trace", nil)
	h, events, err := trace.Read(t.Context(), strings.NewReader(body))
	if err != nil || h.Seed != 1 || len(events) == 0 {
		t.Fatalf("trace: %v, header %+v, %d events", err, h, len(events))
	}
	if got := res.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/jsonl") {
		t.Errorf("Content-Type %q", got)
	}
}

func TestSocketResumesWithoutLossOrDoubles(t *testing.T) {
	s := webtest.Open(t, nil)
	path := s.Run(t, webtest.TwoThreads())
	all := s.Ended(t, path)
	last := all[len(all)-1].Seq
	frames, code := s.Watch(t, path, last)
	if code != wire.CloseOver || len(frames) != 1 || !frames[0].Ended || len(frames[0].Rows) != 0 {
		t.Errorf("after the last event: code %d, frames %+v; want only that the run has ended", code, frames)
	}
	frames, _ = s.Watch(t, path, last-1)
	if len(frames) != 2 || frames[0].Seq != last || len(frames[0].Rows) == 0 {
		t.Errorf("after the last but one: %+v", frames)
	}
}

func TestWallRunStreamsWhileItGoesOn(t *testing.T) {
	s := webtest.Open(t, nil)
	path := s.Run(t, webtest.TwoThreads("store", "wall"))
	frames := s.Ended(t, path)
	if len(frames) < 3 {
		t.Errorf("%d frames; rows should come while the run goes on", len(frames))
	}
	_, body := s.Do(t, http.MethodGet, path, nil)
	if !strings.Contains(body, "embedded miniredis · wall clock") {
		t.Error("the page does not say which clock runs")
	}
}

func TestExternalRedisOnlyWhereTheOperatorGaveOne(t *testing.T) {
	without := webtest.Open(t, nil)
	if _, body := without.Do(t, http.MethodGet, "/edit", nil); strings.Contains(body, `value="external"`) {
		t.Error("the form offers a Redis that is not there")
	}
	path := without.Run(t, webtest.TwoThreads("store", "external"))
	if _, body := without.Do(t, http.MethodGet, path, nil); !strings.Contains(body, "virtual clock") {
		t.Error("external without a Redis did not fall back to the embedded one")
	}
	external, err := store.Connect(t.Context(), storetest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = external.Close() })
	with := webtest.Open(t, func(c *web.Config) { c.External = external })
	path = with.Run(t, webtest.TwoThreads("store", "external"))
	with.Ended(t, path)
	if _, body := with.Do(t, http.MethodGet, path, nil); !strings.Contains(body, "Redis at "+external.Name()+" · wall clock") {
		t.Error("the page does not say which Redis it talks to")
	}
	left := slices.DeleteFunc(external.Client().Keys(t.Context(), "*").Val(), func(key string) bool {
		return strings.HasPrefix(key, "relock:") // where other servers find the run
	})
	if len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestLimitsAnswerWithAMessage(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*runs.Limits)
		status int
		want   string
	}{
		{"in a minute", func(l *runs.Limits) { l.StartsPerMinute = 1 }, 429, "has begun too many runs, files and links within a minute"},
		{"running from one address", func(l *runs.Limits) { l.RunningPerAddress = 1 }, 429, "Your address is at its limit of running scenarios"},
		{"running in all", func(l *runs.Limits) { l.Running = 1 }, 503, "is at its limit of running scenarios"},
		{"kept in all", func(l *runs.Limits) { l.Kept = 1 }, 503, "-max-kept=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := webtest.Open(t, func(cfg *web.Config) { c.change(&cfg.Limits) })
			long := webtest.TwoThreads("store", "wall", "defaults.work", "1m")
			s.Run(t, long)
			res, body := s.Do(t, http.MethodPost, "/runs", long)
			if res.StatusCode != c.status || !strings.Contains(body, c.want) {
				t.Errorf("status %d, want %d with %q", res.StatusCode, c.status, c.want)
			}
		})
	}
}

func TestOldestEndedRunMakesRoom(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, func(c *web.Config) { c.Limits.Kept = 2 })
	var paths []string
	for range 3 {
		path := s.Run(t, webtest.TwoThreads())
		s.Ended(t, path)
		paths = append(paths, path)
	}
	for i, want := range []int{404, 200, 200} {
		if res, body := s.Do(t, http.MethodGet, paths[i], nil); res.StatusCode != want {
			t.Errorf("run %d: %d, want %d\n%s", i+1, res.StatusCode, want, body)
		}
	}
}

func TestTooLargeForm(t *testing.T) {
	s := webtest.Open(t, nil)
	res, body := s.Do(t, http.MethodPost, "/runs", webtest.TwoThreads("title", strings.Repeat("x", web.MaxForm)))
	if res.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(body, "512 KiB") {
		t.Errorf("status %d", res.StatusCode)
	}
}

func TestForeignOriginsAreRefused(t *testing.T) {
	s := webtest.Open(t, nil)
	path := s.Run(t, webtest.TwoThreads())
	if _, res, err := s.Dial(t, path, 0, http.Header{"Origin": {"https://evil.example"}}); err == nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("a socket from another origin: %v", err)
	}
	if res, _ := s.Do(t, http.MethodPost, "/runs", webtest.TwoThreads(), "Origin", "https://evil.example"); res.StatusCode != http.StatusForbidden {
		t.Errorf("a form from another origin: %d", res.StatusCode)
	}
	if _, res, err := s.Dial(t, path, -1, nil); err == nil || res.StatusCode != http.StatusBadRequest {
		t.Errorf("a negative since: %v", err)
	}
}

func TestShutdownClosesSocketsGoingAway(t *testing.T) {
	s := webtest.Open(t, nil)
	long := webtest.TwoThreads("store", "wall", "defaults.work", "1m")
	path := s.Run(t, long)
	conn, _, err := s.Dial(t, path, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, _, err := conn.ReadMessage(); err != nil {
		t.Fatal(err) // the first frame: the run is going
	}
	go s.Web.Close()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	for {
		if _, _, err = conn.ReadMessage(); err != nil {
			break
		}
	}
	if !websocket.IsCloseError(err, websocket.CloseGoingAway) {
		t.Errorf("socket ended with %v, want close 1001", err)
	}
}

func TestALockListsWhatItKeepsWhereItFailsAndItsScenariosInReadingOrder(t *testing.T) {
	s := webtest.Open(t, nil)
	for _, lock := range []struct{ name, guarantee, hole, first, last string }{
		{"reentrant", "also in a partition", "is paused longer than its lease", "/play/two-threads", "/play/lost-replies"},
		{"mutex", "only the owner deletes", "for its own lock", `/play/mutex"`, "/play/mutex-lost-reply"},
	} {
		_, card := s.Do(t, http.MethodGet, "/locks/"+lock.name, nil)
		at := 0
		for _, want := range []string{">Guarantees<", lock.guarantee, ">Holes<", lock.hole, lock.first, lock.last} {
			next := strings.Index(card[at:], want)
			if next < 0 {
				t.Fatalf("%s: no %q after what comes before it:\n%s", lock.name, want, card)
			}
			at += next
		}
		if strings.Contains(card, "/play/heartbeat") {
			t.Errorf("%s: a heartbeat takes no lock", lock.name)
		}
	}
}

// Everything that a program can ask for is documented; the rest is pages for people and
// what only those ask for.
func TestEveryRouteIsDocumented(t *testing.T) {
	told := map[string]bool{
		"GET /{$}": true, "GET /scenarios": true, "GET /about": true, "GET /glossary": true, "GET /incidents": true, "GET /api": true, "GET /locks": true, "GET /locks/{lock}": true, "GET /locks/{lock}/{cell}": true,
		"GET /incidents/{id}": true, "GET /incidents/{id}/cured": true, "GET /play": true, "GET /play/{example}": true, "GET /edit": true, "GET /lab": true, "GET /lab/script": true,
		"GET /room": true, "GET /room/new": true, "GET /room/{code}": true, "GET /room/{code}/host": true, "GET /room/{code}/stage": true,
		"GET /learn": true, "GET /learn/ladder": true, "GET /learn/class": true, "GET /learn/check": true, "GET /learn/{chapter}": true, "GET /learn/{chapter}/{item}": true,
		"POST /edit": true, "POST /edit/scenario": true, "POST /edit/file": true, "POST /edit/card": true, "POST /learn/{chapter}/{item}": true, // of the editor's own form
		"GET /static/": true, "/": true,
	}
	here := map[string]bool{}
	for _, route := range web.Routes(webtest.Open(t, nil).Web) {
		here[route] = true
	}
	for _, section := range page.Reference(words.English, "md") {
		if section.ID != "http" {
			continue
		}
		for _, e := range section.Entries {
			route, _, _ := strings.Cut(e.Name, "?")
			told[route] = true
		}
	}
	for route := range here {
		if !told[route] {
			t.Errorf("%s is not documented", route)
		}
	}
	for route := range told {
		if !here[route] {
			t.Errorf("%s is documented, and there is no such route", route)
		}
	}
}

// A program can run a scenario with only the documented interface.
func TestARunIsStartedAsTheInterfaceSays(t *testing.T) {
	s := webtest.Open(t, nil)
	for _, c := range []struct {
		form   url.Values
		status int
		to     string
	}{
		{url.Values{"yaml": {"threads: [{name: A}]"}}, http.StatusSeeOther, "/runs/"},
		{url.Values{"yaml": {`{"threads": [{"name": "A"}]}`}, "store": {"wall"}, "slow": {"2"}}, http.StatusSeeOther, "/runs/"},
		{url.Values{"yaml": {"threads: [{name: A}]"}, "action": {"step"}}, http.StatusSeeOther, "/play#v1."},
		{url.Values{"yaml": {"threads: []"}}, http.StatusUnprocessableEntity, ""},
	} {
		res, _ := s.Do(t, http.MethodPost, "/runs", c.form)
		if res.StatusCode != c.status || !strings.HasPrefix(res.Header.Get("Location"), c.to) {
			t.Errorf("%v: %d to %q, want %d to %q", c.form, res.StatusCode, res.Header.Get("Location"), c.status, c.to)
		}
	}
}

func TestPagesAndHeaders(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.Open(t, nil)
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{"/", 200, "A lock lets one in at a time."},
		{"/scenarios", 200, "The lease, and when it ends"},
		{"/scenarios?lang=zh", 200, "两个线程"},
		{"/about", 200, "What is real"},
		{"/about", 200, "also a Go package, relock/engine/lock"},
		{"/api", 200, "/play/socket"},
		{"/embed/play", 200, "Open in the playground"},
		{"/embed/play/nothing", 404, "There is no such page"},
		{"/embed/s/nothing", 404, "Nothing is kept here"},
		{"/edit", 200, "Two threads, one reentrant lock"},
		{"/edit?example=lease-expiry", 200, "The lease ends before the work"},
		{"/edit?example=nothing", 404, "There is no such page"},
		{"/edit?run=nothing", 404, "There is no such run"},
		{"/edit?trace=nothing", 404, "There is no such trace"},
		{"/traces/nothing", 404, "There is no such trace"},
		{"/traces/nothing/trace", 404, "There is no such trace"},
		{"/nowhere", 404, "There is no such page"},
		{"/runs/nowhere", 404, "There is no such run"},
		{"/runs/nowhere/trace", 404, "There is no such run"},
		{"/healthz", 200, "ok"},
		{"/static/js/app.js", 200, "import"},
		{"/static/js", 404, ""},
	} {
		res, body := s.Do(t, http.MethodGet, c.path, nil)
		if res.StatusCode != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d, want %d with %q", c.path, res.StatusCode, c.status, c.want)
		}
		csp := res.Header.Get("Content-Security-Policy")
		if !strings.Contains(csp, "script-src 'self'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", c.path, csp)
		}
		if strings.Contains(body, " style=") || strings.Contains(body, " onclick=") {
			t.Errorf("%s: inline style or script, which the policy forbids", c.path)
		}
	}
}

func TestNoExamplesStopTheStart(t *testing.T) {
	t.Parallel()
	if _, err := web.New(web.Config{Log: slog.New(slog.DiscardHandler), Limits: runs.DefaultLimits(), Scenarios: fstest.MapFS{}}); err == nil {
		t.Error("a server without examples started")
	}
}

// The registry's reason to end a run is in the visitor's language.
func TestWhyARunWasEndedInChinese(t *testing.T) {
	for _, why := range []string{runs.ErrClosed.Error(), run.ErrLimit.Error(), (&engine.TooLongError{Limit: time.Minute}).Error(), trace.Stopped} {
		tl := film.NewTimeline(words.Match("zh"), film.Scenario{}, nil)
		tl.Add(trace.Event{Seq: 1, Step: 1, Body: trace.End{Result: trace.Failed, Error: why}})
		got := tl.Rows()[0].Event
		if !strings.HasPrefix(got, "运行被中止：") || strings.Contains(got, why) {
			t.Errorf("%q is said as %q", why, got)
		}
	}
}

// A page is sent small, and a websocket all the same.
func TestPagesAreCompressed(t *testing.T) {
	s := webtest.Open(t, nil)
	res, body := s.Do(t, http.MethodGet, "/", nil, "Accept-Encoding", "gzip")
	if res.Header.Get("Content-Encoding") != "gzip" || strings.Contains(body, "<html") {
		t.Errorf("the front page comes as %q, %d bytes", res.Header.Get("Content-Encoding"), len(body))
	}
	if res, body := s.Do(t, http.MethodGet, "/", nil, "Accept-Encoding", "identity"); res.Header.Get("Content-Encoding") != "" || !strings.Contains(body, "<html") {
		t.Errorf("uncompressed it comes as %q", res.Header.Get("Content-Encoding"))
	}
}

// A client that asks and never reads is let go, and holds nothing any more.
func TestWhoNeverReadsIsLetGo(t *testing.T) {
	t.Parallel()
	s, err := web.New(web.Config{Log: slog.New(slog.DiscardHandler), Limits: runs.DefaultLimits(), Scenarios: lessons.Scenarios()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.Patience = 50 * time.Millisecond
	closed := make(chan struct{}, 1)
	h := httptest.NewUnstartedServer(s)
	h.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew: // with the usual buffers it takes megabytes of pages until nothing more fits
			_ = conn.(*net.TCPConn).SetWriteBuffer(4 << 10)
		case http.StateClosed:
			closed <- struct{}{}
		}
	}
	h.Start()
	t.Cleanup(h.Close)
	conn, err := net.Dial("tcp", h.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	go func() { // until the server lets go
		for {
			if _, err := io.WriteString(conn, "GET /about HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil { // a short page: the longer one is, the longer it may take
				return
			}
		}
	}()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("it is still served")
	}
}
