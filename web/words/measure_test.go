package words_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// What can be scanned: how long a line may be, and how many a paragraph or a list item has.
const (
	longestLine      = 100 // characters
	longestParagraph = 4   // lines
)

// scannable are the documents that are held to it.
var scannable = []string{
	"../../README.md",
	documents + "/LAB.md",
	documents + "/MYLOCK.md",
	documents + "/OPERATE.md",
	documents + "/SCENARIOS.md",
	documents + "/TEACH.md",
	documents + "/USE.md",
	documents + "/WORK.md",
}

// listed begins an item of a list, at any depth.
var listed = regexp.MustCompile(`^\s*(- |[0-9]+\. )`)

// unbroken is a line that begins with a link, so long that nothing else is on it.
var unbroken = regexp.MustCompile(`^\s*(- |[0-9]+\. )?\[[^]]+\]\([^)\s]+\)\S*$`)

// unscannable are the faults of a document: lines that are too long, outside of code, tables
// and pictures, except for a link that stands alone; and paragraphs and items of too many lines.
func unscannable(text string) (faults []string) {
	fenced, began, length := false, 0, 0
	end := func() {
		if length > longestParagraph {
			faults = append(faults, fmt.Sprintf("line %d: a paragraph or item of %d lines", began, length))
		}
		length = 0
	}
	for i, line := range strings.Split(text, "\n") {
		bare := strings.TrimSpace(line)
		fence := strings.HasPrefix(bare, "```")
		switch {
		case fence:
			fenced = !fenced
			end()
			continue
		case fenced:
			continue
		case bare == "", strings.HasPrefix(line, "|"), strings.HasPrefix(line, "!["):
			end()
			continue
		case strings.HasPrefix(line, "#"), listed.MatchString(line):
			end()
		}
		if length++; length == 1 {
			began = i + 1
		}
		if n := utf8.RuneCountInString(line); n > longestLine && !unbroken.MatchString(line) {
			faults = append(faults, fmt.Sprintf("line %d: %d characters: %s", i+1, n, line))
		}
		if strings.HasPrefix(line, "#") {
			end()
		}
	}
	end()
	return faults
}

// Who looks for something in a document finds it: no line and no paragraph is long.
func TestDocumentsCanBeScanned(t *testing.T) {
	for _, name := range scannable {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range unscannable(string(text)) {
			t.Errorf("%s, %s", filepath.Base(name), fault)
		}
	}
}

func TestTheMeasureOfADocument(t *testing.T) {
	long, word := strings.Repeat("x", longestLine), "[x](https://"+strings.Repeat("x", longestLine)+")"
	for _, c := range []struct {
		name, text string
		faults     int
	}{
		{"a line", long + "\n", 0},
		{"a line that is too long", long + "x\n", 1},
		{"characters and not bytes", strings.Repeat("é", longestLine), 0},
		{"a link", "- " + word + ".", 0},
		{"a link and a word", word + " x", 1},
		{"a table", "| " + long + " |", 0},
		{"a picture", "![" + long + "](x)", 0},
		{"code", "```\n" + long + "x\n1\n2\n3\n4\n```\n", 0},
		{"four lines", "1\n2\n3\n4\n", 0},
		{"five lines", "1\n2\n3\n4\n5\n", 1},
		{"two paragraphs", "1\n2\n3\n\n4\n5\n", 0},
		{"items", "1\n2\n3\n- 4\n- 5\n1. 6\n", 0},
		{"an item of five lines", "- 1\n  2\n  3\n  4\n  5\n", 1},
		{"an item inside", "- 1\n  2\n  3\n  - 4\n    5\n", 0},
		{"code between", "1\n2\n3\n```\n4\n```\n5\n", 0},
		{"below a heading", "# 0\n1\n2\n3\n4\n", 0},
	} {
		if got := unscannable(c.text); len(got) != c.faults {
			t.Errorf("%s: %q, want %d", c.name, got, c.faults)
		}
	}
}
