package load_test

import (
	"bufio"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	door "relock/web/site"
)

// watchVariable holds, as JSON, the audience that a process of this test
// binary is instead of running tests: viewers must not use the server's
// CPU and memory, which is what is measured.
const watchVariable = "RELOCK_TEST_AUDIENCE"

// patience is how long an audience waits for the answer to a handshake.
const patience = time.Minute

// audience is a number of viewers that open the same websocket.
type audience struct {
	Address string // host:port
	Path    string // of the websocket
	Viewers int
	Say     string // the one message that each sends, up to 125 bytes; "" none
	Buffer  int    // bytes that the kernel may keep for a viewer who does not read; 0: what it likes
	Hold    bool   // do not read before standard input ends
}

// seen is what an audience saw.
type seen struct {
	Messages []wireMessage // each once, in the order in which somebody first saw it
	Viewers  []viewing
}

// wireMessage is a message as it was on the wire.
type wireMessage struct {
	Deflated bool
	Data     []byte
}

// viewing is what one viewer saw.
type viewing struct {
	Messages []uint32 // indexes of Messages
	At       []int64  // when each was there, in Unix nanoseconds
	Code     int      // of the close frame, 0 without one
	Problem  string   // what went wrong before, "" nothing
}

// watch is the whole process of an audience. It writes a line when all viewers
// have joined, one when all have been closed, and then what they saw.
func watch(job string, in io.Reader, out io.Writer) error {
	var a audience
	if err := json.Unmarshal([]byte(job), &a); err != nil {
		return fmt.Errorf("audience: %w", err)
	}
	conns, err := a.join()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "joined")
	if a.Hold {
		_, _ = io.Copy(io.Discard, in)
	}
	w := witness{seed: maphash.MakeSeed(), index: map[uint64]uint32{}}
	views := make([]viewing, len(conns))
	var all sync.WaitGroup
	for i, c := range conns {
		all.Go(func() {
			if err := w.follow(c, &views[i]); err != nil {
				views[i].Problem = err.Error()
			}
			_ = c.Close()
		})
	}
	all.Wait()
	fmt.Fprintln(out, "closed")
	return gob.NewEncoder(out).Encode(seen{w.messages, views})
}

// viewer is a websocket on which nothing is sent but what its audience says.
type viewer struct {
	net.Conn
	*bufio.Reader
}

func (v viewer) Read(b []byte) (int, error) { return v.Reader.Read(b) }

// join opens all websockets, a few at a time.
func (a audience) join() ([]viewer, error) {
	conns := make([]viewer, a.Viewers)
	errs := make(chan error, a.Viewers)
	door := make(chan struct{}, 32)
	for i := range conns {
		go func() {
			door <- struct{}{}
			defer func() { <-door }()
			var err error
			conns[i], err = a.dial(i)
			errs <- err
		}()
	}
	var all []error
	for range conns {
		all = append(all, <-errs)
	}
	return conns, errors.Join(all...)
}

// homeOf is the address of a viewer: each has its own, and those with small buffers
// have others. The last seats of a room are for addresses that have none yet.
func (a audience) homeOf(n int) net.IP {
	if a.Buffer != 0 {
		return net.IPv4(127, 1, byte(1+n/250), byte(1+n%250))
	}
	return net.IPv4(127, 0, byte(1+n/250), byte(1+n%250))
}

