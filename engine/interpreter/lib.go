package interpreter

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // what redis.sha1hex is
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Bounds of calls.
const (
	maxCalls = 2000 // of Lua in Lua, a tenth of Lua 5.1's: a traceback takes the square of it
	maxDeeps = 190  // of Lua through the interpreter itself: a pcall in a pcall; 200 in Lua 5.1
)

// gone are the names of the base library that Redis' Lua has not, or that reach
// out of a script, or that compile a text in it.
var gone = []string{
	"collectgarbage", "dofile", "getfenv", "load", "loadfile", "loadstring", "print", "setfenv", "module", "require", "newproxy",
	"_printregs", "_GOPHER_LUA_VERSION",
}

// field is a name in a table.
type field struct {
	name  string
	value lua.LValue
}

// library is the globals, and of each table among them its fields, by name. Its
// functions are shared by all interpreters, its tables are not.
type library []struct {
	field

	fields []field // of a table
}

// library makes the libraries of Redis' Lua.
func (r *Interpreter) library() (list library) {
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for _, f := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath, lua.OpenCoroutine} {
		l.Push(l.NewFunction(f))
		l.Call(0, 0)
	}
	global := l.G.Global
	for _, name := range gone {
		global.RawSetString(name, lua.LNil)
	}
	own := func(t *lua.LTable, funcs map[string]lua.LGFunction) {
		for name, f := range funcs {
			t.RawSetString(name, l.NewFunction(f))
		}
	}
	lib := func(name string) *lua.LTable { return global.RawGetString(name).(*lua.LTable) }
	own(global, map[string]lua.LGFunction{
		"pcall": r.pcall, "xpcall": r.xpcall, "tostring": r.tostring, "tonumber": tonumber, "rawset": r.rawset, "setmetatable": r.setmetatable,
	})
	str := lib("string")
	str.RawSetString("dump", lua.LNil)
	own(str, map[string]lua.LGFunction{
		"rep": r.rep, "format": r.format, "lower": caseOf(bytes.ToLower), "upper": caseOf(bytes.ToUpper),
	})
	own(str, r.patterned())
	for _, name := range []string{"byte", "len", "lower", "rep", "reverse", "sub", "upper"} {
		str.RawSetString(name, l.NewFunction(ofText(str.RawGetString(name))))
	}
	table := lib("table")
	own(table, map[string]lua.LGFunction{"concat": r.concat, "sort": r.through(table.RawGetString("sort"))})
	own(lib("math"), map[string]lua.LGFunction{"random": r.dice.random, "randomseed": r.dice.seedWith})

	fresh := func(name string, funcs map[string]lua.LGFunction) *lua.LTable {
		t := l.CreateTable(0, len(funcs))
		own(t, funcs)
		global.RawSetString(name, t)
		return t
	}
	redis := fresh("redis", map[string]lua.LGFunction{
		"call": func(l *lua.LState) int { return r.call(l, true) }, "pcall": func(l *lua.LState) int { return r.call(l, false) },
		"error_reply": errorReply, "status_reply": statusReply, "sha1hex": sha1hex, "log": log, "setresp": setresp,
		"replicate_commands": func(l *lua.LState) int { l.Push(lua.LTrue); return 1 }, "set_repl": func(*lua.LState) int { return 0 },
	})
	for n, name := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		redis.RawSetString(name, lua.LNumber(n))
	}
	fresh("bit", bitwise)
	fresh("struct", r.structFuncs())
	pack := fresh("cmsgpack", r.messagePackFuncs())
	for name, text := range map[string]string{
		"_NAME": "cmsgpack", "_VERSION": "lua-cmsgpack 0.4.0", "_COPYRIGHT": "Copyright (C) 2012, Redis Ltd.", "_DESCRIPTION": "MessagePack C implementation for Lua",
	} {
		pack.RawSetString(name, lua.LString(text))
	}
	r.openJSON(fresh("cjson", nil))

	joining := l.NewFunction(r.join)
	fresh(guardName, map[string]lua.LGFunction{
		"__index": func(l *lua.LState) int {
			if l.Get(2) == lua.LString(joinedName) {
				l.Push(joining)
				return 1
			}
			l.RaiseError("Script attempted to access nonexistent global variable '%s'", cut(l.Get(2).String(), 100))
			return 0
		},
		"__newindex": func(l *lua.LState) int {
			l.RaiseError("Attempt to modify a readonly table")
			return 0
		},
	})
	for _, f := range fieldsOf(global) {
		t, ok := f.value.(*lua.LTable)
		one := library{{field: f}}
		if ok && t != global {
			one[0].fields = fieldsOf(t)
		}
		list = append(list, one...)
	}
	return list
}

