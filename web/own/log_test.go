package own_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"relock/engine/racetest"
	"relock/web/site"
	"relock/web/webtest"
)

const monitorLog = `OK
1700000000.000000 [0 127.0.0.1:5001] "SET" "lock" "v1" "NX" "PX" "300"
1700000000.350000 [0 127.0.0.1:5002] "SET" "lock" "v2" "NX" "PX" "300"
1700000000.360000 [0 127.0.0.1:5002] "EVAL" "while true do end" "1" "lock"
1700000000.370000 [0 127.0.0.1:5003] "SET" "other" "v2" "NX"
1700000000.500000 [0 127.0.0.1:5001] "DEL" "lock"
`

// A log that is sent becomes a trace with a page, which reads it in another way by a click. None
// of its scripts is run.
func TestALogHasAPage(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	res, body := s.Send(t, "/edit/file", "monitor.log", []byte(monitorLog))
	if res.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d: %s", res.StatusCode, body)
	}
	at := res.Header.Get("Location")
	_, body = s.Do(t, http.MethodGet, at, nil)
	for _, want := range []string{"Read from a MONITOR log: 4 commands name the key lock, threads by value.", "threads by connection", "It has no replies", at + "/again?key=other", "another&#39;s lock released"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	res, _ = s.Do(t, http.MethodGet, at+"/again?threads=connection", nil)
	if res.StatusCode != http.StatusSeeOther {
		t.Fatal(res.StatusCode)
	}
	if _, body = s.Do(t, http.MethodGet, res.Header.Get("Location"), nil); !strings.Contains(body, "4 commands name the key lock, threads by connection.") {
		t.Error("it is not by connection")
	}
	res, _ = s.Do(t, http.MethodGet, at+"/again?key="+url.QueryEscape("other"), nil)
	if _, body = s.Do(t, http.MethodGet, res.Header.Get("Location"), nil); !strings.Contains(body, "1 command names the key other") {
		t.Error("it is not the other key")
	}
	res, body = s.Send(t, "/edit/file", "monitor.log", []byte(monitorLog+"1700000009.000000 [0 x] \"AUTH\" \"s3cret\n"))
	if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "line 7: it is not a line of MONITOR") || strings.Contains(body, "s3cret") {
		t.Errorf("%d: %s", res.StatusCode, body)
	}
}

// What is packed with gzip is kept unpacked, so it can be read again; what is too large unpacked is refused.
func TestAPackedLogHasAPage(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	packed, err := site.Zipped([]byte(monitorLog))
	if err != nil {
		t.Fatal(err)
	}
	res, body := s.Send(t, "/edit/file", "monitor.log.gz", packed)
	at := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d: %s", res.StatusCode, body)
	}
	res, _ = s.Do(t, http.MethodGet, at+"/again?key=other", nil)
	if _, body = s.Do(t, http.MethodGet, res.Header.Get("Location"), nil); !strings.Contains(body, "1 command names the key other") {
		t.Error("it is not read again")
	}
	if packed, err = site.Zipped([]byte(monitorLog + strings.Repeat("#\n", 8<<20))); err != nil {
		t.Fatal(err)
	}
	if res, _ = s.Send(t, "/edit/file", "monitor.log.gz", packed); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%d KB that are 16 MB: %d", len(packed)>>10, res.StatusCode)
	}
}

const semaphoreLog = `1700000000.000000 [0 127.0.0.1:5001] "ZADD" "sem:readers" "1" "w1"
1700000000.000100 [0 127.0.0.1:5001] "ECHO" "relock:enter"
1700000000.010000 [0 127.0.0.1:5002] "ZADD" "sem:readers" "2" "w2"
1700000000.010100 [0 127.0.0.1:5002] "ECHO" "relock:enter"
1700000000.019000 [0 127.0.0.1:5001] "ECHO" "relock:leave"
1700000000.020000 [0 127.0.0.1:5001] "ZREM" "sem:readers" "w1"
1700000000.029000 [0 127.0.0.1:5002] "ECHO" "relock:leave"
1700000000.030000 [0 127.0.0.1:5002] "ZREM" "sem:readers" "w2"
`

