package interpreter

import (
	"strings"
)

// Bounds of patterns.
const (
	// Steps is how many steps a script may take to match its patterns. A step is a
	// place of the text beside an item of the pattern, or a byte of a set. Lua's own
	// clock cannot look while a pattern is matched, and steps are as many on a slow
	// machine; so many take less than a tenth of a second.
	Steps = 1_000_000

	maxCaptures = 32     // as in Lua 5.1
	maxItems    = 10_000 // that wait for the rest of a pattern: each takes stack
)

// Lengths of a capture that has no text.
const (
	unfinished = -1
	position   = -2
)

// matcher matches one text as Lua 5.1 does. A mistake in the pattern raises Lua's
// error, and too many steps end the script.
type matcher struct {
	c        *call
	text     string
	pattern  string
	captures []capture // that are open or closed
	deep     int
}

type capture struct{ at, length int }

// failed is the result of no match.
const failed = -1

func newMatcher(c *call, text, pattern string) *matcher {
	pattern, _, _ = strings.Cut(pattern, "\x00") // to Lua 5.1 a pattern ends there
	return &matcher{c: c, text: text, pattern: pattern}
}

// take counts steps.
func (m *matcher) take(n int) {
	if m.c.r.steps += n; m.c.r.steps > Steps {
		m.c.r.stop(&Fault{Kind: ErrSteps})
	}
}

// from matches a pattern at a place of the text, and returns where that ends.
func (m *matcher) from(s int) int {
	m.captures, m.deep = m.captures[:0], 0
	return m.match(s, 0)
}

// at is a byte of the pattern, 0 behind its end.
func (m *matcher) at(p int) byte {
	if p >= len(m.pattern) {
		return 0
	}
	return m.pattern[p]
}

// match matches the pattern from p on at s.
func (m *matcher) match(s, p int) int {
	if m.deep++; m.deep > maxItems {
		m.c.fail("pattern too complex")
	}
	defer func() { m.deep-- }()
	for {
		m.take(1)
		switch c := m.at(p); {
		case p >= len(m.pattern):
			return s
		case c == '(' && m.at(p+1) == ')':
			return m.opened(s, p+2, position)
		case c == '(':
			return m.opened(s, p+1, unfinished)
		case c == ')':
			return m.closed(s, p+1)
		case c == '$' && p+1 == len(m.pattern):
			if s == len(m.text) {
				return s
			}
			return failed
		case c == '%' && m.at(p+1) == 'b':
			if s = m.balanced(s, p+2); s == failed {
				return failed
			}
			p += 4
		case c == '%' && m.at(p+1) == 'f':
			end := m.frontier(s, p+2)
			if end == failed {
				return failed
			}
			p = end
		case c == '%' && digit(m.at(p+1)):
			if s = m.repeated(s, m.at(p+1)); s == failed {
				return failed
			}
			p += 2
		default:
			end := m.itemEnd(p)
			switch m.at(end) {
			case '*':
				return m.most(s, p, end)
			case '+':
				if !m.single(s, p, end) {
					return failed
				}
				return m.most(s+1, p, end)
			case '-':
				return m.fewest(s, p, end)
			case '?':
				if m.single(s, p, end) {
					if e := m.match(s+1, end+1); e != failed {
						return e
					}
				}
				p = end + 1
			default:
				if !m.single(s, p, end) {
					return failed
				}
				s, p = s+1, end
			}
		}
	}
}

// itemEnd is where the item ends that begins at p.
func (m *matcher) itemEnd(p int) int {
	switch m.at(p) {
	case '%':
		if p+1 >= len(m.pattern) {
			m.c.fail("malformed pattern (ends with '%%')")
		}
		return p + 2
	case '[':
		begin := p
		p++
		if m.at(p) == '^' {
			p++
		}
		for first := true; first || m.at(p) != ']'; first = false {
			if p >= len(m.pattern) {
				m.c.fail("malformed pattern (missing ']')")
			}
			if m.at(p) == '%' && p+1 < len(m.pattern) {
				p++
			}
			p++
		}
		m.take(p - begin)
		return p + 1
	default:
		return p + 1
	}
}

// single reports whether the byte at s is one of an item.
func (m *matcher) single(s, p, end int) bool {
	m.take(1)
	if s >= len(m.text) {
		return false
	}
	switch c := m.text[s]; m.at(p) {
	case '.':
		return true
	case '%':
		return ofClass(c, m.at(p+1))
	case '[':
		return m.inSet(c, p, end-1)
	default:
		return m.at(p) == c
	}
}

