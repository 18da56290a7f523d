package own_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"

	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/lessons"
	"relock/web"
	"relock/web/export"
	"relock/web/runs"
	"relock/web/webtest"
)

func TestFormAndYAMLSayTheSame(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	for _, c := range []struct {
		name    string
		form    url.Values
		yaml    string // part of it
		form1   string // part of it
		mistake string // the first sentence
	}{
		{"a field", webtest.TwoThreads("action", "show", "threads[1].depth", "3"), "{name: B, depth: 3}", `value="3"`, ""},
		{"the YAML", webtest.TwoThreads("action", "read", "yaml", webtest.TwoText+"seed: 7\n"), "seed: 7", `name="seed" value="7"`, ""},
		{"a mistake in the form", webtest.TwoThreads("action", "show", "lock.lease", "200x"), "lease: 200x,", `aria-invalid="true"`, `Line 2, lock.lease: given "200x"; allowed: a time with a unit from 1ms to 1h, such as 50ms, in whole milliseconds.`},
		{"a mistake in the YAML", webtest.TwoThreads("action", "read", "yaml", webtest.TwoText+"seed: -1\n"), "seed: -1", `id="f-seed-mistake"`, `Line 5, seed: given "-1"; allowed: a whole number from 0 to 9223372036854775807.`},
		{"a part without inputs", webtest.TwoThreads("action", "read", "yaml", webtest.TwoText+"expect: {violations: [x]}\n"), "[x]", "", `Line 5, expect.violations[0]: given "x"; allowed: mutual-exclusion`},
		{"a thread more", webtest.TwoThreads("action", "add-thread"), "{name: C}", `name="threads[2].name" value="C"`, ""},
		{"a fault", webtest.TwoThreads("action", "add-fault"), "{thread: A, at: work, do: pause, for: 100ms}", `name="faults[0].for" value="100ms"`, ""},
		{"of another kind", webtest.TwoThreads("action", "show", "yaml", webtest.TwoText+"faults: [{time: 1ms, do: evict}]\n", "base", webtest.TwoText+"faults: [{time: 1ms, do: evict}]\n", "faults[0].do", "clock-jump"), "do: clock-jump, by: 1s", `name="faults[0].by"`, ""},
		{"retries without end", webtest.TwoThreads("action", "show", "lock.retry.times", "unlimited"), "times: unlimited", `name="lock.retry.times" value="unlimited"`, ""},
		{
			"a limit for each user", webtest.TwoThreads("action", "show", "resource.kind", "purchases", "resource.limit", "2", "threads[1].user", "7"),
			"resource: {kind: purchases, limit: 2}", `name="threads[1].user" value="7"`, "",
		},
		{"no YAML", webtest.TwoThreads("action", "read", "yaml", "a: ["), "a: [", "comes back as soon as", "Line 1: given something that is not YAML ("},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := s.Convert(t, c.form)
			if !strings.Contains(got.YAML, c.yaml) || !strings.Contains(got.Form, c.form1) {
				t.Errorf("YAML\n%s\nwant %q; form\n%s\nwant %q", got.YAML, c.yaml, got.Form, c.form1)
			}
			if c.mistake == "" && len(got.Mistakes) > 0 || c.mistake != "" && (len(got.Mistakes) == 0 || !strings.HasPrefix(got.Mistakes[0].Sentence, c.mistake)) {
				t.Errorf("mistakes %+v, want %q", got.Mistakes, c.mistake)
			}
			if _, err := scenario.Parse([]byte(got.YAML)); (err == nil) != (c.mistake == "") {
				t.Errorf("Parse: %v", err)
			}
		})
	}
	zh := s.Convert(t, webtest.TwoThreads("action", "show", "lock.lease", "200x"), "Accept-Language", "zh")
	if len(zh.Mistakes) != 1 || zh.Mistakes[0].Sentence != `第 2 行，lock.lease：写的是 "200x"，允许的是：带单位的时间，1ms 到 1h，例如 50ms，须为整毫秒。` || zh.Mistakes[0].Input != "f-lock-lease" {
		t.Errorf("in Chinese: %+v", zh.Mistakes)
	}
}

