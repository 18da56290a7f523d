package catalog

import (
	"fmt"
	"image"
	"image/color"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/boombuler/barcode/qr"

	"relock/web/site"
	"relock/web/words"
)

// Sizes of a QR code.
const (
	maxQR     = 1200 // characters: what a phone still reads from a projector
	quietZone = 4    // modules around it, as the standard asks for
)

var errForeignQR = site.Refuse(http.StatusBadRequest, "That cannot be a QR code here",
	"QR codes are for this site's addresses: they begin like this site's own, and have no spaces.")

// QR draws an address of this site as a QR code.
func (s *Pages) QR(w http.ResponseWriter, r *http.Request) error {
	text := r.URL.Query().Get("text")
	own := s.Owns(r, text) && strings.Count(text, "/") > 2 || slices.ContainsFunc(s.ReachOf(r).Addresses, func(origin string) bool {
		return strings.HasPrefix(text, origin+"/")
	})
	switch {
	case utf8.RuneCountInString(text) > maxQR:
		return site.Refuse(http.StatusRequestEntityTooLarge, "That is too long for a QR code",
			"A QR code of this site has at most %d characters; make a short link first.", maxQR)
	case !own || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }):
		return errForeignQR
	}
	// A screen has no scratches: the lowest error correction gives the largest
	// modules.
	code, err := qr.Encode(text, qr.L, qr.Unicode)
	if err != nil {
		return fmt.Errorf("catalog: qr: %w", err)
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Cache-Control", "private, max-age=86400")
	_, _ = w.Write([]byte(drawn(code, words.From(r.Context()).Say("QR code of a link to this site")))) // the visitor has left: nobody to tell
	return nil
}

// drawn returns a QR code as SVG, one unit per module. It is black on white in
// every theme, since many readers cannot read light on dark.
func drawn(code image.Image, title string) string {
	bounds := code.Bounds()
	size := strconv.Itoa(bounds.Dx() + 2*quietZone)
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ` + size + ` ` + size + `" role="img" shape-rendering="crispEdges"><title>` +
		title + `</title><path fill="#fff" d="M0 0h` + size + `v` + size + `H0z"/><path fill="#000" d="`)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			from := x
			for x < bounds.Max.X && dark(code.At(x, y)) {
				x++
			}
			if x > from {
				fmt.Fprintf(&b, "M%d %dh%dv1h-%dz", from+quietZone, y+quietZone, x-from, x-from)
			}
		}
	}
	b.WriteString(`"/></svg>`)
	return b.String()
}

func dark(c color.Color) bool { return color.Gray16Model.Convert(c) == color.Black }
