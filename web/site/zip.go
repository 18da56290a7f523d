package site

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"sync"

	fast "github.com/klauspost/compress/gzip"

	"relock/engine/phrase"
)

// zipper is a writer of gzip, 0.8 MB, and what it has written: most texts are far smaller.
type zipper struct {
	*fast.Writer

	b bytes.Buffer
}

// mostZipped is how many bytes a zipper keeps for the next text.
const mostZipped = 1 << 20

var zippers = sync.Pool{New: func() any { return &zipper{Writer: fast.NewWriter(nil)} }}

// Zipped compresses with gzip.
func Zipped(text []byte) ([]byte, error) {
	z, _ := zippers.Get().(*zipper)
	defer zippers.Put(z)
	if z.b.Reset(); z.b.Cap() > mostZipped {
		z.b = bytes.Buffer{}
	}
	z.Reset(&z.b)
	_, err := z.Write(text)
	if err = errors.Join(err, z.Close()); err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	return bytes.Clone(z.b.Bytes()), nil
}

// Unzipped is the way back.
func Unzipped(data []byte) ([]byte, error) {
	z, err := Unzipping(data)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	return text, nil
}

// Unzipping is Unzipped bit by bit, for who needs only the beginning.
func Unzipping(data []byte) (io.Reader, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	return z, nil
}

// Unpacked reads what r has, and if that is packed with gzip, what is in it; the end of what is
// packed may be missing. It fails with one sentence if it is damaged, or with r's error. The
// caller bounds how much is read. It is not safe for concurrent use.
func Unpacked(r io.Reader) io.Reader { return &unpacked{from: bufio.NewReader(r)} }

type unpacked struct {
	from *bufio.Reader
	text io.Reader // nil until something was read
}

// Read implements io.Reader.
func (u *unpacked) Read(p []byte) (n int, err error) {
	if u.text == nil {
		u.text = u.from
		if begin, _ := u.from.Peek(2); string(begin) == "\x1f\x8b" {
			z, err := gzip.NewReader(u.from)
			if err != nil {
				return 0, legible(err)
			}
			u.text = z
		}
	}
	n, err = u.text.Read(p)
	return n, legible(err)
}

// legible is an error of gzip for a person.
func legible(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return io.EOF
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return phrase.New("it is packed with gzip, and damaged")
	}
	return err
}
