package lock

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"strings"
	"unicode"
)

// Owner is who holds a lock: 128 random bits in hexadecimal, or another text
// of a caller's own that is not empty and has no white space and no control
// characters, which the scripts' messages have between their parts. It is a
// value to be carried along, by one flow of work at a time; whoever presents
// an owner that holds a lock re-enters it.
type Owner string

// word tells whether s can be a part of a message.
func word(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}

// NewOwner returns an owner from the system's random source.
func NewOwner() Owner {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, says its documentation
	return Owner(hex.EncodeToString(b[:]))
}

// OwnerFrom returns an owner from 16 bytes of r, for runs that must repeat.
// It fails only with r's error.
func OwnerFrom(r io.Reader) (Owner, error) {
	var b [16]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return "", err
	}
	return Owner(hex.EncodeToString(b[:])), nil
}
