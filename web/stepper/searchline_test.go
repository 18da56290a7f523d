package stepper

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"relock/engine/outside/box"
	"relock/web/site/limit"
)

// So many searches of an address wait, and so many in all; then others are told that
// the line is full, and that it is not the memory.
func TestTheLineOfSearchesIsBounded(t *testing.T) {
	t.Parallel()
	l := newSearchLine(nil)
	var first *queued
	for address := range searchesOfAll / searchesOwn {
		for range searchesOwn {
			q, err := l.queue(fmt.Sprint(address), "")
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = q
			}
		}
		if address == 0 {
			if _, err := l.queue("0", ""); !errors.Is(err, errSearchesOwn) {
				t.Errorf("an address' line is full: %v", err)
			}
		}
	}
	_, err := l.queue("another", "")
	if met := (*limit.Error)(nil); !errors.As(err, &met) || met.Met != errSearches || errors.Is(err, limit.ErrFullServer) {
		t.Errorf("the line is full: %v", err)
	}
	first.leave()
	if _, err := l.queue("another", ""); err != nil {
		t.Errorf("one has left: %v", err)
	}
}

// Scripts of addresses that are not known to write good ones leave a turn to the
// others, however many addresses these are.
func TestUnknownScriptsLeaveATurn(t *testing.T) {
	t.Parallel()
	b, err := box.New(box.Options{Unwalled: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	l := newSearchLine(b)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	take := func(whose, scripts string) (func(), error) {
		q, err := l.queue(whose, scripts)
		if err != nil {
			t.Fatal(err)
		}
		return q.take(ctx)
	}
	done, err := take("0", "0")
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan error)
	for n := range 50 {
		q, err := l.queue(fmt.Sprint(n+1), fmt.Sprint(n+1))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := q.take(ctx)
			waited <- err
		}()
	}
	other, err := take("other", "")
	if err != nil {
		t.Fatal(err)
	}
	other()
	end()
	for range 50 {
		if err := <-waited; !errors.Is(err, context.Canceled) {
			t.Errorf("an unknown script has a turn beside another one: %v", err)
		}
	}
	done()
}
