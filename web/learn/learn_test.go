package learn_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"relock/engine/course"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons"
	"relock/web"
	"relock/web/link"
	"relock/web/runs"
	"relock/web/templates"
	"relock/web/webtest"
	"relock/web/words"
)

// The ladder's page has each level with the command that judges it, and each worker to start from.
func TestTheLaddersPage(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	g, err := course.ReadLadder(words.All(), lessons.Course())
	if err != nil || len(g.Levels) != 5 || len(g.Sentences) != 5 {
		t.Fatal(g, err)
	}
	for _, l := range words.All() {
		_, way := s.Do(t, http.MethodGet, "/learn?lang="+l.Code(), nil)
		if !strings.Contains(way, `href="/learn/ladder"`) {
			t.Errorf("%s: the way does not lead to the ladder", l.Code())
		}
		_, shown := s.Do(t, http.MethodGet, "/learn/ladder?lang="+l.Code(), nil)
		var wants []string
		for _, level := range g.Levels {
			wants = append(wants, `data-item="`+level.Path()+`"`, level.Title(l), html.EscapeString("playground lab "+level.Lab+" --"))
		}
		for _, one := range g.Sentences {
			wants = append(wants, one.Title(l))
		}
		for _, name := range course.LadderWorkers() {
			text, err := course.LadderWorker(name)
			if err != nil {
				t.Fatal(err)
			}
			wants = append(wants, templates.Escaped(text))
		}
		for _, want := range wants {
			if !strings.Contains(shown, want) {
				t.Errorf("%s: no %q", l.Code(), want)
			}
		}
	}
}

// The way says how long the course takes, chapter by chapter and in all, and who has
// little time is sent to what a lease cannot do, to what needs no lock, and to tokens.
func TestTheWaySaysHowLongItTakes(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	c, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range words.All() {
		_, way := s.Do(t, http.MethodGet, "/learn?lang="+l.Code(), nil)
		minutes := 0
		var short []string
		for n, ch := range c.Chapters {
			minutes += ch.Minutes
			if ch.Number != n {
				t.Errorf("%s is chapter %d, in place %d", ch.ID, ch.Number, n)
			}
			if ch.Short {
				short = append(short, ch.ID)
				if want := `href="/learn/` + ch.Items[0].Path() + `">` + html.EscapeString(ch.Title(l)) + `</a>` + html.EscapeString(l.Say(" (about %d minutes)", ch.Minutes)); !strings.Contains(way, want) {
					t.Errorf("%s: no %q", l.Code(), want)
				}
			}
			if want := html.EscapeString(l.Say("about %d minutes", ch.Minutes)); !strings.Contains(way, want) {
				t.Errorf("%s: no %q", l.Code(), want)
			}
		}
		if want := html.EscapeString(l.Say("Answer before you see, break it yourself, then mend it: %d items, about %d minutes. Every answer is what a real run did.", len(c.Items()), minutes)); !strings.Contains(way, want) {
			t.Errorf("%s: no %q", l.Code(), want)
		}
		if fmt.Sprint(short) != "[lease need tokens]" {
			t.Errorf("who has little time reads %v", short)
		}
	}
}

// Each item of the course has a page in each language, with all that there is
// to choose, and without a script.
func TestEveryItemHasAPage(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	c, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	for n, l := range words.All() {
		_, way := s.Do(t, http.MethodGet, "/learn?lang="+l.Code(), nil)
		for at, i := range c.All() {
			if i.When() == "" && i.First() == i && !strings.Contains(way, `href="/learn/`+i.Path()+`"`) {
				t.Errorf("%s: the way does not lead to %s", l.Code(), i.Path())
			}
			if testing.Short() && at%len(words.All()) != n {
				continue // each page in one language
			}
			res, body := s.Do(t, http.MethodGet, "/learn/"+i.Path()+"?lang="+l.Code(), nil)
			if res.StatusCode != http.StatusOK || !strings.Contains(body, html.EscapeString(i.Title(l))) {
				t.Errorf("%s in %s: %d", i.Path(), l.Code(), res.StatusCode)
			}
			if strings.Contains(body, "**") || strings.Contains(body, "raw HTML omitted") {
				t.Errorf("%s in %s: Markdown is left on the page", i.Path(), l.Code())
			}
			made, err := i.Made()
			if err != nil {
				t.Fatal(err)
			}
			field := `name="pick"`
			if i.Kind == course.Rank {
				field = `<select name="p`
			}
			if n := strings.Count(body, field); n != len(made.Answers) && i.Kind != course.Arrange {
				t.Errorf("%s: %d options on the page, %d in the item", i.Path(), n, len(made.Answers))
			}
			if strings.Contains(body, "answer right") || strings.Contains(body, "feedback right") && i.Kind != course.Break {
				t.Errorf("%s: its page tells what is right before it was asked", i.Path())
			}
			if asks := i.Kind == course.Predict || i.Kind == course.Why; asks && (strings.Contains(body, ` data-is="`) || strings.Contains(body, `class="violation"`) || !coveredStage.MatchString(body)) {
				t.Errorf("%s in %s: its page tells what a thread believes, or which rule is broken", i.Path(), l.Code())
			}
			if title := l.Say(phrase.Text(made.Run.Scenario.Title)); i.Bundled && i.Kind == course.Predict && title != i.Title(l) && strings.Contains(body, html.EscapeString(title)) {
				t.Errorf("%s in %s: the title of its scenario, %q, tells what comes", i.Path(), l.Code(), title)
			}
			if i.Kind == course.Break && !strings.Contains(body, `data-judge="/learn/`+i.Path()+`/judge"`) {
				t.Errorf("%s: nobody judges it", i.Path())
			}
		}
	}
	if res, _ := s.Do(t, http.MethodGet, "/learn/trouble/nothing", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("an item that is not there: %d", res.StatusCode)
	}
}

