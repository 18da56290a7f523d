package web_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"relock/engine/store"
	"relock/engine/store/storetest"
	"relock/lessons"
	"relock/web"
	"relock/web/runs"
	door "relock/web/site"
	"relock/web/site/wire"
	"relock/web/webtest"
)

// sharing opens servers that share a Redis, behind whatever balancer: each is
// asked at its own address.
func sharing(t *testing.T, n int, at string, change func(*web.Config)) []webtest.Site {
	t.Helper()
	var all []webtest.Site
	for range n {
		external, err := store.Connect(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		h := httptest.NewUnstartedServer(nil)
		c := web.Config{
			Log: slog.New(slog.DiscardHandler), Limits: runs.DefaultLimits(), Scenarios: lessons.Scenarios(),
			External: external, Listening: h.Listener.Addr(),
		}
		if change != nil {
			change(&c)
		}
		s, err := web.New(c)
		if err != nil {
			t.Fatal(err)
		}
		h.Config.Handler = s
		if h.TLS = c.Secure; c.Secure != nil {
			h.StartTLS()
		} else {
			h.Start()
		}
		h.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		t.Cleanup(func() {
			s.Close()
			h.Close()
			_ = external.Close()
		})
		all = append(all, webtest.Site{Server: h, Web: s})
	}
	return all
}

// endlessText is a run that goes on until it is stopped.
const endlessText = `title: Long
lock: {lease: 1h, watchdog: off}
threads: [{name: A, work: 1h}]
`

// endless is the form that starts it.
func endless() url.Values {
	return webtest.TwoThreads("base", endlessText, "yaml", endlessText, "store", "wall")
}

// All servers find what one has made.
func TestServersThatShareARedisFindEachOthersThings(t *testing.T) {
	all := sharing(t, 3, storetest.URL(t), nil)
	first, others := all[0], all[1:]

	res, body := first.Post(t, "/s", webtest.Packed(t, webtest.TwoText, 0))
	var made struct{ Path string }
	if err := json.Unmarshal([]byte(body), &made); err != nil || res.StatusCode != http.StatusCreated {
		t.Fatal(res.Status, err)
	}
	run := first.Run(t, webtest.TwoThreads())
	first.Ended(t, run)
	_, trace := first.Do(t, http.MethodGet, run+"/trace", nil)
	res, _ = first.Send(t, "/traces", "trace.jsonl", []byte(trace))
	kept := res.Header.Get("Location")

	for _, s := range others {
		s.Found(t, made.Path, "Two")
		s.Found(t, "/embed"+made.Path, "v1.z.")
		s.Found(t, "/oembed?url="+url.QueryEscape(s.URL+made.Path), "Two")
		s.Found(t, kept, "Two")
		if got := s.Found(t, kept+"/trace", ""); got != trace {
			t.Error("the trace is another one")
		}
		s.Found(t, "/edit?trace="+strings.TrimPrefix(kept, "/traces/"), "title: Two")
		s.Found(t, run, "Two")
		s.Found(t, run+"/lanes?row=1", "<svg")
		s.Found(t, run+"/rows?from=1&count=2", `"rows"`)
		s.Found(t, run+"/export?format=md", "T1")
		s.Found(t, "/edit?run="+strings.TrimPrefix(run, "/runs/"), "title: Two")
		if got := s.Found(t, run+"/trace", ""); got != trace {
			t.Error("the run's trace is another one")
		}
		s.Ended(t, run)
		for s.Metric(t, `relock_passed_total{outcome="answered"}`) != "7" { // the socket's end may be counted after it is seen
			if t.Context().Err() != nil {
				t.Fatal("other than 7 requests were handed on")
			}
		}
	}
	if n := first.Metric(t, `relock_passed_total{outcome="answered"}`); n != "0" {
		t.Errorf("%s requests were handed on by who has the run", n)
	}
}

// A page from another server says once what it says on that one.
func TestARunThatIsHandedOnHasEachHeaderOnce(t *testing.T) {
	all := sharing(t, 2, storetest.URL(t), nil)
	path := all[0].Run(t, webtest.TwoThreads())
	all[0].Ended(t, path)
	for _, headers := range [][]string{nil, {"Accept-Encoding", "gzip"}, {"Accept-Language", "zh"}} {
		own, _ := all[0].Do(t, http.MethodGet, path, nil, headers...)
		res, _ := all[1].Do(t, http.MethodGet, path, nil, headers...)
		for _, h := range []http.Header{own.Header, res.Header} {
			h.Del("Date")
		}
		if fmt.Sprint(own.Header) != fmt.Sprint(res.Header) {
			t.Errorf("%v:\n%v, on the other\n%v", headers, own.Header, res.Header)
		}
	}
}

// The visitor who started a run steers it through any server, and nobody else does.
func TestARunIsSteeredThroughAnyServer(t *testing.T) {
	all := sharing(t, 2, storetest.URL(t), nil)
	res, body := all[0].Do(t, http.MethodPost, "/runs", endless())
	path := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther {
		t.Fatal(res.Status, body)
	}
	cookie := res.Cookies()[0]
	for _, c := range []struct{ who, answer string }{
		{cookie.String(), `"controls"`}, {"relock-visitor=somebody", `"refused"`},
	} {
		conn, _, err := all[1].Dial(t, path, 0, http.Header{"Cookie": {c.who}, "Origin": {all[1].URL}})
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.WriteJSON(map[string]string{"thread": "A", "do": "pause"}); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		for answer := ""; !strings.Contains(answer, c.answer); {
			_, data, err := conn.ReadMessage()
			if err != nil {
				t.Fatalf("%s has no answer with %s: %v", c.who, c.answer, err)
			}
			answer = string(data)
		}
		_ = conn.Close()
	}
	_, page := all[1].Do(t, http.MethodGet, path, nil, "Cookie", cookie.String())
	if !strings.Contains(page, `id="controls"`) {
		t.Error("who started it has no controls on the other server")
	}
	_, _, err := all[1].Dial(t, path, 0, http.Header{"Origin": {"https://evil.example"}})
	if err == nil {
		t.Error("another site's page watches through the other server")
	}
}

// The limits of an address count the visitor's, whichever server they come by.
func TestAHandedOnRequestCountsForItsVisitor(t *testing.T) {
	var log strings.Builder
	shared := slog.New(slog.NewJSONHandler(&log, nil)) // it locks
	all := sharing(t, 2, storetest.URL(t), func(c *web.Config) {
		c.Log = shared
		c.Proxies, _ = door.ParseProxies("127.0.0.1")
	})
	path := all[0].Run(t, webtest.TwoThreads())
	all[0].Ended(t, path)
	_, _ = all[1].Do(t, http.MethodGet, path, nil, "X-Forwarded-For", "192.0.2.7")
	for _, one := range all {
		one.Server.Close() // its handlers have returned, and logged
		one.Web.Close()
	}
	if n := strings.Count(log.String(), `"from":"192.0.2.7"`); n != 2 {
		t.Errorf("%d lines are about the visitor, want one of each server:\n%s", n, log.String())
	}
}

// A server answers in the name that the visitor asked for, though only the other
// one is known by it.
func TestAHandedOnRequestKeepsItsHost(t *testing.T) {
	at := storetest.URL(t)
	hidden := sharing(t, 1, at, nil)[0]
	known := sharing(t, 1, at, webtest.AsPublic(t, "https://relock.example"))[0]
	path := hidden.Run(t, webtest.TwoThreads())
	hidden.Ended(t, path)
	res, _ := known.Ask(t, http.MethodGet, path, "relock.example", nil)
	if res.StatusCode != http.StatusOK {
		t.Errorf("%d", res.StatusCode)
	}
	if res, _ := hidden.Ask(t, http.MethodGet, path, "relock.example", nil); res.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("asked itself by that name: %d", res.StatusCode)
	}
}

