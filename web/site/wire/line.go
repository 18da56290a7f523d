package wire

import (
	"net"
	"sync"
	"time"
)

// deadlineStep is how much later than the last one a write deadline must be to
// be set: setting one costs a twentieth of a frame.
const deadlineStep = time.Second

// line is the connection below a viewer's websocket. While it is held, it gathers what is
// written, and sends that in one write when it is let go: a write costs more than
// everything else done for a frame. It is safe for concurrent use.
type line struct {
	net.Conn

	mu      sync.Mutex
	held    bool
	waiting net.Buffers
	until   time.Time // the write deadline, zero for none
}

// hold keeps what is written from now on for letGo, without copying it.
func (l *line) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = true
}

// letGo writes what was kept, within limit.
func (l *line) letGo(limit time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = false
	if len(l.waiting) == 0 {
		return nil
	}
	if err := l.setDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	first, rest := l.waiting[0], l.waiting // WriteTo advances the slice, not its array
	var err error
	if len(rest) == 1 {
		_, err = l.Conn.Write(first)
	} else {
		_, err = rest.WriteTo(l.Conn)
	}
	clear(l.waiting)
	l.waiting = l.waiting[:0]
	return err
}

// Write implements net.Conn.
func (l *line) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		l.waiting = append(l.waiting, b)
		return len(b), nil
	}
	return l.Conn.Write(b)
}

// SetWriteDeadline implements net.Conn, to within deadlineStep.
func (l *line) SetWriteDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		return nil // letGo sets it
	}
	return l.setDeadline(t)
}

// SetDeadline implements net.Conn.
func (l *line) SetDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = t
	return l.Conn.SetDeadline(t)
}

// setDeadline is SetWriteDeadline. The caller holds mu.
func (l *line) setDeadline(t time.Time) error {
	if !l.until.IsZero() && !t.Before(l.until) && t.Sub(l.until) < deadlineStep {
		return nil
	}
	l.until = t
	return l.Conn.SetWriteDeadline(t)
}
