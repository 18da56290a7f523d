// Package packtest reads the streams of package pack as a page does.
package packtest

import (
	"bufio"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"relock/web/runs/pack"
)

// ErrPart is returned for bytes that are not a part of a stream.
var ErrPart = errors.New("packtest: no part of a stream")

// Reader reads a stream from a Start on. It is not safe for concurrent use.
type Reader struct {
	columns []*column
}

type column struct {
	packed  strings.Builder // its unread part is at the end
	read    int
	text    *bufio.Reader
	started bool
}

// Read returns more of what was written, or says that there is no more for now.
func (c *column) Read(p []byte) (int, error) {
	n := copy(p, c.packed.String()[c.read:])
	c.read += n
	if n == 0 {
		return 0, io.ErrNoProgress
	}
	return n, nil
}

// NewReader returns a reader of records with a number of columns.
func NewReader(columns int) *Reader {
	r := &Reader{columns: make([]*column, columns)}
	for i := range r.columns {
		r.columns[i] = &column{}
	}
	return r
}

// Record takes the next part and returns its texts, or none if it is the Start.
// It fails with ErrPart.
func (r *Reader) Record(part []byte) (texts []string, err error) {
	for _, c := range r.columns {
		length, n := binary.Uvarint(part)
		if n <= 0 || uint64(len(part)-n) < length {
			return nil, ErrPart
		}
		c.packed.Write(part[n : n+int(length)])
		c.packed.WriteString(pack.Flushed)
		part = part[n+int(length):]
		if !c.started {
			c.started = true
			c.text = bufio.NewReader(flate.NewReader(c))
			if _, err := c.text.Discard(pack.Window); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrPart, err)
			}
			continue
		}
		line, err := c.text.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrPart, err)
		}
		texts = append(texts, strings.TrimSuffix(line, "\n"))
	}
	if len(part) > 0 {
		return nil, ErrPart
	}
	return texts, nil
}
