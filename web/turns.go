package web

import (
	"context"
	"io"
	"net/http"
	"runtime"

	"relock/engine/pause"
	"relock/web/turn"
)

// How many answers may take much memory at once: traces from elsewhere, runs
// made for an export, films. The largest takes some 200 MB.
const (
	largeAtOnce    = 6 // in all
	largeOfAddress = 2 // of one address
)

// newTurns returns as many turns as there are processors. One address never
// gets all of them, so others are answered at once.
func newTurns() *turn.Turns {
	n := max(runtime.GOMAXPROCS(0), 2)
	return turn.New(n, n-1)
}

type seatKey struct{}

// seated gives a request its seat. A visitor who sends or reads slowly has no
// turn meanwhile.
func (s *Server) seated(rec *recorder, r *http.Request) *http.Request {
	seat := s.turns.Seat(address(r))
	ctx := pause.With(context.WithValue(r.Context(), seatKey{}, seat), seat.Pause)
	rec.away = func(write func()) { seat.Away(ctx, write) }
	r = r.WithContext(ctx)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = awayBody{r.Body, rec.away}
	}
	return r
}

func seatOf(r *http.Request) *turn.Seat {
	seat, ok := r.Context().Value(seatKey{}).(*turn.Seat)
	if !ok {
		panic("web: a request without a seat")
	}
	return seat
}

// awayBody is a request's body, read without the visitor's turn.
type awayBody struct {
	io.ReadCloser

	away func(func())
}

func (b awayBody) Read(p []byte) (n int, err error) {
	b.away(func() { n, err = b.ReadCloser.Read(p) })
	return n, err
}

// largely makes a handler wait until there is room for a large answer.
func (s *Server) largely(h func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		done, err := s.room(r.Context(), seatOf(r), address(r))
		if err != nil {
			return nil // the visitor has left
		}
		defer done()
		return h(w, r)
	}
}

// room waits until there is room for something large, without a turn. It fails
// with ctx's cause.
func (s *Server) room(ctx context.Context, seat *turn.Seat, address string) (done func(), err error) {
	seat.Away(ctx, func() { err = s.large.Take(ctx, address) })
	if err != nil {
		return nil, err
	}
	return func() { s.large.Done(address) }, nil
}
