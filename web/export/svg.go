package export

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/a-h/templ"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"

	"relock/engine/bound"
	"relock/web/film"
	"relock/web/templates"
	"relock/web/words"
)

// errNoStyle: without a style sheet the picture would be black on black.
var errNoStyle = errors.New("a picture needs the style sheet of a picture")

// writeSVG draws the lanes of the run, and writes below them why each step came
// about and who believed what was not so. A run with more rows than fit into
// one picture is cut, which its title says.
func writeSVG(b *bound.Buffer, r Run) error {
	if r.Style == "" {
		return errNoStyle
	}
	reel, err := r.reel(b)
	if err != nil {
		return err
	}
	lanes, title := reel.Lanes(), r.title()
	if lanes.Len() > film.MaxLaneRows {
		title = r.Language.Say("%s (the first %d of %d steps)", title, film.MaxLaneRows, lanes.Len())
	}
	picture := lanes.Still(r.Language, "lanes")
	told := film.Tell(picture.Names+picture.Width, reel.Told(picture.Count))
	return drawn(b, r.Language, templates.LanesFile(picture, told, title, r.Style))
}

// drawn writes a picture into b.
func drawn(b *bound.Buffer, l words.Language, picture templ.Component) error {
	w := transform.NewWriter(b, runes.Map(inXML))
	if err := picture.Render(words.With(b.Context(), l), w); err != nil {
		return fmt.Errorf("svg: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("svg: %w", err)
	}
	return nil
}

// inXML replaces characters that XML forbids even as entities: a foreign trace
// can contain anything.
func inXML(c rune) rune {
	if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0xFFFE || c == 0xFFFF {
		return utf8.RuneError
	}
	return c
}
