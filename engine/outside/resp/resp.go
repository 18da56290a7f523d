// Package resp reads Redis' replies, of RESP2 and RESP3, and writes such
// replies.
package resp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits of an answer of Redis.
const (
	maxDeep = 128       // lists in lists
	maxBulk = 512 << 20 // bytes of one text, as Redis itself has it
	maxLine = 64 << 10  // bytes of a line
)

var errAnswer = errors.New("that is no answer of Redis")

// Read reads one whole answer of Redis, of RESP2 or RESP3, as it is on the wire.
// Attributes, which tell a client more than it has asked for, are left out.
func Read(r *bufio.Reader) ([]byte, error) {
	raw, err := appendFrame(nil, r, 0)
	if err != nil {
		return nil, fmt.Errorf("resp: read an answer: %w", err)
	}
	return raw, nil
}

func appendFrame(out []byte, r *bufio.Reader, deep int) ([]byte, error) {
	line, err := readLine(r)
	if err != nil {
		return nil, err
	}
	kind, n := line[0], 0
	switch kind {
	case '+', '-', ':', '_', '#', ',', '(':
		return append(out, line...), nil
	case '$', '=', '!', '*', '~', '>', '%', '|':
		if n, err = strconv.Atoi(string(bytes.TrimRight(line[1:], "\r\n"))); err != nil || n < -1 || deep > maxDeep {
			return nil, errAnswer
		}
	default:
		return nil, errAnswer
	}
	if kind == '|' {
		for range 2 * max(n, 0) {
			if _, err := appendFrame(nil, r, deep+1); err != nil {
				return nil, err
			}
		}
		return appendFrame(out, r, deep+1)
	}
	out = append(out, line...)
	switch kind {
	case '$', '=', '!':
		if n < 0 {
			return out, nil
		}
		if n > maxBulk {
			return nil, errAnswer
		}
		var text bytes.Buffer // memory for what has come, whatever is announced
		if _, err := io.CopyN(&text, r, int64(n)+2); err != nil {
			return nil, err
		}
		return append(out, text.Bytes()...), nil
	case '%':
		n *= 2
	}
	for range max(n, 0) {
		if out, err = appendFrame(out, r, deep+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// readLine reads a line that has something before its end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(line) < maxLine:
			continue
		case err != nil:
			return nil, err
		case len(line) < 3 || line[len(line)-2] != '\r':
			return nil, errAnswer
		}
		return line, nil
	}
}

// Value is what an answer says, as traces have it: nil, int64, string or a list
// of these. An error of Redis is in its words. Of RESP3's, a map is a flat list,
// and what is no text and no whole number is its text.
func Value(raw []byte) (v any, failed string) {
	v, _ = decode(raw)
	if e, ok := v.(redisError); ok {
		return nil, string(e)
	}
	return v, ""
}

type redisError string

func decode(b []byte) (v any, rest []byte) {
	line, rest, ok := bytes.Cut(b, []byte("\r\n"))
	if !ok || len(line) == 0 {
		return nil, nil
	}
	text := string(line[1:])
	switch line[0] {
	case '+', ',', '(':
		return text, rest
	case '-':
		return redisError(text), rest
	case '!':
		n, _ := strconv.Atoi(text)
		if n < 0 || n+2 > len(rest) {
			return nil, nil
		}
		return redisError(rest[:n]), rest[n+2:]
	case ':':
		n, _ := strconv.ParseInt(text, 10, 64)
		return n, rest
	case '#':
		if text == "t" {
			return int64(1), rest
		}
		return int64(0), rest
	case '_':
		return nil, rest
	case '$', '=':
		n, _ := strconv.Atoi(text)
		if n < 0 || n+2 > len(rest) {
			return nil, rest
		}
		body := string(rest[:n])
		if line[0] == '=' && len(body) > 3 { // "txt:" or "mkd:"
			body = body[4:]
		}
		return body, rest[n+2:]
	case '*', '~', '>', '%':
		n, _ := strconv.Atoi(text)
		if n < 0 {
			return nil, rest
		}
		if line[0] == '%' {
			n *= 2
		}
		list := []any{}
		for range n {
			var one any
			if one, rest = decode(rest); rest == nil {
				break
			}
			if e, ok := one.(redisError); ok {
				one = string(e)
			}
			list = append(list, one)
		}
		return list, rest
	default:
		return nil, nil
	}
}

// Elements are the parts of a list on the wire, each as it is there.
func Elements(raw []byte) ([][]byte, error) {
	r := bufio.NewReader(bytes.NewReader(raw))
	line, err := readLine(r)
	if err != nil || line[0] != '*' && line[0] != '~' && line[0] != '>' {
		return nil, ErrNotList
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(line[1:])))
	if err != nil {
		return nil, ErrNotList
	}
	var out [][]byte
	for range max(n, 0) {
		one, err := Read(r)
		if err != nil {
			return nil, fmt.Errorf("resp: a list: %w", err)
		}
		out = append(out, one)
	}
	return out, nil
}

// ErrNotList is returned for an answer that has no parts.
var ErrNotList = errors.New("resp: an answer that is no list")

// Simple is a simple string: a short text without line breaks.
func Simple(text string) []byte { return []byte("+" + text + "\r\n") }

// Failure is an error, its line breaks made blanks.
func Failure(text string) []byte {
	return []byte("-" + strings.NewReplacer("\r", " ", "\n", " ").Replace(text) + "\r\n")
}

// Number is an integer.
func Number(n int) []byte { return []byte(":" + strconv.Itoa(n) + "\r\n") }

// Bulk is a bulk string.
func Bulk(text string) []byte {
	return []byte("$" + strconv.Itoa(len(text)) + "\r\n" + text + "\r\n")
}

// Null is no value, as the version of the protocol writes it.
func Null(resp3 bool) []byte {
	if resp3 {
		return []byte("_\r\n")
	}
	return []byte("$-1\r\n")
}

// Head begins a list, a map or a push of n parts.
func Head(kind byte, n int) []byte { return []byte(string(kind) + strconv.Itoa(n) + "\r\n") }

// Join is several answers, one after the other.
func Join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
