package web_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"relock/engine/racetest"
	"relock/web/film"
)

// portion is some rows of a run as its page gets them.
type portion struct {
	V      int
	From   int
	Before json.RawMessage
	Rows   []json.RawMessage
}

func (s site) rows(t *testing.T, path string, from, count int) (portion, *http.Response, string) {
	t.Helper()
	res, body := s.sent(t, http.MethodGet, fmt.Sprintf("%s/rows?from=%d&count=%d", path, from, count), nil)
	var p portion
	if res.StatusCode == http.StatusOK {
		if err := json.Unmarshal([]byte(body), &p); err != nil {
			t.Fatal(err)
		}
	}
	return p, res, body
}

// row is what the tests look at of one.
type row struct {
	Step  int
	HTML  string
	Mark  film.Mark
	At    string
	Why   string
	After json.RawMessage
}

func rowOf(t *testing.T, text json.RawMessage) row {
	t.Helper()
	var r row
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// filmIn is what a page's script reads of a run.
func filmIn(t *testing.T, page string) (reel struct {
	Rows  []row
	Index *film.Index
},
) {
	t.Helper()
	_, text, _ := strings.Cut(page, `<script id="film" type="application/json">`)
	text, _, _ = strings.Cut(text, "</script>")
	if err := json.Unmarshal([]byte(text), &reel); err != nil {
		t.Fatal(err)
	}
	return reel
}

func same(t *testing.T, a, b json.RawMessage) bool {
	t.Helper()
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		t.Fatalf("no JSON: %s, %s", a, b)
	}
	return x.String() == y.String()
}

// All rows that a socket has, a run's portions have too, whichever are asked
// for; and the index of the page says of each what is in it.
func TestTheRowsOfALongRunComeInPortions(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := open(t, nil)
	path := s.run(t, twoThreads("base", longText, "yaml", longText))
	frames := s.ended(t, path)
	last := map[int]string{}
	for _, f := range frames {
		for _, r := range f.Rows {
			last[r.Step] = r.HTML
		}
	}
	steps := len(last)
	if steps <= film.MaxWhole+40 {
		t.Fatalf("%d steps are no long run", steps)
	}
	_, page := s.sent(t, http.MethodGet, path, nil)
	index := filmIn(t, page).Index
	at := strings.Split(index.At, "|")
	if index.Count != steps || len(index.Marks) != steps || len(at) != steps {
		t.Fatalf("an index of %d rows, %d marks, %d times; the run has %d", index.Count, len(index.Marks), len(at), steps)
	}
	marks := []film.Mark{film.Broken, film.Expiry, film.Struck, film.Acquired, film.Released}
	var all []json.RawMessage
	when, marked := "", 0
	for from := 1; from <= steps; from += index.Size {
		p, res, body := s.rows(t, path, from, index.Size)
		if res.StatusCode != http.StatusOK || p.From != from || p.V != 1 || len(p.Rows) != min(index.Size, steps-from+1) {
			t.Fatalf("%d from %d: %s, from %d: %d rows\n%.300s", index.Size, from, res.Status, p.From, len(p.Rows), body)
		}
		if from > 1 && !same(t, p.Before, rowOf(t, all[len(all)-1]).After) {
			t.Errorf("before %d: %s", from, p.Before)
		}
		if got := res.Header.Get("Cache-Control"); !strings.HasPrefix(got, "private, max-age=") {
			t.Errorf("rows that stay have Cache-Control %q", got)
		}
		for _, text := range p.Rows {
			all = append(all, text)
			r := rowOf(t, text)
			if r.Step != len(all) || r.HTML != last[r.Step] {
				t.Errorf("row %d of the portions is T%d, other than on the socket", len(all), r.Step)
			}
			if text := at[r.Step-1]; text != "" {
				when = text
			}
			mark := film.Mark("")
			if n := strings.IndexByte("01234", index.Marks[r.Step-1]); n >= 0 {
				mark, marked = marks[n], marked+1
			}
			if r.Mark != mark || r.At != when || r.Why == "" {
				t.Errorf("T%d: %q at %s; the index says %q at %s", r.Step, r.Mark, r.At, mark, when)
			}
		}
	}
	if marked == 0 {
		t.Error("no row has a mark")
	}
	for _, c := range [][3]int{{2, 3, 3}, {index.Size, 2, 2}, {index.Size + 1, 1, 1}, {steps - 1, index.Size, 2}, {steps, 1, 1}} {
		p, _, _ := s.rows(t, path, c[0], c[1])
		if p.From != c[0] || len(p.Rows) != c[2] || !same(t, p.Before, rowOf(t, all[c[0]-2]).After) {
			t.Errorf("%d rows from %d: %d from %d, before them %s", c[1], c[0], len(p.Rows), p.From, p.Before)
		}
		for i, text := range p.Rows {
			if !same(t, text, all[c[0]-1+i]) {
				t.Errorf("%d rows from %d: the row %d is another one", c[1], c[0], i)
			}
		}
	}

	// In Chinese they are others.
	_, chinese := s.do(t, http.MethodGet, path+"/rows?lang=zh&from=1&count=1", nil)
	if !strings.Contains(chinese, "获取") && !strings.Contains(chinese, "锁") {
		t.Errorf("in Chinese: %.300s", chinese)
	}
}

