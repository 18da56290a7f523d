package wire

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"sync"
)

// Frame is a whole message as it goes over connections, made once for all of
// them. It is safe for concurrent use, and must not be copied.
type Frame struct {
	plain []byte // of one that is not compressed

	once     sync.Once
	deflated []byte // of one that is
	kind     byte
	size     int // of the message
}

// The first bytes of a message's only frame (RFC 6455, 5.2).
const (
	textFrame   = 0x81
	binaryFrame = 0x82
	deflated    = 0x40 // of a compressed one (RFC 7692, 6)
)

// maxHead is the most bytes that a frame has before its message.
const maxHead = 10

// NewText returns the frame of a text message, whose parts may be changed
// afterwards.
func NewText(parts ...[]byte) *Frame { return newFrame(textFrame, parts...) }

// NewBinary returns the frame of a binary message, like NewText.
func NewBinary(message []byte) *Frame { return newFrame(binaryFrame, message) }

func newFrame(kind byte, parts ...[]byte) *Frame {
	plain, size := framed(kind, parts...)
	return &Frame{plain: plain, kind: kind, size: size}
}

// on returns the frame as it goes over connections that compress, or do not.
func (f *Frame) on(compressing bool) []byte {
	if !compressing {
		return f.plain
	}
	f.once.Do(func() { f.deflated, _ = framed(f.kind|deflated, smaller(f.plain[len(f.plain)-f.size:])) })
	return f.deflated
}

// framed returns a message as an unmasked frame, and the message's size.
func framed(first byte, parts ...[]byte) (frame []byte, size int) {
	for _, p := range parts {
		size += len(p)
	}
	frame = append(make([]byte, 0, maxHead+size), first)
	switch {
	case size < 126:
		frame = append(frame, byte(size))
	case size < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, 126), uint16(size))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 127), uint64(size))
	}
	for _, p := range parts {
		frame = append(frame, p...)
	}
	return frame, size
}

// deflaters are *flate.Writer: a new one takes a megabyte.
var deflaters sync.Pool

// smaller compresses a message on its own, as permessage-deflate wants it: to a
// byte boundary, without the four bytes that each such boundary ends with.
func smaller(message []byte) []byte {
	var text bytes.Buffer
	w, made := deflaters.Get().(*flate.Writer)
	if made {
		w.Reset(&text)
	} else {
		w, _ = flate.NewWriter(&text, flate.BestSpeed) // fails for levels that there are not
	}
	_, _ = w.Write(message) // into memory
	_ = w.Flush()
	deflaters.Put(w)
	return text.Bytes()[:text.Len()-len("\x00\x00\xff\xff")]
}