// dial opens one websocket that takes compressed messages.
func (a audience) dial(n int) (viewer, error) {
	d := net.Dialer{Timeout: patience, LocalAddr: &net.TCPAddr{IP: a.homeOf(n)}, Control: func(_, _ string, c syscall.RawConn) error {
		if a.Buffer == 0 {
			return nil
		}
		var err error
		cerr := c.Control(func(fd uintptr) { // before it connects: the window that it offers follows from it
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, a.Buffer)
		})
		return errors.Join(err, cerr)
	}}
	conn, err := d.Dial("tcp", a.Address)
	if err != nil {
		return viewer{}, err
	}
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"+
		"Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n", a.Path, a.Address)
	v := viewer{conn, bufio.NewReaderSize(conn, 16<<10)}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	res, err := http.ReadResponse(v.Reader, nil)
	if err != nil {
		return viewer{}, fmt.Errorf("audience: %w", err)
	}
	if res.StatusCode != http.StatusSwitchingProtocols || !strings.Contains(res.Header.Get("Sec-WebSocket-Extensions"), "permessage-deflate") {
		return viewer{}, fmt.Errorf("audience: the server answered %s", res.Status)
	}
	if a.Say != "" {
		// A text frame with a mask of zeros.
		frame := append([]byte{0x81, 0x80 | byte(len(a.Say)), 0, 0, 0, 0}, a.Say...)
		if _, err := conn.Write(frame); err != nil {
			return viewer{}, fmt.Errorf("audience: %w", err)
		}
	}
	return v, conn.SetReadDeadline(time.Time{})
}

// stuckBuffer is how many bytes the kernel keeps, at either end, for one who
// does not read.
const stuckBuffer = 4 << 10

// narrowListener serves s at an address whose connections have small buffers.
func narrowListener(tb testing.TB, s http.Handler) (address string) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	srv := &http.Server{Handler: s, ReadHeaderTimeout: time.Second, ConnContext: door.Connected}
	go func() { _ = srv.Serve(narrow{l}) }()
	tb.Cleanup(func() { _ = srv.Close() })
	return l.Addr().String()
}

// narrow makes the send buffers of what it accepts small.
type narrow struct{ net.Listener }

func (n narrow) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(stuckBuffer)
	}
	return c, err
}

// witness knows messages again.
type witness struct {
	seed maphash.Seed

	mu       sync.RWMutex
	index    map[uint64]uint32
	messages []wireMessage
}

func (w *witness) recognise(deflated bool, data []byte) uint32 {
	sum := maphash.Bytes(w.seed, data)
	w.mu.RLock()
	i, ok := w.index[sum]
	w.mu.RUnlock()
	if ok {
		return i
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if i, ok = w.index[sum]; !ok {
		i = uint32(len(w.messages))
		w.index[sum] = i
		w.messages = append(w.messages, wireMessage{deflated, append([]byte(nil), data...)})
	}
	return i
}

// follow notes what comes until the websocket is closed. A close without a
// code is an error.
func (w *witness) follow(v viewer, note *viewing) error {
	const final, deflated, opcodes, text, closing = 0x80, 0x40, 0x0f, 1, 8
	var message []byte
	var packed bool
	for {
		var head [10]byte
		if _, err := io.ReadFull(v, head[:2]); err != nil {
			return err
		}
		size, more := uint64(head[1]), 0
		switch head[1] {
		case 126:
			more = 2
		case 127:
			more = 8
		}
		if _, err := io.ReadFull(v, head[2:2+more]); err != nil {
			return err
		}
		switch more {
		case 2:
			size = uint64(binary.BigEndian.Uint16(head[2:]))
		case 8:
			size = binary.BigEndian.Uint64(head[2:])
		}
		if head[0]&opcodes > text { // control frames may come between the parts of a message
			control := make([]byte, size)
			if _, err := io.ReadFull(v, control); err != nil {
				return err
			}
			if head[0]&opcodes == closing && size >= 2 {
				note.Code = int(binary.BigEndian.Uint16(control))
				return nil
			}
			continue
		}
		if head[0]&opcodes == text {
			message, packed = message[:0], head[0]&deflated != 0
		}
		from := len(message)
		message = append(message, make([]byte, size)...)
		if _, err := io.ReadFull(v, message[from:]); err != nil {
			return err
		}
		if head[0]&final != 0 {
			note.Messages = append(note.Messages, w.recognise(packed, message))
			note.At = append(note.At, time.Now().UnixNano())
		}
	}
}

// A process that was started as an audience is nothing else.
func init() {
	job := os.Getenv(watchVariable)
	if job == "" {
		return
	}
	if err := watch(job, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
