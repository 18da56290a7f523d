package film

import (
	"strconv"

	"relock/engine/trace/facts"
)

// An abstract value is nil, a bool, an int, a string or a list ([]any), if it
// is known, or one of these.
type (
	unknown struct{} // may be anything
	some    struct{} // true in a condition, but otherwise unknown
)

// largest is the largest number kept from an answer: enough for a count or a
// number of deletions, but not for a time. No branch depends on times in a way
// the commands themselves do not show.
const largest = 16

// luaValue returns a reply as a Lua value.
func luaValue(reply any) any {
	switch v := reply.(type) {
	case nil:
		return nil
	case int64:
		if -largest <= v && v <= largest {
			return int(v)
		}
		return unknown{}
	case string:
		if n, err := strconv.Atoi(v); err == nil && -largest <= n && n <= largest {
			return v
		}
		return some{}
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = luaValue(one)
		}
		return list
	default:
		return unknown{}
	}
}

// sinceCall is the number of another call relative to the current one, which is
// 0: -1 for an earlier call, 1 for a later one. No script needs more.
func sinceCall(reply any, number int64) any {
	n := facts.Number(reply)
	switch {
	case n == 0 || number == 0:
		return luaValue(reply)
	case n < number:
		return "-1"
	case n > number:
		return "1"
	default:
		return "0"
	}
}

// kind is the type of a value, as Lua names it.
func kind(v any) any {
	switch v.(type) {
	case nil:
		return "nil"
	case bool:
		return "boolean"
	case int:
		return "number"
	case string:
		return "string"
	case []any:
		return "table"
	default:
		return unknown{}
	}
}

func numeric(v any) any {
	switch v := v.(type) {
	case int, nil:
		return v
	case string:
		if n, err := strconv.Atoi(v); err == nil {
			return n
		}
		return nil
	default:
		return unknown{}
	}
}

func element(v, key any) any {
	list, ok := v.([]any)
	n, known := key.(int)
	switch {
	case !ok || !known:
		return unknown{}
	case n < 1 || n > len(list):
		return nil
	default:
		return list[n-1]
	}
}

func arithmetic(op string, a, b any) any {
	x, ok := a.(int)
	y, known := b.(int)
	switch {
	case !ok || !known:
		return unknown{}
	case op == "+":
		return x + y
	case op == "-":
		return x - y
	default:
		return unknown{}
	}
}

// compared returns whether a comparison holds, or unknown.
func compared(op string, a, b any) any {
	equal, known := equals(a, b)
	switch {
	case op == "==" && known:
		return equal
	case op == "~=" && known:
		return !equal
	}
	x, ok := a.(int)
	y, known := b.(int)
	switch {
	case !ok || !known:
		return unknown{}
	case op == "<":
		return x < y
	case op == "<=":
		return x <= y
	case op == ">":
		return x > y
	case op == ">=":
		return x >= y
	default:
		return unknown{}
	}
}

func equals(a, b any) (equal, known bool) {
	plain := func(v any) bool {
		switch v.(type) {
		case nil, bool, int, string:
			return true
		default:
			return false
		}
	}
	return plain(a) && plain(b) && a == b, plain(a) && plain(b)
}
