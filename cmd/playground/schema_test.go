package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSchemaIsPrinted(t *testing.T) {
	for _, c := range []struct {
		args       []string
		code       int
		title, err string
	}{
		{[]string{"schema"}, exitOK, "Relock scenario", ""},
		{[]string{"schema", "scenario"}, exitOK, "Relock scenario", ""},
		{[]string{"schema", "chapter"}, exitOK, "Relock chapter", ""},
		{[]string{"schema", "lesson"}, exitOK, "Relock lesson", ""},
		{[]string{"schema", "course"}, exitUsage, "", `there is no schema "course"; allowed: scenario, chapter, lesson`},
		{[]string{"schema", "a", "b"}, exitUsage, "", "takes one argument"},
	} {
		var out, errors strings.Builder
		code := command(t.Context(), c.args, environment{getenv: func(string) string { return "" }, out: &out, err: &errors})
		var read struct{ Title string }
		if c.title != "" {
			if err := json.Unmarshal([]byte(out.String()), &read); err != nil {
				t.Errorf("%v: %v", c.args, err)
			}
		}
		if code != c.code || read.Title != c.title || !strings.Contains(errors.String(), c.err) {
			t.Errorf("%v: %d, %q, %q", c.args, code, read.Title, errors.String())
		}
	}
}
