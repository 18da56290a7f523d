// Package wire is a websocket within limits: how much and how fast a client may
// send, how long a frame may take, and how the connection closes. It must not
// know what frames mean.
package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/time/rate"
)

// Limits of a connection.
const (
	usualLimit = 4 << 10          // bytes of a message, until Read says otherwise
	pongWait   = 60 * time.Second // a client silent for longer is gone
	pingEvery  = 54 * time.Second // before that
	writeLimit = 10 * time.Second // for one frame on a slow line
	farewell   = time.Second      // for the client to close the socket too

	messageBurst = 400 // read at once; a held key sends thirty a second
	messageRate  = 200 // a second, after that
)

// Close codes of the application, and how a page reacts to them.
const (
	CloseSlow   = 4008 // the viewer is too slow: reconnect with the last seq
	CloseOver   = 4010 // the run is over: do not reconnect
	CloseBroken = 4011 // a bug ended it: say so, and do not reconnect
	CloseGone   = 4012 // the server that had it has ended: say so, and do not reconnect
	CloseFull   = 4029 // there is no room: say so, and reconnect later
)

// Notice is a frame that says why something is not done. It also precedes
// the closing of a socket, since browsers hide from scripts why a handshake was
// refused.
type Notice struct {
	V       int    `json:"v"`
	Full    bool   `json:"full,omitempty"`   // there is no room; CloseFull follows
	Broken  bool   `json:"broken,omitempty"` // a panic ended what is shown; CloseBroken follows
	Gone    bool   `json:"gone,omitempty"`   // the server of what is shown has ended; CloseGone follows
	Refused string `json:"refused"`          // a sentence
}

// Upgrader makes websockets of requests. It is safe for concurrent use.
type Upgrader struct {
	websocket websocket.Upgrader
	sent      func(frames int, err error)
}

// NewUpgrader returns an upgrader for the requests that allowed accepts.
// Refused answers the others, with 403, and requests that are no handshake.
// Sent is called after every attempt to write frames. All three must be safe
// for concurrent use.
func NewUpgrader(allowed func(*http.Request) bool, refused func(w http.ResponseWriter, r *http.Request, status int), sent func(frames int, err error)) *Upgrader {
	return &Upgrader{sent: sent, websocket: websocket.Upgrader{
		WriteBufferPool:   &sync.Pool{},
		EnableCompression: true,
		CheckOrigin:       allowed,
		Error: func(w http.ResponseWriter, r *http.Request, status int, _ error) {
			refused(w, r, status)
		},
	}}
}

// Upgrade makes c, which must be new, of a request's connection. If it fails, the
// request has been answered.
func (u *Upgrader) Upgrade(c *Conn, w http.ResponseWriter, r *http.Request) error {
	ws, err := u.websocket.Upgrade(lined{w, &c.below}, r, nil)
	if err != nil {
		return fmt.Errorf("wire: %w", err)
	}
	ws.SetReadLimit(usualLimit)
	c.ws, c.sent = ws, u.sent
	c.compressing = c.below.keeps("\r\nSec-WebSocket-Extensions: permessage-deflate")
	if err := c.Flush(); err != nil {
		c.Close()
		return fmt.Errorf("wire: answer the handshake: %w", err)
	}
	closing := ws.CloseHandler()
	ws.SetCloseHandler(func(code int, text string) error {
		c.ended.Store(true)
		return closing(code, text)
	})
	return nil
}

// lined makes a taken-over connection write in batches.
type lined struct {
	http.ResponseWriter

	below *line
}

// Hijack implements http.Hijacker.
func (l lined) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(l.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("wire: take over the connection: %w", err)
	}
	l.below.open(c)
	l.below.hold() // the answer to the handshake, for Upgrade
	return l.below, rw, nil
}

// Conn is a websocket, made by [Upgrader.Upgrade]. One goroutine may read from it, and
// one at a time write to it; End and Close can be called by any.
type Conn struct {
	ended       atomic.Bool // nothing may follow
	compressing bool        // frames for many; used by who writes
	sent        func(frames int, err error)
	below       line
	ws          *websocket.Conn
}

// ErrTooLong ends a Read when the other end has sent a longer message than it
// may. The connection is then closed with 1009.
var ErrTooLong = errors.New("wire: too long a message")