// Whatever the form shows of a lesson goes back into the same scenario.
func TestTheFormOfEveryLessonSaysTheLesson(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.Open(t, nil)
	entries, err := os.ReadDir("../../lessons/scenarios")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile("../../lessons/scenarios/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		shown := s.Convert(t, url.Values{"yaml": {string(data)}, "action": {"read"}})
		if shown.YAML != string(data) || len(shown.Mistakes) > 0 || strings.Contains(shown.Form, "mistake") {
			t.Errorf("%s is not shown as it is: %+v", e.Name(), shown.Mistakes)
		}
		v := inputs(t, shown.Form)
		v.Set("base", string(data))
		v.Set("yaml", string(data))
		v.Set("action", "show")
		if again := s.Convert(t, v); again.YAML != string(data) {
			t.Errorf("%s is changed by a form in which nothing was:\n%s", e.Name(), again.YAML)
		}
	}
}

// inputs are what a browser would send of a form.
func inputs(t *testing.T, form string) url.Values {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	attr := func(n *html.Node, name string) (string, bool) {
		for _, a := range n.Attr {
			if a.Key == name {
				return a.Val, true
			}
		}
		return "", false
	}
	v := url.Values{}
	selected := ""
	for n := range doc.Descendants() {
		name, _ := attr(n, "name")
		value, _ := attr(n, "value")
		switch n.Data {
		case "input":
			v.Set(name, value)
		case "select":
			selected = name
		case "option":
			if _, is := attr(n, "selected"); is {
				v.Set(selected, value)
			}
		}
	}
	return v
}

func TestEditorWithoutScript(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	for _, c := range []struct {
		form url.Values
		want string
	}{
		{webtest.TwoThreads("action", "show", "title", "Three"), "title: Three"},
		{webtest.TwoThreads("action", "read", "yaml", webtest.TwoText+"seed: 9"), `name="seed" value="9"`},
		{webtest.TwoThreads("action", "add-thread"), `name="threads[2].name" value="C"`},
		{webtest.TwoThreads("action", "remove-thread-0"), `name="threads[0].name" value="B"`},
		{webtest.TwoThreads("action", "show", "seed", "x"), "One mistake."},
		{webtest.TwoThreads("action", "show", "yaml", "[", "title", "Three"), "your changes in the form were not applied"},
	} {
		res, body := s.Do(t, http.MethodPost, "/edit", c.form)
		if res.StatusCode != http.StatusOK || !strings.Contains(body, c.want) {
			t.Errorf("%v: %d without %q", c.form, res.StatusCode, c.want)
		}
	}
	res, body := s.Do(t, http.MethodPost, "/edit", webtest.TwoThreads("action", "save", "title", "Zwei, 两个"))
	if want := "attachment; filename=scenario.yaml; filename*=UTF-8''zwei-%E4%B8%A4%E4%B8%AA.yaml"; res.Header.Get("Content-Disposition") != want {
		t.Errorf("saved as %q", res.Header.Get("Content-Disposition"))
	}
	if sc, err := scenario.Parse([]byte(body)); err != nil || sc.Title != "Zwei, 两个" {
		t.Errorf("saved %v:\n%s", err, body)
	}
}

func TestWhatIsWrongIsNotRun(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	for _, action := range []string{"run", "step"} {
		res, body := s.Do(t, http.MethodPost, "/runs", webtest.TwoThreads("action", action, "lock.lease", "200x", "seed", "-1"))
		if res.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: status %d, want 422", action, res.StatusCode)
		}
		for _, want := range []string{"2 mistakes. Nothing runs", "Line 2, lock.lease: given", `aria-invalid="true"`, `value="200x"`} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: the page lacks %q", action, want)
			}
		}
	}
}

