package class_test

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"relock/engine/course"
	"relock/engine/racetest"
	"relock/web/webtest"
	"relock/web/words"
)

// writeItem asks a class for the unlock of a mutex.
const writeItem = "lock/mend-the-unlock"

// A class writes a script: each is judged, the host sees what came of them, and all
// go to break one of them.
func TestAClassWritesAScript(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	s := webtest.OpenOwn(t)
	code, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret, "rows": true})
	a := s.Visit(t, code, "en", nil).Join("player", nil)
	b := s.Visit(t, code, "zh-CN", nil).Join("audience", nil)
	c := s.Visit(t, code, "en", nil).Join("player", nil)
	if f := a.Ask(webtest.Object{"do": "write", "script": "return 1"}); !strings.Contains(f.Refused, "No question asks for a script now") {
		t.Errorf("before it is asked: %+v", f)
	}
	built, err := course.BuiltIn(words.All())
	if err != nil {
		t.Fatal(err)
	}
	item, _ := built.Item(writeItem)
	task, err := course.TaskOf[*course.Writing](item)
	if err != nil {
		t.Fatal(err)
	}
	host.Must(webtest.Object{"do": "ask", "item": writeItem})
	a.Until("it is asked", func() bool { return a.Room.Question != nil })
	q := a.Room.Question
	if q.Kind != "write" || q.Call != "unlock" || q.Start != strings.TrimSuffix(task.Start, "\n") || len(q.Options) != 4 {
		t.Fatalf("it asks %+v", q)
	}
	for _, one := range []struct {
		what    string
		by      *webtest.Attendee
		command webtest.Object
		want    string
	}{
		{"a vote", a, webtest.Object{"do": "vote", "option": 0}, "wants a script"},
		{"a host's script", host, webtest.Object{"do": "write", "script": q.Start}, "Players and the audience"},
		{"no script", a, webtest.Object{"do": "write"}, "1 to 4,096 bytes"},
		{"a long script", a, webtest.Object{"do": "write", "script": strings.Repeat("-", 4097)}, "1 to 4,096 bytes"},
		{"showing one that is not there", host, webtest.Object{"do": "show", "member": a.Member}, "has written no script"},
		{"showing one as a player", a, webtest.Object{"do": "show", "member": a.Member}, "Only a host"},
	} {
		if f := one.by.Ask(one.command); !strings.Contains(f.Refused, one.want) {
			t.Errorf("%s: %q", one.what, f.Refused)
		}
	}
	for _, one := range []struct {
		by     *webtest.Attendee
		script string
		option int
		says   string
		opens  bool
	}{
		{a, task.Start, 1, "This still breaks: ", true},
		{c, "return {1, 0}", 1, "This still breaks: shut out", true},
		{b, "return (", 3, "第 1 行", false},
		{a, task.Solution, 0, "nothing breaks that this script can prevent", false}, // the last one counts
	} {
		f := one.by.Must(webtest.Object{"do": "write", "script": one.script, "option": 0, "item": "lock/other"}) // what came of it is not the member's to say
		if j := f.Judged; j == nil || j.Option != one.option || j.Right != (one.option == 0) || !strings.Contains(j.Says, one.says) || strings.HasPrefix(j.Open, "/play#") != one.opens {
			t.Errorf("of %q comes %+v, want %d and %q", one.script, j, one.option, one.says)
		}
	}
	if f := host.Ask(webtest.Object{"do": "show", "member": a.Member}); !strings.Contains(f.Refused, "First reveal") {
		t.Errorf("shown before it is revealed: %+v", f)
	}
	host.Must(webtest.Object{"do": "reveal"})
	if q := host.Room.Question; !slices.Equal(q.Counts, []int{1, 1, 0, 1}) || q.Right == nil || *q.Right != 0 || q.Start != "" || host.Room.Scripts != 3 {
		t.Errorf("revealed: %+v, %d scripts", q, host.Room.Scripts)
	}
	if f := a.Ask(webtest.Object{"do": "write", "script": q.Start}); !strings.Contains(f.Refused, "counted already") {
		t.Errorf("after it was revealed: %+v", f)
	}
	a.Until("it is revealed", func() bool { return a.Room.Question != nil && a.Room.Question.Closed })
	if a.Room.Scripts != 0 {
		t.Error("a player is told how many scripts the host has")
	}

	again := s.Visit(t, code, "en", nil)
	if f := again.Must(webtest.Object{"do": "join", "part": "player", "member": c.Member, "token": c.Token}); f.Script != "return {1, 0}" || f.Mine == nil || *f.Mine != 1 {
		t.Errorf("who comes back has %q, %v", f.Script, f.Mine)
	}

	scene := host.Room.Scene
	host.Must(webtest.Object{"do": "show", "member": c.Member})
	if host.Room.Scene != scene+1 || host.Room.At != 0 || host.Room.Title != "A script of this class" || host.Room.Question != nil {
		t.Errorf("shown: %+v", host.Room)
	}
	host.Must(webtest.Object{"do": "step"}) // the class breaks it
	host.Must(webtest.Object{"do": "show", "member": a.Member})
	if host.Room.Scene != scene+2 {
		t.Errorf("another one is shown in scene %d", host.Room.Scene)
	}

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/room/"+code+"/scripts", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{"", secret} {
		if by != "" {
			req.Header.Set("Authorization", "Bearer "+by)
		}
		res, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if by == "" {
			if res.StatusCode != http.StatusForbidden {
				t.Errorf("without a secret: %d", res.StatusCode)
			}
			continue
		}
		for _, want := range []string{"data-member=\"" + a.Member, "right: every order was tried", "not a script of this lock"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("the page of scripts lacks %q", want)
			}
		}
	}
}

// A server that runs no scripts asks for none.
func TestNoScriptIsAskedForWithoutABox(t *testing.T) {
	s := webtest.Open(t, nil)
	code, secret := s.MakeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret})
	for _, item := range []string{writeItem, ownItem} {
		if f := host.Ask(webtest.Object{"do": "ask", "item": item}); !strings.Contains(f.Refused, "separate process") {
			t.Errorf("%s: %+v", item, f)
		}
	}
}

// ownItem asks what comes of a lock whose scripts are the course's own.
const ownItem = "others/readers"

// A room is made around an item with a lock of the course's own, and one is asked of it.
func TestAClassIsAskedOfTheCoursesOwnLock(t *testing.T) {
	t.Parallel()
	s := webtest.OpenOwn(t)
	for _, around := range []url.Values{{"example": {"lease-expiry"}}, {"item": {ownItem}}} {
		code, secret := s.MakeRoom(t, around)
		host := s.Visit(t, code, "en", nil).Join("host", webtest.Object{"secret": secret, "rows": true})
		if f := host.Ask(webtest.Object{"do": "ask", "item": ownItem}); f.Refused != "" {
			t.Fatalf("%v: %s", around, f.Refused)
		}
		host.Until("it is asked", func() bool { return host.Room.Question != nil })
		if q := host.Room.Question; len(q.Options) != 3 || len(host.Room.Threads) != 2 || host.Room.At != 2 {
			t.Errorf("%v: it asks %+v at T%d", around, q, host.Room.At)
		}
	}
}
