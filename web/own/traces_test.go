package own_test

import (
	"net/http"
	"strings"
	"testing"

	"relock/web/webtest"
)

// The trace of a run on a late machine says so wherever it is read again, beside its
// verdict.
func TestTheTraceOfALateMachineSaysSo(t *testing.T) {
	t.Parallel()
	const head = `{"relock":1,"scenario":{"lock":{"lease":"800ms"},"threads":[{"name":"A"}]},"owners":{},"clock":"wall"}` + "\n"
	s := webtest.Open(t, nil)
	for tail, want := range map[string]bool{`,"lateness_ms":80`: true, `,"lateness_ms":79.9`: false, ``: false} {
		res, body := s.Send(t, "/edit/file", "trace", []byte(head+`{"seq":1,"step":1,"kind":"end","result":"done"`+tail+"}\n"))
		if res.StatusCode != http.StatusSeeOther {
			t.Fatalf("%d\n%.300s", res.StatusCode, body)
		}
		_, page := s.Do(t, http.MethodGet, res.Header.Get("Location"), nil)
		_, verdict, _ := strings.Cut(page, `<div id="verdict"`)
		verdict, _, _ = strings.Cut(verdict, "</div>")
		if says := strings.Contains(verdict, "the machine was up to 80 ms late: these instants are not the scenario&#39;s"); says != want || !strings.Contains(verdict, "no rule was broken") {
			t.Errorf("%q: %s", tail, verdict)
		}
	}
}