// Read hands on what the other end sends: messages of at most limit bytes, no
// faster than one person and one machine can bear. It returns nil when ctx or
// the connection has ended, else ErrTooLong. Meanwhile it sends pings, which do not
// queue behind frames; each pong sets off the next.
func (c *Conn) Read(ctx context.Context, limit int64, received func([]byte)) error {
	ping := time.AfterFunc(pingEvery, func() {
		c.sent(1, c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeLimit)))
	})
	defer ping.Stop()
	pace := rate.NewLimiter(messageRate, messageBurst)
	alive := func(string) error {
		ping.Reset(pingEvery)
		return c.ws.SetReadDeadline(time.Now().Add(pongWait))
	}
	c.ws.SetPongHandler(alive)
	for {
		_ = alive("") // if this took long, it was not the client's fault
		text, err := c.receive(limit)
		if errors.Is(err, ErrTooLong) {
			return err
		}
		if err != nil || pace.Wait(ctx) != nil {
			return nil
		}
		received(text)
	}
}

// receive reads one message of at most limit bytes, counted after decompression:
// a frame of a few bytes can be a gigabyte. A longer one closes the connection;
// the error is then ErrTooLong, else the connection's own.
func (c *Conn) receive(limit int64) ([]byte, error) {
	c.ws.SetReadLimit(limit)
	_, message, err := c.ws.NextReader()
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(message, limit+1))
	}
	switch {
	case errors.Is(err, websocket.ErrReadLimit): // the library has closed it
		c.ended.Store(true)
		return nil, ErrTooLong
	case err == nil && int64(len(text)) > limit:
		c.End(websocket.CloseMessageTooBig)
		return nil, ErrTooLong
	default:
		return text, err
	}
}

// Text sends a frame. It fails if the client cannot be reached.
func (c *Conn) Text(frame []byte) error { return c.write(websocket.TextMessage, frame) }

// Packed sends a binary frame that is already compressed, like all frames after
// it.
func (c *Conn) Packed(frame []byte) error {
	c.ws.EnableWriteCompression(false)
	c.compressing = false
	return c.write(websocket.BinaryMessage, frame)
}

func (c *Conn) write(kind int, frame []byte) error {
	err := c.ready()
	if err == nil {
		err = c.ws.WriteMessage(kind, frame)
	}
	c.sent(1, err)
	return err
}

// ready sends what a Try has left, so that the next frame can follow, and gives
// that its time.
func (c *Conn) ready() error {
	if err := c.Flush(); err != nil {
		return err
	}
	return c.ws.SetWriteDeadline(time.Now().Add(writeLimit))
}

// Flush sends what a Try has left.
func (c *Conn) Flush() error { return c.below.letGo(writeLimit) }

// Try sends a frame without ever waiting. It reports whether it has taken it, which
// it does not while somebody writes, and whether some of it is left for Flush.
func (c *Conn) Try(frame *Frame) (taken, left bool) {
	if c.ended.Load() {
		return false, false
	}
	taken, left = c.below.try(frame.on(c.compressing))
	if taken {
		c.sent(1, nil)
	}
	return taken, left
}

// Batch sends a frame and those waiting behind it in one write.
func (c *Conn) Batch(frame *Frame, behind <-chan *Frame) error {
	frames := 0
	var over error
	c.below.hold()
	for more := true; more; {
		if c.ended.Load() {
			over = websocket.ErrCloseSent
			break
		}
		_, _ = c.below.Write(frame.on(c.compressing)) // which keeps it
		frames++
		select {
		case frame, more = <-behind:
		default:
			more = false
		}
	}
	err := errors.Join(over, c.below.letGo(writeLimit))
	c.sent(frames, err)
	return err
}

// End says with a close code that nothing follows, and why. It reports whether
// that could be written; if so, Part waits for the client.
func (c *Conn) End(code int) (told bool) {
	c.ended.Store(true)
	text := websocket.FormatCloseMessage(code, "")
	return c.ws.WriteControl(websocket.CloseMessage, text, time.Now().Add(writeLimit)) == nil
}

// Goodbye is End after a last frame, as JSON, for clients that do not see close
// codes.
func (c *Conn) Goodbye(code int, last Notice) (told bool) {
	err := c.ready()
	if err == nil {
		err = c.ws.WriteJSON(last)
	}
	c.sent(1, err)
	return err == nil && c.End(code)
}

// Part reads until the client has closed the connection after an End, for a
// second at most. Closing a connection with unread frames would reset it, and
// the close code would be lost. If a Read is going on, Part first waits for its
// end: read is closed then. Without one, read is nil.
func (c *Conn) Part(read <-chan struct{}) {
	defer time.AfterFunc(farewell, c.Close).Stop()
	if read != nil {
		<-read
	}
	for {
		if _, _, err := c.ws.NextReader(); err != nil {
			return
		}
	}
}

// Close closes the connection, even while it is read or written.
func (c *Conn) Close() { _ = c.ws.Close() } // if that fails, nothing is left to do
