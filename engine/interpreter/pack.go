package interpreter

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// mostResults is how many values a function returns at most: Lua 5.1's own stack of C.
const mostResults = 7900

// wrongArgument raises what Lua says of an argument.
func wrongArgument(l *lua.LState, n int, name, what string) {
	l.RaiseError("bad argument #%d to '%s' (%s)", n, name, what)
}

// textOf is an argument that is a text, or a number as Lua writes it.
func textOf(l *lua.LState, n int, name string) string {
	text, ok := written(l.Get(n))
	if !ok {
		wrongArgument(l, n, name, "string expected, got "+typeOf(l, n))
	}
	return text
}

// numberOf is an argument that is a number, or reads as one.
func numberOf(l *lua.LState, n int, name string) float64 {
	switch v := l.Get(n).(type) {
	case lua.LNumber:
		return float64(v)
	case lua.LString:
		if number, ok := parsed(string(v)); ok {
			return float64(number)
		}
	}
	wrongArgument(l, n, name, "number expected, got "+typeOf(l, n))
	return 0
}

// optional is a whole number that may be left out.
func optional(l *lua.LState, n int, name string, usual int64) int64 {
	if l.GetTop() < n || l.Get(n) == lua.LNil {
		return usual
	}
	return whole(lua.LNumber(numberOf(l, n, name)))
}

func typeOf(l *lua.LState, n int) string {
	if l.GetTop() < n {
		return "no value"
	}
	return l.Get(n).Type().String()
}

// structFuncs is Redis' struct.
func (r *Interpreter) structFuncs() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{"pack": r.structPack, "unpack": structUnpack, "size": structSize}
}

// layout reads a format of struct.
type layout struct {
	l     *lua.LState
	rest  string // of the format
	order binary.ByteOrder
	align int
}

// Bounds of struct.
const (
	mostInteger = 32 // bytes of an integer
	usualAlign  = 8
)

func newLayout(l *lua.LState, name string) *layout {
	format, _, _ := strings.Cut(textOf(l, 1, name), "\x00") // to C it ends there
	return &layout{l: l, rest: format, order: binary.LittleEndian, align: 1}
}

// next returns the next option and its size.
func (f *layout) next() (option byte, size int, ok bool) {
	if f.rest == "" {
		return 0, 0, false
	}
	option, f.rest = f.rest[0], f.rest[1:]
	switch option {
	case 'b', 'B', 'x':
		size = 1
	case 'h', 'H':
		size = 2
	case 'f':
		size = 4
	case 'l', 'L', 'T', 'd':
		size = 8
	case 'c':
		size = f.count(1)
	case 'i', 'I':
		if size = f.count(4); size > mostInteger {
			f.l.RaiseError("integral size %d is larger than limit of %d", size, mostInteger)
		}
	}
	return option, size, true
}

// count reads a number of the format.
func (f *layout) count(usual int) int {
	n := digits(f.rest)
	if n == 0 {
		return usual
	}
	count := 0
	for _, d := range f.rest[:n] {
		if count = count*10 + int(d-'0'); count > math.MaxInt32 {
			f.l.RaiseError("integral size overflow")
		}
	}
	f.rest = f.rest[n:]
	return count
}

// padding is how many bytes come before an option at a place.
func (f *layout) padding(at int, option byte, size int) int {
	if size == 0 || option == 'c' {
		return 0
	}
	size = min(size, f.align)
	return (size - at&(size-1)) & (size - 1)
}

// control reads an option that stands for no value.
func (f *layout) control(option byte, name string) {
	switch option {
	case ' ':
	case '>':
		f.order = binary.BigEndian
	case '<':
		f.order = binary.LittleEndian
	case '!':
		n := f.count(usualAlign)
		if n <= 0 || n&(n-1) != 0 {
			f.l.RaiseError("alignment %d is not a power of 2", n)
		}
		f.align = n
	default:
		wrongArgument(f.l, 1, name, "invalid format option '"+string(rune(option))+"'")
	}
}

// integerOf are the bits of a number as C casts it on the machines that Redis runs on.
func integerOf(n float64) uint64 {
	switch {
	case n < 0:
		return uint64(whole(lua.LNumber(n)))
	case n >= 1<<64:
		return 0
	case n >= 1<<63:
		return uint64(n-1<<63) | 1<<63
	default:
		return uint64(whole(lua.LNumber(n)))
	}
}

