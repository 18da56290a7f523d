package board

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"strings"
)

// Proof returns a digest of a secret for a room to keep.
func Proof(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:16])
}

// NewSecret returns 160 random bits.
func NewSecret() string { return rand.Text() + rand.Text()[:6] }

// CoHost returns the secret that makes a co-host, for the link that a host hands
// on. Nobody can derive the host's secret from it.
func CoHost(secret string) string { return Proof("co-host " + secret) }

// A room's code: short enough to call out, and without letters and digits that people
// confuse.
const (
	CodeLength = 6
	symbols    = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
)

// NewCode returns a random code.
func NewCode() string {
	code := make([]byte, CodeLength)
	for i := range code {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(symbols))))
		if err != nil {
			panic("board: no randomness: " + err.Error())
		}
		code[i] = symbols[n.Int64()]
	}
	return string(code)
}

// ParseCode returns the code that a person has typed: in any case, with spaces or
// hyphens. It fails with ErrNoRoom for a text that cannot be a code.
func ParseCode(typed string) (string, error) {
	code := strings.Map(func(c rune) rune {
		if c == ' ' || c == '-' {
			return -1
		}
		return c
	}, strings.ToUpper(typed))
	if len(code) != CodeLength || strings.Trim(code, symbols) != "" {
		return "", ErrNoRoom
	}
	return code, nil
}
