package web_test

import (
	"net/http"
	"strings"
	"testing"

	"relock/web/export"
)

// hugeLevels is a log of a few bytes that names a count nobody can draw.
const hugeLevels = `1700000000.000000 [0 127.0.0.1:5000] "HINCRBY" "k" "A" "9000000000000"
1700000000.000100 [0 127.0.0.1:5000] "PEXPIRE" "k" "30000"
1700000000.010000 [0 127.0.0.1:5000] "HINCRBY" "k" "A" "-9000000000000"
1700000000.010100 [0 127.0.0.1:5000] "DEL" "k"
`

func TestAHugeCountIsAFileOfUsualSize(t *testing.T) {
	s := open(t, nil)
	res, _ := s.send(t, "/traces", "redis.log", []byte(hugeLevels))
	at := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther {
		t.Fatal(res.Status)
	}
	for _, f := range export.Formats() {
		res, body := s.do(t, http.MethodGet, at+"/export?format="+string(f), nil)
		if res.StatusCode != http.StatusOK || len(body) > 64<<10 {
			t.Errorf("%s: %s, %d bytes", f, res.Status, len(body))
		}
	}
	if res, body := s.do(t, http.MethodGet, at, nil); res.StatusCode != http.StatusOK || len(body) > 1<<20 {
		t.Errorf("its page: %s, %d bytes", res.Status, len(body))
	}
}

func TestAnAnswerWithoutEndIsRefused(t *testing.T) {
	s := open(t, nil)
	log := "127.0.0.1:6379> EVAL \"x\" 0\n" + strings.Repeat("1) ", 340_000) + "\"a\"\n"
	res, body := s.send(t, "/traces", "redis.log", []byte(log))
	const want = "line 1: the answer to it has lists within lists, more than 100 deep; allowed: 100"
	if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, want) {
		t.Errorf("%s, without %q", res.Status, want)
	}
}
