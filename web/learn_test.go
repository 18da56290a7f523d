package web_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"relock/engine/scenario"
	"relock/lessons"
	"relock/web"
	"relock/web/learn"
	"relock/web/link"
	"relock/web/session"
	"relock/web/words"
)

// Each item of the course has a page in each language, with all that there is
// to choose, and without a script.
func TestEveryItemHasAPage(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	c, err := learn.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range words.All() {
		_, way := s.do(t, http.MethodGet, "/learn?lang="+l.Code(), nil)
		for _, i := range c.All() {
			if i.When() == "" && !strings.Contains(way, `href="/learn/`+i.Path()+`"`) {
				t.Errorf("%s: the way does not lead to %s", l.Code(), i.Path())
			}
			res, body := s.do(t, http.MethodGet, "/learn/"+i.Path()+"?lang="+l.Code(), nil)
			if res.StatusCode != http.StatusOK || !strings.Contains(body, html.EscapeString(i.Title(l))) {
				t.Errorf("%s in %s: %d", i.Path(), l.Code(), res.StatusCode)
			}
			made, err := i.Made()
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(body, `name="pick"`); n != len(made.Answers) {
				t.Errorf("%s: %d options on the page, %d in the item", i.Path(), n, len(made.Answers))
			}
			if strings.Contains(body, "answer right") || strings.Contains(body, "feedback right") && i.Kind != learn.Break {
				t.Errorf("%s: its page tells what is right before it was asked", i.Path())
			}
			if i.Kind == learn.Break && !strings.Contains(body, `data-judge="/learn/`+i.Path()+`/judge"`) {
				t.Errorf("%s: nobody judges it", i.Path())
			}
		}
	}
	if res, _ := s.do(t, http.MethodGet, "/learn/trouble/nothing", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("an item that is not there: %d", res.StatusCode)
	}
}

