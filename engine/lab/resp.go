package lab

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/proto"
)

// frame reads one whole answer of Redis, as it is on the wire.
func frame(r *bufio.Reader) ([]byte, error) {
	s, err := proto.Read(r)
	if err != nil {
		return nil, fmt.Errorf("lab: read an answer: %w", err)
	}
	return []byte(s), nil
}

// value is what an answer says, as traces have it: nil, int64, string or a list
// of these. An error of Redis is in its words. Of RESP3's, a map is a flat list,
// and what is no text and no whole number is its text.
func value(raw []byte) (v any, failed string) {
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
		return string(rest[:n]), rest[n+2:]
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

// elements are the parts of a list on the wire, each as it is there.
func elements(raw []byte) ([][]byte, error) {
	list, err := proto.ReadArray(string(raw))
	if err != nil {
		return nil, fmt.Errorf("lab: a list: %w", err)
	}
	out := make([][]byte, len(list))
	for i, one := range list {
		out[i] = []byte(one)
	}
	return out, nil
}

var errNotList = errors.New("lab: an answer that is no list")

// Answers that the gate gives itself.

func simple(text string) []byte { return []byte("+" + text + "\r\n") }

func failure(text string) []byte {
	return []byte("-" + strings.NewReplacer("\r", " ", "\n", " ").Replace(text) + "\r\n")
}
func number(n int) []byte { return []byte(":" + strconv.Itoa(n) + "\r\n") }
func bulk(text string) []byte {
	return []byte("$" + strconv.Itoa(len(text)) + "\r\n" + text + "\r\n")
}

func null(resp3 bool) []byte {
	if resp3 {
		return []byte("_\r\n")
	}
	return []byte("$-1\r\n")
}

// head begins a list, a map or a push of n parts.
func head(kind byte, n int) []byte { return []byte(string(kind) + strconv.Itoa(n) + "\r\n") }

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
