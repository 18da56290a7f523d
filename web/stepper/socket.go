package stepper

import (
	"context"
	"errors"
	"net/http"

	"github.com/gorilla/websocket"

	"relock/engine/pause"
	"relock/web/board"
	"relock/web/runs"
	"relock/web/site"
	"relock/web/site/wire"
	"relock/web/words"
)

// Limits of a stepping socket.
const (
	maxCommand = 1 << 20 // bytes: a page that comes back sends all branches of its session
	Waiting    = 16      // commands that wait for their turn; after that nothing is read
)

// speak serves a page that steps. Begin adds what it steps through to what all have in
// common, and returns what ends that.
func (s *Sockets) speak(w http.ResponseWriter, r *http.Request, kind string, of board.Tenant, begin func(*speaker) (end func())) error {
	ctx, leave, err := s.Sessions.Enter(site.Address(r))
	if err != nil {
		return s.turnAway(w, r, err)
	}
	defer leave()
	conn := &wire.Conn{}
	if err := s.Upgrader.Upgrade(conn, w, r); err != nil {
		return nil
	}
	defer s.Count.Socket(kind)()
	ctx, gone := context.WithCancel(ctx)
	seat := site.SeatOf(r)
	ctx = pause.With(ctx, seat)
	commands := make(chan []byte, Waiting)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer gone()
		s.Guarded(ctx, site.OfPlay, func() {
			err := conn.Read(ctx, maxCommand, func(text []byte) {
				select {
				case commands <- text:
				case <-ctx.Done():
				}
			})
			s.ReadTo(r, err)
		})
	}()
	p := &speaker{ctx: ctx, s: s, of: of, l: words.From(r.Context()), conn: conn, seat: seat, account: s.Ledger.Open(site.Address(r))}
	end := begin(p)
	defer func() { <-read }()
	defer conn.Close()
	defer gone()
	told := false
	served := s.Guarded(ctx, site.OfPlay, func() { p.serve(ctx, commands) })
	p.reader.Forget() // else it might send a frame after the last one
	if !served {
		told = conn.Goodbye(wire.CloseBroken, wire.Notice{
			V: 1, Broken: true, Refused: p.l.Say("A bug in this program has ended your session. It was logged. Reload the page to begin again."),
		})
	}
	if served && p.gone != "" {
		told = conn.Goodbye(wire.CloseGone, wire.Notice{V: 1, Gone: true, Refused: p.gone})
	}
	p.account.Close()
	s.Guarded(ctx, site.OfPlay, end)
	over := errors.Is(context.Cause(ctx), runs.ErrClosed)
	gone()
	if over && !told {
		told = conn.End(websocket.CloseGoingAway)
	}
	if told {
		conn.Part(read)
	}
	return nil
}

// turnAway says why the visitor cannot step now; on the socket if r opens one.
func (s *Sockets) turnAway(w http.ResponseWriter, r *http.Request, why error) error {
	if !websocket.IsWebSocketUpgrade(r) {
		return site.OfLimit(why)
	}
	s.NoteRefusal(r.Context(), site.Address(r), site.LimitName(why))
	conn := &wire.Conn{}
	if err := s.Upgrader.Upgrade(conn, w, r); err != nil {
		return nil
	}
	defer conn.Close()
	code := wire.CloseFull
	if errors.Is(why, runs.ErrClosed) {
		code = websocket.CloseGoingAway
	}
	refused, _ := words.From(r.Context()).Explain(why) // visitors can read a limit, and it says what to do
	if conn.Goodbye(code, wire.Notice{V: 1, Full: true, Refused: refused}) {
		conn.Part(nil)
	}
	return nil
}
