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

// NewText returns the frame of a text message. The text may be changed
// afterwards.
func NewText(text []byte) *Frame { return newFrame(textFrame, text) }

// NewBinary returns the frame of a binary message, like NewText.
func NewBinary(message []byte) *Frame { return newFrame(binaryFrame, message) }

func newFrame(kind byte, message []byte) *Frame {
	return &Frame{plain: framed(kind, message), kind: kind, size: len(message)}
}

// on returns the frame as it goes over connections that compress, or do not.
func (f *Frame) on(compressing bool) []byte {
	if !compressing {
		return f.plain
	}
	f.once.Do(func() { f.deflated = framed(f.kind|deflated, smaller(f.plain[len(f.plain)-f.size:])) })
	return f.deflated
}

// framed returns a message as an unmasked frame.
func framed(first byte, message []byte) []byte {
	head := []byte{first}
	switch n := len(message); {
	case n < 126:
		head = append(head, byte(n))
	case n < 1<<16:
		head = binary.BigEndian.AppendUint16(append(head, 126), uint16(n))
	default:
		head = binary.BigEndian.AppendUint64(append(head, 127), uint64(n))
	}
	return append(head, message...)
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
