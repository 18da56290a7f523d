// Package pack compresses a stream of records once for all its readers,
// wherever they join. Frames of a websocket are compressed one by one and
// repeat most of what earlier ones said; here each record refers to those
// before it.
//
// A record is a row of texts, its columns, so that similar texts share a
// column. Each column is compressed as a separate stream: raw DEFLATE (RFC 1951) of texts
// that end with a line break, flushed after each text. A part of the stream is one
// record: for each column the number of bytes that follow, as a varint of Protocol
// Buffers (seven bits per byte, low bits first, the last byte with bit 7 clear), then
// these bytes without the 00 00 FF FF that ends a flush.
//
// A reader that joins gets a Start, whose columns are the last Window bytes of
// text, to which the following records refer. So a record is compressed once
// for all readers, and only the windows are kept.
package pack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/compress/flate"
)

// Window is the length in bytes of a column of a Start, whose text the reader
// discards: DEFLATE can refer no further back.
const Window = 32 << 10

// level is the highest that still makes records smaller.
const level = 9

// Flushed ends every flush, and is left out of every column.
const Flushed = "\x00\x00\xff\xff"

// writers take half a megabyte each, so a stream has one only while it writes.
var writers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, level)
	if err != nil {
		panic(fmt.Sprintf("pack: level %d: %v", level, err))
	}
	return w
}}

// Stream packs records. It is not safe for concurrent use, and its zero value
// is not usable: use New.
type Stream struct {
	windows [][]byte // of each column, always Window bytes
	start   []byte   // nil if it must be made again
}

// New returns an empty stream of records with so many columns, at least 1.
func New(columns int) *Stream {
	s := &Stream{windows: make([][]byte, columns)}
	for i := range s.windows {
		s.windows[i] = bytes.Repeat([]byte{'\n'}, Window)
	}
	return s
}

// Add packs a record for readers of all before it. Its texts must not contain
// line breaks; missing columns are empty.
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

// Pass is Add when nobody reads.
func (s *Stream) Pass(texts ...[]byte) {
	for i, text := range texts[:min(len(texts), len(s.windows))] {
		s.pass(i, append(bytes.Clone(text), '\n'))
	}
}

// pass moves a window forward.
func (s *Stream) pass(i int, text []byte) {
	text = text[max(0, len(text)-Window):]
	n := copy(s.windows[i], s.windows[i][len(text):])
	copy(s.windows[i][n:], text)
	s.start = nil
}

// Start returns what a reader must get before the records added from now on.
// The caller must not change it.
func (s *Stream) Start() []byte {
	if s.start == nil {
		for _, w := range s.windows {
			s.start = column(s.start, w, nil)
		}
	}
	return s.start
}

// column appends a text to a part, for a reader of the text before it.
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
