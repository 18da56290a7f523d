package lab

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/redcon"
)

// Limits of what a client may send.
const (
	maxCommand     = 1 << 20          // bytes of one command: a lock's are some hundred, its scripts a few thousand
	maxInline      = 16 << 10         // bytes of one that is a line: the parser takes as much again for each word of it
	maxReads       = 1 << 14          // pieces in which one command may come: the parser goes over it again with each
	keepBuffer     = 16 << 10         // bytes that a connection holds while nothing comes
	maxQueue       = 1024             // commands of a pipeline that wait for their turn, or of a transaction
	maxHeld        = maxCommand       // bytes of these
	maxScripts     = 512              // texts of scripts that are kept, of all threads
	maxScriptsHeld = 16 << 20         // bytes of these
	maxConns       = 128              // connections of one port: more than a pool has
	slowCommand    = 10 * time.Second // until all of a command must be there
	slowReply      = 5 * time.Second  // until a client must take its answer
	maxUnsent      = 32 << 20         // bytes of answers that a client has not taken
)

// weight is how many bytes a command holds.
func weight(args []string) (n int) {
	for _, a := range args {
		n += len(a)
	}
	return n
}

var (
	errTooLong  = fmt.Errorf("a command has more than %d bytes, or %d in one line", maxCommand, maxInline)
	errTooSlow  = errors.New("a command came in too many pieces")
	errProtocol = errors.New("what it sent is not RESP")
)

// reader reads the commands of one connection. It holds no more than one command and
// what came with its end; redcon's parser goes over that, and takes no memory for what
// was only announced. A length near the largest number makes it panic, which is one more
// way to send nonsense.
type reader struct {
	conn  net.Conn
	buf   []byte // what has come
	start int    // of it, where the next command begins
	reads int    // pieces in which that command came so far
}

func newReader(c net.Conn) *reader { return &reader{conn: c} }

// read returns the next command, which has a name.
func (r *reader) read() (args []string, err error) {
	defer func() {
		if recover() != nil {
			args, err = nil, errProtocol
		}
	}()
	for {
		for r.start < len(r.buf) {
			rest := r.buf[r.start:]
			complete, parts, _, left, err := redcon.ReadNextCommand(rest, nil)
			switch {
			case rest[0] == '$':
				return nil, errProtocol
			case err != nil:
				return nil, fmt.Errorf("%w: %s", errProtocol, strings.TrimPrefix(err.Error(), "Protocol error: "))
			case len(rest)-len(left) > maxCommand || !complete && len(rest) > maxCommand,
				rest[0] != '*' && (len(rest)-len(left) > maxInline || !complete && len(rest) > maxInline):
				return nil, errTooLong
			}
			if !complete {
				break
			}
			r.start, r.reads = len(r.buf)-len(left), 0
			if len(parts) == 0 {
				continue
			}
			args = make([]string, len(parts))
			for i, a := range parts {
				args[i] = string(a)
			}
			return args, nil
		}
		if err := r.more(); err != nil {
			return nil, fmt.Errorf("lab: read a command: %w", err)
		}
	}
}

// more reads what comes next. A client may be silent for as long as it likes between its
// commands, and not in one.
func (r *reader) more() error {
	r.buf = append(r.buf[:0], r.buf[r.start:]...)
	r.start = 0
	if len(r.buf) == 0 && cap(r.buf) > keepBuffer {
		r.buf = nil
	}
	deadline := time.Time{}
	switch {
	case r.reads > maxReads:
		return errTooSlow
	case r.reads == 0 && len(r.buf) > 0, r.reads == 1:
		deadline = time.Now().Add(slowCommand)
	}
	if r.reads <= 1 {
		_ = r.conn.SetReadDeadline(deadline)
	}
	r.reads++
	r.buf = slices.Grow(r.buf, keepBuffer)
	n, err := r.conn.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf = r.buf[:len(r.buf)+n]
	if n > 0 {
		return nil
	}
	return err
}
