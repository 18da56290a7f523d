package logs

import (
	"regexp"
	"strconv"
	"strings"

	"relock/engine/bound"
)

// typed splits a span's command, which stands there as one types it into redis-cli: words,
// "…" with escapes, '…'.
func typed(text string) ([]string, bool) {
	var list []string
	for {
		text = strings.TrimLeft(text, " \t")
		if text == "" {
			return list, true
		}
		var b strings.Builder
		for text != "" && text[0] != ' ' && text[0] != '\t' {
			switch text[0] {
			case '"':
				word, rest, ok := unquoted(text[1:])
				if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
					return nil, false
				}
				b.WriteString(word)
				text = rest
			case '\'':
				i := 1
				for ; i < len(text) && text[i] != '\''; i++ {
					if text[i] == '\\' && i+1 < len(text) && text[i+1] == '\'' {
						i++
					}
					b.WriteByte(text[i])
				}
				if i == len(text) || i+1 < len(text) && text[i+1] != ' ' && text[i+1] != '\t' {
					return nil, false
				}
				text = text[i+1:]
			default:
				b.WriteByte(text[0])
				text = text[1:]
			}
		}
		list = append(list, b.String())
	}
}

// deep says that the answer to a line's command has lists within lists without end.
func deep(n int) error {
	return wrong(n, "the answer to it has lists within lists, more than %d deep; allowed: %d", bound.Depth, bound.Depth)
}

// answered reads an answer as redis-cli shows it; nil where it does not tell. It reports
// false if its lists are deeper than any that is read.
func answered(lines []string) (*Reply, bool) {
	if len(lines) == 0 {
		return nil, true
	}
	if strings.HasPrefix(lines[0], "(error) ") {
		return &Reply{Err: strings.TrimPrefix(lines[0], "(error) ")}, true
	}
	s := shown{lines: lines}
	v, ok := s.value(0, 0)
	switch {
	case s.deep:
		return nil, false
	case !ok || len(s.lines) > 0:
		return nil, true
	}
	return &Reply{Value: v}, true
}

// item is the head of a list's item.
var item = regexp.MustCompile(`^( *)(\d+)([)#~]) `)

// mostShown is how many items of a list it reads: on a terminal redis-cli shows no more.
const mostShown = 10_000

// shown is an answer as redis-cli shows it, while it is read.
type shown struct {
	lines []string // that are left
	deep  bool     // its lists are deeper than bound.Depth
}

// value reads the value that begins at a column of the first line.
func (s *shown) value(column, depth int) (v any, ok bool) {
	if s.deep = s.deep || depth > bound.Depth; s.deep || len(s.lines) == 0 || len(s.lines[0]) < column {
		return nil, false
	}
	text := s.lines[0][column:]
	if m := item.FindStringSubmatch(text); m != nil && m[2] == "1" && m[3] != "#" {
		return s.list(column, depth)
	}
	s.lines = s.lines[1:]
	switch {
	case text == "(nil)":
		return nil, true
	case strings.HasPrefix(text, "(integer) "):
		n, err := strconv.ParseInt(text[len("(integer) "):], 10, 64)
		return n, err == nil
	case text == "(true)":
		return int64(1), true
	case text == "(false)":
		return int64(0), true
	case text == "(empty array)", text == "(empty list or set)", text == "(empty set)", text == "(empty hash)":
		return []any{}, true
	case strings.HasPrefix(text, "(double) "):
		return text[len("(double) "):], true
	case strings.HasPrefix(text, `"`):
		word, end, ok := unquoted(text[1:])
		return word, ok && end == ""
	}
	return text, !strings.HasPrefix(text, "(") && column == 0
}

// list reads a list whose items begin at a column.
func (s *shown) list(column, depth int) (list []any, ok bool) {
	list = []any{}
	for n := 1; len(s.lines) > 0 && n < mostShown; n++ {
		first := s.lines[0]
		if len(first) < column || n > 1 && strings.TrimLeft(first[:column], " ") != "" {
			break
		}
		m := item.FindStringSubmatch(first[column:])
		if m == nil || m[2] != strconv.Itoa(n) {
			break
		}
		one, ok := s.value(column+len(m[0]), depth+1)
		if !ok {
			return nil, false
		}
		list = append(list, one)
	}
	return list, true
}
