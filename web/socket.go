package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/time/rate"

	"relock/engine"
	"relock/engine/run"
	"relock/web/hub"
	"relock/web/session"
	"relock/web/words"
)

// Times and sizes of a websocket.
const (
	maxFrame   = 4 << 10          // what a page sends is small
	pongWait   = 60 * time.Second // a viewer that is silent for longer is gone
	pingEvery  = 54 * time.Second // before that
	writeLimit = 10 * time.Second // for one frame on a slow line
	farewell   = time.Second      // for the other end to close a socket too
)

// newUpgrader takes pages of the same origin only.
func newUpgrader(sameOrigin func(*http.Request) bool) websocket.Upgrader {
	return websocket.Upgrader{
		WriteBufferPool:   &sync.Pool{},
		EnableCompression: true,
		CheckOrigin:       sameOrigin,
		Error: func(w http.ResponseWriter, _ *http.Request, status int, reason error) {
			http.Error(w, reason.Error(), status)
		},
	}
}

// socket sends a run's frames: what came after ?since, and what comes, with
// ?pack=1 in a pack.Stream.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) error {
	found, err := s.session(r)
	if err != nil {
		return err
	}
	since := 0
	if text := r.URL.Query().Get("since"); text != "" {
		if since, err = strconv.Atoi(text); err != nil || since < 0 {
			return refuse(http.StatusBadRequest, "That is no place in a run", "The since of a socket is the number of an event, 0 or more.")
		}
	}
	l := words.From(r.Context())
	seat := seatOf(r)
	if seat.Take(r.Context()) != nil {
		return nil // the visitor has left
	}
	backlog, viewer := found.Join(since, session.Form{Language: l, Packed: r.URL.Query().Get("pack") == "1"})
	seat.Done()
	defer viewer.Leave()
	conn, err := s.upgrader.Upgrade(w, r, nil)
	if err != nil {
		return nil // Upgrade has answered
	}
	defer s.meter.socket(forRun)()
	gone := make(chan struct{})
	mine := found.Owned(s.visitorOf(r))
	go func() {
		defer close(gone)
		defer viewer.Leave() // its frames end
		s.guarded(r.Context(), ofWatch, func() {
			s.read(r.Context(), conn, maxFrame, func(text []byte) {
				if sentence := steer(l, found.Run, mine, text); sentence != "" {
					answer, _ := json.Marshal(refusedJSON{V: 1, Refused: sentence}) // two plain fields
					viewer.Tell(answer)
				}
			})
		})
	}()
	defer func() { <-gone }()
	defer func() { _ = conn.Close() }()
	told := false
	if !s.guarded(r.Context(), ofWatch, func() { told = s.write(conn, backlog, viewer) }) || told && viewer.Code() == hub.CloseBroken {
		told = s.tellBroken(conn, l.Say("A mistake in this program has ended the run. It has been written down. Start the run again to go on."))
	}
	if told {
		defer time.AfterFunc(farewell, func() { _ = conn.Close() }).Stop()
		<-gone
	}
	return nil
}

// brokenJSON tells a page that a panic has ended what it shows, before its
// socket is closed with hub.CloseBroken.
type brokenJSON struct {
	V       int    `json:"v"`
	Broken  bool   `json:"broken"`
	Refused string `json:"refused"` // a sentence
}

// tellBroken ends a websocket after a panic. It tells whether that could be
// written.
func (s *Server) tellBroken(conn *websocket.Conn, sentence string) bool {
	return s.send(conn, func() error { return conn.WriteJSON(brokenJSON{V: 1, Broken: true, Refused: sentence}) }) == nil &&
		tellEnd(conn, hub.CloseBroken)
}

