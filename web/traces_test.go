package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"relock/engine/racetest"
	"relock/web/webtest"
)

// The film of a trace is made once a language, however many look at it: that of a
// long one, and that of a short one that took much reading.
func TestTheFilmOfATraceIsMadeOnce(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	short := `{"relock":1,"scenario":{"lock":{"lease":"1s"},"threads":[{"name":"A"}]},"owners":{},"clock":"virtual"}` + "\n"
	for i := range 2_000 {
		short += fmt.Sprintf(`{"seq":%d,"step":1,"kind":"fault","do":"restart"}`+"\n", i+1)
	}
	for name, data := range map[string][]byte{"long": webtest.LongLog()[:200<<10], "short": []byte(short)} {
		s := webtest.Open(t, nil)
		res, body := s.Send(t, "/edit/file", "trace", data)
		at := res.Header.Get("Location")
		if res.StatusCode != http.StatusSeeOther {
			t.Fatalf("%s: %d\n%.300s", name, res.StatusCode, body)
		}
		var pages [2]string
		for i := range pages {
			if res, pages[i] = s.Do(t, http.MethodGet, at, nil); res.StatusCode != http.StatusOK {
				t.Fatalf("%s: %d\n%.300s", name, res.StatusCode, pages[i])
			}
		}
		if pages[0] != pages[1] {
			t.Errorf("%s: the second page is another one", name)
		}
		if long := strings.Contains(pages[0], `"index":`); long != (name == "long") {
			t.Errorf("%s: its rows come in portions: %v", name, long)
		}
		if bytes, folded := s.Web.Films(); folded != 1 || bytes < len(pages[0])/2 {
			t.Errorf("%s: made %d times for two views, and %d bytes are kept", name, folded, bytes)
		}
		_, _ = s.Do(t, http.MethodGet, at, nil, "Accept-Language", "zh")
		if _, folded := s.Web.Films(); folded != 2 {
			t.Errorf("%s: made %d times in two languages", name, folded)
		}
	}
}
