package web

import (
	"context"
	"sync"

	"relock/engine/box"
	"relock/web/site/limit"
	"relock/web/site/turn"
)

// Limits of searches.
const (
	searchesAtOnce  = 2   // under way, since each holds its memory while another one works; one of an address
	searchesUnknown = 1   // of these, for addresses whose last own script did not come to its end, or that have run none
	searchesOfAll   = 256 // under way or waiting
	searchesOwn     = 64  // and of one address: twice a class where each has a lock judged
)

// The limits of a searchLine.
var (
	errSearches    = &limit.Limit{Name: "searches", Says: "this server is at its limit of searches that wait for their turn (%d); try again in a moment"}
	errSearchesOwn = &limit.Limit{Name: "searches-per-address", Own: true, Says: "your address is at its limit of searches that wait for their turn (%d); try again when some of them have ended"}
)

// searchLine is the searches that are under way or wait for that, in turn by
// address. A search that runs own scripts of an address that is not known to write
// good ones has one turn with all others of these: it may take long to find that a
// script does not end. It is safe for concurrent use.
type searchLine struct {
	box     *box.Pool // nil without one
	going   *turn.Turns
	unknown *turn.Turns

	mu  sync.Mutex
	of  map[string]int // how many of an address, or of a room
	all int
}

func newSearchLine(b *box.Pool) *searchLine {
	return &searchLine{box: b, going: turn.New(searchesAtOnce, 1), unknown: turn.New(searchesUnknown, 1), of: map[string]int{}}
}

// queued is a search in the line. It belongs to one goroutine.
type queued struct {
	in      *searchLine
	whose   string
	scripts string // the address whose scripts it runs, "" for none
}

// queue puts a search into the line. It holds nothing but its place until it has a
// turn; leave gives that back. It fails with a *limit.Error, or with a
// *box.SuspendedError.
func (l *searchLine) queue(whose, scripts string) (*queued, error) {
	if scripts != "" && l.box != nil {
		if err := l.box.Suspended(scripts); err != nil {
			return nil, err //nolint:wrapcheck // it is a sentence
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.of[whose] >= searchesOwn:
		return nil, errSearchesOwn.Met(searchesOwn)
	case l.all >= searchesOfAll:
		return nil, errSearches.Met(searchesOfAll)
	}
	l.of[whose]++
	l.all++
	return &queued{l, whose, scripts}, nil
}

func (q *queued) leave() {
	q.in.mu.Lock()
	defer q.in.mu.Unlock()
	q.in.all--
	if q.in.of[q.whose]--; q.in.of[q.whose] == 0 {
		delete(q.in.of, q.whose)
	}
}

// take waits for the turn to search; done gives it back. It fails with ctx's cause.
func (q *queued) take(ctx context.Context) (done func(), err error) {
	l, known := q.in, true
	if q.scripts != "" && l.box != nil {
		known = l.box.Proven(q.scripts)
	}
	if !known {
		if err := l.unknown.Take(ctx, q.whose); err != nil {
			return nil, err //nolint:wrapcheck // it is ctx's cause
		}
	}
	if err = l.going.Take(ctx, q.whose); err != nil {
		if !known {
			l.unknown.Done(q.whose)
		}
		return nil, err //nolint:wrapcheck // it is ctx's cause
	}
	return func() {
		l.going.Done(q.whose)
		if !known {
			l.unknown.Done(q.whose)
		}
	}, nil
}