func TestARefusedPortionSaysWhy(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := open(t, nil)
	path := s.run(t, twoThreads())
	s.ended(t, path)
	_, text := s.do(t, http.MethodGet, path+"/trace", nil)
	res, _ := s.send(t, "/traces", "trace.jsonl", []byte(text))
	for _, at := range []string{path, res.Header.Get("Location")} {
		for query, want := range map[string]struct {
			status int
			says   string
		}{
			"":                                   {400, "1 to 32"},
			"?from=1":                            {400, "1 to 32"},
			"?from=0&count=1":                    {400, "1 to 32"},
			"?from=-5&count=1":                   {400, "1 to 32"},
			"?from=1&count=0":                    {400, "1 to 32"},
			"?from=1&count=33":                   {400, "1 to 32"},
			"?from=1&count=99999999999999999999": {400, "1 to 32"},
			"?from=x&count=1":                    {400, "1 to 32"},
			"?from=16&count=1":                   {404, "15 steps"},
			"?from=9223372036854775807&count=32": {404, "15 steps"},
		} {
			res, body := s.do(t, http.MethodGet, at+"/rows"+query, nil)
			if res.StatusCode != want.status || !strings.Contains(body, want.says) {
				t.Errorf("%s%s: %d, want %d with %q", at, query, res.StatusCode, want.status, want.says)
			}
		}
		// A short run has portions too, for who asks, and its page has it all.
		if p, res, _ := s.rows(t, at, 15, 32); res.StatusCode != http.StatusOK || len(p.Rows) != 1 {
			t.Errorf("%s: the last row: %d, %d rows", at, res.StatusCode, len(p.Rows))
		}
		if _, page := s.do(t, http.MethodGet, at, nil); filmIn(t, page).Index != nil || strings.Count(rows(page), `<tr id="row-`) != 15 {
			t.Errorf("%s: a short run is not in its page whole", at)
		}
	}
	if res, _ := s.do(t, http.MethodGet, "/runs/nothing/rows?from=1&count=1", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("rows of no run: %d", res.StatusCode)
	}
}

// tenThousand is a scenario of more than ten thousand events.
const tenThousand = `
lock: {lease: 200ms, retry: {times: 1000, interval: 25ms}}
threads: [{name: A}, {name: B}, {name: C}, {name: D}]
defaults: {depth: 2, repeat: 100, work: 10ms}
`

