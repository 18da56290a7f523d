package interpreter

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// jsonSettings are cjson's.
type jsonSettings struct {
	sparse       bool // a list with many holes becomes an object
	ratio, safe  int
	encodesDeep  int
	decodesDeep  int
	precision    int
	encodesWrong int // numbers that JSON has not: off, on, null
	decodesWrong bool
	keeps        bool // the buffer, which nobody sees
}

var usualJSON = jsonSettings{ratio: 2, safe: 10, encodesDeep: 1000, decodesDeep: 1000, precision: digitsOfText, decodesWrong: true, keeps: true}

// jsonFuncs is Redis' cjson, with settings of its own.
func jsonFuncs(of func(*call) *jsonSettings) map[string]func(*call) {
	number := func(least, most int, at func(*jsonSettings) *int) func(*call) {
		return func(c *call) { c.most(1); c.numberOption(1, at(of(c)), least, most) }
	}
	flag := func(at func(*jsonSettings) *bool) func(*call) {
		return func(c *call) { c.most(1); c.flagOption(1, at(of(c))) }
	}
	return map[string]func(*call){
		"encode": func(c *call) {
			if len(c.args) != 1 {
				c.wrong(1, "expected 1 argument")
			}
			e := encoder{c: c, as: of(c)}
			e.write(c.args[0], 0)
			c.push(e.out.String())
		},
		"decode": func(c *call) {
			if len(c.args) != 1 {
				c.wrong(1, "expected 1 argument")
			}
			d := decoder{c: c, as: of(c), text: c.text(1)}
			if len(d.text) >= 2 && (d.text[0] == 0 || d.text[1] == 0) {
				c.fail("JSON parser does not support UTF-16 or UTF-32")
			}
			d.next()
			v := d.value(0)
			if d.next(); d.kind != "T_END" {
				d.expected("the end")
			}
			c.push(v)
		},
		"encode_sparse_array": func(c *call) {
			c.most(3)
			s := of(c)
			c.flagOption(1, &s.sparse)
			c.numberOption(2, &s.ratio, 0, math.MaxInt32)
			c.numberOption(3, &s.safe, 0, math.MaxInt32)
		},
		"encode_max_depth":        number(1, math.MaxInt32, func(s *jsonSettings) *int { return &s.encodesDeep }),
		"decode_max_depth":        number(1, math.MaxInt32, func(s *jsonSettings) *int { return &s.decodesDeep }),
		"encode_number_precision": number(1, digitsOfText, func(s *jsonSettings) *int { return &s.precision }),
		"encode_keep_buffer":      flag(func(s *jsonSettings) *bool { return &s.keeps }),
		"decode_invalid_numbers":  flag(func(s *jsonSettings) *bool { return &s.decodesWrong }),
		"encode_invalid_numbers": func(c *call) {
			c.most(1)
			s := of(c)
			switch v := c.get(1).(type) {
			case nil:
			case bool:
				s.encodesWrong = 0
				if v {
					s.encodesWrong = 1
				}
			default:
				s.encodesWrong = c.option(1, "off", "on", "null")
			}
			if s.encodesWrong == 2 {
				c.push("null")
			} else {
				c.push(s.encodesWrong == 1)
			}
		},
		"new": func(c *call) {
			s := usualJSON
			t := c.r.newTable(0, 0)
			for name, v := range constants["cjson"] {
				t.setText(name, v)
			}
			for name, f := range jsonFuncs(func(*call) *jsonSettings { return &s }) {
				t.setText(name, &function{native: f, id: c.r.identity()})
			}
			c.push(t)
		},
	}
}

func (c *call) most(n int) {
	if len(c.args) > n {
		c.wrong(n+1, "found too many arguments")
	}
}

func (c *call) numberOption(n int, to *int, least, most int) {
	if c.get(n) != nil {
		v := c.whole(n)
		if v < least || v > most {
			c.wrong(n, fmt.Sprintf("expected integer between %d and %d", least, most))
		}
		*to = v
	}
	c.push(float64(*to))
}

func (c *call) flagOption(n int, to *bool) {
	switch v := c.get(n).(type) {
	case nil:
	case bool:
		*to = v
	default:
		*to = c.option(n, "off", "on") == 1
	}
	c.push(*to)
}

// option is which of some words an argument is.
func (c *call) option(n int, words ...string) int {
	text := c.text(n)
	for i, w := range words {
		if w == text {
			return i
		}
	}
	c.wrong(n, "invalid option '"+text+"'")
	return 0
}

// decoder reads JSON as cjson does: what comes next, where that is, and what it is.
type decoder struct {
	c     *call
	as    *jsonSettings
	text  string
	at    int
	from  int
	kind  string // of what comes next, as a mistake names it
	found value
}