// inSet reports whether a byte is in the set between brackets.
func (m *matcher) inSet(c byte, p, last int) bool {
	m.take(last - p)
	in := true
	if m.at(p+1) == '^' {
		in = false
		p++
	}
	for p++; p < last; p++ {
		switch {
		case m.at(p) == '%':
			p++
			if ofClass(c, m.at(p)) {
				return in
			}
		case m.at(p+1) == '-' && p+2 < last:
			if m.at(p) <= c && c <= m.at(p+2) {
				return in
			}
			p += 2
		case m.at(p) == c:
			return in
		}
	}
	return !in
}

// most matches an item as often as it can be before the rest matches.
func (m *matcher) most(s, p, end int) int {
	n := 0
	for m.single(s+n, p, end) {
		n++
	}
	for ; n >= 0; n-- {
		if e := m.match(s+n, end+1); e != failed {
			return e
		}
	}
	return failed
}

// fewest matches an item as seldom as it can be before the rest matches.
func (m *matcher) fewest(s, p, end int) int {
	for {
		if e := m.match(s, end+1); e != failed {
			return e
		}
		if !m.single(s, p, end) {
			return failed
		}
		s++
	}
}

func (m *matcher) opened(s, p, length int) int {
	if len(m.captures) == maxCaptures {
		m.c.fail("too many captures")
	}
	n := len(m.captures)
	m.captures = append(m.captures, capture{s, length})
	e := m.match(s, p)
	if e == failed {
		m.captures = m.captures[:n]
	}
	return e
}

func (m *matcher) closed(s, p int) int {
	for n := len(m.captures) - 1; n >= 0; n-- {
		if m.captures[n].length != unfinished {
			continue
		}
		m.captures[n].length = s - m.captures[n].at
		e := m.match(s, p)
		if e == failed {
			m.captures[n].length = unfinished
		}
		return e
	}
	m.c.fail("invalid pattern capture")
	return failed
}

// balanced is where what %b names closes.
func (m *matcher) balanced(s, p int) int {
	if p+1 >= len(m.pattern) {
		m.c.fail("unbalanced pattern")
	}
	opens, closes := m.at(p), m.at(p+1)
	if s >= len(m.text) || m.text[s] != opens {
		return failed
	}
	for n, open := s+1, 1; n < len(m.text); n++ {
		m.take(1)
		switch m.text[n] {
		case closes:
			if open--; open == 0 {
				return n + 1
			}
		case opens:
			open++
		}
	}
	return failed
}

// frontier is where the pattern goes on if a set begins in the text at s.
func (m *matcher) frontier(s, p int) int {
	if m.at(p) != '[' {
		m.c.fail("missing '[' after '%%f' in pattern")
	}
	end := m.itemEnd(p)
	var before, here byte
	if s > 0 {
		before = m.text[s-1]
	}
	if s < len(m.text) {
		here = m.text[s]
	}
	if m.inSet(before, p, end-1) || !m.inSet(here, p, end-1) {
		return failed
	}
	return end
}

// repeated is where the text of a capture ends that comes again at s.
func (m *matcher) repeated(s int, name byte) int {
	n := int(name) - '1'
	if n < 0 || n >= len(m.captures) || m.captures[n].length == unfinished {
		m.c.fail("invalid capture index")
	}
	c := m.captures[n]
	if c.length == position {
		return failed
	}
	m.take(c.length)
	if !strings.HasPrefix(m.text[s:], m.text[c.at:c.at+c.length]) {
		return failed
	}
	return s + c.length
}

// captured is a capture of a match from s to e; the first is all of it if there is
// none.
func (m *matcher) captured(n, s, e int) value {
	if n >= len(m.captures) {
		if n > 0 {
			m.c.fail("invalid capture index")
		}
		return m.text[s:e]
	}
	c := m.captures[n]
	switch c.length {
	case unfinished:
		m.c.fail("unfinished capture")
		return nil
	case position:
		return float64(c.at + 1)
	default:
		return m.text[c.at : c.at+c.length]
	}
}

// push adds the captures of a match from s to e, or all of it if there are none.
func (m *matcher) push(s, e int) {
	for i := range max(len(m.captures), 1) {
		m.c.push(m.captured(i, s, e))
	}
}

func digit(c byte) bool { return '0' <= c && c <= '9' }
func lower(c byte) bool { return 'a' <= c && c <= 'z' }
func upper(c byte) bool { return 'A' <= c && c <= 'Z' }