func TestARunsScenarioCanBeChanged(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	path := s.Run(t, webtest.TwoThreads("yaml", webtest.TwoText+"expect: {violations: []}"))
	_, body := s.Do(t, http.MethodGet, path, nil)
	edit := "/edit?run=" + strings.TrimPrefix(path, "/runs/")
	if !strings.Contains(body, `href="`+edit+`"`) {
		t.Error("no way from a run to its scenario")
	}
	_, body = s.Do(t, http.MethodGet, edit, nil)
	for _, want := range []string{"title: Two", `name="threads[1].name" value="B"`, "violations: []"} {
		if !strings.Contains(body, want) {
			t.Errorf("the editor lacks %q", want)
		}
	}
}

func TestOpenAFile(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.Open(t, nil)
	path := s.Run(t, webtest.TwoThreads())
	s.Ended(t, path)
	_, lines := s.Do(t, http.MethodGet, path+"/trace", nil)
	_, run := s.Do(t, http.MethodGet, path, nil)
	first, rest, _ := strings.Cut(lines, "\n")

	res, body := s.Send(t, "/edit/file", "two.yaml", []byte(webtest.TwoText))
	if res.StatusCode != http.StatusOK || !strings.Contains(body, `name="threads[1].name" value="B"`) {
		t.Errorf("a scenario: %d", res.StatusCode)
	}
	res, body = s.Send(t, "/edit/file", "two.json", []byte(`{"threads": [{"name": "Z"}], "seed": "x"}`))
	if res.StatusCode != http.StatusOK || !strings.Contains(body, "threads: [{name: Z}]") || !strings.Contains(body, "Line 2, seed") {
		t.Errorf("JSON with a mistake: %d\n%s", res.StatusCode, body)
	}
	for _, to := range []string{"/edit/file", "/traces"} {
		res, _ = s.Send(t, to, "x.jsonl", []byte(lines))
		at := res.Header.Get("Location")
		if res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(at, "/traces/") {
			t.Fatalf("%s: a trace: %d to %q", to, res.StatusCode, at)
		}
		_, page := s.Do(t, http.MethodGet, at, nil)
		if a, b := webtest.Rows(run), webtest.Rows(page); a == "" || a != b {
			t.Errorf("%s: the rows of the trace are not those of the run", to)
		}
		if _, again := s.Do(t, http.MethodGet, at+"/trace", nil); again != lines {
			t.Error("the trace does not come back as it was")
		}
		if _, page = s.Do(t, http.MethodGet, "/edit?trace="+strings.TrimPrefix(at, "/traces/"), nil); !strings.Contains(page, "title: Two") {
			t.Error("the scenario of a trace cannot be changed")
		}
	}
	for _, c := range []struct {
		name, data string
		status     int
		want       string
	}{
		{"no event", first + "\n" + "{\n", 422, "line 2: it is not an event"},
		{"an event left out", first + "\n" + strings.SplitAfterN(rest, "\n", 2)[1], 422, "line 2: its seq is 2; allowed: 1"},
		{"a step left out", first + "\n" + strings.Replace(rest, `"step":1`, `"step":2`, 1), 422, "line 2: it is of step 2, and the line before it of step 0"},
		{"a thread of nobody", first + "\n" + strings.Replace(rest, `"thread":"A"`, `"thread":"Q"`, 1), 422, "line 2: its thread"},
		{"a command without a name", first + "\n" + `{"seq":1,"step":1,"thread":"A","kind":"command","args":[],"key":{"type":"none","pttl_ms":-2}}`, 422, "line 2: it is a command without"},
		{"a newer version", strings.Replace(lines, `"relock":1`, `"relock":2`, 1), 422, "version 2; allowed: 1"},
		{"no scenario", `{"relock":1}`, 422, "the scenario in line 1"},
		{"a bad scenario", strings.Replace(lines, `"depth":2`, `"depth":99`, 1), 422, "the scenario in line 1"},
		{"a stranger's owner", strings.Replace(lines, `"owners":{`, `"owners":{"":"A",`, 1), 422, "line 1: it says that the owner"},
		{"nothing", "", 400, "That file cannot be read"},
		{"too much", first + strings.Repeat(" ", 9<<20), 413, "8 MiB"},
		{"a scenario that is too long", strings.Repeat("#", 65<<10), 413, "64 KiB"},
	} {
		if res, body := s.Send(t, "/edit/file", "x", []byte(c.data)); res.StatusCode != c.status || !strings.Contains(string(webtest.AsRead([]byte(body))), c.want) {
			t.Errorf("%s: %d, want %d with %q", c.name, res.StatusCode, c.status, c.want)
		}
	}
}

