package site

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"relock/engine/pause"
	"relock/web/site/limit"
	"relock/web/site/turn"
	"relock/web/words"
)

// How long a visitor may take to read a piece of an answer: the server's
// patience, and more for a long one.
const (
	usualPatience = 20 * time.Second
	slowest       = 32 << 10 // bytes a second
	piece         = 32 << 10 // bytes

	shortPatience = 2 * time.Second // with visitors who were refused because too much waits
)

// How many bytes may wait for the lines of visitors: bodies on their way in, and
// answers that nobody reads. The largest answer has 19 MB, a trace for a client
// that accepts no compression.
const (
	waitingOfAddress = 24 << 20 // a class of three hundred that loads a page at once, beside a trace
	waitingOfAll     = 32 << 20
	connectionBytes  = 28 << 10 // the bytes that each of them takes besides, as does each request that waits for its turn; measured
)

// delivery is a request under way: its body as it comes in, and its answer, which
// is collected while a handler works and sent when that has returned. So a slow
// line holds up no turn, and takes no more memory than the answer. That is
// counted, and bounded.
type delivery struct {
	http.ResponseWriter

	control  *http.ResponseController
	conn     net.Conn // nil if unknown
	seat     *turn.Seat
	account  *limit.Account
	stop     context.CancelFunc
	patience time.Duration
	arrival  *arrival // nil without a body

	status int      // 0 until there is an answer
	pieces [][]byte // of the answer, in their order; the last may have room
	shared []byte   // the answer instead, which other deliveries have, too
	size   int      // of the answer, in bytes
	held   int      // by pieces
	sent   int64    // of the answer
	taken  bool     // a websocket has taken the connection over

	sending atomic.Bool
	refused atomic.Pointer[Error] // why the answer is another one, or ends here
}

type deliveryKey struct{}

func deliveryOf(r *http.Request) *delivery {
	d, ok := r.Context().Value(deliveryKey{}).(*delivery)
	if !ok {
		panic("site: a request without a delivery")
	}
	return d
}

// SeatOf returns the seat of a request.
func SeatOf(r *http.Request) *turn.Seat { return deliveryOf(r).seat }

type connectionKey struct{}

// Connected tells requests their connection, so that it can be closed at any
// time. It is an http.Server's ConnContext; without it an
// HTTP/2 connection that is not read is closed later.
func Connected(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// begin returns the delivery of a request, and the request as handlers get it.
// End ends it.
func (s *Site) begin(w http.ResponseWriter, r *http.Request) (*delivery, *http.Request) {
	d := &delivery{ResponseWriter: w, control: http.NewResponseController(w), seat: s.Turns.Seat(Address(r)), patience: s.Patience}
	d.conn, _ = r.Context().Value(connectionKey{}).(net.Conn)
	d.account = s.Waiting.OpenYielding(Address(r), d.giveWay)
	ctx, stop := context.WithCancel(context.WithValue(r.Context(), deliveryKey{}, d))
	d.stop = stop
	r = r.WithContext(pause.With(ctx, d.seat))
	if r.Body != nil && r.Body != http.NoBody {
		d.arrival = newArrival(d, r, s.Pace)
		r.Body = d.arrival
	}
	return d, r
}

func (d *delivery) end() {
	d.account.Close()
	d.stop()
}

// refuse replaces the answer, whatever the handler does. The first reason counts.
func (d *delivery) refuse(why error) {
	var status *Error
	if errors.As(OfLimit(why), &status) {
		d.refused.CompareAndSwap(nil, status)
	}
	d.stop()
}

// giveWay drops what is held: the body that is coming in, or the answer that
// nobody reads. It is called while the handler's goroutine does something else.
func (d *delivery) giveWay(why error) {
	d.refuse(why)
	switch {
	case !d.sending.Load():
		_ = d.control.SetReadDeadline(time.Now())
	case d.conn != nil:
		conn := d.conn
		if secure, ok := conn.(*tls.Conn); ok {
			conn = secure.NetConn() // which does not wait to say goodbye
		}
		_ = conn.Close()
	default:
		_ = d.control.SetWriteDeadline(time.Now())
	}
}

// WriteHeader implements http.ResponseWriter. It sends no 1xx.
func (d *delivery) WriteHeader(status int) {
	if d.status == 0 && status >= http.StatusOK {
		d.status = status
	}
}

// Write implements http.ResponseWriter.
func (d *delivery) Write(b []byte) (int, error) {
	d.WriteHeader(http.StatusOK)
	for rest := b; len(rest) > 0; {
		last := len(d.pieces) - 1
		if last < 0 || len(d.pieces[last]) == cap(d.pieces[last]) {
			room := make([]byte, 0, min(max(len(rest), d.size, 512), piece))
			d.held += cap(room)
			d.pieces = append(d.pieces, room)
			last++
		}
		at := d.pieces[last]
		n := min(len(rest), cap(at)-len(at))
		d.pieces[last] = append(at, rest[:n]...)
		rest = rest[n:]
		d.size += n
	}
	return len(b), nil
}

// share answers with bytes that other deliveries send as well. They never change.
func (d *delivery) share(b []byte) {
	d.WriteHeader(http.StatusOK)
	d.shared, d.size = b, len(b)
}

// FlushError is for http.ResponseController. An answer is sent when it is whole.
func (d *delivery) FlushError() error { return nil }

// Unwrap is for http.ResponseController.
func (d *delivery) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// Hijack lets a websocket take over the connection.
func (d *delivery) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := d.control.Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("site: take over the connection: %w", err)
	}
	d.status, d.taken = http.StatusSwitchingProtocols, true
	d.account.Close() // sockets have their own limits
	return c, rw, nil
}

