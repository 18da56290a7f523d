package page

import (
	"bytes"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

var markdown = goldmark.New(goldmark.WithExtensions(extension.Table))

// Prose is a text of the course as HTML. HTML in the text itself is left out.
func Prose(text string) string {
	var out bytes.Buffer
	if err := markdown.Convert([]byte(text), &out); err != nil {
		panic(err) // a buffer takes all
	}
	return out.String()
}
