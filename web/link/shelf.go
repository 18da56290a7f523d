package link

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"

	"relock/web/site/keep"
)

// The limits of links in memory, in a folder, and on a Redis.
var (
	MemoryLimits = keep.Limits{Texts: 10_000, Bytes: 32 << 20, Age: 365 * 24 * time.Hour}
	FolderLimits = keep.Limits{Texts: 100_000, Bytes: 512 << 20, Age: 365 * 24 * time.Hour}
	RedisLimits  = keep.Limits{Texts: 100_000, Bytes: 128 << 20, Age: 365 * 24 * time.Hour}
)

// idLength is how many characters of a digest identify a link: 66 bits.
const idLength = 11

// Shelf keeps links under short ids; equal links have equal ids. It is safe for
// concurrent use.
type Shelf struct{ on keep.Shelf }

// NewShelf returns a shelf of links on one of texts, which must hold nothing
// else.
func NewShelf(on keep.Shelf) *Shelf { return &Shelf{on} }

// InFolder returns a shelf of links in the files of a folder, as
// keep.InFolder does.
func InFolder(dir string) (*Shelf, error) {
	on, err := keep.InFolder(dir, FolderLimits, func(id, text string) bool { return identify(text) == id })
	if err != nil {
		return nil, err
	}
	return NewShelf(on), nil
}

// Keep keeps the link of s and returns its id. It fails with ErrTooLong or
// keep.ErrAway.
func (k *Shelf) Keep(ctx context.Context, s Contents) (string, error) {
	text, err := Encode(s)
	if err != nil {
		return "", err
	}
	if len(text) > MaxPacked {
		return "", ErrTooLong
	}
	id := identify(text)
	return id, k.on.Put(ctx, id, text)
}

// Find returns the link kept under id. It fails with keep.ErrNotKept or
// keep.ErrAway.
func (k *Shelf) Find(ctx context.Context, id string) (string, error) { return k.on.Get(ctx, id) }

// identify returns the id for a text, from its digest. It must not end in - or
// _, which programs that find links in prose cut off.
func identify(text string) string {
	sum := sha256.Sum256([]byte(text))
	full := base64.RawURLEncoding.EncodeToString(sum[:])
	n := idLength
	for n < len(full) && strings.ContainsAny(full[n-1:n], "-_") {
		n++
	}
	return full[:n]
}