// Whatever a line of a trace holds, its page stays small and its file whole.
func TestAHugeArgumentMakesNoHugePage(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	const head = `{"relock":1,"scenario":{"lock":{"lease":"1s"},"threads":[{"name":"A"}]},"owners":{"锁锁锁锁锁锁锁锁锁锁":"A"},"clock":"virtual"}` + "\n"
	long := 7_000_000
	if testing.Short() {
		long /= 5
	}
	for name, event := range map[string]string{
		"an argument":    `{"seq":1,"step":1,"thread":"A","kind":"command","call":"lock","args":["HINCRBY","k","锁锁锁锁锁锁锁锁锁锁","` + strings.Repeat("锁", long/3) + `"]}`,
		"many arguments": `{"seq":1,"step":1,"thread":"A","kind":"command","call":"lock","args":["EVAL"` + strings.Repeat(`,"锁锁锁锁锁锁锁锁锁锁"`, long/35) + `]}`,
		"a reply":        `{"seq":1,"step":1,"thread":"A","kind":"command","call":"lock","args":["GET","k"],"reply":["` + strings.Repeat("x", long) + `"]}`,
		"a value":        `{"seq":1,"step":1,"thread":"A","kind":"command","call":"lock","args":["GET","k"],"key":{"type":"string","value":"` + strings.Repeat("x", long) + `","pttl_ms":7}}`,
		"an error":       `{"seq":1,"step":1,"thread":"A","kind":"outcome","call":"lock","result":"error","error":"` + strings.Repeat("x", long) + `"}`,
	} {
		s := webtest.Open(t, nil)
		res, body := s.Send(t, "/traces", "trace.jsonl", []byte(head+event+"\n"))
		if res.StatusCode != http.StatusSeeOther {
			t.Errorf("%s: %d\n%.300s", name, res.StatusCode, body)
			continue
		}
		path := res.Header.Get("Location")
		if _, page := s.Do(t, http.MethodGet, path, nil); len(page) > 500_000 || !utf8.ValidString(page) {
			t.Errorf("%s: a page of %d bytes, valid: %v", name, len(page), utf8.ValidString(page))
		}
		if _, file := s.Do(t, http.MethodGet, path+"/trace", nil); len(file) != len(head)+len(event)+1 {
			t.Errorf("%s: a file of %d bytes", name, len(file))
		}
	}
}

func TestTracesAreLimited(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, func(c *web.Config) { c.Limits.StartsPerMinute = 3 })
	path := s.Run(t, webtest.TwoThreads())
	s.Ended(t, path)
	_, lines := s.Do(t, http.MethodGet, path+"/trace", nil)
	for i, want := range []int{303, 303, 429} {
		if res, _ := s.Send(t, "/traces", "x", []byte(lines)); res.StatusCode != want {
			t.Errorf("trace %d: %d, want %d", i+1, res.StatusCode, want)
		}
	}
}

