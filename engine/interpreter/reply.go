package interpreter

import (
	"math"

	lua "github.com/yuin/gopher-lua"
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

func (p *replier) value(v lua.LValue, deep int) any {
	p.left -= 16
	if p.left < 0 || deep >= maxDeep {
		p.large = true
		return nil
	}
	switch v := v.(type) {
	case lua.LBool:
		if v {
			return int64(1)
		}
		return nil
	case lua.LNumber:
		return whole(v)
	case lua.LString:
		return p.text(string(v))
	case *lua.LTable:
		if text, ok := v.RawGetString("err").(lua.LString); ok {
			return Failure(p.text(oneLine(cut(string(text), maxError))))
		}
		if text, ok := v.RawGetString("ok").(lua.LString); ok {
			return Status(p.text(oneLine(string(text))))
		}
		list := []any{}
		for n := 1; !p.large; n++ {
			one := v.RawGetInt(n)
			if one == lua.LNil {
				break
			}
			list = append(list, p.value(one, deep+1))
		}
		return list
	default:
		return nil
	}
}

// text counts a text.
func (p *replier) text(s string) string {
	if p.left -= len(s); p.left < 0 {
		p.large = true
		return ""
	}
	return s
}

// whole cuts a number as C's cast does on the machines that Redis runs on.
func whole(n lua.LNumber) int64 {
	if math.IsNaN(float64(n)) || n >= 1<<63 || n < -1<<63 {
		return -1 << 63
	}
	return int64(n)
}
