package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"relock/engine/trace"
	"relock/web/film"
	"relock/web/templates"
	"relock/web/words"
)

// errNoStyle: without a style sheet the picture would be black on black.
var errNoStyle = errors.New("a picture needs the style sheet of a picture")

// writeSVG draws the lanes of the run, and writes below them why each step came
// about and who believed what was not so. A run with more rows than fit into
// one picture is cut, which its title says.
func writeSVG(b *bytes.Buffer, r Run) error {
	if r.Style == "" {
		return errNoStyle
	}
	reel := film.Of(r.Language, r.Scenario, r.Header)
	if err := r.added(func(e trace.Event) { reel.Add(e) }); err != nil {
		return err
	}
	drawn, title := reel.Lanes(), r.title()
	if drawn.Len() > film.MaxLaneRows {
		title = r.Language.Say("%s (the first %d of %d steps)", title, film.MaxLaneRows, drawn.Len())
	}
	picture := drawn.Window(r.Language, "lanes", 0, film.MaxLaneRows)
	told := film.Tell(picture.Names+picture.Width, reel.Told(picture.Count))
	var file strings.Builder
	if err := templates.LanesFile(picture, told, title, r.Style).Render(words.With(context.Background(), r.Language), &file); err != nil {
		return fmt.Errorf("svg: %w", err)
	}
	b.WriteString(strings.Map(inXML, file.String()))
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
