package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"relock/web/templates"
	"relock/web/view"
	"relock/web/words"
)

// errNoStyle is what is wrong with a picture that would be black on black.
var errNoStyle = errors.New("a picture needs the style sheet of a picture")

// writeSVG draws the lanes of the run. It has as many rows as one picture has
// room for, and says so in its title where the run has more.
func writeSVG(b *bytes.Buffer, r Run) error {
	if r.Style == "" {
		return errNoStyle
	}
	lanes := view.LanesOf(r.Scenario, r.Header.Owners)
	if err := r.added(lanes.Add); err != nil {
		return err
	}
	title := r.title()
	if lanes.Len() > view.MaxLaneRows {
		title = r.Language.Say("%s (the first %d of %d steps)", title, view.MaxLaneRows, lanes.Len())
	}
	picture := lanes.Window(r.Language, "lanes", 0, view.MaxLaneRows)
	var drawn strings.Builder
	if err := templates.LanesFile(picture, title, r.Style).Render(words.With(context.Background(), r.Language), &drawn); err != nil {
		return fmt.Errorf("svg: %w", err)
	}
	b.WriteString(strings.Map(inXML, drawn.String()))
	return nil
}

// inXML puts a sign in the place of what no XML may have in it, not even as an
// entity: a trace from elsewhere can name anything.
func inXML(c rune) rune {
	if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0xFFFE || c == 0xFFFF {
		return utf8.RuneError
	}
	return c
}
