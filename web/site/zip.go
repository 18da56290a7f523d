package site

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// Zipped compresses with gzip.
func Zipped(text []byte) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(text)
	if err = errors.Join(err, z.Close()); err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	return bytes.Clone(b.Bytes()), nil
}

// Unzipped is the way back.
func Unzipped(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	return text, nil
}
