package lab

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/tidwall/redcon"
)

// Limits of what a client may send.
const (
	maxCommand  = 1 << 20          // bytes of one command: a lock's are some hundred, its scripts a few thousand
	maxReads    = 1 << 16          // pieces in which one command may come: the parser goes over it again with each
	maxQueue    = 1024             // commands of a pipeline that wait for their turn
	maxDigits   = 5                // of the number of a command's arguments
	maxConns    = 128              // connections of one port: more than a pool has
	slowCommand = 10 * time.Second // until all of a command must be there
	slowReply   = 5 * time.Second  // until a client must take its answer
)

var (
	errTooLong  = fmt.Errorf("a command has more than %d bytes", maxCommand)
	errTooSlow  = errors.New("a command came in too many pieces")
	errProtocol = errors.New("what it sent is not RESP")
)

// bounded is what the parser reads from: it ends a command that is too long, in
// too many pieces, or too slow.
type bounded struct {
	conn  net.Conn
	bytes int // of the command so far
	reads int
	line  int // where in the head of a list the last byte was: 0 none, 1 a line begins, 2 and more: after * and its digits
}

// longHead follows the bytes, and reports whether there was the head of a list of more
// than maxDigits digits: the parser counts to that number again with each piece, come
// what may.
func (b *bounded) longHead(p []byte) bool {
	for _, c := range p {
		switch {
		case c == '\n':
			b.line = 1
		case b.line == 1 && c == '*':
			b.line = 2
		case b.line >= 2 && c >= '0' && c <= '9':
			if b.line++; b.line > 2+maxDigits {
				return true
			}
		default:
			b.line = 0
		}
	}
	return false
}

// next begins a command.
func (b *bounded) next() { b.bytes, b.reads = 0, 0 }

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	switch {
	case b.bytes > maxCommand:
		return 0, errTooLong
	case b.reads > maxReads:
		return 0, errTooSlow
	case b.reads == 0: // a client may be silent for as long as it likes, between its commands
		_ = b.conn.SetReadDeadline(time.Time{})
	case b.reads == 1:
		_ = b.conn.SetReadDeadline(time.Now().Add(slowCommand))
	}
	n, err := b.conn.Read(p)
	b.bytes += n
	b.reads++
	if b.longHead(p[:n]) {
		return 0, errProtocol
	}
	return n, err
}

// reader reads the commands of one connection. redcon's parser takes memory only
// for what has come, whatever lengths are announced; a length near the largest
// number makes it panic, which is one more way to send nonsense.
type reader struct {
	from   *bounded
	parser *redcon.Reader
}

func newReader(c net.Conn) *reader {
	b := &bounded{conn: c, line: 1}
	return &reader{b, redcon.NewReader(b)}
}

// read returns the next command, which has a name.
func (r *reader) read() (args []string, err error) {
	defer func() {
		if p := recover(); p != nil {
			args, err = nil, fmt.Errorf("%w: %v", errProtocol, p)
		}
	}()
	r.from.next()
	c, err := r.parser.ReadCommand()
	if err != nil {
		return nil, fmt.Errorf("lab: read a command: %w", err)
	}
	args = make([]string, len(c.Args))
	for i, a := range c.Args {
		args[i] = string(a)
	}
	return args, nil
}