// Each term of a text that links to the glossary is in it.
func TestTermsOfTheCourseAreInTheGlossary(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	_, glossary := s.do(t, http.MethodGet, "/glossary", nil)
	files, err := fs.Glob(lessons.Course(), "*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		data, err := fs.ReadFile(lessons.Course(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(string(data), -1) {
			found++
			term, ok := strings.CutPrefix(m[1], "/glossary#")
			if !ok || !strings.Contains(glossary, `id="`+term+`"`) {
				t.Errorf("%s: the glossary has no %s", name, m[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d terms link to the glossary", found)
	}
}

var picked = regexp.MustCompile(`name="pick" value="(\d+)" class="answer ([a-z ]*)"`)

// A pick says whether it is right; a wrong one leads to where it is true, and
// says no more of the right one.
func TestAnAnswerIsJudgedByTheServer(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	right := 0
	for _, pick := range []string{"1", "2", "3", "4"} {
		_, body := s.do(t, http.MethodGet, "/learn/lease/who-knows?pick="+pick, nil)
		classes := map[string]string{}
		for _, m := range picked.FindAllStringSubmatch(body, -1) {
			classes[m[1]] = strings.TrimSpace(m[2])
		}
		switch classes[pick] {
		case "right":
			right++
			if !strings.Contains(body, "tells nobody") || !strings.Contains(body, "data-solved") {
				t.Errorf("answer %s is right, and nothing says what is behind it", pick)
			}
		case "wrong":
			if strings.Contains(body, "data-solved") || !strings.Contains(body, "pick="+pick+"&amp;watch=1") {
				t.Errorf("answer %s is wrong, and cannot be watched", pick)
			}
			if _, watched := s.do(t, http.MethodGet, "/learn/lease/who-knows?pick="+pick+"&watch=1", nil); !strings.Contains(watched, "Here answer "+pick+" is true.") {
				t.Errorf("answer %s is not shown where it is true", pick)
			}
		default:
			t.Errorf("answer %s is %q", pick, classes[pick])
		}
		for other, class := range classes {
			if other != pick && class != "" {
				t.Errorf("answer %s tells that %s is %s", pick, other, class)
			}
		}
	}
	if right != 1 {
		t.Errorf("%d answers are right", right)
	}
	if _, body := s.do(t, http.MethodGet, "/learn/lease/who-knows?pick=99", nil); strings.Contains(body, `id="feedback"`) {
		t.Error("an answer that is not there is answered")
	}
}

// The moves of a break come as a link's text, and only those of its scenario
// count.
func TestABreakIsJudged(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	c, err := learn.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	item, _ := c.Item("tokens/too-late")
	made, err := item.Made()
	if err != nil {
		t.Fatal(err)
	}
	judge := func(sc *scenario.Scenario, at int) (int, learn.Verdict) {
		text, err := link.Encode(link.State{Scenario: sc, At: at})
		if err != nil {
			t.Fatal(err)
		}
		res, body := s.post(t, "/learn/tokens/too-late/judge", text)
		var v learn.Verdict
		if res.StatusCode == http.StatusOK {
			if err := json.Unmarshal([]byte(body), &v); err != nil {
				t.Fatal(err)
			}
		}
		return res.StatusCode, v
	}
	solution := item.Scenario.WithSchedule(made.Steps)
	if status, v := judge(solution, len(made.Steps)); status != http.StatusOK || !v.Met || v.Own != v.Par || v.Moves != len(made.Steps) {
		t.Errorf("the solution: %d %+v", status, v)
	}
	if status, v := judge(solution, 1); status != http.StatusOK || v.Met || v.Moves != 1 || v.Par == 0 {
		t.Errorf("its first move: %d %+v", status, v)
	}
	other, err := scenario.Parse([]byte("threads: [{name: A}]"))
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := judge(other, 0); status != http.StatusUnprocessableEntity {
		t.Errorf("another scenario: %d", status)
	}
	if res, _ := s.post(t, "/learn/tokens/too-late/judge", "v1.broken"); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a broken link: %d", res.StatusCode)
	}
	if res, _ := s.post(t, "/learn/lease/who-knows/judge", must(link.Encode(link.State{Scenario: item.Scenario}))); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("an item that is no break: %d", res.StatusCode)
	}
}

func must(text string, err error) string {
	if err != nil {
		panic(err)
	}
	return text
}

// A mistake in the course stops the start.
func TestAMistakeInTheCourseStopsTheStart(t *testing.T) {
	t.Parallel()
	_, err := web.New(web.Config{
		Log: slog.New(slog.DiscardHandler), Limits: session.DefaultLimits(), Scenarios: lessons.Scenarios(),
		Course: fstest.MapFS{"0-one/chapter.yaml": {Data: []byte("id: one\nitems: [{id: it, kind: guess}]\n")}},
	})
	if err == nil || !strings.Contains(err.Error(), `chapter.yaml:2: it: kind: given "guess"`) {
		t.Errorf("it starts, or says %v", err)
	}
}

// A link becomes a question with an address, and an item to keep.
func TestALinkBecomesAQuestion(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	data, err := fs.ReadFile(lessons.Scenarios(), "mutex-unsafe.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scenario.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	from := url.QueryEscape(must(link.Encode(link.State{Scenario: sc.WithSchedule(make([]scenario.Move, 3)), At: 3})))
	_, body := s.do(t, http.MethodGet, "/learn/made?from="+from, nil)
	if n := strings.Count(body, `name="pick"`); n < 3 || strings.Contains(body, "answer right") {
		t.Fatalf("%d options", n)
	}
	right := 0
	for n := 1; n <= strings.Count(body, `name="pick"`); n++ {
		_, picked := s.do(t, http.MethodGet, fmt.Sprintf("/learn/made?from=%s&pick=%d", from, n), nil)
		switch {
		case strings.Contains(picked, "That is what the run did."):
			right++
		case !strings.Contains(picked, "That happens "):
			t.Errorf("answer %d: nothing is said", n)
		}
	}
	if right != 1 {
		t.Errorf("%d answers are right", right)
	}
	if res, text := s.do(t, http.MethodGet, "/learn/made.yaml?from="+from, nil); res.StatusCode != http.StatusOK || !strings.Contains(text, "kind: predict") {
		t.Errorf("as YAML: %d %s", res.StatusCode, text)
	}
	_, body = s.do(t, http.MethodGet, "/learn/made?kind=break&from="+from, nil)
	m := regexp.MustCompile(`data-judge="([^"]+)"`).FindStringSubmatch(body)
	if m == nil {
		t.Fatal("nobody judges a break")
	}
	res, _ := s.post(t, html.UnescapeString(m[1]), must(link.Encode(link.State{Scenario: sc})))
	if res.StatusCode != http.StatusOK {
		t.Errorf("a break is judged with %d", res.StatusCode)
	}
	if res, _ := s.do(t, http.MethodGet, "/learn/made?from=v1.broken", nil); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a broken link: %d", res.StatusCode)
	}
	if res, _ := s.do(t, http.MethodGet, "/learn/class", nil); res.StatusCode != http.StatusOK {
		t.Errorf("the class: %d", res.StatusCode)
	}
}
