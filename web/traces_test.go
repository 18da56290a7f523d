package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// longLog is a transcript of redis-cli with some 31,000 commands, 1 MB.
func longLog() []byte {
	return []byte(strings.Repeat("127.0.0.1:6379> SET lock a NX PX 30000\nOK\n127.0.0.1:6379> DEL lock\n(integer) 1\n", 1<<20/84))
}

// The film of a trace is made once a language, however many look at it: that of a
// long one, and that of a short one that took much reading.
func TestTheFilmOfATraceIsMadeOnce(t *testing.T) {
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
