package wire

import (
	"bytes"
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// deadlineStep is how much later than the last one a write deadline must be to
// be set: setting one costs a twentieth of a frame.
const deadlineStep = time.Second

// line is the connection below a viewer's websocket. While it is held, it gathers what is
// written, and sends that in one write when it is let go: a write costs more than
// everything else done for a frame. It is safe for concurrent use.
type line struct {
	mu    sync.Mutex
	held  bool
	until time.Time       // the write deadline, zero for none
	below syscall.RawConn // for try, nil if the connection cannot say whether a write would wait

	net.Conn

	waiting net.Buffers
}

// open makes it the line over a connection. One that encrypts cannot say whether a
// write would wait, and it must write all that it has begun.
func (l *line) open(c net.Conn) {
	l.Conn = c
	if s, ok := c.(syscall.Conn); ok {
		if below, err := s.SyscallConn(); err == nil {
			l.below = below
		}
	}
}

// push is a write that does not wait. One is used for line after line: what a
// line has of its own has to come from memory, which costs more than all else in
// a try.
type push struct {
	offered []byte
	written int
	do      func(fd uintptr) bool
}

var pushes = sync.Pool{New: func() any {
	p := &push{}
	p.do = func(fd uintptr) bool {
		for {
			var err error
			if p.written, err = syscall.Write(int(fd), p.offered); !errors.Is(err, syscall.EINTR) {
				return true // in any case
			}
		}
	}
	return p
}}

// try writes b as far as there is room. It does nothing, and reports so, where a
// write would have to wait for another. If some is left, the line is held for letGo.
func (l *line) try(b []byte) (taken, left bool) {
	if !l.mu.TryLock() {
		return false, false
	}
	defer l.mu.Unlock()
	if l.held || l.below == nil {
		return false, false
	}
	if !l.until.IsZero() && l.setDeadline(time.Time{}) != nil { // one that has passed would fail the write
		return false, false
	}
	p := pushes.Get().(*push)
	p.offered, p.written = b, 0
	err := l.below.Write(p.do)
	rest := b[max(p.written, 0):]
	p.offered = nil
	pushes.Put(p)
	if err != nil || len(rest) > 0 { // an error meets letGo, too
		l.held = true
		l.waiting = append(l.waiting, rest)
	}
	return true, l.held
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

// keeps reports whether a text is in what is kept.
func (l *line) keeps(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.waiting, func(b []byte) bool { return bytes.Contains(b, []byte(text)) })
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
