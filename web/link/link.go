// Package link encodes a stepped session as a URL: the scenario with its
// schedule, and the current position in it.
//
// A link is v1.z.<base64url(deflate(text))>~<position>. The version comes
// first, so that later versions can be told apart. The text is the compact form
// of the scenario, without its expectations and with frequent words shortened.
// The position is the number of moves made. The page's link.js does the same.
package link

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"

	"relock/engine/phrase"
	"relock/engine/scenario"
)

// Limits when decoding.
const (
	MaxPacked = 64 << 10          // of a link's text: nobody sends a longer link
	MaxPlain  = scenario.MaxBytes // inflated
)

const prefix = "v1.z."

// words of a scenario's JSON that a link writes as one control character each,
// which halves its length; JSON itself never contains control characters. The
// list belongs to the version.
var words = []string{
	`"threads":[{"name":"`,
	`"retry":{"times":`,
	`{"thread":"`,
	`"interval":"`,
	`"schedule":[`,
	`{"until":"`,
	`"jitter":"`,
	`"watchdog":"`,
	`"lock":{"key":"`,
	`"lease":"`,
	`{"name":"`,
	`"start":"`,
	`"work":"`,
	`"depth":`,
	`"repeat":`,
	`"on-lost":"stop"`,
	`"faults":[`,
	`"level":`,
	`"round":1`,
	`"do":"`,
	`"at":"`,
	`"for":"`,
	`"seed":`,
	`{"title":"`,
	`"policy":"random"`,
	`{"time":"`,
	`ms"`,
	`},{`,
}

var shorten, lengthen = replacers()

func replacers() (short, long *strings.Replacer) {
	var there, back []string
	code := byte(0)
	for _, w := range words {
		code++
		for code == '\t' || code == '\n' || code == '\r' { // white space in JSON
			code++
		}
		there = append(there, w, string(code))
		back = append(back, string(code), w)
	}
	return strings.NewReplacer(there...), strings.NewReplacer(back...)
}

// Errors of Decode.
var (
	ErrVersion = phrase.New("unknown link format; the link may come from a newer server")
	ErrBroken  = phrase.New("this link is incomplete; a part of it may have been cut off")
	ErrTooLong = phrase.New("this link holds more than a scenario may have (%d KiB)", MaxPlain>>10)
)

// Contents is what a link holds.
type Contents struct {
	Scenario *scenario.Scenario // with the moves as its schedule
	At       int                // 0 to the number of moves
}

// Encode encodes s as a link.
func Encode(s Contents) (string, error) {
	sc := *s.Scenario
	sc.Expect = nil
	text, err := sc.Compact()
	if err != nil {
		return "", fmt.Errorf("link: %w", err)
	}
	packed, err := pack(shorten.Replace(string(text)))
	if err != nil {
		return "", err
	}
	return prefix + packed + "~" + strconv.Itoa(s.At), nil
}

// Decode decodes a link. It fails with ErrVersion, ErrBroken, ErrTooLong or
// scenario.Mistakes. A position beyond the last move becomes the end.
func Decode(text string) (Contents, error) {
	body, known := strings.CutPrefix(text, prefix)
	switch {
	case !known:
		return Contents{}, ErrVersion
	case len(text) > MaxPacked:
		return Contents{}, ErrTooLong
	}
	body, position, _ := strings.Cut(body, "~")
	at, err := strconv.Atoi(position)
	if err != nil || at < 0 {
		return Contents{}, ErrBroken
	}
	plain, err := unpack(body)
	if err != nil {
		return Contents{}, err
	}
	sc, err := scenario.Parse([]byte(lengthen.Replace(string(plain))))
	if err != nil {
		return Contents{}, err
	}
	return Contents{Scenario: sc, At: min(at, len(sc.Schedule))}, nil
}

// lessonPrefix is what the link of a lesson begins with.
const lessonPrefix = "l1.z."

// IsLesson reports whether a text begins as the link of a lesson does.
func IsLesson(text string) bool { return strings.HasPrefix(text, lessonPrefix) }

// PackLesson returns the text of a lesson as a link: l1.z.<base64url(deflate(text))>.
func PackLesson(text []byte) (string, error) {
	packed, err := pack(string(text))
	if err != nil {
		return "", err
	}
	return lessonPrefix + packed, nil
}

// UnpackLesson returns the text that a lesson's link has. It fails with
// ErrVersion, ErrBroken or ErrTooLong.
func UnpackLesson(text string) ([]byte, error) {
	body, known := strings.CutPrefix(text, lessonPrefix)
	switch {
	case !known:
		return nil, ErrVersion
	case len(text) > MaxPacked:
		return nil, ErrTooLong
	}
	return unpack(body)
}

// pack returns base64url(deflate(text)).
func pack(text string) (string, error) {
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		return "", fmt.Errorf("link: %w", err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		return "", fmt.Errorf("link: %w", err)
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("link: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(packed.Bytes()), nil
}

// unpack is the other way. It fails with ErrBroken, and with ErrTooLong for a
// text of more than MaxPlain bytes.
func unpack(body string) ([]byte, error) {
	packed, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return nil, ErrBroken
	}
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), MaxPlain+1))
	switch {
	case err != nil:
		return nil, ErrBroken
	case len(plain) > MaxPlain:
		return nil, ErrTooLong
	default:
		return plain, nil
	}
}

// PlayAddress is where a scenario is shown after so many of its moves, "" where it
// is too large for an address.
func PlayAddress(sc *scenario.Scenario, at int) (string, error) {
	open, err := Encode(Contents{Scenario: sc, At: at})
	if err != nil {
		return "", err
	}
	if len(open) > MaxPacked {
		return "", nil
	}
	return "/play#" + open, nil
}
