package interpreter

import (
	"math"
)

// Bounds of a reply.
const (
	maxReply = 1 << 20  // bytes, about
	maxDeep  = 100      // lists in lists
	maxError = 64 << 10 // bytes of an error
)

// replier turns what a script returns into a reply, as Redis does.
type replier struct {
	left  int  // bytes
	large bool // more than these, or too deep
}

func (p *replier) value(v value, deep int) any {
	p.left -= 16
	if p.left < 0 || deep >= maxDeep {
		p.large = true
		return nil
	}
	switch v := v.(type) {
	case bool:
		if v {
			return int64(1)
		}
		return nil
	case float64:
		return whole(v)
	case string:
		return p.text(v)
	case *table:
		return p.table(v, deep+1)
	default:
		return nil
	}
}

// table is a reply of what a table says that it is, or a list.
func (p *replier) table(t *table, deep int) any {
	if text, ok := t.get("err").(string); ok {
		return Failure(p.text(oneLine(cut(text, maxError))))
	}
	if text, ok := t.get("ok").(string); ok {
		return Status(p.text(oneLine(text)))
	}
	if n, ok := t.get("double").(float64); ok {
		return Double(n)
	}
	if m, ok := t.get("map").(*table); ok {
		pairs := Map{}
		m.each(func(k, v value) { pairs = append(pairs, p.value(k, deep), p.value(v, deep)) })
		return pairs
	}
	if s, ok := t.get("set").(*table); ok {
		members := Set{}
		s.each(func(k, _ value) { members = append(members, p.value(k, deep)) })
		return members
	}
	if text, ok := t.get("big_number").(string); ok {
		return BigNumber(p.text(oneLine(text)))
	}
	if v, ok := t.get("verbatim_string").(*table); ok {
		text, ok := v.get("string").(string)
		if format, is := v.get("format").(string); ok && is {
			return Verbatim{Format: cut(format, 3), Text: p.text(text)}
		}
	}
	list := []any{}
	for n := 1; !p.large; n++ {
		one := t.at(n)
		if one == nil {
			break
		}
		list = append(list, p.value(one, deep))
	}
	return list
}

// text counts a text.
func (p *replier) text(s string) string {
	if p.left -= len(s); p.left < 0 {
		p.large = true
		return ""
	}
	return s
}

// Text is how a client that speaks RESP2 gets a double.
func (d Double) Text() string { return number(float64(d), digitsOfArgument) }

// whole cuts a number as C's cast does on the machines that Redis runs on.
func whole(n float64) int64 {
	if math.IsNaN(n) || n >= 1<<63 || n < -1<<63 {
		return math.MinInt64
	}
	return int64(n)
}
