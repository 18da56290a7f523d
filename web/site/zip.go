package site

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"sync"
)

// zippers are writers of gzip, each 0.8 MB: most texts are far smaller.
var zippers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// Zipped compresses with gzip.
func Zipped(text []byte) ([]byte, error) {
	var b bytes.Buffer
	z, _ := zippers.Get().(*gzip.Writer)
	defer zippers.Put(z)
	z.Reset(&b)
	_, err := z.Write(text)
	if err = errors.Join(err, z.Close()); err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	return bytes.Clone(b.Bytes()), nil
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