// ofClass reports whether a byte is of a class like %a, in ASCII.
func ofClass(c, class byte) bool {
	var is bool
	switch class | 0x20 {
	case 'a':
		is = lower(c) || upper(c)
	case 'c':
		is = c < ' ' || c == 0x7F
	case 'd':
		is = digit(c)
	case 'l':
		is = lower(c)
	case 'p':
		is = '!' <= c && c <= '~' && !digit(c) && !lower(c) && !upper(c)
	case 's':
		is = c == ' ' || '\t' <= c && c <= '\r'
	case 'u':
		is = upper(c)
	case 'w':
		is = digit(c) || lower(c) || upper(c)
	case 'x':
		is = hexadecimal(c)
	case 'z':
		is = c == 0
	default:
		return c == class
	}
	return is != upper(class)
}

// find is string.find, or string.match.
func (c *call) find(places bool) {
	text, pattern := c.text(1), c.text(2)
	from := min(max(relative(c.optional(3, 1), len(text))-1, 0), len(text))
	if places && (truth(c.get(4)) || !strings.ContainsAny(pattern, "^$*+?.([%-")) {
		n := strings.Index(text[from:], pattern)
		if n < 0 {
			c.push(nil)
			return
		}
		c.push(float64(from+n+1), float64(from+n+len(pattern)))
		return
	}
	pattern, anchored := strings.CutPrefix(pattern, "^")
	m := newMatcher(c, text, pattern)
	for s := from; s <= len(text); s++ {
		if e := m.from(s); e != failed {
			if places {
				c.push(float64(s+1), float64(e))
			}
			if !places || len(m.captures) > 0 {
				m.push(s, e)
			}
			return
		}
		if anchored {
			break
		}
	}
	c.push(nil)
}

// gmatch is string.gmatch.
func gmatch(c *call) {
	text, pattern, next := c.text(1), c.text(2), 0
	c.push(&function{id: c.r.identity(), native: func(c *call) {
		m := newMatcher(c, text, pattern)
		for s := next; s <= len(text); s++ {
			e := m.from(s)
			if e == failed {
				continue
			}
			if next = e; e == s {
				next++
			}
			m.push(s, e)
			return
		}
		next = len(text) + 1
	}})
}

// gsub is string.gsub with a bound.
func gsub(c *call) {
	text, pattern := c.text(1), c.text(2)
	switch c.get(3).(type) {
	case string, float64, *table, *function:
	default:
		c.wrong(3, "string/function/table expected")
	}
	most := c.optionalInt(4, len(text)+1)
	pattern, anchored := strings.CutPrefix(pattern, "^")
	m := newMatcher(c, text, pattern)
	var out strings.Builder
	n, s := 0, 0
	for n < most {
		e := m.from(s)
		if e != failed {
			n++
			out.WriteString(m.instead(c.args[2], s, e))
		}
		if e <= s && s == len(text) {
			break
		}
		if e > s {
			s = e
		} else {
			out.WriteByte(text[s])
			s++
		}
		if out.Len() > c.r.longest() {
			c.r.large("a text of string.gsub")
		}
		if anchored {
			break
		}
	}
	out.WriteString(text[s:])
	c.push(out.String(), float64(n))
}

// instead is what comes in the place of a match from s to e.
func (m *matcher) instead(by value, s, e int) string {
	var v value
	switch by := by.(type) {
	case *function:
		var few [4]value
		captures := few[:0]
		for i := range max(len(m.captures), 1) {
			captures = append(captures, m.captured(i, s, e))
		}
		v = m.c.r.call1(by, captures...)
	case *table:
		v = m.c.r.index(by, m.captured(0, s, e), nil)
	default:
		text, _ := written(by)
		return m.filled(text, s, e)
	}
	if !truth(v) {
		return m.text[s:e]
	}
	text, ok := written(v)
	if !ok {
		m.c.fail("invalid replacement value (a %s)", typeName(v))
	}
	return text
}

// filled is a replacement with its captures.
func (m *matcher) filled(by string, s, e int) string {
	if !strings.Contains(by, "%") {
		return by
	}
	var out strings.Builder
	for n := 0; n < len(by) && out.Len() <= m.c.r.longest(); n++ {
		if by[n] != '%' {
			out.WriteByte(by[n])
			continue
		}
		n++
		c := byte(0) // as C finds it behind the end
		if n < len(by) {
			c = by[n]
		}
		switch {
		case c == '0':
			out.WriteString(m.text[s:e])
		case digit(c):
			text, _ := written(m.captured(int(c)-'1', s, e))
			out.WriteString(text)
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}
