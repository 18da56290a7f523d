// Package templates has the components of the pages.
package templates

import (
	"context"
	"fmt"
	"strings"

	"github.com/a-h/templ"

	"relock/web/words"
)

// Text returns the HTML of a component in l.
func Text(l words.Language, c templ.Component) (string, error) {
	var b strings.Builder
	if err := c.Render(words.With(context.Background(), l), &b); err != nil {
		return "", fmt.Errorf("render: %w", err)
	}
	return b.String(), nil
}