// Where a log has marks, its page asks how many may be inside at once; without them it does not, and
// what it cannot judge it says. A key is a key, whatever it ends with.
func TestHowManyMayBeInsideIsSaidOnThePage(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	res, body := s.Send(t, "/edit/file?key=sem:readers", "monitor.log", []byte(semaphoreLog))
	if res.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d: %s", res.StatusCode, body)
	}
	at := res.Header.Get("Location")
	_, body = s.Do(t, http.MethodGet, at, nil)
	for _, want := range []string{"4 commands name the key sem:readers", "two inside at once", at + "/again?inside=2"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for inside, broken := range map[string]bool{"1": true, "2": false} {
		res, _ = s.Do(t, http.MethodGet, at+"/again?inside="+inside, nil)
		_, body = s.Do(t, http.MethodGet, res.Header.Get("Location"), nil)
		if strings.Contains(body, "two inside at once") != broken || !strings.Contains(body, `<span aria-current="true">`+inside+" inside") {
			t.Errorf("%s: broken is %v, or the page does not say how many", inside, !broken)
		}
	}
	for _, wrong := range []string{"0", "-3", "many"} {
		if res, body = s.Do(t, http.MethodGet, at+"/again?inside="+wrong, nil); res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "allowed: 1 to 1,000") {
			t.Errorf("%s: %d: %s", wrong, res.StatusCode, body)
		}
	}
	var unmarked []string
	for line := range strings.Lines(semaphoreLog) {
		if !strings.Contains(line, "ECHO") {
			unmarked = append(unmarked, line)
		}
	}
	res, _ = s.Send(t, "/edit/file?key=sem:readers", "monitor.log", []byte(strings.Join(unmarked, "")))
	if _, body = s.Do(t, http.MethodGet, res.Header.Get("Location"), nil); !strings.Contains(body, "The key holds a sorted set.") || strings.Contains(body, "/again?inside=") {
		t.Error("the page judges what nobody has said, or asks for what does not help")
	}
}

// So do spans of OpenTelemetry: those of our own example.
func TestSpansHaveAPage(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	spans, err := os.ReadFile("../../engine/outside/logs/testdata/example.otlp.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	res, body := s.Send(t, "/edit/file", "spans.jsonl", spans)
	if res.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d: %s", res.StatusCode, body)
	}
	_, body = s.Do(t, http.MethodGet, res.Header.Get("Location"), nil)
	for _, want := range []string{"Read from spans of OpenTelemetry: 5 attempts for the key invoice:7, threads by owner.", "hands over to waiters: 5", "two inside at once", "worker-1"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// The page of a long log leads to where rules are broken, also without its script; that of a short one shows them.
func TestALongLogLeadsToWhereItBreaks(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.Open(t, nil)
	page := func(rounds int) (at, body string) {
		var log strings.Builder
		for n := range rounds {
			fmt.Fprintf(&log, "%d.000000 [0 127.0.0.1:5001] \"SET\" \"lock\" \"v%d\" \"NX\" \"PX\" \"900\"\n", 1_700_000_000+n, n)
			if n%80 == 75 {
				fmt.Fprintf(&log, "%d.100000 [0 127.0.0.1:5002] \"DEL\" \"lock\"\n", 1_700_000_000+n)
			}
			fmt.Fprintf(&log, "%d.200000 [0 127.0.0.1:5001] \"DEL\" \"lock\"\n", 1_700_000_000+n)
		}
		res, body := s.Send(t, "/traces?threads=connection", "monitor.log", []byte(log.String()))
		if at = res.Header.Get("Location"); at == "" {
			t.Fatalf("%d: %s", res.StatusCode, body)
		}
		_, body = s.Do(t, http.MethodGet, at, nil)
		return at, body
	}
	at, body := page(400)
	for _, step := range []string{"152", "313", "474"} { // two rows a round, and one more for each that broke
		if !strings.Contains(body, `href="#row-`+step+`">T`+step+`. another&#39;s lock released<`) {
			t.Errorf("nothing leads to T%s", step)
		}
		if _, part := s.Do(t, http.MethodGet, at+"?rows=all&from="+step, nil); !strings.Contains(part, `id="row-`+step+`"`) || !strings.Contains(body, `<noscript><a href="?rows=all&amp;from=`+step+`#row-`+step+`"`) {
			t.Errorf("without a script nothing leads to T%s", step)
		}
	}
	if strings.Contains(body, `href="#row-635"`) || !strings.Contains(body, "at most three places each: 3<") {
		t.Error("more than three places of a rule")
	}
	if _, short := page(90); strings.Contains(short, "at most three places") || !strings.Contains(short, "another&#39;s lock released") {
		t.Error("a short log leads to what it shows")
	}
}
