package lock

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"unicode"
)

// Owner is who holds a lock: 128 random bits in hexadecimal, or another text
// of a caller's own that is not empty, has no white space and no control
// characters, and does not begin with #. It is a value to be carried along, by
// one flow of work at a time; whoever presents an owner that holds a lock
// re-enters it, through the same [Locker]. Through another one it is refused
// like everybody else.
type Owner string

// NewOwner returns an owner from the system's random source.
func NewOwner() Owner { return Owner(random()) }

// random is 128 random bits in hexadecimal.
func random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, says its documentation
	return hex.EncodeToString(b[:])
}

// word tells whether s can stand between spaces in a message.
func word(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}

func (o Owner) valid() bool { return word(string(o)) && o[0] != '#' }
