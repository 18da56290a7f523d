package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"relock/lessons"
)

// Help prints each document as it is written, in the command's language if it is translated.
func TestHelpPrintsDocuments(t *testing.T) {
	entries, err := os.ReadDir("../../lessons/docs")
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, e := range entries {
		if name, is := strings.CutSuffix(e.Name(), ".md"); is {
			there = append(there, strings.ToLower(name))
		}
	}
	if all := slices.Sorted(slices.Values(topics)); !slices.Equal(all, there) {
		t.Errorf("the topics are %v, the documents %v", all, there)
	}
	for _, topic := range topics {
		english, name := "../../lessons/docs/", strings.ToUpper(topic)+".md"
		chinese := english + "zh-CN/"
		if _, err := os.Stat(chinese + name); err != nil {
			chinese = english
		}
		for _, c := range []struct {
			args   []string
			locale string
			folder string
		}{
			{[]string{"help", topic}, "", english},
			{[]string{"help", topic}, "zh_CN.UTF-8", chinese},
			{[]string{"help", topic, "-lang", "zh"}, "C", chinese},
			{[]string{"help", topic, "-lang=en"}, "zh_CN.UTF-8", english},
		} {
			env, out, stderr := in(map[string]string{"LANG": c.locale, "COLUMNS": "67"})
			if code := command(t.Context(), c.args, env); code != exitOK || out.String() != read(t, c.folder+name) {
				t.Errorf("%q in %q: exit code %d, %s, not what %s%s says:\n%.300s", c.args, c.locale, code, stderr, c.folder, name, out)
			}
		}
	}
	if _, err := lessons.Document("NONE.md", "zh-CN"); err == nil {
		t.Error("there is a document NONE")
	}
}

// The help has each command once, below what one wants, and fits a screen.
func TestHelpFitsAScreen(t *testing.T) {
	for _, locale := range []string{"C", "zh_CN.UTF-8"} {
		env, out, _ := in(map[string]string{"LANG": locale})
		env.l = languageOf(nil, env.getenv)
		if code := command(t.Context(), []string{"-h"}, env); code != exitOK {
			t.Fatalf("exit code %d", code)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) > 32 {
			t.Errorf("%s: %d lines", locale, len(lines))
		}
		var rows []string
		for _, line := range lines {
			if columns(line) > maxWidth {
				t.Errorf("%s: %d columns: %s", locale, columns(line), line)
			}
			if row, is := strings.CutPrefix(line, "  playground "); is {
				name, _, _ := strings.Cut(row, " ")
				rows = append(rows, strings.Trim(name, "[]"))
			}
		}
		if !slices.Equal(rows, subcommandNames()) {
			t.Errorf("%s: rows for %v, want %v", locale, rows, subcommandNames())
		}
		for _, p := range purposes() {
			if !slices.Contains(lines, env.say(p.name)) {
				t.Errorf("%s: no heading %q", locale, env.say(p.name))
			}
		}
	}
}