// steer does what a page asks of a thread. It returns a sentence in l where
// that was refused.
func steer(l words.Language, r *engine.Run, mine bool, text []byte) string {
	var asked struct {
		Thread string     `json:"thread"`
		Do     run.Action `json:"do"`
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	switch {
	case dec.Decode(&asked) != nil:
		return l.Say("That is no command: it must be one JSON object with thread and do.")
	case !mine:
		return l.Say("Only who started this run can steer its threads.")
	}
	if err := r.Steer(asked.Thread, asked.Do); err != nil {
		sentence, _ := l.Explain(err)
		return sentence
	}
	return ""
}

// read hands on what a page sends, messages of at most limit bytes at a pace
// that suits one person and that the machine can serve. It ends with ctx or the
// connection. Pings go out beside all frames, which nothing they wait for may
// hold up, and each pong sets off the next.
func (s *Server) read(ctx context.Context, conn *websocket.Conn, limit int64, received func([]byte)) {
	ping := time.AfterFunc(pingEvery, func() {
		_ = s.sent(1, conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeLimit)))
	})
	defer ping.Stop()
	pace := rate.NewLimiter(commandRate, commandBurst)
	alive := func(string) error {
		ping.Reset(pingEvery)
		return conn.SetReadDeadline(time.Now().Add(pongWait))
	}
	conn.SetPongHandler(alive)
	for {
		_ = alive("") // whatever took so long, it was not the page
		text, err := receive(conn, limit)
		if err != nil || pace.Wait(ctx) != nil {
			return
		}
		received(text)
	}
}

// receive reads one message of at most limit bytes, counted as they are after
// decompression: a frame of a few bytes can be a gigabyte. It closes the
// connection on a longer one, and returns the connection's error.
func receive(conn *websocket.Conn, limit int64) ([]byte, error) {
	conn.SetReadLimit(limit)
	_, message, err := conn.NextReader()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(message, limit+1))
	if err == nil && int64(len(text)) > limit {
		close := websocket.FormatCloseMessage(websocket.CloseMessageTooBig, "")
		_ = conn.WriteControl(websocket.CloseMessage, close, time.Now().Add(writeLimit))
		return nil, websocket.ErrReadLimit
	}
	return text, err
}

// write sends frames until the viewer goes or is closed. It tells whether the
// viewer was told so, or is to be told by tellBroken.
func (s *Server) write(conn *websocket.Conn, backlog session.Backlog, viewer *hub.Subscriber) bool {
	for _, frame := range backlog.Frames {
		if s.send(conn, func() error { return conn.WriteMessage(websocket.TextMessage, frame) }) != nil {
			return false
		}
	}
	if backlog.Start != nil {
		conn.EnableWriteCompression(false) // it is compressed already
		if s.send(conn, func() error { return conn.WriteMessage(websocket.BinaryMessage, backlog.Start) }) != nil {
			return false
		}
	}
	for frame := range viewer.Frames() {
		_ = conn.SetWriteDeadline(time.Now().Add(writeLimit)) // never fails
		if s.sent(sendQueued(conn, frame, viewer)) != nil {
			return false
		}
	}
	return viewer.Code() == hub.CloseBroken || tellEnd(conn, viewer.Code())
}

// sendQueued sends a frame, and with it those that have come since.
func sendQueued(conn *websocket.Conn, frame *websocket.PreparedMessage, viewer *hub.Subscriber) (frames int, err error) {
	below, _ := conn.NetConn().(*line) // Hijack has made it one
	below.hold()
	defer func() { err = errors.Join(err, below.letGo(writeLimit)) }()
	for more := true; more; {
		if err = conn.WritePreparedMessage(frame); err != nil {
			return frames, err
		}
		frames++
		select {
		case frame, more = <-viewer.Frames():
		default:
			more = false
		}
	}
	return frames, nil
}

// tellEnd closes a websocket with a code. It tells whether that could be
// written.
func tellEnd(conn *websocket.Conn, code int) bool {
	text := websocket.FormatCloseMessage(code, "")
	return conn.WriteControl(websocket.CloseMessage, text, time.Now().Add(writeLimit)) == nil
}

// drain reads until the other end has closed the connection, or we have: what
// is closed over unread frames is reset, and a close that was told is lost.
func drain(conn *websocket.Conn) {
	for {
		if _, _, err := conn.NextReader(); err != nil {
			return
		}
	}
}

func (s *Server) send(conn *websocket.Conn, write func() error) error {
	if err := conn.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return err
	}
	return s.sent(1, write())
}

// sent counts frames that were sent, unless there was an error, and returns it.
func (s *Server) sent(frames int, err error) error {
	if err == nil {
		s.meter.frames.Add(float64(frames))
	}
	if err != nil && !errors.Is(err, websocket.ErrCloseSent) {
		s.log.Debug("viewer gone", slog.String("error", err.Error()))
	}
	return err
}
