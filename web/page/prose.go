package page

import (
	"bytes"
	"html"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"relock/web/words"
)

var markdown = goldmark.New(goldmark.WithExtensions(extension.Table))

// tag is a part of HTML that is not text.
var tag = regexp.MustCompile(`<[^>]*>`)

// Plain is a text of the course in one line, without marks.
func Plain(text string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(Prose(text), ""))), " ")
}

// Prose is a text of the course as HTML. HTML in the text itself is left out.
func Prose(text string) string {
	var out bytes.Buffer
	if err := markdown.Convert([]byte(text), &out); err != nil {
		panic(err) // a buffer takes all
	}
	return unparted(out.String())
}

// unparted keeps numbers and their units on one line, but in code, which one copies.
func unparted(prose string) string {
	var out strings.Builder
	code, from := 0, 0
	text := func(to int) {
		if code > 0 {
			out.WriteString(prose[from:to])
		} else {
			out.WriteString(words.Unparted(prose[from:to]))
		}
	}
	for _, at := range tag.FindAllStringIndex(prose, -1) {
		text(at[0])
		switch name := prose[at[0]:at[1]]; {
		case strings.HasPrefix(name, "<code"), strings.HasPrefix(name, "<pre"):
			code++
		case name == "</code>", name == "</pre>":
			code--
		}
		out.WriteString(prose[at[0]:at[1]])
		from = at[1]
	}
	text(len(prose))
	return out.String()
}