// guardName is what a library calls the metatable of the globals.
const guardName = "\x00guard"

// fieldsOf are a table's, by name, so that pairs tells them in the same order
// each time.
func fieldsOf(t *lua.LTable) (list []field) {
	t.ForEach(func(name, v lua.LValue) { list = append(list, field{name.String(), v}) })
	slices.SortFunc(list, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return list
}

// open gives an interpreter the libraries, its keys and its arguments.
func (r *Interpreter) open(l *lua.LState, keys, args []string) {
	global := l.G.Global
	var guard *lua.LTable
	for _, one := range r.lib {
		_, ok := one.value.(*lua.LTable)
		switch {
		case ok && one.name == "_G":
			global.RawSetString("_G", global)
			continue
		case !ok:
			global.RawSetString(one.name, one.value)
			continue
		}
		t := l.CreateTable(0, len(one.fields))
		for _, f := range one.fields {
			if _, ok := f.value.(*lua.LTable); ok { // string.__index is string
				f.value = t
			}
			t.RawSetString(f.name, f.value)
		}
		switch one.name {
		case guardName:
			guard = t
			continue
		case "string":
			l.SetMetatable(lua.LString(""), t)
		}
		global.RawSetString(one.name, t)
	}
	global.RawSetString("KEYS", texts(l, keys))
	global.RawSetString("ARGV", texts(l, args))
	if r.following != nil {
		r.openFollowed(l)
	}
	global.Metatable = guard
	r.dice.seed(0)
}

func texts(l *lua.LState, list []string) *lua.LTable {
	t := l.CreateTable(len(list), 0)
	for _, s := range list {
		t.Append(lua.LString(s))
	}
	return t
}

// deeper counts a call through the interpreter itself, whose stack is the
// process's.
func (r *Interpreter) deeper(l *lua.LState) {
	if r.deep++; r.deep > maxDeeps {
		l.RaiseError("stack overflow")
	}
}

// through is a library's function that calls functions of the script.
func (r *Interpreter) through(f lua.LValue) lua.LGFunction {
	inner := f.(*lua.LFunction).GFunction
	return func(l *lua.LState) int {
		defer func() { r.deep-- }()
		r.deeper(l)
		return inner(l)
	}
}

// pcall is Lua's, and catches no end of the script.
func (r *Interpreter) pcall(l *lua.LState) int {
	l.CheckAny(1)
	defer func() { r.deep-- }()
	r.deeper(l)
	if err := l.PCall(l.GetTop()-1, lua.MultRet, nil); err != nil {
		r.caught(l, err)
		l.Push(lua.LFalse)
		l.Push(text(thrown(err)))
		return 2
	}
	l.Insert(lua.LTrue, 1)
	return l.GetTop()
}

// xpcall is Lua's, and catches no end of the script. The handler runs when the
// stack has been unwound.
func (r *Interpreter) xpcall(l *lua.LState) int {
	f, handler := l.CheckFunction(1), l.Get(2)
	defer func() { r.deep-- }()
	r.deeper(l)
	l.SetTop(0)
	l.Push(f)
	if err := l.PCall(0, lua.MultRet, nil); err != nil {
		r.caught(l, err)
		l.Push(handler)
		l.Push(thrown(err))
		if err := l.PCall(1, 1, nil); err != nil {
			r.caught(l, err)
			l.Push(thrown(err))
		}
		l.Insert(lua.LFalse, l.GetTop())
		return 2
	}
	l.Insert(lua.LTrue, 1)
	return l.GetTop()
}

// caught notes an error, and raises it again if the script must end.
func (r *Interpreter) caught(l *lua.LState, err error) {
	r.note(err)
	if r.ended() {
		l.RaiseError("the script must end")
	}
}

// rawset is Lua's, and does not get past the guard of the globals.
func (r *Interpreter) rawset(l *lua.LState) int {
	t := l.CheckTable(1)
	if t == l.G.Global {
		l.RaiseError("Attempt to modify a readonly table")
	}
	key := l.CheckAny(2)
	if key == lua.LNil || key == lua.LNumber(math.NaN()) {
		l.RaiseError("table index is nil")
	}
	l.RawSet(t, key, l.CheckAny(3))
	l.SetTop(1)
	return 1
}

func (r *Interpreter) setmetatable(l *lua.LState) int {
	t := l.CheckTable(1)
	l.CheckTypes(2, lua.LTNil, lua.LTTable)
	if t == l.G.Global {
		l.RaiseError("Attempt to modify a readonly table")
	}
	if l.GetMetaField(t, "__metatable") != lua.LNil {
		l.RaiseError("cannot change a protected metatable")
	}
	l.SetMetatable(t, l.Get(2))
	l.SetTop(1)
	return 1
}

// tostring is Lua's, but the addresses of tables and functions are counted, so
// that a question has one answer.
func (r *Interpreter) tostring(l *lua.LState) int {
	v := l.CheckAny(1)
	if n, ok := v.(lua.LNumber); ok {
		l.Push(lua.LString(number(n, digitsOfText)))
		return 1
	}
	told := l.ToStringMeta(v)
	switch v.(type) {
	case *lua.LTable, *lua.LFunction, *lua.LState:
		if told.String() == v.String() {
			if r.addresses[v] == 0 {
				r.addresses[v] = len(r.addresses) + 1
			}
			told = lua.LString(fmt.Sprintf("%s: 0x%012x", v.Type(), 0x55<<40+r.addresses[v]*64))
		}
	}
	l.Push(told)
	return 1
}

func tonumber(l *lua.LState) int {
	base := l.OptInt(2, 10)
	v := l.CheckAny(1)
	if base < 2 || base > 36 {
		l.ArgError(2, "base out of range")
	}
	if n, ok := v.(lua.LNumber); ok && base == 10 {
		l.Push(n)
		return 1
	}
	text, ok := v.(lua.LString)
	if n, isNumber := v.(lua.LNumber); isNumber {
		text, ok = lua.LString(number(n, digitsOfText)), true
	}
	switch {
	case !ok:
		l.Push(lua.LNil)
	case base == 10:
		if n, ok := parsed(string(text)); ok {
			l.Push(n)
		} else {
			l.Push(lua.LNil)
		}
	default:
		digits := strings.ToLower(strings.TrimSpace(string(text)))
		if base == 16 {
			digits = strings.TrimPrefix(digits, "0x")
		}
		if n, err := strconv.ParseInt(digits, base, 64); err == nil {
			l.Push(lua.LNumber(n))
		} else {
			l.Push(lua.LNil)
		}
	}
	return 1
}

// rep is string.rep with a bound.
func (r *Interpreter) rep(l *lua.LState) int {
	text, n := l.CheckString(1), l.CheckInt(2)
	if len(text) > 0 && n > r.longest()/len(text) {
		r.large(l, "a text of string.rep")
	}
	l.Push(lua.LString(strings.Repeat(text, max(n, 0))))
	return 1
}

// text is what pcall returns of an error: of a table of Redis' the error alone.
func text(v lua.LValue) lua.LValue {
	if t, ok := v.(*lua.LTable); ok {
		if failed, ok := t.RawGetString("err").(lua.LString); ok {
			return failed
		}
	}
	return v
}

// written is a text or a number as Lua writes it.
func written(v lua.LValue) (string, bool) {
	switch v := v.(type) {
	case lua.LString:
		return string(v), true
	case lua.LNumber:
		return number(v, digitsOfText), true
	default:
		return "", false
	}
}

// concat is table.concat with a bound.
func (r *Interpreter) concat(l *lua.LState) int {
	t := l.CheckTable(1)
	separator := l.OptString(2, "")
	first, last := l.OptInt(3, 1), l.OptInt(4, t.Len())
	var out strings.Builder
	for n := first; n <= last; n++ {
		v := t.RawGetInt(n)
		one, ok := written(v)
		if !ok {
			l.RaiseError("invalid value (%s) at index %d in table for 'concat'", v.Type(), n)
		}
		out.WriteString(one)
		if n < last {
			out.WriteString(separator)
		}
		if out.Len() > r.longest() {
			r.large(l, "a text of table.concat")
		}
	}
	l.Push(lua.LString(out.String()))
	return 1
}

// ofText is a function whose first argument is a text, or a number as Lua writes it.
func ofText(f lua.LValue) lua.LGFunction {
	inner := f.(*lua.LFunction).GFunction
	return func(l *lua.LState) int {
		if n, ok := l.Get(1).(lua.LNumber); ok {
			l.Replace(1, lua.LString(number(n, digitsOfText)))
		}
		return inner(l)
	}
}

// caseOf changes the letters of ASCII, as C does.
func caseOf(change func([]byte) []byte) lua.LGFunction {
	return func(l *lua.LState) int {
		text := []byte(l.CheckString(1))
		for n, c := range text {
			if c < 0x80 {
				text[n] = change([]byte{c})[0]
			}
		}
		l.Push(lua.LString(text))
		return 1
	}
}

// format is string.format as C does it, with a bound.
func (r *Interpreter) format(l *lua.LState) int {
	text := l.CheckString(1)
	var out strings.Builder
	next := 1
	for {
		before, after, found := strings.Cut(text, "%")
		out.WriteString(before)
		if out.Len() > r.longest() {
			r.large(l, "a text of string.format")
		}
		if !found {
			break
		}
		text = after
		if rest, ok := strings.CutPrefix(text, "%"); ok {
			out.WriteByte('%')
			text = rest
			continue
		}
		n := len(text) - len(strings.TrimLeft(text, "-+ #0"))
		width := digits(text[n:])
		n += width
		precision := -1
		if strings.HasPrefix(text[n:], ".") {
			precision = digits(text[n+1:])
			n += 1 + precision
		}
		if width > 2 || precision > 2 {
			l.RaiseError("invalid format (width or precision too long)")
		}
		if n == len(text) {
			l.RaiseError("invalid option '%%' to 'format'")
		}
		spec, verb := "%"+text[:n], text[n]
		text = text[n+1:]
		next++
		switch verb {
		case 'c':
			out.WriteByte(byte(l.CheckInt64(next)))
		case 'd', 'i':
			fmt.Fprintf(&out, spec+"d", whole(numberAt(l, next)))
		case 'u':
			fmt.Fprintf(&out, spec+"d", uint64(whole(numberAt(l, next))))
		case 'o', 'x', 'X':
			fmt.Fprintf(&out, spec+string(verb), uint64(whole(numberAt(l, next))))
		case 'e', 'E', 'f', 'g', 'G':
			n := numberAt(l, next)
			if math.IsInf(float64(n), 0) || math.IsNaN(float64(n)) {
				spec, _, _ = strings.Cut(strings.NewReplacer("0", "", "#", "").Replace(spec), ".")
				fmt.Fprintf(&out, spec+"s", number(n, digitsOfText))
				break
			}
			if precision < 0 {
				spec += ".6"
			}
			fmt.Fprintf(&out, spec+string(verb), float64(n))
		case 'q':
			out.WriteString(quoted(l.CheckString(next)))
		case 's':
			v, ok := written(l.CheckAny(next))
			if !ok {
				l.ArgError(next, "string expected, got "+l.Get(next).Type().String())
			}
			if len(v) > r.longest() {
				r.large(l, "a text of string.format")
			}
			fmt.Fprintf(&out, strings.ReplaceAll(spec, "#", "")+"s", v)
		default:
			l.RaiseError("invalid option '%%%c' to 'format'", verb)
		}
	}
	l.Push(lua.LString(out.String()))
	return 1
}

func digits(text string) int { return len(text) - len(strings.TrimLeft(text, "0123456789")) }

// numberAt is an argument that is a number, or reads as one.
func numberAt(l *lua.LState, n int) lua.LNumber {
	if text, ok := l.Get(n).(lua.LString); ok {
		if number, ok := parsed(string(text)); ok {
			return number
		}
	}
	return l.CheckNumber(n)
}

func quoted(text string) string {
	return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", "\\\n", "\r", `\r`, "\x00", `\000`).Replace(text) + `"`
}

// dice is Redis' math.random: drand48's numbers, here from the same seed in each run,
// so that a question has one answer.
type dice uint64

func (d *dice) seed(n int32) { *d = dice(uint64(uint32(n))<<16 | 0x330E) }

func (d *dice) seedWith(l *lua.LState) int {
	d.seed(int32(whole(l.CheckNumber(1))))
	return 0
}

func (d *dice) roll() float64 {
	*d = (*d*0x5DEECE66D + 0xB) & (1<<48 - 1)
	return float64(*d>>17%math.MaxInt32) / math.MaxInt32
}

func (d *dice) random(l *lua.LState) int {
	roll := lua.LNumber(d.roll())
	low, high := lua.LNumber(1), lua.LNumber(0)
	switch l.GetTop() {
	case 0:
		l.Push(roll)
		return 1
	case 1:
		high = lua.LNumber(l.CheckInt64(1))
	case 2:
		low, high = lua.LNumber(l.CheckInt64(1)), lua.LNumber(l.CheckInt64(2))
	default:
		l.RaiseError("wrong number of arguments")
	}
	if low > high {
		l.ArgError(l.GetTop(), "interval is empty")
	}
	l.Push(lua.LNumber(math.Floor(float64(roll*(high-low+1)))) + low)
	return 1
}

// call is redis.call, and redis.pcall if a mistake is returned.
func (r *Interpreter) call(l *lua.LState, raise bool) int {
	v, failed := r.command(l)
	if failed == "" {
		l.Push(v)
		return 1
	}
	t := l.CreateTable(0, 1)
	t.RawSetString("err", lua.LString(failed))
	if raise {
		l.Error(t, 0)
	}
	l.Push(t)
	return 1
}

func (r *Interpreter) command(l *lua.LState) (lua.LValue, string) {
	n := l.GetTop()
	if n == 0 {
		return nil, "ERR Please specify at least one argument for this redis lib call"
	}
	args := make([]string, n)
	for i := range n {
		switch v := l.Get(i + 1).(type) {
		case lua.LString:
			args[i] = string(v)
		case lua.LNumber:
			args[i] = number(v, digitsOfArgument)
		default:
			return nil, "ERR Lua redis lib command arguments must be strings or integers"
		}
	}
	return r.do(l, args)
}

func errorReply(l *lua.LState) int {
	text, ok := l.Get(1).(lua.LString)
	if !ok || l.GetTop() != 1 {
		return single(l, "err", "ERR wrong number or type of arguments")
	}
	s := strings.TrimPrefix(string(text), "-")
	if !strings.Contains(s, " ") {
		s = "ERR " + s
	}
	return single(l, "err", s)
}

func statusReply(l *lua.LState) int {
	text, ok := l.Get(1).(lua.LString)
	if !ok || l.GetTop() != 1 {
		return single(l, "err", "ERR wrong number or type of arguments")
	}
	return single(l, "ok", string(text))
}

func single(l *lua.LState, field, text string) int {
	t := l.CreateTable(0, 1)
	t.RawSetString(field, lua.LString(text))
	l.Push(t)
	return 1
}

func sha1hex(l *lua.LState) int {
	text, ok := written(l.Get(1))
	if l.GetTop() != 1 {
		l.RaiseError("wrong number of arguments")
	}
	if !ok {
		text = ""
	}
	sum := sha1.Sum([]byte(text)) //nolint:gosec // what redis.sha1hex is
	l.Push(lua.LString(hex.EncodeToString(sum[:])))
	return 1
}

func log(l *lua.LState) int {
	if l.GetTop() < 2 {
		l.RaiseError("redis.log() requires two arguments or more.")
	}
	if level := l.CheckInt(1); level < 0 || level > 3 {
		l.RaiseError("Invalid debug level.")
	}
	return 0
}

func setresp(l *lua.LState) int {
	if l.GetTop() != 1 || l.CheckInt(1) != 2 {
		l.RaiseError("RESP version must be 2 here.")
	}
	return 0
}

// bitwise is Redis' bit, which is Lua BitOp: numbers of 32 bits, with a sign.
var bitwise = map[string]lua.LGFunction{
	"tobit": func(l *lua.LState) int { return bitsTo(l, word(l, 1)) },
	"bnot":  func(l *lua.LState) int { return bitsTo(l, ^word(l, 1)) },
	"bswap": func(l *lua.LState) int { return bitsTo(l, bits.ReverseBytes32(word(l, 1))) },
	"band":  folded(func(a, b uint32) uint32 { return a & b }), "bor": folded(func(a, b uint32) uint32 { return a | b }),
	"bxor":   folded(func(a, b uint32) uint32 { return a ^ b }),
	"lshift": func(l *lua.LState) int { return bitsTo(l, word(l, 1)<<(word(l, 2)&31)) },
	"rshift": func(l *lua.LState) int { return bitsTo(l, word(l, 1)>>(word(l, 2)&31)) },
	"arshift": func(l *lua.LState) int {
		return bitsTo(l, uint32(int32(word(l, 1))>>(word(l, 2)&31)))
	},
	"rol": func(l *lua.LState) int { return bitsTo(l, bits.RotateLeft32(word(l, 1), int(word(l, 2)&31))) },
	"ror": func(l *lua.LState) int { return bitsTo(l, bits.RotateLeft32(word(l, 1), -int(word(l, 2)&31))) },
	"tohex": func(l *lua.LState) int {
		n, format := l.OptInt(2, 8), "%08x"
		if n < 0 {
			n, format = -n, "%08X"
		}
		text := fmt.Sprintf(format, word(l, 1))
		l.Push(lua.LString(text[8-min(n, 8):]))
		return 1
	},
}

// word is an argument as BitOp rounds it: to even, modulo 2^32.
func word(l *lua.LState, n int) uint32 {
	name := ""
	if frame, ok := l.GetStack(0); ok {
		_, _ = l.GetInfo("n", frame, lua.LNil) // or it has none
		name = frame.Name
	}
	f := math.RoundToEven(math.Mod(numberOf(l, n, name), 1<<52))
	return uint32(int64(f))
}

func bitsTo(l *lua.LState, n uint32) int {
	l.Push(lua.LNumber(int32(n)))
	return 1
}

func folded(f func(a, b uint32) uint32) lua.LGFunction {
	return func(l *lua.LState) int {
		all := word(l, 1)
		for n := 2; n <= l.GetTop(); n++ {
			all = f(all, word(l, n))
		}
		return bitsTo(l, all)
	}
}
