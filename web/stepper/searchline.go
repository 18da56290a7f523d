package stepper

import (
	"context"
	"net/http"
	"sync"
	"time"

	"relock/engine/outside/box"
	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/web/shell"
	"relock/web/site"
	"relock/web/site/limit"
	"relock/web/site/turn"
)

// Limits of searches.
const (
	searchesAtOnce  = 2   // under way, since each holds its memory while another one works; one of an address
	searchesUnknown = 1   // of these, for addresses whose last own script did not finish, or that have run none
	searchesOfAll   = 256 // under way or waiting
	searchesOwn     = 64  // and of one address: twice a class where each has a lock judged

	searchLongest   = time.Minute // a person waits no longer
	stateGoingBytes = 6 << 10     // that a state takes while its search goes on, as measured with three threads
	stateBytes      = 2 << 10     // and afterwards

	// How much searches may hold, apart from sessions: somebody who searches keeps nobody
	// from stepping.
	searchBytesOfAddress = 384 << 20
	searchBytesOfAll     = 768 << 20
)

// The limits of a searchLine.
var (
	errSearches    = &limit.Limit{Name: "searches", Says: "this server is at its limit of searches that wait for their turn (%d); try again in a moment"}
	errSearchesOwn = &limit.Limit{Name: "searches-per-address", Own: true, Says: "your address is at its limit of searches that wait for their turn (%d); try again when some of them have ended"}
)

// errSearched ends a search that takes too long.
var errSearched = phrase.New("a page searches for %d seconds at most", int(searchLongest/time.Second))

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

// Searches are what pages, classes and the course search with. They are safe for
// concurrent use.
type Searches struct {
	*shell.Pages

	line   *searchLine
	spaces *limit.Ledger // what they hold
}

// NewSearches returns the searches of a server, none of which has begun.
func NewSearches(common *shell.Pages) *Searches {
	return &Searches{common, newSearchLine(common.Box), limit.NewLedger(searchBytesOfAddress, searchBytesOfAll)}
}

// Count is how many are under way or wait for that.
func (s *Searches) Count() int {
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	return s.line.all
}

// Held is how many bytes they hold.
func (s *Searches) Held() int { return s.spaces.Held() }

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
			return nil, err
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
			return nil, err
		}
	}
	if err = l.going.Take(ctx, q.whose); err != nil {
		if !known {
			l.unknown.Done(q.whose)
		}
		return nil, err
	}
	return func() {
		l.going.Done(q.whose)
		if !known {
			l.unknown.Done(q.whose)
		}
	}, nil
}

// Judge runs a search of a user's own lock for the page that r asks for: after the
// searches before it, while nobody else wants a turn, and as long as a page may search.
// It counts as a start, and holds so many states while it works. If the visitor has left,
// it has done nothing, and there is no error.
func (s *Searches) Judge(r *http.Request, states int, judge func(ctx context.Context) error) error {
	address := site.Address(r)
	if err := s.Starts.Allow(address); err != nil {
		return site.OfLimit(err)
	}
	if err := s.InTurn(r.Context(), site.SeatOf(r), address, states, judge); err != nil {
		return shell.NotShown(r, err, "That cannot be judged")
	}
	return nil
}

// InTurn judges own scripts for somebody who waits without the turn of seat: after their
// earlier searches, while nobody else wants a turn, and as long as a page may search. It
// holds so many states while it works, and none while it waits.
func (s *Searches) InTurn(ctx context.Context, seat *turn.Seat, whose string, states int, search func(ctx context.Context) error) error {
	place, err := s.line.queue(whose, seat.Whose())
	if err != nil {
		return err
	}
	defer place.leave()
	seat.Away(ctx, func() {
		var done func()
		if done, err = place.take(ctx); err != nil {
			return
		}
		defer done()
		account := s.spaces.Open(whose)
		defer account.Close()
		if err = account.Hold(states * stateGoingBytes); err != nil {
			return
		}
		spare := s.Turns.SeatSpare(seat.Whose())
		defer spare.Done()
		within, cancel := context.WithTimeoutCause(pause.With(ctx, spare), searchLongest, errSearched)
		defer cancel()
		err = search(within)
	})
	return err
}