var coveredStage = regexp.MustCompile(`<section class="stage [^"]*\bcovered\b`)

var answersForm = regexp.MustCompile(`(?s)<form method="get" class="answers".*?</form>`)

// While a question is open its page does not tell when the next thing happens: no instant
// that can be chosen and is still to come, neither in sight nor in what the scripts read.
func TestNoInstantToChooseStandsElsewhere(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	c, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	chosen := 0
	for _, i := range c.All() {
		if i.Kind != course.Predict && i.Kind != course.Why {
			continue
		}
		made, err := i.Made()
		if err != nil {
			t.Fatal(err)
		}
		now := trace.Millis(-1)
		if made.Stand > 0 {
			now = made.Run.Events[made.Stand-1].At
		}
		for _, l := range words.All() {
			_, body := s.Do(t, http.MethodGet, "/learn/"+i.Path()+"?lang="+l.Code(), nil)
			rest := html.UnescapeString(answersForm.ReplaceAllString(body, ""))
			for _, a := range made.Answers {
				for _, clause := range a.Says {
					if clause.Text != "%s gets in at %s" {
						continue
					}
					at, _ := clause.Args[1].(time.Duration)
					if at <= now.Duration() {
						continue // the row in which one stands, or one before
					}
					chosen++
					told := regexp.MustCompile(`(?:^|[^\d.,])` + regexp.QuoteMeta(l.Duration(at)) + fmt.Sprintf(`|"ms":%d\b`, at.Milliseconds()))
					if found := told.FindStringIndex(rest); found != nil {
						t.Errorf("%s in %s: %q can be chosen, and stands on the page: %s", i.Path(), l.Code(), l.Clause(clause), rest[max(0, found[0]-80):found[1]])
					}
				}
			}
			if i.Kind == course.Predict && !strings.Contains(rest, fmt.Sprintf(`<p class="asked"><b>T%d</b> ?</p>`, made.Asked().Step)) {
				t.Errorf("%s in %s: its table does not say which row is asked about", i.Path(), l.Code())
			}
		}
	}
	if chosen < 40 {
		t.Errorf("only %d instants can be chosen", chosen)
	}
}

