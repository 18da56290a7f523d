package page

import (
	"bytes"
	"html"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
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
	return out.String()
}
