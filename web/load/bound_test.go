package load_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"relock/web/export"
	"relock/web/webtest"
)

// hugeLevels is a log of a few bytes that names a count nobody can draw.
const hugeLevels = `1700000000.000000 [0 127.0.0.1:5000] "HINCRBY" "k" "A" "9000000000000"
1700000000.000100 [0 127.0.0.1:5000] "PEXPIRE" "k" "30000"
1700000000.010000 [0 127.0.0.1:5000] "HINCRBY" "k" "A" "-9000000000000"
1700000000.010100 [0 127.0.0.1:5000] "DEL" "k"
`

func TestAHugeCountIsAFileOfUsualSize(t *testing.T) {
	s := webtest.Open(t, nil)
	res, _ := s.Send(t, "/traces", "redis.log", []byte(hugeLevels))
	at := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther {
		t.Fatal(res.Status)
	}
	for _, f := range export.Formats() {
		res, body := s.Do(t, http.MethodGet, at+"/export?format="+string(f), nil)
		most := 64 << 10
		if f == export.HTML { // it has the page's scripts and styles
			most = 160 << 10
		}
		if res.StatusCode != http.StatusOK || len(body) > most {
			t.Errorf("%s: %s, %d bytes", f, res.Status, len(body))
		}
	}
	if res, body := s.Do(t, http.MethodGet, at, nil); res.StatusCode != http.StatusOK || len(body) > 1<<20 {
		t.Errorf("its page: %s, %d bytes", res.Status, len(body))
	}
}

func TestAnAnswerWithoutEndIsRefused(t *testing.T) {
	s := webtest.Open(t, nil)
	const span = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"lock","startTimeUnixNano":"1","endTimeUnixNano":"2","attributes":[` +
		`{"key":"relock.call","value":{"stringValue":"lock"}},{"key":"relock.attempt","value":{"intValue":"1"}},{"key":"relock.key","value":{"stringValue":"lock"}},` +
		`{"key":"relock.owner","value":{"stringValue":"p:1"}},{"key":"relock.result","value":{"stringValue":"acquired"}}],"events":[{"timeUnixNano":"1","name":"command","attributes":[` +
		`{"key":"db.query.text","value":{"stringValue":"LRANGE lock 0 -1"}},{"key":"relock.reply","value":{"stringValue":"%s"}}]}]}]}]}]}` + "\n"
	log := fmt.Sprintf(span, strings.Repeat("1) ", 340_000)+"a")
	res, body := s.Send(t, "/traces", "spans.jsonl", []byte(log))
	const want = "line 1: the answer to it has lists within lists, more than 100 deep; allowed: 100"
	if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, want) {
		t.Errorf("%s, without %q", res.Status, want)
	}
}
