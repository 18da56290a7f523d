package web_test

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"relock/engine/course"
	"relock/web/words"
)

// writeItem asks a class for the unlock of a mutex.
const writeItem = "lock/mend-the-unlock"

// A class writes a script: each is judged, the host sees what came of them, and all
// go to break one of them.
func TestAClassWritesAScript(t *testing.T) {
	t.Parallel()
	s := openOwn(t)
	code, secret := s.makeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.visit(t, code, "en", nil).join("host", object{"secret": secret, "rows": true})
	a := s.visit(t, code, "en", nil).join("player", nil)
	b := s.visit(t, code, "zh-CN", nil).join("audience", nil)
	c := s.visit(t, code, "en", nil).join("player", nil)
	if f := a.ask(object{"do": "write", "script": "return 1"}); !strings.Contains(f.Refused, "No question asks for a script now") {
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
	host.must(object{"do": "ask", "item": writeItem})
	a.until("it is asked", func() bool { return a.room.Question != nil })
	q := a.room.Question
	if q.Kind != "write" || q.Call != "unlock" || q.Start != strings.TrimSuffix(task.Start, "\n") || len(q.Options) != 4 {
		t.Fatalf("it asks %+v", q)
	}
	for _, one := range []struct {
		what    string
		by      *attendee
		command object
		want    string
	}{
		{"a vote", a, object{"do": "vote", "option": 0}, "wants a script"},
		{"a host's script", host, object{"do": "write", "script": q.Start}, "Players and the audience"},
		{"no script", a, object{"do": "write"}, "1 to 4,096 bytes"},
		{"a long script", a, object{"do": "write", "script": strings.Repeat("-", 4097)}, "1 to 4,096 bytes"},
		{"showing one that is not there", host, object{"do": "show", "member": a.member}, "has written no script"},
		{"showing one as a player", a, object{"do": "show", "member": a.member}, "Only a host"},
	} {
		if f := one.by.ask(one.command); !strings.Contains(f.Refused, one.want) {
			t.Errorf("%s: %q", one.what, f.Refused)
		}
	}
	for _, one := range []struct {
		by     *attendee
		script string
		option int
		says   string
		opens  bool
	}{
		{a, task.Start, 1, "This still breaks: ", true},
		{c, "return {1, 0}", 2, "No rule breaks, and nothing comes late, but ", false},
		{b, "return (", 3, "第 1 行", false},
		{a, task.Solution, 0, "nothing breaks that this script can prevent", false}, // the last one counts
	} {
		f := one.by.must(object{"do": "write", "script": one.script, "option": 0, "item": "lock/other"}) // what came of it is not the member's to say
		if j := f.Judged; j == nil || j.Option != one.option || j.Right != (one.option == 0) || !strings.Contains(j.Says, one.says) || strings.HasPrefix(j.Open, "/play#") != one.opens {
			t.Errorf("of %q comes %+v, want %d and %q", one.script, j, one.option, one.says)
		}
	}
	if f := host.ask(object{"do": "show", "member": a.member}); !strings.Contains(f.Refused, "First reveal") {
		t.Errorf("shown before it is revealed: %+v", f)
	}
	host.must(object{"do": "reveal"})
	if q := host.room.Question; !slices.Equal(q.Counts, []int{1, 0, 1, 1}) || q.Right == nil || *q.Right != 0 || q.Start != "" || host.room.Scripts != 3 {
		t.Errorf("revealed: %+v, %d scripts", q, host.room.Scripts)
	}
	if f := a.ask(object{"do": "write", "script": q.Start}); !strings.Contains(f.Refused, "counted already") {
		t.Errorf("after it was revealed: %+v", f)
	}
	a.until("it is revealed", func() bool { return a.room.Question != nil && a.room.Question.Closed })
	if a.room.Scripts != 0 {
		t.Error("a player is told how many scripts the host has")
	}

	again := s.visit(t, code, "en", nil)
	if f := again.must(object{"do": "join", "part": "player", "member": c.member, "token": c.token}); f.Script != "return {1, 0}" || f.Mine == nil || *f.Mine != 2 {
		t.Errorf("who comes back has %q, %v", f.Script, f.Mine)
	}

	scene := host.room.Scene
	host.must(object{"do": "show", "member": c.member})
	if host.room.Scene != scene+1 || host.room.At != 0 || host.room.Title != "A script of this class" || host.room.Question != nil {
		t.Errorf("shown: %+v", host.room)
	}
	host.must(object{"do": "step"}) // the class breaks it
	host.must(object{"do": "show", "member": a.member})
	if host.room.Scene != scene+2 {
		t.Errorf("another one is shown in scene %d", host.room.Scene)
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
		for _, want := range []string{"data-member=\"" + a.member, "right: every order was tried", "not a script of this lock"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("the page of scripts lacks %q", want)
			}
		}
	}
}

// A server that runs no scripts asks for none.
func TestNoScriptIsAskedForWithoutABox(t *testing.T) {
	s := open(t, nil)
	code, secret := s.makeRoom(t, url.Values{"example": {"lease-expiry"}})
	host := s.visit(t, code, "en", nil).join("host", object{"secret": secret})
	if f := host.ask(object{"do": "ask", "item": writeItem}); !strings.Contains(f.Refused, "separate process") {
		t.Errorf("%+v", f)
	}
}
