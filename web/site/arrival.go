package site

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"relock/web/words"
)

// Pace is how slowly the body of a request may come.
type Pace struct {
	First time.Duration // for its first bytes, and between any two
	Floor int           // bytes a second, of all of it but for first
}

// usualPace has 8 MiB take some 17 minutes at most.
var usualPace = Pace{First: 15 * time.Second, Floor: 8 << 10}

// unreadLimit is how long the rest of a body may take that no handler reads.
const unreadLimit = 5 * time.Second

// errLate is answered when a body did not come in time.
var errLate = &Error{
	Status: http.StatusRequestTimeout, Limit: "slow-body", Head: "That took too long to arrive", Text: func(l words.Language) string {
		return l.Say("What you sent came too slowly, or its end is missing. Nothing was changed. Send it again, on a faster line if you can: %d KB a second are enough.", usualPace.Floor>>10)
	},
}

// arrival is a request's body, read without the visitor's turn, and counted as
// it comes. Only the time spent waiting for bytes counts: a visitor who waits for
// a turn, or for room, is not late.
type arrival struct {
	io.ReadCloser

	of    *delivery
	ctx   context.Context
	pace  Pace
	came  int
	spent time.Duration // waiting for bytes
	ended error         // nil while more may come
}

func newArrival(d *delivery, r *http.Request, p Pace) *arrival {
	_ = d.control.SetReadDeadline(time.Time{}) // Read sets its own; a test's recorder has none
	return &arrival{ReadCloser: r.Body, of: d, ctx: r.Context(), pace: p}
}

// Read implements io.Reader.
func (a *arrival) Read(p []byte) (n int, err error) {
	if a.ended != nil {
		return 0, a.ended // the connection is read for something else now
	}
	began := time.Now()
	rest := a.pace.First + time.Duration(a.came)*time.Second/time.Duration(a.pace.Floor) - a.spent
	_ = a.of.control.SetReadDeadline(began.Add(min(rest, a.pace.First)))
	a.of.seat.Away(a.ctx, func() {
		n, err = a.ReadCloser.Read(p)
		a.spent += time.Since(began)
	})
	a.came += n
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		a.of.refuse(errLate)
	case err == nil || errors.Is(err, io.EOF):
		if full := a.of.count(); full != nil {
			err = full
		}
	}
	a.ended = err
	return n, err
}

// leave gives the rest of the body little time: the server reads it before the
// next request.
func (a *arrival) leave() {
	if a.ended == nil {
		_ = a.of.control.SetReadDeadline(time.Now().Add(unreadLimit))
	}
}
