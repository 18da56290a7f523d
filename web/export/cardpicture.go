package export

import (
	"context"
	"fmt"

	"relock/engine/bound"
	"relock/web/page"
	"relock/web/templates"
	"relock/web/words"
)

// CardPicture draws a report card as an SVG file. Style is its style sheet,
// static.Files.PictureStyle; without one it fails. It fails like Render.
func CardPicture(ctx context.Context, l words.Language, title string, c page.CardTable, style string) ([]byte, error) {
	if style == "" {
		return nil, fmt.Errorf("export: %w", errNoStyle)
	}
	l = l.Plain()
	b := bound.NewBuffer(ctx)
	if err := drawn(b, l, templates.CardFile(page.NewCardPicture(l, title, c), style)); err != nil {
		return nil, fmt.Errorf("export: a card: %w", err)
	}
	return b.Bytes(), nil
}
