package site

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"relock/engine/pause"
)

// Shelf keeps what was looked at last, as far as there is room, and makes each
// thing once, however many wait for it. It is safe for concurrent use.
type Shelf[K comparable, T any] struct {
	most  int          // bytes that are kept
	bytes func(*T) int // that something takes, 0 for what is not kept
	stays bool         // what is kept is kept for good: when it is full, nothing is added

	mu    sync.Mutex
	kept  map[K]*T
	order []K // what was looked at last comes last
	held  int // bytes
	made  map[K]*making[T]

	folded int // how often something was put here
}

// making is what one request makes while others wait for it.
type making[T any] struct {
	done chan struct{}
	made *T // nil if that failed
}

// NewShelf returns a shelf with room for most bytes, which bytes counts; what
// takes 0 is not kept.
func NewShelf[K comparable, T any](most int, bytes func(*T) int) *Shelf[K, T] {
	return &Shelf[K, T]{most: most, bytes: bytes, kept: map[K]*T{}, made: map[K]*making[T]{}}
}

// Folded returns how often something was put here.
func (k *Shelf[K, T]) Folded() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.folded
}

// Bytes returns how many bytes are kept.
func (k *Shelf[K, T]) Bytes() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.held
}

// Look returns what is kept, nil for nothing.
func (k *Shelf[K, T]) Look(key K) *T {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kept[key]
}

// Get returns something good enough: what is on the shelf, what another request
// is just making, or what fold makes from the one on the shelf (nil if there is
// none). It fails with ctx's cause, or as fold does.
func (k *Shelf[K, T]) Get(ctx context.Context, key K, good func(*T) bool, fold func(before *T) (*T, error)) (*T, error) {
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
			if other.made != nil && good(other.made) {
				return other.made, nil
			}
			continue
		}
		mine := &making[T]{done: make(chan struct{})}
		k.made[key] = mine
		k.mu.Unlock()
		return k.finish(key, mine, kept, fold)
	}
}

// finish makes something, keeps it, and hands it to those waiting for it.
func (k *Shelf[K, T]) finish(key K, mine *making[T], kept *T, fold func(*T) (*T, error)) (made *T, err error) {
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		mine.made = made
		if made != nil && k.bytes(made) > 0 {
			k.put(key, made)
		}
		delete(k.made, key)
		close(mine.done)
	}()
	return fold(kept)
}

// put keeps something. The caller holds mu.
func (k *Shelf[K, T]) put(key K, made *T) {
	k.folded++
	k.drop(key)
	if k.stays && k.held+k.bytes(made) > k.most {
		return
	}
	for len(k.order) > 0 && k.held+k.bytes(made) > k.most {
		k.drop(k.order[0])
	}
	k.kept[key] = made
	k.order = append(k.order, key)
	k.held += k.bytes(made)
}

// drop forgets something. The caller holds mu.
func (k *Shelf[K, T]) drop(key K) {
	one := k.kept[key]
	if one == nil {
		return
	}
	k.held -= k.bytes(one)
	delete(k.kept, key)
	k.order = slices.DeleteFunc(k.order, func(other K) bool { return other == key })
}

// touch notes that something was looked at. The caller holds mu.
func (k *Shelf[K, T]) touch(key K) {
	i := slices.Index(k.order, key)
	k.order = append(slices.Delete(k.order, i, i+1), key)
}

// ErrLeft is returned when the visitor has left: nobody is there to answer.
var ErrLeft = fmt.Errorf("the visitor has left: %w", context.Canceled)

// Taken is Shelf.Get for the visitor who sent r: fold has their turn, and nobody
// keeps a turn while waiting for another request. It fails with ErrLeft once the
// visitor has left.
func Taken[K comparable, T any](r *http.Request, from *Shelf[K, T], key K, good func(*T) bool, fold func(before *T) (*T, error)) (made *T, err error) {
	seat := SeatOf(r)
	pause.While(r.Context(), func() {
		made, err = from.Get(r.Context(), key, good, func(before *T) (*T, error) {
			if seat.Take(r.Context()) != nil {
				return nil, ErrLeft
			}
			defer seat.Done()
			return fold(before)
		})
	})
	if r.Context().Err() != nil {
		return nil, ErrLeft
	}
	return made, err
}