// FuzzTrace sends what anybody may write as a trace: it is shown, and exported
// in every format, or refused.
func FuzzTrace(f *testing.F) {
	racetest.Skip(f)
	limits := runs.DefaultLimits()
	limits.StartsPerMinute = 1 << 30
	server, err := web.New(web.Config{Log: slog.New(slog.DiscardHandler), Limits: limits, Scenarios: lessons.Scenarios()})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(server.Close)
	const head = `{"relock":1,"scenario":{"lock":{"lease":"1s"},"threads":[{"name":"A"}]},"owners":{"o1":"A"},"clock":"virtual"}` + "\n"
	f.Add([]byte(head + `{"seq":1,"step":1,"at_ms":1e300,"thread":"A","kind":"command","call":"lock","args":["HINCRBY","k","o1","-"],"reply":[null,[1]],"key":{"type":"hash","fields":{"o1":"1"},"pttl_ms":7},"nodes":[{"value":"o1"}],"belief":{"A":-2}}
{"seq":2,"step":1,"thread":"","kind":"fault","do":"evict","node":-1,"nodes":[{}]}
{"seq":3,"step":4,"thread":"A","kind":"outcome","call":"","result":"error","error":":"}
{"seq":4,"step":4,"thread":"","kind":"violation"}{"seq":5,"step":4,"thread":"A","kind":"end"}{"seq":6,"step":5,"thread":"A","kind":"resource"}`))
	f.Add([]byte(head + `{"seq":1,"step":1,"thread":"A","kind":"command","args":[]}`))
	f.Add([]byte(head + `{"seq":1,"step":1,"thread":"A","kind":"command","call":"unlock","args":["HINCRBY"],"late":true}
{"seq":2,"step":1,"thread":"A","kind":"command","call":"x","args":["HMGET",""],"reply":[1,[]],"late":true,"node":7}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		send := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/traces", bytes.NewReader(data))
		send.Host = "localhost"
		got := httptest.NewRecorder()
		server.ServeHTTP(got, send)
		if got.Code == http.StatusSeeOther {
			at := got.Header().Get("Location")
			asked := []string{at, at + "/lanes?row=1"}
			for _, format := range export.Formats() {
				asked = append(asked, at+"/export?format="+string(format))
			}
			for _, path := range asked {
				if page := webtest.Answered(t, server, http.MethodGet, path, "", nil); page.Code != http.StatusOK {
					t.Fatalf("of a trace that was taken %s gives %d", path, page.Code)
				}
			}
		} else if got.Code >= 500 {
			t.Fatalf("%d\n%s", got.Code, got.Body)
		}
	})
}

// What is wrong with a trace is said in one sentence of each language, and not
// by the decoder.
func TestARejectedTraceIsToldInOneSentence(t *testing.T) {
	racetest.Skip(t)
	s := webtest.Open(t, nil)
	path := s.Run(t, webtest.TwoThreads())
	s.Ended(t, path)
	_, whole := s.Do(t, http.MethodGet, path+"/trace", nil)
	first, rest, _ := strings.Cut(whole, "\n")
	for trace, want := range map[string][2]string{
		first + "\n{\"seq\":\"x\"}\n" + rest:                            {"Nothing of it was taken: line 2: it is not an event of a trace.", "第 2 行：这不是轨迹里的事件。"},
		`{"relock":7}`:                                                  {"line 1: it is a trace of version 7; allowed: 1.", "轨迹的版本是 7，允许：1。"},
		`{"relock":1,"scenario":{"threads":3}}`:                         {"the scenario in line 1 has a mistake: line ", "第 1 行里的场景有误："},
		first + "\n" + strings.Replace(rest, `"seq":1,`, `"seq":5,`, 1): {"line 2: its seq is 5; allowed: 1, one for each line.", "seq 是 5，允许：1，每行加一。"},
	} {
		for i, language := range []string{"en", "zh"} {
			res, body := s.Post(t, "/traces", trace, "Accept-Language", language)
			body = html.UnescapeString(body)
			if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, want[i]) || strings.Contains(body, "json:") {
				t.Errorf("%s: %d, want %q\n%s", language, res.StatusCode, want[i], body)
			}
		}
	}
}

// Starting from another scenario keeps where it is to run.
func TestAnotherStartKeepsWhereItRuns(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	_, body := webtest.Open(t, nil).Do(t, http.MethodGet, "/edit?example=crash&store=wall&slow=20", nil)
	if !regexp.MustCompile(`name="store"\s+value="wall"\s+checked`).MatchString(body) || !regexp.MustCompile(`name="slow"\s+value="20"`).MatchString(body) {
		t.Error("the wall clock in slow motion is not chosen any more")
	}
}
