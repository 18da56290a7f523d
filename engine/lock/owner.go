package lock

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"unicode"
)

// Owner identifies who holds a lock: 128 random bits in hexadecimal, or any
// other non-empty text without white space and control characters that does not
// begin with #. One flow of work at a time carries it along, through one
// [Locker]: Lock with an owner that already holds the lock re-enters it. Through
// another Locker it is refused like any other owner, except by [Reentrant] and
// [Redlock], which cannot tell Lockers apart.
type Owner string

// NewOwner returns an owner from the system's random source.
func NewOwner() Owner { return Owner(random()) }

// random returns 128 random bits in hexadecimal.
func random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // documented never to fail
	return hex.EncodeToString(b[:])
}

// word reports whether s can be a word in a message of words.
func word(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}

func (o Owner) valid() bool { return word(string(o)) && o[0] != '#' }
