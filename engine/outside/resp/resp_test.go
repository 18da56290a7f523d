package resp

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// Answers of RESP2 and RESP3 are read whole, and said as traces have them.
func TestAnswersAreReadWhole(t *testing.T) {
	for wire, want := range map[string]string{
		"+OK\r\n":                             "OK",
		"-ERR no\r\n":                         "! ERR no",
		"!6\r\nERR no\r\n":                    "! ERR no",
		":-3\r\n":                             "-3",
		"$-1\r\n":                             "<nil>",
		"_\r\n":                               "<nil>",
		"$0\r\n\r\n":                          "",
		"$4\r\na\r\nb\r\n":                    "a\r\nb",
		"=15\r\ntxt:Some string\r\n":          "Some string",
		"#t\r\n":                              "1",
		",1.5\r\n":                            "1.5",
		"(12345678901234567890\r\n":           "12345678901234567890",
		"*-1\r\n":                             "<nil>",
		"*2\r\n:1\r\n*1\r\n$1\r\nx\r\n":       "[1 [x]]",
		"~2\r\n:1\r\n_\r\n":                   "[1 <nil>]",
		"%1\r\n+k\r\n%1\r\n+a\r\n:2\r\n":      "[k [a 2]]",
		">2\r\n+message\r\n+x\r\n":            "[message x]",
		"|1\r\n+ttl\r\n:3600\r\n*1\r\n:7\r\n": "[7]",
		"*2\r\n|1\r\n+a\r\n:1\r\n:7\r\n-ERR x\r\n": "[7 ERR x]",
	} {
		r := bufio.NewReader(strings.NewReader(wire + "+NEXT\r\n"))
		raw, err := Read(r)
		if err != nil {
			t.Errorf("%q: %v", wire, err)
			continue
		}
		v, failed := Value(raw)
		have := fmt.Sprint(v)
		if failed != "" {
			have = "! " + failed
		}
		if rest, _ := io.ReadAll(r); have != want || string(rest) != "+NEXT\r\n" {
			t.Errorf("%q is %q, and %q is left; want %q", wire, have, rest, want)
		}
	}
	for _, wire := range []string{"", "\r\n", "x\r\n", "+OK\n", "$5\r\nab\r\n", "$99999999999\r\n", "$-7\r\n", "*x\r\n", "*1\r\n", strings.Repeat("*1\r\n", 1000), "*1000000000\r\n:1\r\n", "+" + strings.Repeat("x", 1<<20), "?\r\n"} {
		if raw, err := Read(bufio.NewReader(strings.NewReader(wire))); err == nil {
			t.Errorf("%.40q is read as %.40q", wire, raw)
		}
	}
}

// Any answer of a Redis is read whole or refused, and nothing panics.
func FuzzAnswer(f *testing.F) {
	for _, wire := range []string{"+OK\r\n", "*2\r\n:1\r\n$1\r\nx\r\n", "%1\r\n+k\r\n_\r\n", "|1\r\n+a\r\n:1\r\n=7\r\ntxt:abc\r\n", "*-1\r\n", "$-1\r\n", "!3\r\nERR\r\n"} {
		f.Add([]byte(wire))
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		raw, err := Read(bufio.NewReader(bytes.NewReader(wire)))
		if err != nil {
			return
		}
		_, _ = Value(raw)
		again, err := Read(bufio.NewReader(bytes.NewReader(raw)))
		if err != nil || !bytes.Equal(raw, again) {
			t.Errorf("%q is read again as %q, %v", raw, again, err)
		}
		if parts, err := Elements(raw); err == nil && len(parts) > 0 {
			if joined := bytes.Join(parts, nil); !bytes.HasSuffix(raw, joined) {
				t.Errorf("the parts of %q are %q", raw, joined)
			}
		}
	})
}