func (r *Interpreter) structPack(l *lua.LState) int {
	const name = "pack"
	f := newLayout(l, name)
	l.Push(lua.LNil) // as in C, which so parts arguments from what it makes
	var out bytes.Buffer
	argument, total := 1, 0
	value := func() int { argument++; return argument }
	for {
		option, size, ok := f.next()
		if !ok {
			break
		}
		pad := f.padding(total, option, size)
		out.Write(make([]byte, pad))
		total += pad + size
		switch option {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			n := integerOf(numberOf(l, value(), name))
			digits := make([]byte, size)
			for i := range digits {
				at := i
				if f.order == binary.BigEndian {
					at = size - 1 - i
				}
				digits[at] = byte(n)
				n >>= 8
			}
			out.Write(digits)
		case 'x':
			out.WriteByte(0)
		case 'f':
			_ = binary.Write(&out, f.order, float32(numberOf(l, value(), name))) // a Buffer takes all
		case 'd':
			_ = binary.Write(&out, f.order, numberOf(l, value(), name))
		case 'c', 's':
			text := textOf(l, value(), name)
			most := size
			if size == 0 {
				most = len(text)
				total += most
			}
			if len(text) < most {
				wrongArgument(l, argument+1, name, "string too short")
			}
			out.WriteString(text[:most])
			if option == 's' {
				out.WriteByte(0)
				total++
			}
		default:
			f.control(option, name)
		}
		if out.Len() > maxText {
			r.large(l, "a text of struct.pack")
		}
	}
	l.Push(lua.LString(out.String()))
	return 1
}

// integerIn is the integer that bytes are.
func integerIn(data string, order binary.ByteOrder, signed bool) float64 {
	var n uint64
	for i := range len(data) {
		at := i
		if order == binary.LittleEndian {
			at = len(data) - 1 - i
		}
		n = n<<8 | uint64(data[at])
	}
	if !signed {
		return float64(n)
	}
	if mask := ^uint64(0) << (uint(len(data)*8-1) & 63); n&mask != 0 {
		n |= mask
	}
	return float64(int64(n))
}

func structUnpack(l *lua.LState) int {
	const name = "unpack"
	f := newLayout(l, name)
	data := textOf(l, 2, name)
	start := optional(l, 3, name, 1)
	if start <= 0 {
		wrongArgument(l, 3, name, "offset must be 1 or greater")
	}
	at, found := int(min(start-1, 1<<40)), 0
	fits := func(size int) {
		if size < 0 || size > len(data) || at > len(data)-size {
			wrongArgument(l, 2, name, "data string too short")
		}
	}
	var last lua.LValue
	push := func(v lua.LValue) {
		if found++; found > mostResults {
			l.RaiseError("stack overflow (too many results)")
		}
		last = v
		l.Push(v)
	}
	for {
		option, size, ok := f.next()
		if !ok {
			break
		}
		at += f.padding(at, option, size)
		fits(size)
		switch option {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			push(lua.LNumber(integerIn(data[at:at+size], f.order, option >= 'a')))
		case 'x':
		case 'f':
			push(lua.LNumber(math.Float32frombits(f.order.Uint32([]byte(data[at : at+4])))))
		case 'd':
			push(lua.LNumber(math.Float64frombits(f.order.Uint64([]byte(data[at : at+8])))))
		case 'c':
			if size == 0 {
				n, is := last.(lua.LNumber)
				if text, reads := last.(lua.LString); reads {
					n, is = parsed(string(text))
				}
				if found == 0 || !is {
					l.RaiseError("format 'c0' needs a previous size")
				}
				size = int(whole(n))
				l.Pop(1)
				found--
				fits(size)
			}
			push(lua.LString(data[at : at+size]))
		case 's':
			end := strings.IndexByte(data[at:], 0)
			if end < 0 {
				l.RaiseError("unfinished string in data")
			}
			push(lua.LString(data[at : at+end]))
			size = end + 1
		default:
			f.control(option, name)
		}
		at += size
	}
	l.Push(lua.LNumber(at + 1))
	return found + 1
}

func structSize(l *lua.LState) int {
	const name = "size"
	f := newLayout(l, name)
	at := 0
	for {
		option, size, ok := f.next()
		if !ok {
			break
		}
		at += f.padding(at, option, size)
		switch {
		case option == 's':
			wrongArgument(l, 1, name, "option 's' has no fixed size")
		case option == 'c' && size == 0:
			wrongArgument(l, 1, name, "option 'c0' has no fixed size")
		case !(option >= '0' && option <= '9' || option >= 'a' && option <= 'z' || option >= 'A' && option <= 'Z'):
			f.control(option, name)
		}
		at += size
	}
	l.Push(lua.LNumber(at))
	return 1
}

