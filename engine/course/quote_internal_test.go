package course

import (
	"errors"
	"testing"
)

func TestQuoted(t *testing.T) {
	functions := map[string]any{
		"name":  func() (string, error) { return "A", nil },
		"twice": func(n int) (int, error) { return 2 * n, nil },
		"join":  func(a string, more ...any) (string, error) { return a, nil },
		"fails": func(string) (string, error) { return "", errors.New("no such run") },
	}
	for _, c := range []struct {
		source, want string
		line         int
		err          string
	}{
		{source: "", want: ""},
		{source: "plain { text }", want: "plain { text }"},
		{source: "{{name}} and {{ twice  21 }}", want: "A and 42"},
		{source: `{{join "a \" b" 3 "c"}}`, want: `a " b`},
		{source: "one\ntwo {{when}}", line: 1, err: `function "when" not defined`},
		{source: "one\n\n{{name", line: 2, err: "{{ without a }} after it"},
		{source: "{{name 1}}", err: "wrong number of args for name: want 0 got 1"},
		{source: `{{twice "x"}}`, err: `argument 1 of twice: given "x", allowed: a whole number`},
		{source: "{{join 4}}", err: "argument 1 of join: given 4, allowed: a text in quotes"},
		{source: "{{.Field}}", err: "{{.Field}} is no call: a name, then strings in quotes and whole numbers"},
		{source: "one\n{{fails \"x\"}}", line: 1, err: "fails: no such run"},
	} {
		q, line, err := readQuoted(c.source, functions)
		said := ""
		if err == nil {
			said, line, err = q.say(functions)
		}
		got := ""
		if err != nil {
			got = err.Error()
		}
		if said != c.want || line != c.line || got != c.err {
			t.Errorf("%q: %q, line %d, %q; want %q, line %d, %q", c.source, said, line, got, c.want, c.line, c.err)
		}
	}
}
