package interpreter

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	luajson "github.com/alicebob/miniredis/v2/gopher-json"
	lua "github.com/yuin/gopher-lua"
)

// openJSON fills Redis' cjson.
func (r *Interpreter) openJSON(t *lua.LTable) {
	null := &lua.LUserData{}
	t.RawSetString("null", null)
	t.RawSetString("encode", &lua.LFunction{IsG: true, GFunction: func(l *lua.LState) int {
		e := encoder{null: null}
		if e.write(l.CheckAny(1), 0); e.failed != "" {
			l.RaiseError("%s", e.failed)
		}
		if e.out.Len() > maxText {
			r.large(l, "a text of cjson.encode")
		}
		l.Push(lua.LString(e.out.String()))
		return 1
	}})
	t.RawSetString("decode", &lua.LFunction{IsG: true, GFunction: func(l *lua.LState) int {
		var v any
		if err := json.Unmarshal([]byte(l.CheckString(1)), &v); err != nil {
			l.RaiseError("Expected value but found invalid token at character 1")
		}
		l.Push(decoded(l, v, null))
		return 1
	}})
}

// decoded is what JSON says, with null for nothing.
func decoded(l *lua.LState, v any, null lua.LValue) lua.LValue {
	switch v := v.(type) {
	case nil:
		return null
	case []any:
		t := l.CreateTable(len(v), 0)
		for _, one := range v {
			t.Append(decoded(l, one, null))
		}
		return t
	case map[string]any:
		t := l.CreateTable(0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) { // a table keeps the order of what comes
			t.RawSetString(key, decoded(l, v[key], null))
		}
		return t
	default:
		return luajson.DecodeValue(l, v)
	}
}

// encoder writes JSON as cjson does.
type encoder struct {
	out    strings.Builder
	null   lua.LValue
	failed string
}

func (e *encoder) fail(format string, args ...any) {
	if e.failed == "" {
		e.failed = "Cannot serialise " + fmt.Sprintf(format, args...)
	}
}

func (e *encoder) write(v lua.LValue, deep int) {
	if e.failed != "" || e.out.Len() > maxText {
		return
	}
	switch v := v.(type) {
	case *lua.LNilType:
		e.out.WriteString("null")
	case lua.LBool:
		e.out.WriteString(v.String())
	case lua.LNumber:
		text := number(v, digitsOfText)
		if strings.ContainsAny(text, "in") { // inf, nan
			e.fail("number: must not be NaN or Infinity")
		}
		e.out.WriteString(text)
	case lua.LString:
		e.text(string(v))
	case *lua.LTable:
		if deep >= maxJSON {
			e.fail("excessive depth (%d)", deep+1)
			return
		}
		e.table(v, deep+1)
	default:
		if v == e.null {
			e.out.WriteString("null")
			return
		}
		e.fail("%s: type not supported", v.Type())
	}
}

// maxJSON is how deep cjson goes into tables.
const maxJSON = 1000

func (e *encoder) table(t *lua.LTable, deep int) {
	last, count := 0, 0
	t.ForEach(func(key, _ lua.LValue) {
		n, ok := key.(lua.LNumber)
		if !ok || n < 1 || n != lua.LNumber(int(n)) {
			last = -1
		}
		if last >= 0 {
			last = max(last, int(n))
		}
		count++
	})
	if last > 0 { // the defaults of encode_sparse_array
		if last > 10 && last > 2*count {
			e.fail("table: excessively sparse array")
			return
		}
		e.out.WriteByte('[')
		for n := 1; n <= last; n++ {
			if n > 1 {
				e.out.WriteByte(',')
			}
			e.write(t.RawGetInt(n), deep)
		}
		e.out.WriteByte(']')
		return
	}
	e.out.WriteByte('{')
	first := true
	t.ForEach(func(key, v lua.LValue) {
		if !first {
			e.out.WriteByte(',')
		}
		first = false
		text, ok := written(key)
		if !ok {
			e.fail("table: table key must be a number or string")
		}
		e.text(text)
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
