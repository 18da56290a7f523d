package stepper_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"relock/engine/racetest"
	"relock/web/film"
	"relock/web/webtest"
)

func rowOf(t *testing.T, text json.RawMessage) webtest.Row {
	t.Helper()
	var r webtest.Row
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
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
	s := webtest.Open(t, nil)
	path := s.Run(t, webtest.TwoThreads("base", webtest.LongText, "yaml", webtest.LongText))
	frames := s.Ended(t, path)
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
	_, page := s.Sent(t, http.MethodGet, path, nil)
	index := webtest.FilmIn(t, page).Index
	at := strings.Split(index.At, "|")
	if index.Count != steps || len(index.Marks) != steps || len(at) != steps {
		t.Fatalf("an index of %d rows, %d marks, %d times; the run has %d", index.Count, len(index.Marks), len(at), steps)
	}
	marks := []film.Mark{film.Broken, film.Expiry, film.Struck, film.Acquired, film.Released}
	var all []json.RawMessage
	when, marked := "", 0
	for from := 1; from <= steps; from += index.Size {
		p, res, body := s.Rows(t, path, from, index.Size)
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
		p, _, _ := s.Rows(t, path, c[0], c[1])
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
	_, chinese := s.Do(t, http.MethodGet, path+"/rows?lang=zh&from=1&count=1", nil)
	if !strings.Contains(chinese, "获取") && !strings.Contains(chinese, "锁") {
		t.Errorf("in Chinese: %.300s", chinese)
	}
}

func TestARefusedPortionSaysWhy(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.Open(t, nil)
	path := s.Run(t, webtest.TwoThreads())
	s.Ended(t, path)
	_, text := s.Do(t, http.MethodGet, path+"/trace", nil)
	res, _ := s.Send(t, "/traces", "trace.jsonl", []byte(text))
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
			res, body := s.Do(t, http.MethodGet, at+"/rows"+query, nil)
			if res.StatusCode != want.status || !strings.Contains(body, want.says) {
				t.Errorf("%s%s: %d, want %d with %q", at, query, res.StatusCode, want.status, want.says)
			}
		}
		// A short run has portions too, for who asks, and its page has it all.
		if p, res, _ := s.Rows(t, at, 15, 32); res.StatusCode != http.StatusOK || len(p.Rows) != 1 {
			t.Errorf("%s: the last row: %d, %d rows", at, res.StatusCode, len(p.Rows))
		}
		if _, page := s.Do(t, http.MethodGet, at, nil); webtest.FilmIn(t, page).Index != nil || strings.Count(webtest.Rows(page), `<tr id="row-`) != 15 {
			t.Errorf("%s: a short run is not in its page whole", at)
		}
	}
	if res, _ := s.Do(t, http.MethodGet, "/runs/nothing/rows?from=1&count=1", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("rows of no run: %d", res.StatusCode)
	}
}

func TestPortionsAreSentCompressed(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.Open(t, nil)
	path := s.Run(t, webtest.TwoThreads("base", webtest.LongText, "yaml", webtest.LongText))
	s.Ended(t, path)
	plain, _, body := s.Rows(t, path, 33, 32)
	res, small := s.Do(t, http.MethodGet, path+"/rows?from=33&count=32", nil, "Accept-Encoding", "gzip")
	if res.Header.Get("Content-Encoding") != "gzip" || len(small) > 32_000 || len(small) > len(body)/5 {
		t.Errorf("%d bytes of %d, %q", len(small), len(body), res.Header.Get("Content-Encoding"))
	}
	z, err := gzip.NewReader(strings.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	var p webtest.Portion
	if err != nil || json.Unmarshal(text, &p) != nil || len(p.Rows) != len(plain.Rows) || !same(t, p.Rows[3], plain.Rows[3]) {
		t.Errorf("compressed it is another one: %v", err)
	}
}
