package bound

import (
	"bytes"
	"context"
	"unicode/utf8"

	"relock/engine/pause"
)

// between is how many bytes are written between two looks at whether somebody still
// wants them.
const between = 32 << 10

// Buffer collects a file as it is written. Once it has Written bytes, or its context has
// ended, it takes nothing more, and each write fails with the reason: ErrWritten, or the
// error of pause.Here. So a writer may ignore the errors of single writes, if its loops
// look at Err. It belongs to one goroutine.
type Buffer struct {
	ctx  context.Context // of who waits for the file
	text bytes.Buffer
	next int // the length at which the context is looked at
	err  error
}

// NewBuffer returns an empty buffer for a file that ctx's owner waits for.
func NewBuffer(ctx context.Context) *Buffer { return &Buffer{ctx: ctx} }

// Context returns the context of who waits for the file.
func (b *Buffer) Context() context.Context { return b.ctx }

// Err returns why nothing more is taken, or nil.
func (b *Buffer) Err() error { return b.err }

// Pause is for between the parts of a file: others go first, and it says why nothing
// more is taken.
func (b *Buffer) Pause() error {
	if b.err == nil {
		b.err = pause.Here(b.ctx)
	}
	return b.err
}

// Bytes returns what was written. It is valid until the next write.
func (b *Buffer) Bytes() []byte { return b.text.Bytes() }

// String returns what was written.
func (b *Buffer) String() string { return b.text.String() }

// Len returns how many bytes were written.
func (b *Buffer) Len() int { return b.text.Len() }

// takes reports whether n more bytes may be written.
func (b *Buffer) takes(n int) bool {
	switch {
	case b.err != nil:
		return false
	case n > Written-b.text.Len():
		b.err = ErrWritten
		return false
	case b.text.Len()+n < b.next:
		return true
	}
	b.next = b.text.Len() + n + between
	return b.Pause() == nil
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	if !b.takes(len(p)) {
		return 0, b.err
	}
	return b.text.Write(p)
}

// WriteString implements io.StringWriter.
func (b *Buffer) WriteString(s string) (int, error) {
	if !b.takes(len(s)) {
		return 0, b.err
	}
	return b.text.WriteString(s)
}

// WriteByte implements io.ByteWriter.
func (b *Buffer) WriteByte(c byte) error {
	if !b.takes(1) {
		return b.err
	}
	return b.text.WriteByte(c)
}

// WriteRune appends a character.
func (b *Buffer) WriteRune(r rune) (int, error) {
	if !b.takes(utf8.UTFMax) {
		return 0, b.err
	}
	return b.text.WriteRune(r)
}