func TestThePageOfTenThousandEventsIsSmall(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := open(t, nil)
	path := s.run(t, twoThreads("base", tenThousand, "yaml", tenThousand))
	s.ended(t, path)
	_, text := s.do(t, http.MethodGet, path+"/trace", nil)
	if n := strings.Count(text, "\n") - 1; n < 10_000 {
		t.Fatalf("%d events", n)
	}
	_, page := s.do(t, http.MethodGet, path, nil)
	reel := filmIn(t, page)
	if len(page) > 1_000_000 {
		t.Errorf("a page of %d bytes", len(page))
	}
	if reel.Rows[0].Step != 1 || reel.Rows[len(reel.Rows)-1].Step != reel.Index.Count {
		t.Errorf("the page has rows from T%d to T%d, of %d", reel.Rows[0].Step, reel.Rows[len(reel.Rows)-1].Step, reel.Index.Count)
	}
	before, _ := s.web.Films()
	for range 3 {
		s.do(t, http.MethodGet, path, nil)
	}
	kept, folded := s.web.Films()
	if kept != before || folded != 1 {
		t.Errorf("%d bytes are kept, %d before; folded %d times", kept, before, folded)
	}

	// Without scripts all of it is there, in parts.
	next, seen := "?rows=all", 0
	for next != "" {
		_, page := s.sent(t, http.MethodGet, path+next, nil)
		if len(page) > 3_000_000 {
			t.Errorf("%s: a page of %d bytes", next, len(page))
		}
		for _, m := range regexp.MustCompile(`<tr id="row-(\d+)"`).FindAllStringSubmatch(rows(page), -1) {
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
		if _, _, body := s.rows(t, path, seen, 1); json.Unmarshal([]byte(body), &last) != nil || len(last.Rows) != 1 {
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
		if res, _ := s.do(t, http.MethodGet, path+"?rows=all&from="+from, nil); res.StatusCode != http.StatusBadRequest {
			t.Errorf("the part from %s: %d", from, res.StatusCode)
		}
	}
}

func TestPortionsAreSentCompressed(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := open(t, nil)
	path := s.run(t, twoThreads("base", longText, "yaml", longText))
	s.ended(t, path)
	plain, _, body := s.rows(t, path, 33, 32)
	res, small := s.do(t, http.MethodGet, path+"/rows?from=33&count=32", nil, "Accept-Encoding", "gzip")
	if res.Header.Get("Content-Encoding") != "gzip" || len(small) > 32_000 || len(small) > len(body)/5 {
		t.Errorf("%d bytes of %d, %q", len(small), len(body), res.Header.Get("Content-Encoding"))
	}
	z, err := gzip.NewReader(strings.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	var p portion
	if err != nil || json.Unmarshal(text, &p) != nil || len(p.Rows) != len(plain.Rows) || !same(t, p.Rows[3], plain.Rows[3]) {
		t.Errorf("compressed it is another one: %v", err)
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
		s := open(t, nil)
		res, body := s.send(t, "/traces", "trace.jsonl", c.data)
		if res.StatusCode != http.StatusSeeOther {
			t.Errorf("%s: %d\n%.2000s", name, res.StatusCode, body)
			continue
		}
		path := res.Header.Get("Location")
		_, page := s.sent(t, http.MethodGet, path, nil)
		reel := filmIn(t, page)
		kept, _ := s.web.Films()
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
			_, res, body := s.rows(t, path, from, 32)
			if res.StatusCode != http.StatusOK || len(body) > 3<<20 {
				t.Errorf("%s: rows from %d: %d, %d bytes", name, from, res.StatusCode, len(body))
			}
		}
		if _, page := s.sent(t, http.MethodGet, path+"?rows=all", nil); len(page) > 6<<20 {
			t.Errorf("%s: without scripts a page of %d bytes", name, len(page))
		}
		if _, all := s.sent(t, http.MethodGet, path+"/trace", nil); len(all) != len(c.data) {
			t.Errorf("%s: the file has %d bytes of %d", name, len(all), len(c.data))
		}
	}
}
