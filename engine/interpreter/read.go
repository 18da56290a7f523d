package interpreter

import (
	"fmt"
	"strings"
)

// Kinds of a token that is no sign and no word of the language.
const (
	KindName   = "<name>"
	KindText   = "<string>"
	KindNumber = "<number>"

	atEnd = "<eof>"
)

var reserved = set(`and break do else elseif end false for function if in local nil not or repeat return then true until while`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// token is a word, a sign, a name, a text or a number.
type token struct {
	kind   string // of a word or a sign the word itself
	text   string // of a name or a text; of a number as it is written
	number float64
	line   int
	from   int // where it begins
}

// Lexeme is a token as it is written, with the blanks and comments before it.
type Lexeme struct {
	Kind         string // KindName, KindText or KindNumber; of a word or a sign the word itself
	Line         int    // on which it begins, from 1
	Before, Text string
}

// Lexemes takes a text apart. The last has no Kind and no Text: before the end is what is left, or
// from where on the text is no Lua.
func Lexemes(text string) (list []Lexeme) {
	r := reader{text: text, line: 1}
	end := 0
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(mistake); !ok {
				panic(p)
			}
		}
		list = append(list, Lexeme{Line: r.line, Before: text[end:]})
	}()
	for t := r.next(); t.kind != atEnd; t = r.next() {
		list = append(list, Lexeme{t.kind, t.line, text[end:t.from], text[t.from:r.at]})
		end = r.at
	}
	return list
}

// reader takes a text of Lua 5.1 apart.
type reader struct {
	text  string
	at    int
	line  int
	chunk string
}

// mistake is what is wrong with a text.
type mistake struct {
	line int
	what string
}

// fail gives up, near some words of the text.
func (r *reader) fail(what, near string) {
	if near != "" {
		what += " near '" + near + "'"
	}
	panic(mistake{r.line, what})
}

func (r *reader) peek(n int) byte {
	if r.at+n < len(r.text) {
		return r.text[r.at+n]
	}
	return 0
}

// signs are those of several bytes, the longest first.
var signs = []string{"...", "..", "==", "~=", "<=", ">="}

func (r *reader) next() token {
	for r.at < len(r.text) {
		c := r.text[r.at]
		switch {
		case c == '\n' || c == '\r':
			r.newline()
		case c == ' ' || '\t' <= c && c <= '\r':
			r.at++
		case c == '-' && r.peek(1) == '-':
			r.at += 2
			if r.peek(0) == '[' {
				if level := r.level('['); level >= 0 {
					r.long(level, "comment")
					continue
				}
			}
			for r.at < len(r.text) && r.text[r.at] != '\n' && r.text[r.at] != '\r' {
				r.at++
			}
		default:
			return r.word(c)
		}
	}
	return token{kind: atEnd, line: r.line}
}

// newline passes one, which may have two bytes.
func (r *reader) newline() {
	first := r.text[r.at]
	r.at++
	if c := r.peek(0); (c == '\n' || c == '\r') && c != first {
		r.at++
	}
	r.line++
}

func (r *reader) word(c byte) token {
	t := token{line: r.line, from: r.at}
	switch {
	case letter(c):
		for letter(r.peek(0)) || digit(r.peek(0)) {
			r.at++
		}
		if t.text = r.text[t.from:r.at]; reserved[t.text] {
			t.kind = t.text
			return t
		}
		t.kind = KindName
	case digit(c) || c == '.' && digit(r.peek(1)):
		for digit(r.peek(0)) || r.peek(0) == '.' {
			r.at++
		}
		if e := r.peek(0); e == 'e' || e == 'E' {
			if r.at++; r.peek(0) == '+' || r.peek(0) == '-' {
				r.at++
			}
		}
		for letter(r.peek(0)) || digit(r.peek(0)) {
			r.at++
		}
		t.kind, t.text = KindNumber, r.text[t.from:r.at]
		n, ok := parsed(t.text)
		if !ok {
			r.fail("malformed number", t.text)
		}
		t.number = n
	case c == '"' || c == '\'':
		t.kind, t.text = KindText, r.quoted(c)
	case c == '[':
		level := r.level('[')
		switch {
		case level >= 0:
			t.kind, t.text = KindText, r.long(level, "string")
		case level == -1:
			r.at++
			t.kind = "["
		default:
			r.fail("invalid long string delimiter", r.text[r.at:r.at-level-1])
		}
	default:
		t.kind = string(rune(c))
		for _, s := range signs {
			if strings.HasPrefix(r.text[r.at:], s) {
				t.kind = s
				break
			}
		}
		r.at += len(t.kind)
		if c >= 0x80 { // no sign: the parser refuses it
			r.at, t.kind = r.at-len(t.kind)+1, r.text[r.at-len(t.kind):r.at-len(t.kind)+1]
		}
	}
	return t
}

func letter(c byte) bool { return lower(c) || upper(c) || c == '_' }

// level is how many = are between two brackets at this place, and negative if there are
// no two: -1 with none of them.
func (r *reader) level(bracket byte) int {
	n := 0
	for r.peek(1+n) == '=' {
		n++
	}
	if r.peek(1+n) == bracket {
		return n
	}
	return -n - 1
}

// long reads what is between long brackets.
func (r *reader) long(level int, what string) string {
	r.at += level + 2
	var out strings.Builder
	if c := r.peek(0); r.at < len(r.text) && (c == '\n' || c == '\r') {
		r.newline()
	}
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == '[' && level == 0 && r.level('[') == 0:
			r.at++
			r.fail("nesting of [[...]] is deprecated", "[")
		case c == ']' && r.level(']') == level:
			r.at += level + 2
			return out.String()
		case c == '\n' || c == '\r':
			r.newline()
			out.WriteByte('\n')
		default:
			out.WriteByte(c)
			r.at++
		}
	}
	r.fail("unfinished long "+what, atEnd)
	return ""
}

var escapes = map[byte]byte{'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// quoted reads a text between quotes.
func (r *reader) quoted(quote byte) string {
	from := r.at
	r.at++
	var out strings.Builder
	for r.peek(0) != quote || r.at >= len(r.text) {
		if r.at >= len(r.text) {
			r.fail("unfinished string", atEnd)
		}
		c := r.text[r.at]
		if c == '\n' || c == '\r' {
			r.fail("unfinished string", r.text[from:r.at])
		}
		if r.at++; c != '\\' {
			out.WriteByte(c)
			continue
		}
		switch c = r.peek(0); {
		case r.at >= len(r.text): // and so it is unfinished
		case c == '\n' || c == '\r':
			r.newline()
			out.WriteByte('\n')
		case digit(c):
			n := 0
			for range 3 {
				if digit(r.peek(0)) {
					n = n*10 + int(r.peek(0)-'0')
					r.at++
				}
			}
			if n > 255 {
				r.fail("escape sequence too large", r.text[from:r.at])
			}
			out.WriteByte(byte(n))
		default:
			if e, ok := escapes[c]; ok {
				c = e
			}
			out.WriteByte(c)
			r.at++
		}
	}
	r.at++
	return out.String()
}

// shown is a token as a mistake names it.
func (r *reader) shown(t token) string {
	switch t.kind {
	case KindName, KindNumber:
		return t.text
	case KindText:
		return r.text[t.from:r.at]
	default:
		if len(t.kind) == 1 && t.kind[0] < ' ' {
			return fmt.Sprintf("char(%d)", t.kind[0])
		}
		return t.kind
	}
}