// Each link of a text leads to a page, and to a place that is on it.
func TestLinksOfTheCourseLeadSomewhere(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	files, err := fs.Glob(lessons.Course(), "*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, found, sources := map[string]string{}, map[string]int{}, map[string][]string{}
	for _, name := range files {
		data, err := fs.ReadFile(lessons.Course(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(string(data), -1) {
			path, place, placed := strings.Cut(m[1], "#")
			found[path]++
			if strings.HasPrefix(path, "https://") { // a source, which stands elsewhere
				host, _, _ := strings.Cut(strings.TrimPrefix(path, "https://"), "/")
				sources[host] = append(sources[host], name)
				continue
			}
			body, read := pages[path]
			if !read {
				res, got := s.Do(t, http.MethodGet, path, nil)
				if res.StatusCode != http.StatusOK {
					t.Errorf("%s: %s is %d", name, path, res.StatusCode)
				}
				body = got
				pages[path] = body
			}
			if placed && !strings.Contains(body, `id="`+place+`"`) {
				t.Errorf("%s: nothing on the page is %s", name, m[1])
			}
		}
	}
	for _, host := range []string{"martin.kleppmann.com", "www.postgresql.org", "www.pgbouncer.org", "github.com", "zookeeper.apache.org", "pkg.go.dev"} {
		if len(sources[host]) < 2 || len(sources[host])%2 != 0 { // each language names it
			t.Errorf("%s is a source in %v", host, sources[host])
		}
		delete(sources, host)
	}
	if len(sources) > 0 {
		t.Errorf("no source of the course: %v", sources)
	}
	for path, least := range map[string]int{"/glossary": 20, "/incidents": 20, "/locks": 4, "/learn/need/insert-twice": 2} {
		if found[path] < least {
			t.Errorf("only %d links to %s", found[path], path)
		}
	}
}

var picked = regexp.MustCompile(`name="pick" value="(\d+)" class="answer ([a-z ]*)"`)

// A pick says whether it is right; a wrong one leads to where it is true, and says
// nothing about the right one.
func TestAnAnswerIsJudgedByTheServer(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	right := 0
	for _, pick := range []string{"1", "2", "3", "4"} {
		_, body := s.Do(t, http.MethodGet, "/learn/lease/who-knows?pick="+pick, nil)
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
			if _, watched := s.Do(t, http.MethodGet, "/learn/lease/who-knows?pick="+pick+"&watch=1", nil); !strings.Contains(watched, "Here answer "+pick+" is true.") {
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
	if _, body := s.Do(t, http.MethodGet, "/learn/lease/who-knows?pick=99", nil); strings.Contains(body, `id="feedback"`) {
		t.Error("an answer that is not there is answered")
	}
}

// The moves of a break come as a link's text, and only those of its scenario
// count.
func TestABreakIsJudged(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	c, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	item, _ := c.Item("tokens/too-late")
	made, err := course.TaskOf[*course.Breaking](item)
	if err != nil {
		t.Fatal(err)
	}
	judge := func(sc *scenario.Scenario, at int) (int, course.Verdict) {
		text, err := link.Encode(link.Contents{Scenario: sc, At: at})
		if err != nil {
			t.Fatal(err)
		}
		res, body := s.Post(t, "/learn/tokens/too-late/judge", text)
		var v course.Verdict
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
	alone := slices.Repeat([]scenario.Move{{}}, 7) // nobody strikes: both end well
	if status, v := judge(item.Scenario.WithSchedule(alone), len(alone)); status != http.StatusOK || v.Met || !v.Over || v.Own != 0 {
		t.Errorf("left alone: %d %+v", status, v)
	}
	other, err := scenario.Parse([]byte("threads: [{name: A}]"))
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := judge(other, 0); status != http.StatusUnprocessableEntity {
		t.Errorf("another scenario: %d", status)
	}
	if res, _ := s.Post(t, "/learn/tokens/too-late/judge", "v1.broken"); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a broken link: %d", res.StatusCode)
	}
	if res, _ := s.Post(t, "/learn/lease/who-knows/judge", webtest.Must(link.Encode(link.Contents{Scenario: item.Scenario}))); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("an item that is no break: %d", res.StatusCode)
	}
}

// A mistake in the course stops the start.
func TestAMistakeInTheCourseStopsTheStart(t *testing.T) {
	t.Parallel()
	_, err := web.New(web.Config{
		Log: slog.New(slog.DiscardHandler), Limits: runs.DefaultLimits(), Scenarios: lessons.Scenarios(),
		Course: fstest.MapFS{"0-one/chapter.yaml": {Data: []byte("id: one\nitems: [{id: it, kind: guess}]\n")}},
	})
	if err == nil || !strings.Contains(err.Error(), `chapter.yaml:2: it: kind: given "guess"`) {
		t.Errorf("it starts, or says %v", err)
	}
}

// A link becomes a question with an address, and an item to keep.
func TestALinkBecomesAQuestion(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	data, err := fs.ReadFile(lessons.Scenarios(), "mutex-unsafe.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scenario.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	from := url.QueryEscape(webtest.Must(link.Encode(link.Contents{Scenario: sc.WithSchedule(make([]scenario.Move, 3)), At: 3})))
	_, body := s.Do(t, http.MethodGet, "/learn/made?from="+from, nil)
	if n := strings.Count(body, `name="pick"`); n < 3 || strings.Contains(body, "answer right") {
		t.Fatalf("%d options", n)
	}
	right := 0
	for n := 1; n <= strings.Count(body, `name="pick"`); n++ {
		_, picked := s.Do(t, http.MethodGet, fmt.Sprintf("/learn/made?from=%s&pick=%d", from, n), nil)
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
	if res, text := s.Do(t, http.MethodGet, "/learn/made.yaml?from="+from, nil); res.StatusCode != http.StatusOK || !strings.Contains(text, "kind: predict") {
		t.Errorf("as YAML: %d %s", res.StatusCode, text)
	}
	_, body = s.Do(t, http.MethodGet, "/learn/made?kind=break&from="+from, nil)
	m := regexp.MustCompile(`data-judge="([^"]+)"`).FindStringSubmatch(body)
	if m == nil {
		t.Fatal("nobody judges a break")
	}
	res, _ := s.Post(t, html.UnescapeString(m[1]), webtest.Must(link.Encode(link.Contents{Scenario: sc})))
	if res.StatusCode != http.StatusOK {
		t.Errorf("a break is judged with %d", res.StatusCode)
	}
	if res, _ := s.Do(t, http.MethodGet, "/learn/made?from=v1.broken", nil); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a broken link: %d", res.StatusCode)
	}
	if res, _ := s.Do(t, http.MethodGet, "/learn/class", nil); res.StatusCode != http.StatusOK {
		t.Errorf("the class: %d", res.StatusCode)
	}
}

// A script that was put together is run: what it did stands there, and only
// the one that does what the lock's does is right.
func TestAScriptIsTriedByTheServer(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	const item = "/learn/lock/compare-and-delete"
	for _, c := range []struct {
		name, query, has, hasNot string
	}{
		{"the lock's own", "?p1=1&p2=2&p3=3&p4=4&p5=5", "data-solved", "✗"},
		{"deleted before it is asked", "?p2=1&p1=2&p3=3&p4=4&p5=5", "in at least one case it does something else", "data-solved"},
		{"without its end", "?p1=1&p2=2&p3=3", "Redis cannot run it:", "data-solved"},
		{"two in one place", "?p1=1&p2=1", "Two pieces have the place 1.", "data-solved"},
		{"nothing yet", "", `name="p1"`, "feedback"},
		{"no places", "?p1=x&p99=3", `name="p1"`, "data-solved"},
	} {
		res, body := s.Do(t, http.MethodGet, item+c.query, nil)
		if _, page, ok := strings.Cut(body, "<main"); res.StatusCode != http.StatusOK || !ok || !strings.Contains(page, c.has) || strings.Contains(page, c.hasNot) {
			t.Errorf("%s: %d, has %q: %t, has %q: %t", c.name, res.StatusCode, c.has, strings.Contains(page, c.has), c.hasNot, strings.Contains(page, c.hasNot))
		}
	}
}

var (
	onward     = regexp.MustCompile(`id="onward" href="([^"]*)"`)
	marked     = regexp.MustCompile(`value="\d+" checked`)
	ranAs      = regexp.MustCompile(`href="([^"]*)">(?:The smallest order|One of these orders)`)
	watched    = regexp.MustCompile(`href="([^"]*)">Watch (?:how it still goes wrong|it where it is true)`)
	backTo     = regexp.MustCompile(`href="([^"]*)">\s*Back to your answers`)
	afterwards = regexp.MustCompile(`href="([^"]*)">After the course: the same ideas`)
)

// The concept check is done without a script: the address carries the answers of both
// halves, and its end says how many were right, what is right, and why an answer is wrong.
func TestTheCheckNeedsNoScript(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	c, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	to := "/learn/" + c.Check.Items[0].Path()
	noted := []string{"Noted. At the end you see which were right; why, after the course.", "Noted. At the end you see which were right, and why the others are not."}
	for at, half := range [][]*course.Item{c.Check.Items, c.Check.Items[0].Again.Half()} {
		for n, i := range half {
			to, _, _ = strings.Cut(to, "#")
			before, query, _ := strings.Cut(to, "?")
			if before != "/learn/"+i.Path() {
				t.Fatalf("question %d is at %s", n+1, before)
			}
			_, open := s.Do(t, http.MethodGet, to, nil)
			_, body := s.Do(t, http.MethodGet, fmt.Sprintf("%s?%s&%s", before, html.UnescapeString(query), answerTo(t, i, n > 2)), nil) // code, a cause and logs are wrong
			if strings.Contains(body, "line-found") || strings.Contains(body, "your answer: right") || !strings.Contains(body, noted[at]) || strings.Contains(body, "Once you have answered") {
				t.Errorf("%s tells what is right, or notes nothing", i.Path())
			}
			_, asks, _ := strings.Cut(open, `<div class="staged">`)
			if _, shown, _ := strings.Cut(body, `<div class="staged">`); shown != asks || asks != "" && !coveredStage.MatchString(asks) {
				t.Errorf("%s shows more of its run after the answer", i.Path())
			}
			m := onward.FindStringSubmatch(body)
			if m == nil {
				t.Fatalf("%s leads nowhere", i.Path())
			}
			to = html.UnescapeString(m[1])
		}
		_, body := s.Do(t, http.MethodGet, to, nil)
		halves := at + 1 // the second has the first beside it
		if n := strings.Count(body, "Right: 3 of 6."); n != halves || strings.Contains(body, "not answered") {
			t.Errorf("%s: of %d halves %d have three of six right", to, halves, n)
		}
		told := 6 * at // what is wrong in both is explained once both are done
		watch := append(watched.FindAllStringSubmatch(body, -1), ranAs.FindAllStringSubmatch(body, -1)...)
		why := strings.Count(body, "With that change it still goes wrong, at T") + strings.Count(body, "The lab has tried all") + strings.Count(body, "Its run ")
		if right := strings.Count(body, "<b>What is right</b>"); right != told || why != told || len(watch) != told {
			t.Errorf("%s: %d are told, %d explained and %d can be watched, not %d", to, right, why, len(watch), told)
		}
		for _, m := range watch {
			_, body := s.Do(t, http.MethodGet, html.UnescapeString(m[1]), nil)
			back := backTo.FindStringSubmatch(body)
			if back == nil || !strings.Contains(body, "it still goes wrong.") && !strings.Contains(body, "the lines as they run.") && !strings.Contains(body, "is true.") {
				t.Fatalf("%s does not show it, or leads nowhere", m[1])
			}
			if _, again := s.Do(t, http.MethodGet, html.UnescapeString(back[1]), nil); strings.Count(again, "Right: 3 of 6.") != 2 {
				t.Errorf("%s does not lead back to both halves", m[1])
			}
		}
		if next := afterwards.FindStringSubmatch(body); (next == nil) != (at == 1) {
			t.Errorf("%s: does the other half follow? %v", to, next)
		} else if at == 0 {
			to = html.UnescapeString(next[1])
		}
	}
	second := "/learn/" + c.Check.Items[1].Path() + "?so=0.2"
	if _, body := s.Do(t, http.MethodGet, second, nil); !strings.Contains(body, "data-answered") || strings.Count(body, `aria-pressed="true"`) != 1 {
		t.Errorf("%s does not show what was answered", second)
	}
	first := "/learn/" + c.Check.Items[0].Path()
	if _, body := s.Do(t, http.MethodGet, first+"?so=4-6", nil); !strings.Contains(body, "data-answered") || !strings.Contains(body, `data-given="4-6"`) || !slices.Equal(marked.FindAllString(body, -1), []string{`value="4" checked`, `value="6" checked`}) {
		t.Error("it does not show which lines were marked")
	}
	if _, body := s.Do(t, http.MethodGet, first+"?line=4&none=1", nil); strings.Contains(body, "data-answered") || !strings.Contains(body, "Either mark lines") {
		t.Error("lines and none are an answer")
	}
	if _, body := s.Do(t, http.MethodGet, "/learn/check?so=none.2&half=before", nil); !strings.Contains(body, "4 are not answered yet.") || !strings.Contains(body, `href="/learn/`+c.Check.Items[2].Path()+`?so=none.2.0.0.0.0"`) {
		t.Error("what is half done does not go on at the third question")
	}
	for _, query := range []string{"", "?so=x&half=y", "?so=99.99.99.99.99.99.99", "?so=%00", "?other=%00&half=after", "?other=x.9&so=0.0.0.0.0.0", "?so=999999999999", "?so=7-none.1-2.-.--"} {
		if res, body := s.Do(t, http.MethodGet, "/learn/check"+query, nil); res.StatusCode != http.StatusOK || !strings.Contains(body, "Right: 0 of 6.") {
			t.Errorf("%q: %d", query, res.StatusCode)
		}
	}
	// Learners who said that none of the changes does it, and were wrong, hear so; there is no run
	// of it. Of the half before, none of them is right.
	so := "0.4.0.0.0.0"
	if _, body := s.Do(t, http.MethodGet, "/learn/check?so="+so+"&other="+so+"&half=before", nil); strings.Count(body, "One of the changes would have done it.") != 1 || len(watched.FindAllString(body, -1)) > 0 {
		t.Error("it is not said that one of the changes does it")
	}
}

// Where the run of a right answer breaks a rule that its item does not ask about, the page says
// both: the stage beside it names that rule.
func TestARightAnswerSaysWhatElseIsBroken(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	c, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	also := map[string]bool{}
	for _, i := range c.Items() {
		if i.Kind != course.Mend && i.Kind != course.Why {
			continue
		}
		made, err := i.Made()
		if err != nil {
			t.Fatal(err)
		}
		for n, a := range made.Answers {
			if !a.Right {
				continue
			}
			_, body := s.Do(t, http.MethodGet, fmt.Sprintf("/learn/%s?pick=%d", i.Path(), n+1), nil)
			says := strings.Contains(body, "The stage shows another rule broken: ")
			if says != (strings.Contains(body, `class="violation"`) && !a.Option.None) {
				t.Errorf("%s: that another rule is broken is said: %t", i.Path(), says)
			}
			if i.Kind == course.Mend && !strings.Contains(body, "None breaks this rule: ") {
				t.Errorf("%s does not name the rule that no order breaks", i.Path())
			}
			if says && strings.Contains(body, "Not the one of your task: two inside at once.") {
				t.Errorf("%s: the rule of the task is broken", i.Path())
			}
			also[i.Path()] = also[i.Path()] || says
		}
	}
	if !also["need/under-a-lock"] || !also["need/who-decides"] {
		t.Errorf("it is said of %v", also)
	}
}

// answerTo is an answer to a question of the concept check, as its form sends it.
func answerTo(t *testing.T, i *course.Item, right bool) string {
	t.Helper()
	if code, err := course.TaskOf[*course.Review](i); err == nil {
		for n, line := range code.Lines {
			if right == line.AtFault() && !line.Markup && !line.Around {
				return fmt.Sprintf("line=%d", n+1)
			}
		}
		return "none=1" // nothing is at fault, and that is right
	}
	if task, err := course.TaskOf[*course.Ranking](i); err == nil {
		order := slices.Clone(task.Best)
		if !right {
			slices.Reverse(order)
		}
		return inOrder(order)
	}
	made, err := i.Made()
	if err != nil {
		t.Fatal(err)
	}
	for n, a := range made.Answers {
		if a.Right == right {
			return fmt.Sprintf("pick=%d", n+1)
		}
	}
	return ""
}

// inOrder is an order of mends, from 0, as the form sends it.
func inOrder(order []int) string {
	query := url.Values{}
	for place, n := range order {
		query.Set(fmt.Sprintf("p%d", n+1), strconv.Itoa(place+1))
	}
	return query.Encode()
}

var (
	aCell     = regexp.MustCompile(`(?s)<td class="(right|wrong)"><a href="([^"]*watch=[^"]*)"[^>]*>(.*?)</a>`)
	ranksRow  = regexp.MustCompile(`(?s)<tr><th scope="row">(.*?)</th>(.*?)<td>(\d)</td></tr>`)
	isOnStage = regexp.MustCompile(`<section class="[^"]*\breplay\b`)
)

// Mends are put in order without a script: an order lacks nothing, is told at the end only,
// with what is right in one that is not, and each cell of the table can be played.
func TestMendsArePutInOrderWithoutAScript(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	c, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	var item *course.Item
	for _, i := range c.Check.Items {
		if i.Kind == course.Rank {
			item = i
		}
	}
	task, err := course.TaskOf[*course.Ranking](item)
	if err != nil {
		t.Fatal(err)
	}
	best := task.Best
	for _, l := range words.All() {
		in := "&lang=" + l.Code()
		page := func(query string) string {
			t.Helper()
			res, body := s.Do(t, http.MethodGet, "/learn/"+query+in, nil)
			if res.StatusCode != http.StatusOK {
				t.Fatalf("%s: %d", query, res.StatusCode)
			}
			return body
		}
		open := page(item.Path() + "?x=")
		if isOnStage.MatchString(open) || aCell.MatchString(open) || strings.Contains(open, "data-answered") || strings.Count(open, `<select name="p`) != 3 {
			t.Errorf("%s: the page tells before it asks, or does not ask", l.Code())
		}
		for _, query := range []string{"p1=1&p2=1&p3=2", "p1=1&p2=2", "p1=1&p2=2&p3=", "p1=1&p2=2&p3=9", "p1=1&p2=2&p4=3", "p1=&p2=&p3="} {
			if body := page(item.Path() + "?" + query); strings.Contains(body, "data-answered") || !strings.Contains(body, l.Say("Give each of them its own place.")) {
				t.Errorf("%s: %s is an order", l.Code(), query)
			}
		}
		half := inOrder([]int{best[0], best[2], best[1]})
		body := page(item.Path() + "?" + half)
		if !strings.Contains(body, l.Say("Noted. At the end you see which were right; why, after the course.")) || !strings.Contains(body, "data-answered") || strings.Contains(body, "data-solved") || aCell.MatchString(body) {
			t.Errorf("%s: an order is not noted, or told", l.Code())
		}
		given := fmt.Sprintf("%d-%d-%d", best[0]+1, best[2]+1, best[1]+1)
		if !strings.Contains(body, `data-given="`+given+`"`) {
			t.Errorf("%s: it is not %s that is noted", l.Code(), given)
		}
		so := "0.0.0.0.0." + given
		if body := page("check?half=before&so=" + so); strings.Contains(body, "<b>"+l.Say("What is right")+"</b>") || aCell.MatchString(body) {
			t.Errorf("%s: the half before the course tells", l.Code())
		}
		told := page("check?half=before&so=" + so + "&other=" + so)
		if !strings.Contains(told, "<b>"+l.Say("What is right")+"</b>") {
			t.Errorf("%s: half right is right", l.Code())
		}
		for n, want := range map[[2]int]bool{{1, 2}: true, {1, 3}: true, {2, 3}: false} {
			if strings.Contains(told, l.Say("Right in it: your number %[1]d saves more than your number %[2]d.", n[0], n[1])) != want {
				t.Errorf("%s: that %v is right in it is told: not %t", l.Code(), n, want)
			}
		}
		rows := ranksRow.FindAllStringSubmatch(told, -1)
		if len(rows) < 3 {
			t.Fatalf("%s: the table has %d rows", l.Code(), len(rows))
		}
		for n, row := range rows[:3] {
			saves := task.Saves[best[n]]
			cells := aCell.FindAllStringSubmatch(row[2], -1)
			if row[3] != strconv.Itoa(saves.Count) || len(cells) != len(saves.In) {
				t.Fatalf("%s: row %d has %d cells, and %s are saved", l.Code(), n, len(cells), row[3])
			}
			for k, cell := range cells {
				says, plays := "✗ <span>"+l.Say("goes wrong")+"</span>", l.Say("“%[1]s” In situation %[2]d it still goes wrong.", "", k+1)
				if saves.In[k].OK {
					says, plays = "✓ <span>"+l.Say("saved")+"</span>", l.Say("“%[1]s” In situation %[2]d it does not go wrong.", "", k+1)
				}
				if cell[3] != says || (cell[1] == "right") != saves.In[k].OK {
					t.Errorf("%s: row %d, situation %d: %q", l.Code(), n, k+1, cell[3])
				}
				to := strings.TrimPrefix(html.UnescapeString(cell[2]), "/learn/")
				played := page(to)
				_, plays, _ = strings.Cut(plays, "”")
				if broken := strings.Contains(played, `class="violation"`); !isOnStage.MatchString(played) || !strings.Contains(played, plays) {
					t.Errorf("%s: %s does not show it (broken: %t)", l.Code(), to, broken)
				}
				back := regexp.MustCompile(`href="([^"]*)">\s*` + regexp.QuoteMeta(l.Say("Back to your answers"))).FindStringSubmatch(played)
				if back == nil {
					t.Errorf("%s: %s leads nowhere", l.Code(), to)
				}
			}
		}
		if told := page("check?half=before&so=0.0.0.0.0." + fmt.Sprintf("%d-%d-%d", best[2]+1, best[1]+1, best[0]+1) + "&other=" + so); !strings.Contains(told, l.Say("It is the right order, backwards.")) {
			t.Errorf("%s: it is not told that the order is backwards", l.Code())
		}
	}
}

// With a user's own course no page leads to what that course lacks.
func TestACourseOfOnesOwnHasNoDeadEnds(t *testing.T) {
	t.Parallel()
	prose := "# One\n## It {#it}\nRead it.\n"
	s := webtest.Open(t, func(c *web.Config) {
		c.Course = fstest.MapFS{
			"0-one/chapter.yaml": {Data: []byte("id: one\nminutes: 1\nitems: [{id: it, kind: read, scenario: two-threads}]\n")},
			"0-one/en.md":        {Data: []byte(prose)},
			"0-one/zh.md":        {Data: []byte(prose)},
		}
	})
	href := regexp.MustCompile(`href="(/learn/[^"?#]*)`)
	seen := 0
	for _, path := range []string{"/", "/learn", "/locks", "/glossary", "/incidents", "/scenarios", "/room/new"} {
		_, body := s.Do(t, http.MethodGet, path, nil)
		for _, m := range href.FindAllStringSubmatch(body, -1) {
			seen++
			if res, _ := s.Do(t, http.MethodGet, m[1], nil); res.StatusCode != http.StatusOK && res.Header.Get("Location") != "/learn" {
				t.Errorf("%s leads to %s, which answers %d", path, m[1], res.StatusCode)
			}
		}
	}
	if seen < 5 {
		t.Errorf("only %d links to the course were followed", seen)
	}
	if _, body := s.Do(t, http.MethodGet, "/room/new", nil); strings.Contains(body, "a workshop of 60 minutes") {
		t.Error("a workshop is offered whose items are not there")
	}
	if res, _ := webtest.Open(t, nil).Do(t, http.MethodGet, "/learn/nothing", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("a chapter that no course has answers %d", res.StatusCode)
	}
}

var codeLine = regexp.MustCompile(`<li class="([a-z-]*)">\s*(?:<label><input type="checkbox" name="line" value="(\d+)"( checked)?>)?`)

// Lines that are marked are judged by the server: each says what came of it, what is right
// is shown once it is found, and before that nothing tells.
func TestMarkedLinesAreJudgedByTheServer(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	c, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	reviews := 0
	for _, i := range c.Items() {
		if i.Kind != course.ReviewCode {
			continue
		}
		reviews++
		code, err := course.TaskOf[*course.Review](i)
		if err != nil {
			t.Fatal(err)
		}
		address := "/learn/" + i.Path()
		_, asked := s.Do(t, http.MethodGet, address, nil)
		if strings.Contains(asked, `class="diff"`) || strings.Contains(asked, "data-ran") || strings.Contains(asked, `id="feedback"`) || !coveredStage.MatchString(asked) {
			t.Errorf("%s: its page tells before it was asked", i.Path())
		}
		if n := len(codeLine.FindAllString(asked, -1)); n < len(code.Lines) {
			t.Errorf("%s shows %d lines of %d", i.Path(), n, len(code.Lines))
		}
		right, wrong := url.Values{}, url.Values{"none": {"1"}}
		if len(code.Faults) == 0 {
			right = url.Values{"none": {"1"}}
			wrong = url.Values{}
		}
		for n, line := range code.Lines {
			switch {
			case line.Markup:
			case line.AtFault():
				right.Add("line", strconv.Itoa(n+1))
			case len(code.Faults) == 0 && !wrong.Has("line"):
				wrong.Set("line", strconv.Itoa(n+1))
			}
		}
		_, solved := s.Do(t, http.MethodGet, address+"?"+right.Encode(), nil)
		if !strings.Contains(solved, "data-solved") || strings.Contains(solved, `class="diff"`) != (len(code.Faults) > 0) {
			t.Errorf("%s: what is right is not", i.Path())
		}
		if n := strings.Count(solved, "data-ran="); n != len(code.Ran) {
			t.Errorf("%s: %d lines say when they ran, of %d", i.Path(), n, len(code.Ran))
		}
		_, failed := s.Do(t, http.MethodGet, address+"?"+wrong.Encode(), nil)
		if strings.Contains(failed, "data-solved") || !strings.Contains(failed, `id="feedback"`) || strings.Contains(failed, `class="diff"`) || strings.Contains(failed, "line-found") {
			t.Errorf("%s: what is wrong is judged as %v, or tells", i.Path(), codeLine.FindAllString(failed, -1))
		}
		both := url.Values{"none": {"1"}, "line": {"3"}}
		if _, body := s.Do(t, http.MethodGet, address+"?"+both.Encode(), nil); strings.Contains(body, `id="feedback"`) || !strings.Contains(body, "Either mark lines") {
			t.Errorf("%s: a line, and none, is judged", i.Path())
		}
		// Sent with nothing marked, it says what to do, and the first line has the focus.
		if _, body := s.Do(t, http.MethodGet, address+"?sent=1", nil); strings.Contains(body, `id="feedback"`) || !strings.Contains(body, "Either mark lines") || strings.Count(body, ` autofocus aria-describedby="unmarked"`) != 1 {
			t.Errorf("%s: nothing is marked, and that is judged, or nothing is said", i.Path())
		}
		for _, nonsense := range []string{"line=0", "line=-1", "line=99", "line=x", ""} {
			if res, body := s.Do(t, http.MethodGet, address+"?"+nonsense, nil); res.StatusCode != http.StatusOK || strings.Contains(body, `id="feedback"`) {
				t.Errorf("%s?%s: %d, judged", i.Path(), nonsense, res.StatusCode)
			}
		}
	}
	if reviews < 8 {
		t.Errorf("%d reviews", reviews)
	}
}

// A line that is not at fault is told so, with what the lab found of the mended file.
func TestALineThatMendsNothingIsToldSo(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	for query, want := range map[string][]string{
		"lock/review-capture?line=6":             {"line-idle", "Line 6 is not at fault. It is the same in the mended file", "The line at fault is another one."},
		"messages/review-refund?line=6":          {"line-found", "There is more to find."},
		"messages/review-settle?line=8&lang=en":  {"line-idle", "mends nothing"},
		"lock/review-ship?none=1":                {"In 10 of them this happens"},
		"lock/review-ship?line=13&lang=zh-CN":    {"line-found", "那一章才修"},
		"tokens/review-place?line=15":            {"MSetNX", "What is left, in 96 orders"},
		"lease/review-close?line=4":              {"30 * time.Second", "nanoseconds"},
		"messages/review-export?line=8&told=1":   {"WithoutCancel"},
		"yours/review-deposit?none=1":            {"None breaks a rule"},
		"lease/review-charge?line=15":            {"line-found", "line-too"},
		"lease/review-import?line=1&line=999999": {"Import"},
	} {
		_, body := s.Do(t, http.MethodGet, "/learn/"+query, nil)
		for _, one := range want {
			if !strings.Contains(body, one) {
				t.Errorf("%s: no %q", query, one)
			}
		}
	}
}

// An incident shows its logs, and nothing of the run that wrote them until its cause and the
// command to run next are found. A wrong answer is shown to be wrong: where the logs part,
// or that a command prints the same under two causes.
func TestAnIncidentIsJudgedByTheServer(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	c, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	has := func(body string, marks map[string]bool) string {
		for mark, want := range marks {
			if strings.Contains(body, mark) != want {
				return fmt.Sprintf("%q stands there: %v", mark, !want)
			}
		}
		return ""
	}
	printed := regexp.MustCompile(`(?s)<dd translate="no"><pre>(.*?)</pre>`)
	incidents := 0
	for _, i := range c.Items() {
		if i.Kind != course.Diagnose {
			continue
		}
		incidents++
		made, err := i.Made()
		if err != nil {
			t.Fatal(err)
		}
		task, err := course.TaskOf[*course.Diagnosis](i)
		if err != nil {
			t.Fatal(err)
		}
		for _, lang := range []string{"en", "zh-CN"} {
			page := func(query string) string {
				res, body := s.Do(t, http.MethodGet, "/learn/"+i.Path()+"?lang="+lang+query, nil)
				if res.StatusCode != http.StatusOK {
					t.Fatalf("%s%s answers %d", i.Path(), query, res.StatusCode)
				}
				return body
			}
			quiet := map[string]bool{`class="staged"`: false, "data-film": false, `id="feedback"`: false, `name="next"`: false, "data-solved": false, "data-answered": false, "/room/new?from": false, made.Run.Scenario.Title: false}
			for _, nothing := range []string{"", "&pick=0", "&pick=9", "&pick=x", "&next=1", "&watch=1"} {
				body := page(nothing)
				if wrong := has(body, quiet); wrong != "" {
					t.Errorf("%s%s: %s", i.Path(), nothing, wrong)
				}
				for _, g := range task.Logs {
					for _, line := range g.Lines {
						if !strings.Contains(body, "<code>"+html.EscapeString(line.Text)+"</code>") {
							t.Errorf("%s does not show %q", i.Path(), line.Text)
						}
					}
				}
			}
			right := 0
			for n, a := range made.Answers {
				pick := fmt.Sprintf("&pick=%d", n+1)
				if a.Right {
					right = n + 1
					if wrong := has(page(pick), map[string]bool{`name="next"`: true, "data-solved": false, "data-answered": false, `class="staged"`: false, `class="diff"`: false}); wrong != "" {
						t.Errorf("%s%s: %s", i.Path(), pick, wrong)
					}
					continue
				}
				body := page(pick)
				if wrong := has(body, map[string]bool{`name="next"`: false, "data-solved": false, "data-answered": true, `class="staged"`: false, `class="diff"`: true, "watch=1": true}); wrong != "" {
					t.Errorf("%s%s: %s", i.Path(), pick, wrong)
				}
				if there := strings.TrimSpace(cmp.Or(a.Parts.There, a.Parts.Here)); strings.Count(body, html.EscapeString(there)) < 2 {
					t.Errorf("%s%s does not say that there stands %q", i.Path(), pick, there)
				}
				if wrong := has(page(pick+"&watch=1"), map[string]bool{`class="staged"`: true, "data-solved": false}); wrong != "" {
					t.Errorf("%s%s, watched: %s", i.Path(), pick, wrong)
				}
			}
			for n, q := range task.Queries {
				next := fmt.Sprintf("&pick=%d&next=%d", right, n+1)
				body := page(next)
				if wrong := has(body, map[string]bool{"data-answered": true, "data-solved": q.Right, `class="staged"`: q.Right}); wrong != "" {
					t.Errorf("%s%s: %s", i.Path(), next, wrong)
				}
				if both := printed.FindAllStringSubmatch(body, -1); len(both) != 2 || both[0][1] == "" || (both[0][1] != both[1][1]) != q.Right {
					t.Errorf("%s%s prints %q", i.Path(), next, both)
				}
			}
		}
	}
	if incidents < 6 {
		t.Errorf("%d incidents", incidents)
	}
}

// Who has little time is told how long the way without extras is, sees which those are,
// and is led past them; the check asks of nothing that is extra, and each concept is
// still taught.
func TestTheShortWayLeavesOutExtras(t *testing.T) {
	t.Parallel()
	s := webtest.Open(t, nil)
	c, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	items, minutes, extras := 0, 0, 0
	for _, ch := range c.Chapters {
		n, m := ch.Brief()
		items, minutes, extras = items+n, minutes+m, extras+len(ch.Items)-n
	}
	takes, judged := 0.0, 0
	for _, i := range c.Items() {
		if !i.Extra {
			takes += i.Takes()
		}
		if !i.Extra && (i.Kind == course.ReviewCode || i.Kind == course.Diagnose) {
			judged++
		}
	}
	if items+extras != len(c.Items()) || takes > 90 || math.Abs(takes-float64(minutes)) > 5 || judged < 10 {
		t.Errorf("the short way has %d of %d items, %d reviews and diagnoses, says %d minutes and takes %.0f", items, len(c.Items()), judged, minutes, takes)
	}
	for concept, taught := range map[string]string{
		"mutual exclusion": "trouble/last-one trouble/sell-it-twice", "lease": "lease/why-a-lease lease/who-knows", "owner": "lock/one-command lock/somebody-elses",
		"compare-and-delete": "lock/slip-between lock/one-step", "hold count": "again/waits-for-itself again/enter-and-count", "watchdog": "lease/watchdog",
		"its limit": "lease/hangs lease/pause-why", "late write": "tokens/too-late", "fencing token": "tokens/with-a-token tokens/keep-it-out",
		"idempotency key": "need/key-first", "lost reply": "messages/request-or-reply", "late copy": "messages/late-copy", "fair queue": "waiting/in-turn",
		"pub/sub": "waiting/message-lost", "fail-over": "redis/fail-over redis/wait-for-replicas", "quorum": "majority/three-down", "drift": "majority/slow-clock",
		"eviction": "redis/pull-the-plug", "client clock": "lease/whose-clock", "herd and jitter": "waiting/herd waiting/jitter", "when not": "need/under-a-lock need/who-decides",
		"nanoseconds": "lease/review-close", "GET, then DEL": "lock/review-ship",
	} {
		for _, path := range strings.Fields(taught) {
			if i, ok := c.Item(path); !ok || i.Extra {
				t.Errorf("the short way does not teach %s: %s", concept, path)
			}
		}
	}
	for _, i := range c.Check.Items {
		if i.Taught.Extra {
			t.Errorf("%s is asked, and what teaches it is extra", i.Path())
		}
	}
	for _, l := range words.All() {
		_, way := s.Do(t, http.MethodGet, "/learn?lang="+l.Code(), nil)
		if want := html.EscapeString(l.Say("The short way: %d items, about %d minutes. It leaves out what is marked “extra”.", items, minutes)); !strings.Contains(way, want) {
			t.Errorf("%s: no %q", l.Code(), want)
		}
		if marks := strings.Count(way, `<span class="kind">`+l.Say("extra")+`</span>`); marks != extras {
			t.Errorf("%s: %d items are marked as extra, of %d", l.Code(), marks, extras)
		}
		_, body := s.Do(t, http.MethodGet, "/learn/lock/one-step?lang="+l.Code(), nil)
		onward := regexp.MustCompile(`(?s)<nav class="row onward".*?</nav>`).FindString(body)
		short, extra := strings.Index(onward, `href="/learn/lock/review-capture"`), strings.Index(onward, `href="/learn/lock/compare-and-delete"`)
		if short < 0 || extra < short {
			t.Errorf("%s: it leads on as %s", l.Code(), onward)
		}
		if _, body := s.Do(t, http.MethodGet, "/learn/lock/mend-the-unlock?lang="+l.Code(), nil); !strings.Contains(body, `id="is-extra"`) {
			t.Errorf("%s: an extra does not say so", l.Code())
		}
	}
}
