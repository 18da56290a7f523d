package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"relock/engine/racetest"
	"relock/web/webtest"
)

// tenThousand is a scenario of more than ten thousand events.
const tenThousand = `
lock: {lease: 200ms, retry: {times: 1000, interval: 25ms}}
threads: [{name: A}, {name: B}, {name: C}, {name: D}]
defaults: {depth: 2, repeat: 100, work: 10ms}
`

func TestThePageOfTenThousandEventsIsSmall(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.Open(t, nil)
	path := s.Run(t, webtest.TwoThreads("base", tenThousand, "yaml", tenThousand))
	s.Ended(t, path)
	_, text := s.Do(t, http.MethodGet, path+"/trace", nil)
	if n := strings.Count(text, "\n") - 1; n < 10_000 {
		t.Fatalf("%d events", n)
	}
	_, page := s.Do(t, http.MethodGet, path, nil)
	reel := webtest.FilmIn(t, page)
	if len(page) > 1_000_000 {
		t.Errorf("a page of %d bytes", len(page))
	}
	if reel.Rows[0].Step != 1 || reel.Rows[len(reel.Rows)-1].Step != reel.Index.Count {
		t.Errorf("the page has rows from T%d to T%d, of %d", reel.Rows[0].Step, reel.Rows[len(reel.Rows)-1].Step, reel.Index.Count)
	}
	before, _ := s.Web.Films()
	for range 3 {
		s.Do(t, http.MethodGet, path, nil)
	}
	kept, folded := s.Web.Films()
	if kept != before || folded != 1 {
		t.Errorf("%d bytes are kept, %d before; folded %d times", kept, before, folded)
	}

	// Without scripts all of it is there, in parts.
	next, seen := "?rows=all", 0
	for next != "" {
		_, page := s.Sent(t, http.MethodGet, path+next, nil)
		if len(page) > 3_000_000 {
			t.Errorf("%s: a page of %d bytes", next, len(page))
		}
		for _, m := range regexp.MustCompile(`<tr id="row-(\d+)"`).FindAllStringSubmatch(webtest.Rows(page), -1) {
			if seen++; m[1] != strconv.Itoa(seen) {
				t.Fatalf("%s: T%s in the place of T%d", next, m[1], seen)
			}
		}
		var last struct {
			Rows []struct {
				Why   string
				Stage struct{ Card struct{ Held, Left string } }
			}
		}
		if _, _, body := s.Rows(t, path, seen, 1); json.Unmarshal([]byte(body), &last) != nil || len(last.Rows) != 1 {
			t.Fatalf("T%d: %s", seen, body)
		}
		for slot, want := range map[string]string{"why": last.Rows[0].Why, "held": last.Rows[0].Stage.Card.Held, "left": last.Rows[0].Stage.Card.Left} {
			if !strings.Contains(page, `data-slot="`+slot+`">`+html.EscapeString(want)+`<`) {
				t.Errorf("%s: the stage is not that after T%d: %s is not %q", next, seen, slot, want)
			}
		}
		_, note, _ := strings.Cut(page, `<noscript><p class="hint more">`)
		note, _, _ = strings.Cut(note, "</noscript>")
		next = ""
		if m := regexp.MustCompile(`href="[^"]*(\?rows=all&amp;from=\d+)">Later steps`).FindStringSubmatch(note); m != nil {
			next = strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	if seen != reel.Index.Count {
		t.Errorf("%d rows in all parts, want %d", seen, reel.Index.Count)
	}
	for _, from := range []string{"0", "x", "999999", "-1"} {
		if res, _ := s.Do(t, http.MethodGet, path+"?rows=all&from="+from, nil); res.StatusCode != http.StatusBadRequest {
			t.Errorf("the part from %s: %d", from, res.StatusCode)
		}
	}
}

// However a trace is made, its page and each portion have a bounded size, and
// what is too much for a row says so.
func TestAHugeTraceMakesNoHugePage(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	const head = `{"relock":1,"scenario":{"lock":{"lease":"1s"},"threads":[{"name":"A"}]},"owners":{},"clock":"virtual"}` + "\n"
	lines := func(n int, event func(i int) string) []byte {
		var b bytes.Buffer
		b.WriteString(head)
		for i := 1; i <= n; i++ {
			b.WriteString(event(i))
			b.WriteByte('\n')
		}
		return b.Bytes()
	}
	fields := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"o%d":"1",`, i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	many, some := fields(1000), fields(60)
	steps, states, inStep, large, dense := 50_000, 6_000, 20_000, 500, "20,000"
	if testing.Short() {
		steps, states, inStep, large, dense = 5_000, 600, 2_000, 50, "2,000"
	}
	text := strings.Repeat("x", 15_000)
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"many steps": {data: lines(steps, func(i int) string {
			return fmt.Sprintf(`{"seq":%d,"step":%d,"at_ms":%d.125,"thread":"A","kind":"command","call":"lock","args":["GET","k"]}`, i, i, i)
		})},
		"many commands in a step": {says: dense + " commands", data: lines(inStep, func(i int) string {
			return fmt.Sprintf(`{"seq":%d,"step":1,"thread":"A","kind":"command","call":"lock","args":["GET","k"]}`, i)
		})},
		"many rules in a step": {says: dense + " broken rules", data: lines(inStep, func(i int) string {
			return fmt.Sprintf(`{"seq":%d,"step":1,"kind":"violation","rule":"a rule by the name of %d","detail":"d"}`, i, i)
		})},
		"many faults in a step": {data: lines(inStep, func(i int) string {
			return fmt.Sprintf(`{"seq":%d,"step":1,"kind":"fault","do":"restart"}`, i)
		})},
		"long arguments": {data: lines(large, func(i int) string {
			return fmt.Sprintf(`{"seq":%d,"step":%d,"thread":"A","kind":"command","call":"lock","args":["SET","k","%s"]}`, i, i, text)
		})},
		"many fields": {says: "More happened in this step", data: lines(large, func(i int) string {
			return fmt.Sprintf(`{"seq":%d,"step":%d,"thread":"A","kind":"command","call":"lock","args":["GET","k"],"key":{"type":"hash","fields":{%s},"pttl_ms":5}}`, i, i, many)
		})},
		"some fields": {data: lines(states, func(i int) string {
			return fmt.Sprintf(`{"seq":%d,"step":%d,"thread":"A","kind":"command","call":"lock","args":["GET","k"],"key":{"type":"hash","fields":{%s},"pttl_ms":5}}`, i, i, some)
		})},
	} {
		s := webtest.Open(t, nil)
		res, body := s.Send(t, "/traces", "trace.jsonl", c.data)
		if res.StatusCode != http.StatusSeeOther {
			t.Errorf("%s: %d\n%.2000s", name, res.StatusCode, body)
			continue
		}
		path := res.Header.Get("Location")
		_, page := s.Sent(t, http.MethodGet, path, nil)
		reel := webtest.FilmIn(t, page)
		kept, _ := s.Web.Films()
		t.Logf("%s: %d bytes sent, a page of %d, %d kept", name, len(c.data), len(page), kept)
		if len(page) > 4<<20 || kept > 64<<20 {
			t.Errorf("%s: a page of %d bytes, %d are kept", name, len(page), kept)
		}
		if strings.Contains(page, `"beliefs":null`) || strings.Count(page, `class="tag `) > 48 {
			t.Errorf("%s: a row has no stage, or %d owners of the key", name, strings.Count(page, `class="tag `))
		}
		if c.says != "" && !strings.Contains(page, c.says) {
			t.Errorf("%s: the page does not say %q", name, c.says)
		}
		if reel.Index == nil {
			continue
		}
		for _, from := range []int{1, reel.Index.Count/2/32*32 + 1, reel.Index.Count} {
			_, res, body := s.Rows(t, path, from, 32)
			if res.StatusCode != http.StatusOK || len(body) > 3<<20 {
				t.Errorf("%s: rows from %d: %d, %d bytes", name, from, res.StatusCode, len(body))
			}
		}
		if _, page := s.Sent(t, http.MethodGet, path+"?rows=all", nil); len(page) > 6<<20 {
			t.Errorf("%s: without scripts a page of %d bytes", name, len(page))
		}
		if _, all := s.Sent(t, http.MethodGet, path+"/trace", nil); len(all) != len(c.data) {
			t.Errorf("%s: the file has %d bytes of %d", name, len(all), len(c.data))
		}
	}
}