// A request that pretends to be handed on is refused.
func TestNobodyElseHandsRequestsOn(t *testing.T) {
	all := sharing(t, 1, storetest.URL(t), nil)
	for _, header := range []string{"x", "e30.x", "e30."} {
		if res, _ := all[0].Do(t, http.MethodGet, "/about", nil, "Relock-Passed-On", header); res.StatusCode != http.StatusForbidden {
			t.Errorf("%q: %d", header, res.StatusCode)
		}
	}
}

// A run goes with its server, and others say so: on its page, and on the socket
// of a page that is open.
func TestOtherServersSayThatAServerHasEnded(t *testing.T) {
	all := sharing(t, 3, storetest.URL(t), nil)
	path := all[0].Run(t, endless())
	conn, _, err := all[1].Dial(t, path, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	all[0].Web.Close()
	for err == nil {
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		_, _, err = conn.ReadMessage()
	}
	if !websocket.IsCloseError(err, websocket.CloseGoingAway) {
		t.Errorf("the socket ended with %v", err)
	}
	for language, want := range map[string]string{"en": "That server has ended, and so has the run", "zh": "运行也随之消失"} {
		res, body := all[1].Do(t, http.MethodGet, path+"?lang="+language, nil)
		if res.StatusCode != http.StatusGone || !strings.Contains(body, want) {
			t.Errorf("%d without %q", res.StatusCode, want)
		}
	}
	again, _, err := all[2].Dial(t, path, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	var told struct {
		Gone    bool
		Refused string
	}
	if err := again.ReadJSON(&told); err != nil || !told.Gone || !strings.Contains(told.Refused, "has ended") {
		t.Errorf("told %+v, %v", told, err)
	}
	if _, _, err := again.ReadMessage(); !websocket.IsCloseError(err, wire.CloseGone) {
		t.Errorf("closed with %v", err)
	}
	if n := all[1].Metric(t, `relock_passed_total{outcome="gone"}`); n != "2" {
		t.Errorf("%s are gone, want 2", n)
	}
	if res, _ := all[1].Do(t, http.MethodGet, "/runs/AAAAAAAAAA-never", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("of a server that never was: %d", res.StatusCode)
	}
}

// A server that vanishes without a word, or that stands still, holds nobody up.
func TestAServerThatDoesNotAnswer(t *testing.T) {
	all := sharing(t, 2, storetest.URL(t), nil)
	path := all[0].Run(t, webtest.TwoThreads())
	all[0].Ended(t, path)
	all[1].Found(t, path, "Two")
	all[0].Listener.Close()
	all[0].CloseClientConnections()
	res, body := all[1].Do(t, http.MethodGet, path, nil)
	if res.StatusCode != http.StatusBadGateway || !strings.Contains(body, "does not answer right now") || res.Header.Get("Retry-After") == "" {
		t.Errorf("%d, and what it says is another thing", res.StatusCode)
	}
	if _, res, err := all[1].Dial(t, path, 0, nil); err == nil || res == nil || res.StatusCode != http.StatusBadGateway {
		t.Errorf("its socket: %v", err)
	}
}

// Without its Redis a server says what it cannot find, soon, and goes on.
func TestServersWithoutTheirRedis(t *testing.T) {
	t.Parallel()
	at := storetest.Start(t)
	all := sharing(t, 2, "redis://"+at.Addr, nil)
	path := all[0].Run(t, webtest.TwoThreads())
	all[0].Ended(t, path)
	all[1].Found(t, path, "Two")
	at.Kill()
	all[1].Found(t, path, "Two") // where it is was known
	all[0].Found(t, all[0].Run(t, webtest.TwoThreads()), "Two")
	for _, path := range []string{"/s/AAAAAAAAAAA", "/embed/s/AAAAAAAAAAA", "/traces/AAAAAAAAAAAAAA", "/runs/AAAAAAAAAA-never"} {
		res, body := all[1].Do(t, http.MethodGet, path, nil)
		if res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "Redis") || res.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d, or it does not say why", path, res.StatusCode)
		}
	}
	if res, _ := all[1].Do(t, http.MethodGet, "/readyz", nil); res.StatusCode != http.StatusOK {
		t.Errorf("/readyz: %d", res.StatusCode)
	}
}
