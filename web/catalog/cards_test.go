package catalog_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"relock/engine"
	"relock/engine/lock/exhibit"
	"relock/engine/trace"
	"relock/lessons/libraries"
	"relock/web/link"
	"relock/web/webtest"
)

func TestLocksShowTheirReportCards(t *testing.T) {
	s := webtest.Open(t, nil)
	res, body := s.Do(t, http.MethodGet, "/locks", nil)
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	if tags := strings.Count(body, "<") / 2; tags > 3500 {
		t.Errorf("the list of locks has %d elements", tags)
	}
	for _, name := range exhibit.Names() {
		if !strings.Contains(body, `id="`+name+`"`) || !strings.Contains(body, `href="/locks/`+name+`"`) { // where an older address leads to
			t.Errorf("the list does not lead to %s", name)
		}
		_, one := s.Do(t, http.MethodGet, "/locks/"+name, nil)
		if !strings.Contains(one, `aria-label="Report card of `+name+`"`) || !strings.Contains(one, `href="/locks/`+name+`/none"`) {
			t.Errorf("no card of %s", name)
		}
	}
	if !strings.Contains(body, `aria-label="Report card of reentrant and reentrant-naive"`) {
		t.Error("no card of two locks")
	}
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{"/locks?lock=mutex&beside=value", http.StatusOK, `aria-label="Report card of mutex and value"`},
		{"/locks?lock=mutex&beside=", http.StatusOK, `<option value="mutex" selected>`},
		{"/locks?lock=mutex&beside=mutex", http.StatusOK, `<option value="" selected>`},
		{"/locks?lock=mutex&beside=value&lang=zh-CN", http.StatusOK, `aria-label="mutex 和 value 的成绩单"`},
		{"/locks?nested=no&harm=write&redis=one&wait=few", http.StatusOK, "None: let the resource decide"},
		{"/locks?nested=no&harm=waste&redis=several&wait=few", http.StatusOK, "At most 10 to take it, 5 to leave it, 5 to renew it"},
		{"/locks?nested=yes&harm=waste&redis=one&wait=order&lang=zh-CN", http.StatusOK, "释放脚本把锁直接交给队首"},
		{"/locks/card.svg?lock=mutex&beside=value", http.StatusOK, `aria-label="Report card of mutex and value"`},
		{"/locks/card.svg?lock=mutex&lang=zh-CN", http.StatusOK, `aria-label="mutex 的成绩单"`},
		{"/locks/card.svg?lock=mutexx", http.StatusBadRequest, "there is no such lock"},
		{"/locks?lock=mutexx", http.StatusBadRequest, "there is no such lock"},
		{"/locks?beside=mutexx", http.StatusBadRequest, "there is no such lock"},
		{"/locks/mutexx", http.StatusNotFound, "There is no such page"},
		{"/locks/mutexx/pause@A.work.1", http.StatusNotFound, "There is no such page"},
		{"/locks/mutex/pause@A.work.2", http.StatusNotFound, "There is no such page"},
	} {
		res, body := s.Do(t, http.MethodGet, c.path, nil)
		if res.StatusCode != c.status || !strings.Contains(strings.ToLower(body), strings.ToLower(c.want)) {
			t.Errorf("%s: %s, and no %q", c.path, res.Status, c.want)
		}
	}
}

