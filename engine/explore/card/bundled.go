package card

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the cards
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
)

// packed is the cards of all locks: a JSON text a line, compressed. `make
// generate` makes it.
//
//go:embed cards.jsonl.gz
var packed []byte

// Bundled returns the cards of all locks, in the order in which the locks are
// explained. Every call returns the same cards. It is safe for concurrent use.
func Bundled() ([]*Card, error) { return bundled() }

var bundled = sync.OnceValues(func() ([]*Card, error) { return unpack(packed) })

// Of returns the bundled card of a lock. It fails with ErrProtocol.
func Of(protocol string) (*Card, error) {
	cards, err := Bundled()
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(cards, func(c *Card) bool { return c.Protocol == protocol })
	if at < 0 {
		return nil, ErrProtocol
	}
	return cards[at], nil
}

func unpack(data []byte) ([]*Card, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("card: the bundled cards: %w", err)
	}
	const most = 4 << 20 // twenty times what they are
	dec := json.NewDecoder(io.LimitReader(r, most))
	var cards []*Card
	for dec.More() {
		c := &Card{}
		if err := dec.Decode(c); err != nil {
			return nil, fmt.Errorf("card: the bundled cards: %w", err)
		}
		cards = append(cards, c)
	}
	return cards, nil
}
