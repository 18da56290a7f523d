// Package hub delivers frames to websockets: every viewer gets every frame, in
// order, and no viewer holds up another.
package hub

import (
	"errors"
	"sync"

	"relock/web/site/wire"

	"github.com/gorilla/websocket"
)

// queueLength is how many frames a viewer may lag behind. A frame holds all
// rows since the previous one, so this is seconds even on a slow connection.
const queueLength = 64

// ErrClosed is returned once the hub is closed.
var ErrClosed = errors.New("hub: closed")

// Hub fans out frames. It is safe for concurrent use and starts no goroutines.
type Hub struct {
	mu     sync.Mutex
	subs   map[*Subscriber]struct{}
	closed bool
	code   int
}

// New returns a hub without viewers.
func New() *Hub { return &Hub{subs: map[*Subscriber]struct{}{}} }

// Subscriber is one viewer's queue.
type Subscriber struct {
	hub    *Hub
	frames chan *wire.Frame
	code   int // set before frames is closed
}

// Frames returns the queue, which is closed when the viewer must be closed with
// Code.
func (s *Subscriber) Frames() <-chan *wire.Frame { return s.frames }

// Code returns the close code once Frames is closed.
func (s *Subscriber) Code() int {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return s.code
}

// Leave ends the subscription.
func (s *Subscriber) Leave() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.drop(s, websocket.CloseNormalClosure)
}

// Subscribe adds a viewer. On a closed hub its queue is closed from the start.
func (h *Hub) Subscribe() *Subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &Subscriber{hub: h, frames: make(chan *wire.Frame, queueLength)}
	h.subs[s] = struct{}{}
	if h.closed {
		h.drop(s, h.code)
	}
	return s
}

// Publish queues text frames, which may be sent as one, for every viewer. It
// never blocks: a viewer whose queue is full is closed with wire.CloseSlow.
// It fails with ErrClosed.
func (h *Hub) Publish(frames ...[]byte) error {
	made := make([]*wire.Frame, len(frames))
	for i, frame := range frames {
		made[i] = wire.NewText(frame)
	}
	return h.publish(made...)
}

// PublishPacked queues a part of a pack.Stream for every viewer, like Publish
// but as a binary frame.
func (h *Hub) PublishPacked(part []byte) error { return h.publish(wire.NewBinary(part)) }

func (h *Hub) publish(frames ...*wire.Frame) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return ErrClosed
	}
	for s := range h.subs {
		for _, frame := range frames {
			if !s.queue(frame) {
				h.drop(s, wire.CloseSlow)
				break
			}
		}
	}
	return nil
}

// queue reports whether there was room. The caller holds the hub's mutex.
func (s *Subscriber) queue(frame *wire.Frame) bool {
	select {
	case s.frames <- frame:
		return true
	default:
		return false
	}
}

// Tell queues a text frame for this viewer alone. It does nothing if there is
// no room or the viewer has left.
func (s *Subscriber) Tell(frame []byte) {
	text := wire.NewText(frame)
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if _, ok := s.hub.subs[s]; ok {
		_ = s.queue(text)
	}
}

// Viewers returns how many there are now.
func (h *Hub) Viewers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subs)
}

// Close closes every viewer with code, and later ones at once. Only the first
// Close counts.
func (h *Hub) Close(code int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.closed, h.code = true, code
	for s := range h.subs {
		h.drop(s, code)
	}
}

// drop is the only place that closes a queue.
func (h *Hub) drop(s *Subscriber, code int) {
	if _, ok := h.subs[s]; !ok {
		return
	}
	delete(h.subs, s)
	s.code = code
	close(s.frames)
}