// Each count of a library is on the page, and opens its smallest order, under an address that stays; in both languages.
func TestLocksPeopleUse(t *testing.T) {
	s := webtest.Open(t, nil)
	_, body := s.Do(t, http.MethodGet, "/locks", nil)
	_, chinese := s.Do(t, http.MethodGet, "/locks?lang=zh-CN", nil)
	opened := 0
	for _, one := range libraries.All() {
		for _, fault := range one.Faults() {
			seen, err := libraries.Of(one.ID(), fault)
			if err != nil {
				t.Fatal(err)
			}
			path := "/traces/" + libraries.TraceID(one.ID(), fault)
			if seen == nil || seen.Broken == 0 {
				if strings.Contains(body, `"`+path+`"`) {
					t.Errorf("%s is on the page", path)
				}
				continue
			}
			opened++
			_, cell, _ := strings.Cut(body, `href="`+path+`"`)
			cell, _, _ = strings.Cut(cell, "</a>")
			if !strings.Contains(strings.ReplaceAll(cell, ",", ""), fmt.Sprintf(" %d of %d<", seen.Broken, seen.Orders)) || !strings.Contains(chinese, path) {
				t.Errorf("%s has the cell %q", path, cell)
			}
			res, run := s.Do(t, http.MethodGet, path, nil)
			if title := fmt.Sprintf("%s with one %s", strings.TrimSpace(one.Name+" "+seen.Version), fault); res.StatusCode != http.StatusOK || !strings.Contains(run, "<h1>"+title) || !strings.Contains(run, `class="verdict bad"`) {
				t.Errorf("%s: %s, no %q that breaks a rule", path, res.Status, title)
			}
			if strings.Contains(run, `id="edit"`) || strings.Contains(run, "/play#") {
				t.Errorf("%s offers to step what is only a frame", path)
			}
		}
	}
	if opened < 20 {
		t.Errorf("only %d traces", opened)
	}
	for _, part := range []string{"trace", "rows?from=1&count=5", "lanes?row=0", "export?format=md"} {
		if res, text := s.Do(t, http.MethodGet, "/traces/redis-py.lose-reply/"+part, nil); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %s", part, res.Status, text)
		}
	}
	for _, name := range []string{"redis-py.lose-everything", "..%2Fseen", "cobol.none"} {
		if res, _ := s.Do(t, http.MethodGet, "/traces/"+name, nil); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", name, res.Status)
		}
	}
	for _, link := range regexp.MustCompile(`href="(/learn/[^"]+)"`).FindAllStringSubmatch(body, -1) {
		if res, _ := s.Do(t, http.MethodGet, link[1], nil); res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(res.Header.Get("Location"), link[1]+"/") {
			t.Errorf("%s: %s, %q", link[1], res.Status, res.Header.Get("Location"))
		}
	}
	if res, _ := s.Do(t, http.MethodGet, "/learn/cobol", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("a chapter that is not there: %s", res.Status)
	}
}

// TestACellOpensItsExample plays what the cells of one card open, and compares it
// with what they say.
func TestACellOpensItsExample(t *testing.T) {
	s := webtest.Open(t, nil)
	_, body := s.Do(t, http.MethodGet, "/locks?lock=mutex&beside=", nil)
	cells := regexp.MustCompile(`href="(/locks/mutex/[^"]+)" title="([^"]+)"`).FindAllStringSubmatch(body, -1)
	if len(cells) < 50 {
		t.Fatalf("only %d cells", len(cells))
	}
	for _, c := range cells[:len(cells)/3] { // more would tell no more
		res, _ := s.Do(t, http.MethodGet, c[1], nil)
		packed, ok := strings.CutPrefix(res.Header.Get("Location"), "/play#")
		if res.StatusCode != http.StatusSeeOther || !ok {
			t.Fatalf("%s: %s, %q", c[1], res.Status, res.Header.Get("Location"))
		}
		state, err := link.Decode(packed)
		if err != nil {
			t.Fatal(err)
		}
		if state.At != len(state.Scenario.Schedule) {
			t.Errorf("%s opens at move %d of %d", c[1], state.At, len(state.Scenario.Schedule))
		}
		run, err := engine.Start(t.Context(), state.Scenario, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Wait(); err != nil {
			t.Fatal(err)
		}
		events, _ := run.Log().Since(0)
		broken := false
		for _, e := range events {
			_, breaks := e.Body.(trace.Violation)
			broken = broken || breaks
		}
		if says := strings.HasPrefix(c[2], "broken: "); says != broken {
			t.Errorf("%s says %q, and its example breaks a rule: %v", c[1], c[2], broken)
		}
	}
}
