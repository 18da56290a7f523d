package export

import (
	"context"
	"fmt"
	"strings"

	"relock/web/page"
	"relock/web/templates"
	"relock/web/words"
)

// CardPicture draws a report card as an SVG file. Style is its style sheet,
// static.Files.PictureStyle; without one it fails.
func CardPicture(l words.Language, title string, c page.CardTable, style string) ([]byte, error) {
	if style == "" {
		return nil, fmt.Errorf("export: %w", errNoStyle)
	}
	var file strings.Builder
	err := templates.CardFile(page.NewCardPicture(l, title, c), style).Render(words.With(context.Background(), l), &file)
	if err != nil {
		return nil, fmt.Errorf("export: a card: %w", err)
	}
	return []byte(strings.Map(inXML, file.String())), nil
}
