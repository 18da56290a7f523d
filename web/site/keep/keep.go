// Package keep keeps texts under ids, within limits: in memory, in a folder, or
// on a Redis that several servers share. It must not know what the texts say.
package keep

import (
	"context"
	"regexp"
	"time"

	"relock/engine/phrase"
)

// Limits bound what a shelf keeps. Beyond them it drops the texts that were put
// there or read longest ago.
type Limits struct {
	Texts int           // how many
	Bytes int           // of all in total
	Age   time.Duration // since a text was last put there or read, to within a 365th
}

// touchEvery is how often it is noted that a text was read.
func (l Limits) touchEvery() time.Duration { return l.Age / 365 }

// Errors of a Shelf.
var (
	ErrNotKept = phrase.New("there is nothing under this address; it may be mistyped, or older than the server's memory")
	ErrAway    = phrase.New("the Redis that keeps it does not answer right now; try again in a moment")
)

// Shelf keeps texts under ids of 11 to 43 letters, digits, - and _. A text
// never changes: an id has one text for good. It is safe for concurrent use.
type Shelf interface {
	// Put keeps a text, or notes that it was put there again. It fails with
	// ErrAway.
	Put(ctx context.Context, id, text string) error
	// Get returns the text under id. It fails with ErrNotKept or ErrAway.
	Get(ctx context.Context, id string) (string, error)
}

var idForm = regexp.MustCompile(`^[A-Za-z0-9_-]{11,43}$`)