// messagePackFuncs is Redis' cmsgpack.
func (r *Interpreter) messagePackFuncs() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"pack":   r.messagePack,
		"unpack": func(l *lua.LState) int { return messageUnpack(l, "unpack", 0, 0) },
		"unpack_one": func(l *lua.LState) int {
			return messageUnpack(l, "unpack_one", 1, optional(l, 2, "unpack_one", 0))
		},
		"unpack_limit": func(l *lua.LState) int {
			limit := whole(lua.LNumber(numberOf(l, 2, "unpack_limit")))
			return messageUnpack(l, "unpack_limit", limit, optional(l, 3, "unpack_limit", 0))
		},
	}
}

// deepest is how many tables in tables cmsgpack writes; nil stands for anything deeper.
const deepest = 16

func (r *Interpreter) messagePack(l *lua.LState) int {
	if l.GetTop() == 0 {
		wrongArgument(l, 0, "pack", "MessagePack pack needs input.")
	}
	p := packer{}
	for n := 1; n <= l.GetTop(); n++ {
		p.value(l.Get(n), 0)
	}
	if p.out.Len() > maxText {
		r.large(l, "a text of cmsgpack.pack")
	}
	l.Push(lua.LString(p.out.String()))
	return 1
}

// packer writes MessagePack as cmsgpack does.
type packer struct{ out bytes.Buffer }

func (p *packer) value(v lua.LValue, deep int) {
	if p.out.Len() > maxText {
		return
	}
	switch v := v.(type) {
	case lua.LBool:
		if v {
			p.out.WriteByte(0xc3)
		} else {
			p.out.WriteByte(0xc2)
		}
	case lua.LNumber:
		p.number(float64(v))
	case lua.LString:
		p.head(len(v), 31, 0xa0, 0xd9, 0xda, 0xdb)
		p.out.WriteString(string(v))
	case *lua.LTable:
		if deep < deepest {
			p.table(v, deep+1)
			return
		}
		p.out.WriteByte(0xc0)
	default:
		p.out.WriteByte(0xc0)
	}
}

// head writes what a value is and its length. Without a form of one byte that is 0.
func (p *packer) head(n, most int, few, one, two, four byte) {
	switch {
	case n <= most:
		p.out.WriteByte(few | byte(n))
	case n <= math.MaxUint8 && one != 0:
		p.out.Write([]byte{one, byte(n)})
	case n <= math.MaxUint16:
		p.out.Write(binary.BigEndian.AppendUint16([]byte{two}, uint16(n)))
	default:
		p.out.Write(binary.BigEndian.AppendUint32([]byte{four}, uint32(n)))
	}
}

func (p *packer) number(f float64) {
	n := whole(lua.LNumber(f))
	if math.IsInf(f, 0) || math.IsNaN(f) || float64(n) != f {
		if single := float32(f); float64(single) == f {
			p.out.Write(binary.BigEndian.AppendUint32([]byte{0xca}, math.Float32bits(single)))
			return
		}
		p.out.Write(binary.BigEndian.AppendUint64([]byte{0xcb}, math.Float64bits(f)))
		return
	}
	switch {
	case n >= -32 && n <= math.MaxInt8:
		p.out.WriteByte(byte(n))
	case n > 0 && n <= math.MaxUint8:
		p.out.Write([]byte{0xcc, byte(n)})
	case n > 0 && n <= math.MaxUint16:
		p.out.Write(binary.BigEndian.AppendUint16([]byte{0xcd}, uint16(n)))
	case n > 0 && n <= math.MaxUint32:
		p.out.Write(binary.BigEndian.AppendUint32([]byte{0xce}, uint32(n)))
	case n > 0:
		p.out.Write(binary.BigEndian.AppendUint64([]byte{0xcf}, uint64(n)))
	case n >= math.MinInt8:
		p.out.Write([]byte{0xd0, byte(n)})
	case n >= math.MinInt16:
		p.out.Write(binary.BigEndian.AppendUint16([]byte{0xd1}, uint16(n)))
	case n >= math.MinInt32:
		p.out.Write(binary.BigEndian.AppendUint32([]byte{0xd2}, uint32(n)))
	default:
		p.out.Write(binary.BigEndian.AppendUint64([]byte{0xd3}, uint64(n)))
	}
}

// table writes an array where the keys are 1 to their number, else a map.
func (p *packer) table(t *lua.LTable, deep int) {
	count, most, array := 0, 0, true
	t.ForEach(func(key, _ lua.LValue) {
		n, is := key.(lua.LNumber)
		array = array && is && n > 0 && n == lua.LNumber(int32(n))
		if array {
			most = max(most, int(n))
		}
		count++
	})
	if array && most == count {
		p.head(count, 15, 0x90, 0, 0xdc, 0xdd)
		for n := 1; n <= count; n++ {
			p.value(t.RawGetInt(n), deep)
		}
		return
	}
	p.head(count, 15, 0x80, 0, 0xde, 0xdf)
	t.ForEach(func(key, v lua.LValue) {
		p.value(key, deep)
		p.value(v, deep)
	})
}

