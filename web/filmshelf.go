package web

import (
	"context"
	"slices"
	"sync"
)

// maxFilms is how many bytes of compressed films are kept. Ten thousand events
// take some 1.5 MB in one language.
const maxFilms = 64 << 20

// filmKey names a film on the shelf.
type filmKey struct {
	path string // of its page
	lang string
}

// filmShelf keeps the films that were looked at last, as many as there is room
// for. It is safe for concurrent use.
type filmShelf struct {
	mu    sync.Mutex
	kept  map[filmKey]*footage
	order []filmKey // the one looked at last comes last
	bytes int
	made  map[filmKey]*making

	folded int // how often a film was put here
}

// making is a film that one request makes while others may wait for it.
type making struct {
	done chan struct{}
	film *footage // nil if that failed
}

func newFilmShelf() *filmShelf {
	return &filmShelf{kept: map[filmKey]*footage{}, made: map[filmKey]*making{}}
}

// Bytes returns how many bytes are kept.
func (k *filmShelf) Bytes() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bytes
}

// get returns a film that is good enough: the one on the shelf, or the one that
// another request is making, or what fold makes of the one on the shelf, which
// may be nil. It fails with ctx's cause, or as fold does.
func (k *filmShelf) get(ctx context.Context, key filmKey, good func(*footage) bool, fold func(*footage) (*footage, error)) (*footage, error) {
	for {
		k.mu.Lock()
		kept := k.kept[key]
		if kept != nil && good(kept) {
			k.touch(key)
			k.mu.Unlock()
			return kept, nil
		}
		if other := k.made[key]; other != nil {
			k.mu.Unlock()
			select {
			case <-other.done:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			if other.film != nil && good(other.film) {
				return other.film, nil
			}
			continue
		}
		mine := &making{done: make(chan struct{})}
		k.made[key] = mine
		k.mu.Unlock()
		return k.finish(key, mine, kept, fold)
	}
}

// finish makes a film, keeps it, and hands it to those waiting for it.
func (k *filmShelf) finish(key filmKey, mine *making, kept *footage, fold func(*footage) (*footage, error)) (film *footage, err error) {
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		mine.film = film
		if film != nil && film.portions != nil {
			k.put(key, film)
		}
		delete(k.made, key)
		close(mine.done)
	}()
	return fold(kept)
}

// put keeps a film. The caller holds mu.
func (k *filmShelf) put(key filmKey, film *footage) {
	k.folded++
	k.drop(key)
	for len(k.order) > 0 && k.bytes+film.bytes > maxFilms {
		k.drop(k.order[0])
	}
	k.kept[key] = film
	k.order = append(k.order, key)
	k.bytes += film.bytes
}

// drop forgets a film. The caller holds mu.
func (k *filmShelf) drop(key filmKey) {
	film := k.kept[key]
	if film == nil {
		return
	}
	k.bytes -= film.bytes
	delete(k.kept, key)
	k.order = slices.DeleteFunc(k.order, func(one filmKey) bool { return one == key })
}

// touch notes that a film was looked at. The caller holds mu.
func (k *filmShelf) touch(key filmKey) {
	i := slices.Index(k.order, key)
	k.order = append(slices.Delete(k.order, i, i+1), key)
}