var signsOfJSON = map[byte]string{
	'{': "T_OBJ_BEGIN", '}': "T_OBJ_END", '[': "T_ARR_BEGIN", ']': "T_ARR_END", ',': "T_COMMA", ':': "T_COLON", 0: "T_END",
}

func (d *decoder) peek(n int) byte {
	if d.at+n < len(d.text) {
		return d.text[d.at+n]
	}
	return 0
}

func (d *decoder) expected(what string) {
	d.c.fail("Expected %s but found %s at character %d", what, d.kind, d.from+1)
}

// wrong has a mistake come next.
func (d *decoder) wrong(what string) { d.kind, d.from = what, d.at }

func (d *decoder) next() {
	for strings.IndexByte(" \t\n\r", d.peek(0)) >= 0 && d.at < len(d.text) {
		d.at++
	}
	d.from, d.found = d.at, nil
	c := d.peek(0)
	if kind, ok := signsOfJSON[c]; ok {
		d.kind = kind
		d.at++
		return
	}
	word := func(text, kind string, v value) bool {
		if !strings.HasPrefix(d.text[d.at:], text) {
			return false
		}
		d.at += len(text)
		d.kind, d.found = kind, v
		return true
	}
	switch {
	case c == '"':
		d.string()
	case c == '-' || digit(c):
		if !d.as.decodesWrong && d.odd() {
			d.wrong("invalid number")
			return
		}
		d.number()
	case word("true", "T_BOOLEAN", true), word("false", "T_BOOLEAN", false), word("null", "T_NULL", null):
	case d.as.decodesWrong && strings.IndexByte("+iInN", c) >= 0 && d.odd():
		d.number()
	default:
		d.wrong("invalid token")
	}
}

// odd reports whether a number is none of JSON's.
func (d *decoder) odd() bool {
	rest := d.text[d.at:]
	if strings.HasPrefix(rest, "+") {
		return true
	}
	rest = strings.TrimPrefix(rest, "-")
	if strings.HasPrefix(rest, "0") {
		return len(rest) > 1 && (rest[1]|0x20 == 'x' || digit(rest[1]))
	}
	word := strings.ToLower(cut(rest, 3))
	return word == "inf" || word == "nan"
}

func (d *decoder) number() {
	n, size := leading(d.text[d.at:])
	if size == 0 {
		d.wrong("invalid number")
		return
	}
	d.at += size
	d.kind, d.found = "T_NUMBER", n
}

var escapesOfJSON = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 't': '\t', 'n': '\n', 'f': '\f', 'r': '\r'}

func (d *decoder) string() {
	var out strings.Builder
	d.at++
	for c := d.peek(0); c != '"'; c = d.peek(0) {
		switch {
		case c == 0:
			d.wrong("unexpected end of string")
			return
		case c != '\\':
			out.WriteByte(c)
			d.at++
			continue
		}
		c = d.peek(1)
		if c == 'u' {
			r, size := d.escaped()
			if size == 0 {
				d.wrong("invalid unicode escape code")
				return
			}
			out.WriteString(r)
			d.at += size
			continue
		}
		c, ok := escapesOfJSON[c]
		if !ok {
			d.wrong("invalid escape code")
			return
		}
		out.WriteByte(c)
		d.at += 2
	}
	d.at++
	d.kind, d.found = "T_STRING", out.String()
}

// escaped is what \u stands for, and how long that is; 0 if it is wrong.
func (d *decoder) escaped() (text string, size int) {
	four := func(at int) (n rune) {
		for i := range 4 {
			c := d.peek(at + i)
			switch {
			case digit(c):
				n = n<<4 | rune(c-'0')
			case hexadecimal(c):
				n = n<<4 | rune(c|0x20-'a'+10)
			default:
				return -1
			}
		}
		return n
	}
	n := four(2)
	size = 6
	if n&0xF800 == 0xD800 && n >= 0 {
		low := four(8)
		if n&0x400 != 0 || d.peek(6) != '\\' || d.peek(7) != 'u' || low < 0 || low&0xFC00 != 0xDC00 {
			return "", 0
		}
		n, size = (n&0x3FF<<10|low&0x3FF)+0x10000, 12
	}
	if n < 0 {
		return "", 0
	}
	return string(utf8.AppendRune(nil, n)), size
}

