package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime"
	"time"

	"relock/engine/bound"
	"relock/web/site/turn"
)

// How many answers may take much memory at once: traces from elsewhere, runs
// made for an export, films. The largest takes some 200 MB.
const (
	largeAtOnce    = 6 // in all
	largeOfAddress = 2 // of one address
)

// MaxFile is how many bytes the largest body has: a file of 8 MiB, and the form
// around it.
const MaxFile = 8<<20 + 64<<10

// newComing returns the turns for sending a body that becomes a large answer: as
// many for each address as it has there. The ledger of what waits bounds the rest.
func newComing() *turn.Turns { return turn.New(math.MaxInt32, largeOfAddress) }

// newTurns returns as many turns as there are processors. One address never
// gets all of them, so others are answered at once.
func newTurns() *turn.Turns {
	n := max(runtime.GOMAXPROCS(0), 2)
	return turn.New(n, n-1)
}

// stallLimit is how long nobody may get a turn while somebody waits for one. Work
// gives way every 20 ms: if none does for so long, it hangs.
const stallLimit = 5 * time.Second

// ErrStalled is returned for a server that gives nobody a turn.
var ErrStalled = errors.New("stalled")

// CheckTurns fails with ErrStalled, and a sentence for monitors, if nobody has got a
// turn for 5 seconds while somebody waits for one. It needs no turn itself.
func (s *Site) CheckTurns() error {
	since, waiting := s.Turns.Stalled()
	if since < stallLimit {
		return nil
	}
	return fmt.Errorf("%w: nobody has got a turn for %d s; waiting for one: %d", ErrStalled, int(since.Seconds()), waiting)
}

// Largely makes a handler wait until there is room for a large answer, and bounds
// its work: it fails with 422 if that meets a bound of package bound. The body
// is read first: a slow sender takes no room from others.
func (s *Site) Largely(h func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		seat, from := SeatOf(r), Address(r)
		if deliveryOf(r).arrival != nil {
			var err error
			seat.Away(r.Context(), func() { err = s.coming.Take(r.Context(), from) })
			if err != nil {
				return nil // the visitor has left
			}
			defer s.coming.Done(from)
			came, _ := io.ReadAll(io.LimitReader(r.Body, MaxFile)) // reading on meets the error
			r.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(bytes.NewReader(came), r.Body), r.Body}
		}
		done, err := s.LargeTurn(r.Context(), seat, from)
		if err != nil {
			return nil // the visitor has left
		}
		defer done()
		within, end := bound.Within(r.Context())
		defer end()
		err = h(w, r.WithContext(within))
		if errors.Is(err, bound.ErrWork) || errors.Is(err, bound.ErrHeld) || errors.Is(err, bound.ErrWritten) {
			return Unusable(err, "That is too much at once")
		}
		return err
	}
}

// LargeTurn waits, without the visitor's turn, until there is room for something
// large. Done gives it back. It fails with ctx's cause.
func (s *Site) LargeTurn(ctx context.Context, seat *turn.Seat, address string) (done func(), err error) {
	seat.Away(ctx, func() { err = s.large.Take(ctx, address) })
	if err != nil {
		return nil, err
	}
	return func() { s.large.Done(address) }, nil
}
