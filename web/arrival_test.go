package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"relock/engine/racetest"
	"relock/web"
	"relock/web/webtest"
)

const asForm = "Content-Type: application/x-www-form-urlencoded\r\n"

// A body that does not come is answered with a sentence, wherever it was to go.
func TestABodyThatDoesNotComeIsAnswered(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.Open(t, nil)
	web.SetPace(s.Web, 100*time.Millisecond, 1<<20)
	for _, path := range []string{
		"/traces", "/runs", "/edit", "/edit/scenario", "/edit/file", "/rooms", "/replay", "/export?format=csv", "/s",
		"/learn/made/judge", "/learn/trouble/sell-it-twice/judge",
	} {
		res, body := s.Dripped(t, path, asForm, 100_000, []string{"yaml=", "x"}, time.Millisecond)
		if res.StatusCode == http.StatusNotFound {
			t.Fatalf("%s: there is no such page", path)
		}
		if res.StatusCode != http.StatusRequestTimeout || !strings.Contains(body, "That took too long to arrive") || !res.Close {
			t.Errorf("%s: %d, closed %t\n%s", path, res.StatusCode, res.Close, body)
		}
	}
	res, body := s.Dripped(t, "/traces", "Accept: application/json\r\nAccept-Language: zh\r\n", 100_000, nil, time.Millisecond)
	var told struct{ Error, Limit string }
	if err := json.Unmarshal([]byte(body), &told); err != nil || res.StatusCode != http.StatusRequestTimeout || told.Limit != "slow-body" || !strings.HasPrefix(told.Error, "发送得太慢了。") {
		t.Errorf("as JSON: %d %s, %v", res.StatusCode, body, err)
	}
	if n := s.Metric(t, `relock_refusals_total{limit="slow-body"}`); n != "12" {
		t.Errorf("%s are counted", n)
	}
}

// A body that comes slowly has its time as long as it goes on, but not for ever.
func TestABodyThatComesSlowlyHasItsTime(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.Open(t, nil)
	const pause = 20 * time.Millisecond
	text := "threads: [{name: A}]#" + strings.Repeat("x", 1000)
	var pieces []string
	for i := 0; i < len(text); i += 20 {
		pieces = append(pieces, text[i:min(i+20, len(text))])
	}
	web.SetPace(s.Web, 20*pause, 200) // it comes with 1,000 bytes a second, for more than a second
	if res, body := s.Dripped(t, "/edit/file", "", len(text), pieces, pause); res.StatusCode != http.StatusOK || !strings.Contains(body, "name: A") {
		t.Errorf("slowly: %d", res.StatusCode)
	}
	web.SetPace(s.Web, 20*pause, 5000)
	if res, _ := s.Dripped(t, "/edit/file", "", len(text), pieces, pause); res.StatusCode != http.StatusRequestTimeout {
		t.Errorf("more slowly than it must: %d", res.StatusCode)
	}
}

// A request that waits for others is not late: the server reads two of an address at a
// time.
func TestWhoWaitsForATurnIsNotLate(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.Open(t, nil)
	const first, pause = 400 * time.Millisecond, 100 * time.Millisecond
	web.SetPace(s.Web, first, 1)
	text := "threads: [{name: A}]"
	var all sync.WaitGroup
	for range 8 { // a second for each pair, so the last begin after three
		all.Go(func() {
			pieces := strings.SplitAfter(text, "")[:10]
			pieces[9] = text[9:]
			if res, _ := s.Dripped(t, "/edit/file", "", len(text), pieces, pause); res.StatusCode != http.StatusOK {
				t.Errorf("%d for one of eight at once", res.StatusCode)
			}
		})
	}
	all.Wait()
}
