package web

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"relock/web/hub"
)

// Times and sizes of a websocket.
const (
	maxFrame   = 4 << 10          // what a page sends is small
	pongWait   = 60 * time.Second // a viewer that is silent for longer is gone
	pingEvery  = 54 * time.Second // before that
	writeLimit = 10 * time.Second // for one frame on a slow line
)

// upgrader takes pages of the same origin only: CheckOrigin left nil.
var upgrader = websocket.Upgrader{
	WriteBufferPool:   &sync.Pool{},
	EnableCompression: true,
	Error: func(w http.ResponseWriter, _ *http.Request, status int, reason error) {
		http.Error(w, reason.Error(), status)
	},
}

// socket sends a run's frames: what came after ?since, and what comes.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) error {
	found, err := s.session(r)
	if err != nil {
		return err
	}
	since := 0
	if text := r.URL.Query().Get("since"); text != "" {
		if since, err = strconv.Atoi(text); err != nil || since < 0 {
			return &statusError{http.StatusBadRequest, "That is no place in a run", "The since of a socket is the number of an event, 0 or more."}
		}
	}
	backlog, viewer := found.Join(since)
	defer viewer.Leave()
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return nil //nolint:nilerr // Upgrade has answered
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		read(conn)
	}()
	s.write(conn, backlog, viewer, gone)
	_ = conn.Close()
	<-gone
	return nil
}

// read takes pongs, and ends with the connection. Nothing else is expected
// from a page.
func read(conn *websocket.Conn) {
	conn.SetReadLimit(maxFrame)
	alive := func(string) error { return conn.SetReadDeadline(time.Now().Add(pongWait)) }
	conn.SetPongHandler(alive)
	_ = alive("")
	for {
		if _, _, err := conn.NextReader(); err != nil {
			return
		}
	}
}

// write sends frames until the viewer goes or is closed.
func (s *Server) write(conn *websocket.Conn, backlog [][]byte, viewer *hub.Subscriber, gone <-chan struct{}) {
	for _, frame := range backlog {
		if s.send(conn, func() error { return conn.WriteMessage(websocket.TextMessage, frame) }) != nil {
			return
		}
	}
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		select {
		case <-gone:
			return
		case <-ping.C:
			if s.send(conn, func() error { return conn.WriteMessage(websocket.PingMessage, nil) }) != nil {
				return
			}
		case frame, ok := <-viewer.Frames():
			if !ok {
				text := websocket.FormatCloseMessage(viewer.Code(), "")
				_ = conn.WriteControl(websocket.CloseMessage, text, time.Now().Add(writeLimit))
				return
			}
			if s.send(conn, func() error { return conn.WritePreparedMessage(frame) }) != nil {
				return
			}
		}
	}
}

func (s *Server) send(conn *websocket.Conn, write func() error) error {
	if err := conn.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return err //nolint:wrapcheck // only ever compared with nil
	}
	err := write()
	if err != nil && !errors.Is(err, websocket.ErrCloseSent) {
		s.log.Debug("viewer gone", slog.String("error", err.Error()))
	}
	return err //nolint:wrapcheck // only ever compared with nil
}
