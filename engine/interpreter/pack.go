package interpreter

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// structs is Redis' struct.
var structs = map[string]func(*call){"pack": structPack, "unpack": structUnpack, "size": structSize}

// layout reads a format of struct.
type layout struct {
	c     *call
	rest  string // of the format
	order binary.ByteOrder
	align int
}

// Bounds of struct.
const (
	mostInteger = 32 // bytes of an integer
	usualAlign  = 8
)

func newLayout(c *call) *layout {
	format, _, _ := strings.Cut(c.text(1), "\x00") // to C it ends there
	return &layout{c: c, rest: format, order: binary.LittleEndian, align: 1}
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
			f.c.fail("integral size %d is larger than limit of %d", size, mostInteger)
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
			f.c.fail("integral size overflow")
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
func (f *layout) control(option byte) {
	switch option {
	case ' ':
	case '>':
		f.order = binary.BigEndian
	case '<':
		f.order = binary.LittleEndian
	case '!':
		n := f.count(usualAlign)
		if n <= 0 || n&(n-1) != 0 {
			f.c.fail("alignment %d is not a power of 2", n)
		}
		f.align = n
	default:
		f.c.wrong(1, "invalid format option '"+string(rune(option))+"'")
	}
}

// integerOf are the bits of a number as C casts it on the machines that Redis runs on.
func integerOf(n float64) uint64 {
	switch {
	case n < 0:
		return uint64(whole(n))
	case n >= 1<<64:
		return 0
	case n >= 1<<63:
		return uint64(n-1<<63) | 1<<63
	default:
		return uint64(whole(n))
	}
}

func structPack(c *call) {
	f := newLayout(c)
	c.args = append(slices.Clip(c.args), nil) // as in C, which so parts arguments from what it makes
	var out bytes.Buffer
	argument, total := 1, 0
	next := func() int { argument++; return argument }
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
			n := integerOf(c.number(next()))
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
			_ = binary.Write(&out, f.order, float32(c.number(next()))) // a Buffer takes all
		case 'd':
			_ = binary.Write(&out, f.order, c.number(next()))
		case 'c', 's':
			text := c.text(next())
			most := size
			if size == 0 {
				most = len(text)
				total += most
			}
			if len(text) < most {
				c.wrong(argument+1, "string too short")
			}
			out.WriteString(text[:most])
			if option == 's' {
				out.WriteByte(0)
				total++
			}
		default:
			f.control(option)
		}
		if out.Len() > maxText {
			c.r.large("a text of struct.pack")
		}
	}
	c.push(out.String())
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

func structUnpack(c *call) {
	f := newLayout(c)
	data := c.text(2)
	start := c.optional(3, 1)
	if start <= 0 {
		c.wrong(3, "offset must be 1 or greater")
	}
	at, found := min(start-1, 1<<40), 0
	fits := func(size int) {
		if size < 0 || size > len(data) || at > len(data)-size {
			c.wrong(2, "data string too short")
		}
	}
	var last value
	push := func(v value) {
		if found++; found > mostResults-100 {
			c.fail("stack overflow (too many results)")
		}
		last = v
		c.push(v)
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
			push(float64(integerIn(data[at:at+size], f.order, option >= 'a')))
		case 'x':
		case 'f':
			push(float64(math.Float32frombits(f.order.Uint32([]byte(data[at : at+4])))))
		case 'd':
			push(float64(math.Float64frombits(f.order.Uint64([]byte(data[at : at+8])))))
		case 'c':
			if size == 0 {
				n, is := numeric(last)
				if found == 0 || !is {
					c.fail("format 'c0' needs a previous size")
				}
				size = int(whole(n))
				c.out = c.out[:len(c.out)-1]
				found--
				fits(size)
			}
			push(data[at : at+size])
		case 's':
			end := strings.IndexByte(data[at:], 0)
			if end < 0 {
				c.fail("unfinished string in data")
			}
			push(data[at : at+end])
			size = end + 1
		default:
			f.control(option)
		}
		at += size
	}
	c.push(float64(at + 1))
}

func structSize(c *call) {
	f := newLayout(c)
	at := 0
	for {
		option, size, ok := f.next()
		if !ok {
			break
		}
		at += f.padding(at, option, size)
		switch {
		case option == 's':
			c.wrong(1, "option 's' has no fixed size")
		case option == 'c' && size == 0:
			c.wrong(1, "option 'c0' has no fixed size")
		case !(option >= '0' && option <= '9' || option >= 'a' && option <= 'z' || option >= 'A' && option <= 'Z'):
			f.control(option)
		}
		at += size
	}
	c.push(float64(at))
}

// messages is Redis' cmsgpack.
var messages = map[string]func(*call){
	"pack":         messagePack,
	"unpack":       func(c *call) { messageUnpack(c, 0, 0) },
	"unpack_one":   func(c *call) { messageUnpack(c, 1, c.optional(2, 0)) },
	"unpack_limit": func(c *call) { messageUnpack(c, c.whole(2), c.optional(3, 0)) },
}

// deepest is how many tables in tables cmsgpack writes; nil stands for anything deeper.
const deepest = 16