// value is what has come next.
func (d *decoder) value(deep int) value {
	d.c.r.step(1)
	switch d.kind {
	case "T_STRING", "T_NUMBER", "T_BOOLEAN", "T_NULL":
		return d.found
	case "T_OBJ_BEGIN", "T_ARR_BEGIN":
	default:
		d.expected("value")
	}
	if deep++; deep > d.as.decodesDeep || deep > mostResults/2 {
		d.c.fail("Found too many nested data structures (%d) at character %d", deep, d.at)
	}
	t := d.c.r.newTable(0, 0)
	if d.kind == "T_ARR_BEGIN" {
		d.next()
		for n := 1; d.kind != "T_ARR_END"; n++ {
			t.setAt(n, d.value(deep))
			if d.next(); d.kind == "T_COMMA" {
				if d.next(); d.kind == "T_ARR_END" {
					d.expected("value")
				}
			} else if d.kind != "T_ARR_END" {
				d.expected("comma or array end")
			}
		}
		return t
	}
	d.next()
	for d.kind != "T_OBJ_END" {
		key, ok := d.found.(string)
		if !ok || d.kind != "T_STRING" {
			d.expected("object key string")
		}
		if d.next(); d.kind != "T_COLON" {
			d.expected("colon")
		}
		d.next()
		t.setText(key, d.value(deep))
		if d.next(); d.kind == "T_COMMA" {
			if d.next(); d.kind == "T_OBJ_END" {
				d.expected("object key string")
			}
		} else if d.kind != "T_OBJ_END" {
			d.expected("comma or object end")
		}
	}
	return t
}

// encoder writes JSON as cjson does.
type encoder struct {
	c   *call
	as  *jsonSettings
	out strings.Builder
}

func (e *encoder) fail(v value, what string) {
	e.c.fail("Cannot serialise %s: %s", typeName(v), what)
}

func (e *encoder) write(v value, deep int) {
	e.c.r.step(1)
	if e.out.Len() > e.c.r.longest() {
		e.c.r.large("a text of cjson.encode")
	}
	switch v := v.(type) {
	case nil, *light:
		e.out.WriteString("null")
	case bool:
		fmt.Fprint(&e.out, v)
	case float64:
		e.number(v)
	case string:
		e.text(v)
	case *table:
		if deep++; deep > e.as.encodesDeep || deep > mostResults/3 {
			e.c.fail("Cannot serialise, excessive nesting (%d)", deep)
		}
		e.table(v, deep)
	default:
		e.fail(v, "type not supported")
	}
}

func (e *encoder) number(n float64) {
	nan, odd := math.IsNaN(n), math.IsNaN(n) || math.IsInf(n, 0)
	switch {
	case odd && e.as.encodesWrong == 0:
		e.fail(n, "must not be NaN or Inf")
	case odd && e.as.encodesWrong == 2:
		e.out.WriteString("null")
	case nan:
		e.out.WriteString("nan")
	default:
		e.out.WriteString(number(n, e.as.precision))
	}
}

// size is how long a list is that a table is, or 0 of one that is an object.
func (e *encoder) size(t *table) int {
	last, count, list := 0.0, 0, true
	t.each(func(key, _ value) {
		n, ok := key.(float64)
		list = list && ok && n >= 1 && n == math.Floor(n)
		last = max(last, n)
		count++
	})
	s := e.as
	if list && s.ratio > 0 && last > float64(count*s.ratio) && last > float64(s.safe) {
		if !s.sparse {
			e.fail(t, "excessively sparse array")
		}
		list = false
	}
	if !list {
		return 0
	}
	return int(last)
}

func (e *encoder) table(t *table, deep int) {
	if size := e.size(t); size > 0 {
		e.out.WriteByte('[')
		for n := 1; n <= size; n++ {
			if n > 1 {
				e.out.WriteByte(',')
			}
			e.write(t.at(n), deep)
		}
		e.out.WriteByte(']')
		return
	}
	e.out.WriteByte('{')
	first := true
	t.each(func(key, v value) {
		if !first {
			e.out.WriteByte(',')
		}
		first = false
		switch key := key.(type) {
		case float64:
			e.out.WriteByte('"')
			e.number(key)
			e.out.WriteByte('"')
		case string:
			e.text(key)
		default:
			e.fail(key, "table key must be a number or string")
		}
		e.out.WriteByte(':')
		e.write(v, deep)
	})
	e.out.WriteByte('}')
}

func (e *encoder) text(s string) {
	e.out.WriteByte('"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\' || c == '/':
			e.out.WriteByte('\\')
			e.out.WriteByte(c)
		case c == '\b':
			e.out.WriteString(`\b`)
		case c == '\f':
			e.out.WriteString(`\f`)
		case c == '\n':
			e.out.WriteString(`\n`)
		case c == '\r':
			e.out.WriteString(`\r`)
		case c == '\t':
			e.out.WriteString(`\t`)
		case c < 0x20 || c == 0x7f:
			fmt.Fprintf(&e.out, `\u%04x`, c)
		default:
			e.out.WriteByte(c)
		}
	}
	e.out.WriteByte('"')
}
