package film_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/engine/lock/exhibit"
	"relock/engine/scenario"
	"relock/web/film"
	"relock/web/words"
)

// parse reads a scenario of a lock.
func parse(t *testing.T, yaml string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Parse([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func scriptsOf(t *testing.T, protocol string) []film.Script {
	t.Helper()
	return film.Scripts(words.English, parse(t, "lock: {protocol: "+protocol+"}\nthreads: [{name: A}]"))
}

func scriptNamed(t *testing.T, list []film.Script, name string) film.Script {
	t.Helper()
	for _, s := range list {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no %s", name)
	return film.Script{}
}

// Nothing is lost in cutting the sources into tokens, and all are understood.
func TestScriptsAreShownAsTheyAre(t *testing.T) {
	for _, p := range exhibit.All() {
		list := scriptsOf(t, p.Name)
		if len(list) == 0 {
			t.Errorf("%s shows nothing", p.Name)
		}
		for _, source := range exhibit.Named(p.Name).Scripts {
			s := scriptNamed(t, list, source.Name)
			var b strings.Builder
			for i, l := range s.Lines {
				if l.Number != i+1 {
					t.Errorf("%s: line %d has number %d", s.Name, i+1, l.Number)
				}
				b.WriteString(l.Text() + "\n")
			}
			if diff := cmp.Diff(source.Source, b.String()); diff != "" {
				t.Errorf("%s: %s", s.Name, diff)
			}
		}
		for _, s := range list {
			if s.Plain != (s.Note != "" && len(s.Lines) > 0) || len(s.Lines) == 0 && s.Note == "" {
				t.Errorf("%s, %s: no reason why it shows what it does: %+v", p.Name, s.Name, s)
			}
		}
	}
}

func TestTokens(t *testing.T) {
	for _, c := range []struct {
		protocol, script string
		line             int
		want             []film.ScriptToken
	}{
		{"reentrant", "lock.lua", 1, []film.ScriptToken{{Class: "c", Text: "-- Enter one level of a reentrant lock."}}},
		{"reentrant", "lock.lua", 10, []film.ScriptToken{
			{Class: "k", Text: "if"},
			{Text: " "},
			{Class: "f", Text: "redis.call"},
			{Text: "("},
			{Class: "r", Text: "'EXISTS'"},
			{Text: ", "},
			{Class: "v", Text: "KEYS"},
			{Text: "["},
			{Class: "m", Text: "1"},
			{Text: "]) == "},
			{Class: "m", Text: "0"},
			{Text: " "},
			{Class: "k", Text: "then"},
		}},
		{"redsync", "lock", 1, []film.ScriptToken{
			{Class: "k", Text: "for"},
			{Text: " node "},
			{Class: "k", Text: "in"},
			{Text: " nodes "},
			{Class: "k", Text: "do"},
			{Text: " "},
			{Class: "c", Text: "-- all at once"},
		}},
		{"mutex", "lock", 1, []film.ScriptToken{
			{Class: "r", Text: "SET"},
			{Text: "(key, owner, "},
			{Class: "s", Text: "'NX'"},
			{Text: ", "},
			{Class: "s", Text: "'PX'"},
			{Text: ", lease)"},
		}},
	} {
		s := scriptNamed(t, scriptsOf(t, c.protocol), c.script)
		if diff := cmp.Diff(c.want, s.Lines[c.line-1].Tokens); diff != "" {
			t.Errorf("%s, line %d: %s", c.script, c.line, diff)
		}
	}
}

// Lua counts them as lines, but a page does not break there.
func TestCarriageReturns(t *testing.T) {
	lines := film.Coloured("x = 1\ry = 2\r\nz = 3")
	if len(lines) != 2 || lines[0].Text() != "x = 1\ry = 2\r" || lines[1].Text() != "z = 3" {
		t.Errorf("%+v", lines)
	}
}

func TestScriptsInChinese(t *testing.T) {
	for _, p := range exhibit.All() {
		sc := parse(t, "lock: {protocol: "+p.Name+"}\nthreads: [{name: A}]")
		for i, s := range film.Scripts(words.Match("zh"), sc) {
			if english := film.Scripts(words.English, sc)[i]; s.Note != "" && s.Note == english.Note {
				t.Errorf("%s: %s", p.Name, s.Note)
			}
		}
	}
}

// The comments of a lock's scripts are in the language of the page. Each line is where it
// is, and all that runs in it is as in English; of somebody's own scripts also the comments.
func TestCommentsInTheLanguageOfThePage(t *testing.T) {
	han := regexp.MustCompile(`\p{Han}`)
	comments := 0
	for _, p := range exhibit.All() {
		sc := parse(t, "lock: {protocol: "+p.Name+"}\nthreads: [{name: A}]")
		chinese := film.Scripts(words.Match("zh"), sc)
		for i, s := range film.Scripts(words.English, sc) {
			if len(s.Lines) != len(chinese[i].Lines) {
				t.Fatalf("%s, %s: %d lines, in Chinese %d", p.Name, s.Name, len(s.Lines), len(chinese[i].Lines))
			}
			for n, line := range s.Lines {
				for k, token := range line.Tokens {
					switch said := chinese[i].Lines[n].Tokens[k].Text; {
					case token.Class != "c" && said != token.Text:
						t.Errorf("%s, %s:%d: %q runs, and %q is shown", p.Name, s.Name, n+1, token.Text, said)
					case token.Class == "c" && !strings.HasPrefix(said, "--"):
						t.Errorf("%s, %s:%d: %q is no comment", p.Name, s.Name, n+1, said)
					case token.Class == "c" && han.MatchString(said):
						comments++
					}
				}
			}
		}
	}
	if comments < 300 {
		t.Errorf("only %d comments are in Chinese", comments)
	}
	own := parse(t, "lock: {protocol: own, like: reentrant, scripts: {lock: \"-- Enter one level of a reentrant lock.\\nreturn 1\"}}\nthreads: [{name: A}]")
	if got := film.Scripts(words.Match("zh"), own)[0].Lines[0].Text(); got != "-- Enter one level of a reentrant lock." {
		t.Errorf("of an own script %q is shown", got)
	}
}