func messagePack(c *call) {
	if len(c.args) == 0 {
		c.wrong(0, "MessagePack pack needs input.")
	}
	p := packer{}
	for _, v := range c.args {
		p.value(v, 0)
	}
	if p.out.Len() > maxText {
		c.r.large("a text of cmsgpack.pack")
	}
	c.push(p.out.String())
}

// packer writes MessagePack as cmsgpack does.
type packer struct{ out bytes.Buffer }

func (p *packer) value(v value, deep int) {
	if p.out.Len() > maxText {
		return
	}
	switch v := v.(type) {
	case bool:
		if v {
			p.out.WriteByte(0xc3)
		} else {
			p.out.WriteByte(0xc2)
		}
	case float64:
		p.number(v)
	case string:
		p.head(len(v), 31, 0xa0, 0xd9, 0xda, 0xdb)
		p.out.WriteString(v)
	case *table:
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
	n := whole(f)
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
func (p *packer) table(t *table, deep int) {
	count, most, array := 0, 0, true
	t.each(func(key, _ value) {
		n, is := key.(float64)
		array = array && is && n > 0 && n == float64(int32(n))
		if array {
			most = max(most, int(n))
		}
		count++
	})
	if array && most == count {
		p.head(count, 15, 0x90, 0, 0xdc, 0xdd)
		for n := 1; n <= count; n++ {
			p.value(t.at(n), deep)
		}
		return
	}
	p.head(count, 15, 0x80, 0, 0xde, 0xdf)
	t.each(func(key, v value) {
		p.value(key, deep)
		p.value(v, deep)
	})
}

func messageUnpack(c *call, limit, offset int) {
	text := c.text(1)
	limit, offset = int(int32(limit)), int(int32(offset))
	switch {
	case offset < 0 || limit < 0:
		c.fail("Invalid request to unpack with offset of %d and limit of %d.", offset, len(text))
	case offset > len(text):
		c.fail("Start offset %d greater than input length %d.", offset, len(text))
	}
	all := limit == 0 && offset == 0
	u := unpacker{c: c, rest: text[offset:]}
	var found []value
	for u.rest != "" && (all || len(found) < limit) {
		if len(found) >= mostResults-100 {
			c.fail("stack overflow (in function mp_unpack_full)")
		}
		found = append(found, u.value(0))
	}
	if !all {
		at := len(text) - len(u.rest)
		if u.rest == "" {
			at = -1
		}
		c.push(float64(at))
	}
	c.push(found...)
}

// unpacker reads MessagePack as cmsgpack does.
type unpacker struct {
	c    *call
	rest string
}

// take takes so many bytes.
func (u *unpacker) take(n int) string {
	if n > len(u.rest) {
		u.c.fail("Missing bytes in input.")
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
const mostDeep = (mostResults - 100) / 2

func (u *unpacker) value(deep int) value {
	if deep > mostDeep {
		u.c.fail("stack overflow (in function mp_decode_to_lua_array)")
	}
	switch c := u.take(1)[0]; {
	case c == 0xc0:
		return nil
	case c == 0xc2, c == 0xc3:
		return c == 0xc3
	case c == 0xca:
		return float64(math.Float32frombits(uint32(u.unsigned(4))))
	case c == 0xcb:
		return float64(math.Float64frombits(u.unsigned(8)))
	case c == 0xcf:
		return float64(int64(u.unsigned(8))) // as cmsgpack does
	case c >= 0xcc && c < 0xcf:
		return float64(u.unsigned(1 << (c - 0xcc)))
	case c == 0xd0:
		return float64(int8(u.unsigned(1)))
	case c == 0xd1:
		return float64(int16(u.unsigned(2)))
	case c == 0xd2:
		return float64(int32(u.unsigned(4)))
	case c == 0xd3:
		return float64(int64(u.unsigned(8)))
	case c >= 0xd9 && c <= 0xdb:
		return u.take(int(u.unsigned(1 << (c - 0xd9))))
	case c == 0xdc, c == 0xdd:
		return u.array(int(u.unsigned(2<<(c-0xdc))), deep)
	case c == 0xde, c == 0xdf:
		return u.hash(int(u.unsigned(2<<(c-0xde))), deep)
	case c < 0x80, c >= 0xe0:
		return float64(int8(c))
	case c&0xe0 == 0xa0:
		return u.take(int(c & 0x1f))
	case c&0xf0 == 0x90:
		return u.array(int(c&0xf), deep)
	case c&0xf0 == 0x80:
		return u.hash(int(c&0xf), deep)
	default:
		u.c.fail("Bad data format in input.")
		return nil
	}
}

func (u *unpacker) array(n, deep int) value {
	t := u.c.r.newTable(0, 0)
	for i := 1; i <= n; i++ {
		t.setAt(i, u.value(deep+1))
	}
	return t
}

func (u *unpacker) hash(n, deep int) value {
	t := u.c.r.newTable(0, 0)
	for range n {
		key := u.value(deep + 1)
		v := u.value(deep + 1)
		*u.c.r.place(t, key) = v
	}
	return t
}