func messageUnpack(l *lua.LState, name string, limit, offset int64) int {
	text := textOf(l, 1, name)
	limit, offset = int64(int32(limit)), int64(int32(offset))
	switch {
	case offset < 0 || limit < 0:
		l.RaiseError("Invalid request to unpack with offset of %d and limit of %d.", offset, len(text))
	case offset > int64(len(text)):
		l.RaiseError("Start offset %d greater than input length %d.", offset, len(text))
	}
	all := limit == 0 && offset == 0
	u := unpacker{l: l, rest: text[offset:]}
	var found []lua.LValue
	for u.rest != "" && (all || int64(len(found)) < limit) {
		if len(found) >= mostResults {
			l.RaiseError("stack overflow (in function mp_unpack_full)")
		}
		found = append(found, u.value(0))
	}
	results := len(found)
	if !all {
		at := len(text) - len(u.rest)
		if u.rest == "" {
			at = -1
		}
		l.Push(lua.LNumber(at))
		results++
	}
	for _, v := range found {
		l.Push(v)
	}
	return results
}

// unpacker reads MessagePack as cmsgpack does.
type unpacker struct {
	l    *lua.LState
	rest string
}

// take takes so many bytes.
func (u *unpacker) take(n int) string {
	if n > len(u.rest) {
		u.l.RaiseError("Missing bytes in input.")
	}
	taken := u.rest[:n]
	u.rest = u.rest[n:]
	return taken
}

// unsigned takes a number of so many bytes.
func (u *unpacker) unsigned(n int) (value uint64) {
	for _, b := range []byte(u.take(n)) {
		value = value<<8 | uint64(b)
	}
	return value
}

// mostDeep is how deep cmsgpack reads lists in lists: Lua's stack, two places a list.
const mostDeep = mostResults / 2

func (u *unpacker) value(deep int) lua.LValue {
	if deep > mostDeep {
		u.l.RaiseError("stack overflow (in function mp_decode_to_lua_array)")
	}
	switch c := u.take(1)[0]; {
	case c == 0xc0:
		return lua.LNil
	case c == 0xc2, c == 0xc3:
		return lua.LBool(c == 0xc3)
	case c == 0xca:
		return lua.LNumber(math.Float32frombits(uint32(u.unsigned(4))))
	case c == 0xcb:
		return lua.LNumber(math.Float64frombits(u.unsigned(8)))
	case c >= 0xcc && c <= 0xcf:
		return lua.LNumber(u.unsigned(1 << (c - 0xcc)))
	case c == 0xd0:
		return lua.LNumber(int8(u.unsigned(1)))
	case c == 0xd1:
		return lua.LNumber(int16(u.unsigned(2)))
	case c == 0xd2:
		return lua.LNumber(int32(u.unsigned(4)))
	case c == 0xd3:
		return lua.LNumber(int64(u.unsigned(8)))
	case c >= 0xd9 && c <= 0xdb:
		return lua.LString(u.take(int(u.unsigned(1 << (c - 0xd9)))))
	case c == 0xdc, c == 0xdd:
		return u.array(int(u.unsigned(2<<(c-0xdc))), deep)
	case c == 0xde, c == 0xdf:
		return u.hash(int(u.unsigned(2<<(c-0xde))), deep)
	case c < 0x80, c >= 0xe0:
		return lua.LNumber(int8(c))
	case c&0xe0 == 0xa0:
		return lua.LString(u.take(int(c & 0x1f)))
	case c&0xf0 == 0x90:
		return u.array(int(c&0xf), deep)
	case c&0xf0 == 0x80:
		return u.hash(int(c&0xf), deep)
	default:
		u.l.RaiseError("Bad data format in input.")
		return nil
	}
}

func (u *unpacker) array(n, deep int) lua.LValue {
	t := u.l.NewTable()
	for i := 1; i <= n; i++ {
		t.RawSetInt(i, u.value(deep+1))
	}
	return t
}

func (u *unpacker) hash(n, deep int) lua.LValue {
	t := u.l.NewTable()
	for range n {
		key := u.value(deep + 1)
		v := u.value(deep + 1)
		if number, is := key.(lua.LNumber); is && math.IsNaN(float64(number)) {
			u.l.Error(lua.LString("table index is NaN"), 0)
		}
		if key == lua.LNil {
			u.l.Error(lua.LString("table index is nil"), 0)
		}
		t.RawSet(key, v)
	}
	return t
}
