// Package pack makes a stream of records small that all who read it get alike,
// from wherever they come in. Frames of a websocket are compressed one by one,
// and each says again most of what those before it said; here each refers to
// what came before it.
//
// A record is some texts, its columns: what is alike stands in one column, and
// each column is compressed as a stream of its own. That is raw DEFLATE (RFC
// 1951) of texts that end with a line break each, flushed after every one of
// them. A part of the stream is a record: of each column how many bytes follow,
// in seven bits a byte, the low ones first, the last with bit 7 clear (a varint
// of Protocol Buffers), and these bytes without the 00 00 FF FF with which a
// flush ends.
//
// Whoever comes in gets a Start, whose columns are the Window bytes of text
// that came before: what comes after it refers to those. So a record is
// compressed once for all readers, and nothing is kept but the windows.
package pack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/compress/flate"
)

// Window is how many bytes of text a column of a Start is, which its reader
// throws away: as far back as DEFLATE can refer.
const Window = 32 << 10

// level is where more time no longer makes records smaller.
const level = 9

// Flushed is how a flush ends, which is left out of every column.
const Flushed = "\x00\x00\xff\xff"

// writers take half a megabyte each, so a stream has one only while it writes.
var writers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, level)
	if err != nil {
		panic(fmt.Sprintf("pack: level %d: %v", level, err))
	}
	return w
}}

// Stream is what has been packed so far. It is not safe for concurrent use.
// Its zero value is not ready: use New.
type Stream struct {
	windows [][]byte // of each column, always Window bytes
	start   []byte   // nil where it must be made anew
}

// New returns a stream of records with so many columns, at least 1, in which
// nothing is yet.
func New(columns int) *Stream {
	s := &Stream{windows: make([][]byte, columns)}
	for i := range s.windows {
		s.windows[i] = bytes.Repeat([]byte{'\n'}, Window)
	}
	return s
}

// Add packs a record for those who have all before it. Its texts have no line
// breaks in them, and columns that it has none for are empty.
func (s *Stream) Add(texts ...[]byte) []byte {
	var part []byte
	for i := range s.windows {
		text := []byte{'\n'}
		if i < len(texts) {
			text = append(bytes.Clone(texts[i]), '\n')
		}
		part = column(part, text, s.windows[i])
		s.pass(i, text)
	}
	return part
}

// Pass is Add where nobody reads.
func (s *Stream) Pass(texts ...[]byte) {
	for i, text := range texts[:min(len(texts), len(s.windows))] {
		s.pass(i, append(bytes.Clone(text), '\n'))
	}
}

// pass moves a window on.
func (s *Stream) pass(i int, text []byte) {
	text = text[max(0, len(text)-Window):]
	n := copy(s.windows[i], s.windows[i][len(text):])
	copy(s.windows[i][n:], text)
	s.start = nil
}

// Start is what a reader must get first who gets all that is added from now
// on. The caller must not change it.
func (s *Stream) Start() []byte {
	if s.start == nil {
		for _, w := range s.windows {
			s.start = column(s.start, w, nil)
		}
	}
	return s.start
}

// column appends text to a part. Its reader has what was before it.
func column(part, text, before []byte) []byte {
	var b bytes.Buffer
	w := writers.Get().(*flate.Writer)
	defer writers.Put(w)
	w.ResetDict(&b, before)
	if _, err := w.Write(text); err != nil {
		panic(fmt.Sprintf("pack: write to memory: %v", err))
	}
	if err := w.Flush(); err != nil {
		panic(fmt.Sprintf("pack: write to memory: %v", err))
	}
	packed := bytes.TrimSuffix(b.Bytes(), []byte(Flushed))
	return append(binary.AppendUvarint(part, uint64(len(packed))), packed...)
}