// deliver sends the answer that was collected, or says why there is none.
func (s *Site) deliver(d *delivery, r *http.Request) {
	if d.taken {
		return
	}
	if d.refused.Load() == nil {
		d.sending.Store(true)
		_ = d.count() // refused is why not
	}
	refused := d.refused.Load()
	switch {
	case refused != nil:
		s.instead(d, r, refused)
	case s.Waiting.Held() > waitingOfAll/2:
		d.Header().Set("Connection", "close") // an idle one takes room, too
	}
	d.send()
	if now := d.refused.Load(); now != refused { // it gave way when it was half sent
		s.NoteRefusal(r.Context(), Address(r), now.Limit)
	}
}

// instead replaces what was collected. When too much waits the answer is a plain
// sentence: a page would take more of the memory that is short. It is not counted,
// but a visitor who does not read it is soon cut off.
func (s *Site) instead(d *delivery, r *http.Request, why *Error) {
	d.account.Close()
	d.status, d.pieces, d.held, d.shared, d.size, d.patience = 0, nil, 0, nil, 0, min(d.patience, shortPatience)
	h := d.Header()
	for _, name := range []string{"Content-Encoding", "Content-Length", "Content-Disposition", "Location", "Etag", "Set-Cookie"} {
		h.Del(name)
	}
	h.Set("Connection", "close")
	l := s.SettingsOf(r).Language
	r = r.WithContext(words.With(context.WithoutCancel(r.Context()), l))
	if why == errLate || AsksForJSON(r) {
		s.AnswerError(d, r, why)
		return
	}
	s.refused(d, r, why)
	http.Error(d, why.Text(l), why.Status)
}

// count counts what the request holds: its connection, the part of its body that
// has come, and the part of its answer that is not sent yet. If that is too much,
// the request is refused.
func (d *delivery) count() error {
	bytes := connectionBytes + d.held
	if d.arrival != nil && !d.sending.Load() {
		bytes += d.arrival.came
	}
	full := d.account.Hold(bytes)
	if full != nil {
		d.refuse(full)
	}
	return full
}

// send sends the answer piece by piece. A visitor who does not read a piece in
// time is cut off.
func (d *delivery) send() {
	d.WriteHeader(http.StatusOK)
	if h := d.Header(); h.Get("Content-Length") == "" && d.size > 0 {
		h.Set("Content-Length", strconv.Itoa(d.size))
	}
	if d.arrival != nil {
		d.arrival.leave()
	}
	d.ResponseWriter.WriteHeader(d.status)
	for b := d.next(); len(b) > 0; b = d.next() {
		until := time.Now().Add(d.patience + time.Duration(len(b))*time.Second/slowest)
		_ = d.control.SetWriteDeadline(until) // a test's recorder has none
		n, err := d.ResponseWriter.Write(b)
		d.sent += int64(n)
		if err != nil {
			return // the visitor has left, or does not read
		}
		_ = d.count() // never more than before
	}
}

// next returns the next piece to be sent, nil after the last. The one before has
// been sent.
func (d *delivery) next() (b []byte) {
	if d.shared != nil {
		n := min(piece, len(d.shared))
		b, d.shared = d.shared[:n], d.shared[n:]
		return b
	}
	if len(d.pieces) > 0 {
		b, d.pieces[0] = d.pieces[0], nil
		d.pieces = d.pieces[1:]
		d.held -= cap(b)
	}
	return b
}
