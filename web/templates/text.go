// Package templates has the components of the pages.
package templates

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/a-h/templ"

	"relock/web/words"
)

// written are buffers for what is made as a text: the rows of a long film are many.
var written = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// mostWritten is how many bytes a buffer has that is used again.
const mostWritten = 1 << 20

// Text returns the HTML of a component in l.
func Text(l words.Language, c templ.Component) (string, error) {
	b, _ := written.Get().(*bytes.Buffer)
	defer func() {
		if b.Reset(); b.Cap() <= mostWritten {
			written.Put(b)
		}
	}()
	if err := c.Render(words.With(context.Background(), l), b); err != nil {
		return "", fmt.Errorf("render: %w", err)
	}
	return b.String(), nil
}
