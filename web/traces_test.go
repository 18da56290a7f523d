package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"relock/engine/racetest"
)

// longLog is a transcript of redis-cli with some 31,000 commands, 1 MB.
func longLog() []byte {
	return []byte(strings.Repeat("127.0.0.1:6379> SET lock a NX PX 30000\nOK\n127.0.0.1:6379> DEL lock\n(integer) 1\n", 1<<20/84))
}

// The film of a trace is made once a language, however many look at it: that of a
// long one, and that of a short one that took much reading.
func TestTheFilmOfATraceIsMadeOnce(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	short := `{"relock":1,"scenario":{"lock":{"lease":"1s"},"threads":[{"name":"A"}]},"owners":{},"clock":"virtual"}` + "\n"
	for i := range 2_000 {
		short += fmt.Sprintf(`{"seq":%d,"step":1,"kind":"fault","do":"restart"}`+"\n", i+1)
	}
	for name, data := range map[string][]byte{"long": longLog()[:200<<10], "short": []byte(short)} {
		s := open(t, nil)
		res, body := s.send(t, "/edit/file", "trace", data)
		at := res.Header.Get("Location")
		if res.StatusCode != http.StatusSeeOther {
			t.Fatalf("%s: %d\n%.300s", name, res.StatusCode, body)
		}
		var pages [2]string
		for i := range pages {
			if res, pages[i] = s.do(t, http.MethodGet, at, nil); res.StatusCode != http.StatusOK {
				t.Fatalf("%s: %d\n%.300s", name, res.StatusCode, pages[i])
			}
		}
		if pages[0] != pages[1] {
			t.Errorf("%s: the second page is another one", name)
		}
		if long := strings.Contains(pages[0], `"index":`); long != (name == "long") {
			t.Errorf("%s: its rows come in portions: %v", name, long)
		}
		if bytes, folded := s.web.Films(); folded != 1 || bytes < len(pages[0])/2 {
			t.Errorf("%s: made %d times for two views, and %d bytes are kept", name, folded, bytes)
		}
		_, _ = s.do(t, http.MethodGet, at, nil, "Accept-Language", "zh")
		if _, folded := s.web.Films(); folded != 2 {
			t.Errorf("%s: made %d times in two languages", name, folded)
		}
	}
}

// The trace of a run on a late machine says so wherever it is read again, beside its
// verdict.
func TestTheTraceOfALateMachineSaysSo(t *testing.T) {
	t.Parallel()
	const head = `{"relock":1,"scenario":{"lock":{"lease":"800ms"},"threads":[{"name":"A"}]},"owners":{},"clock":"wall"}` + "\n"
	s := open(t, nil)
	for tail, want := range map[string]bool{`,"lateness_ms":80`: true, `,"lateness_ms":79.9`: false, ``: false} {
		res, body := s.send(t, "/edit/file", "trace", []byte(head+`{"seq":1,"step":1,"kind":"end","result":"done"`+tail+"}\n"))
		if res.StatusCode != http.StatusSeeOther {
			t.Fatalf("%d\n%.300s", res.StatusCode, body)
		}
		_, page := s.do(t, http.MethodGet, res.Header.Get("Location"), nil)
		_, verdict, _ := strings.Cut(page, `<div id="verdict"`)
		verdict, _, _ = strings.Cut(verdict, "</div>")
		if says := strings.Contains(verdict, "the machine was up to 80 ms late: these instants are not the scenario&#39;s"); says != want || !strings.Contains(verdict, "no rule was broken") {
			t.Errorf("%q: %s", tail, verdict)
		}
	}
}
