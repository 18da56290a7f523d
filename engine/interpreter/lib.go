package interpreter

import (
	"crypto/sha1" //nolint:gosec // what redis.sha1hex is
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// library is what each script finds. No script can change it, so all share it.
type library struct {
	global        *table    // without KEYS and ARGV
	ofText        *table    // a text's metatable
	next, inOrder *function // of pairs, and of ipairs
}

// libraries makes the libraries of Redis' Lua.
var libraries = sync.OnceValue(func() *library {
	r := &Interpreter{}
	of := func(t *table, funcs map[string]func(*call)) *table {
		for _, name := range slices.Sorted(keysOf(funcs)) {
			t.setText(name, &function{native: funcs[name], id: r.identity()})
		}
		t.readonly = true
		return t
	}
	l := &library{global: r.newTable(0, 0), ofText: r.newTable(0, 1)}
	l.inOrder = &function{native: func(c *call) {
		n := c.int(2) + 1
		if v := c.table(1).at(n); v != nil {
			c.push(float64(n), v)
		} else {
			c.push(nil)
		}
	}, id: r.identity()}
	for name, funcs := range map[string]map[string]func(*call){
		"string": texts, "table": tables, "math": maths(), "coroutine": coroutines, "redis": redisCalls, "bit": bitwise, "struct": structs, "cmsgpack": messages,
		"cjson": jsonFuncs(func(c *call) *jsonSettings { return &c.r.json }),
	} {
		t := r.newTable(0, 0)
		for name, v := range constants[name] {
			t.setText(name, v)
		}
		l.global.setText(name, of(t, funcs))
	}
	l.ofText.setText("__index", l.global.get("string"))
	l.ofText.readonly = true
	l.global.setText("_VERSION", "Lua 5.1")
	l.global.meta = of(r.newTable(0, 1), map[string]func(*call){"__index": func(c *call) {
		c.fail("Script attempted to access nonexistent global variable '%s'", cut(c.r.written(c.get(2)), 100))
	}})
	of(l.global, base)
	l.next = l.global.get("next").(*function)
	return l
})

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range m {
			if !yield(name) {
				return
			}
		}
	}
}

// Constants of the libraries.
var constants = map[string]map[string]value{
	"math": {"pi": math.Pi, "huge": math.Inf(1)},
	"redis": {
		"LOG_DEBUG": 0.0, "LOG_VERBOSE": 1.0, "LOG_NOTICE": 2.0, "LOG_WARNING": 3.0, "REPL_NONE": 0.0, "REPL_AOF": 1.0, "REPL_SLAVE": 2.0,
		"REPL_REPLICA": 2.0, "REPL_ALL": 3.0, "REDIS_VERSION": "7.0.15", "REDIS_VERSION_NUM": float64(0x7000f),
	},
	"cmsgpack": {
		"_NAME": "cmsgpack", "_VERSION": "lua-cmsgpack 0.4.0", "_COPYRIGHT": "Copyright (C) 2012, Salvatore Sanfilippo", "_DESCRIPTION": "MessagePack C implementation for Lua",
	},
	"cjson": {"_NAME": "cjson", "_VERSION": "2.1.0", "null": null},
}

// texts is Lua's string.
var texts = map[string]func(*call){
	"byte": func(c *call) {
		text := c.text(1)
		from := relative(c.optional(2, 1), len(text))
		to := relative(c.optional(3, from), len(text))
		from, to = max(from, 1), min(to, len(text))
		if to-from+1 > mostResults-len(c.args) {
			c.fail("stack overflow (string slice too long)")
		}
		for n := from; n <= to; n++ {
			c.push(float64(text[n-1]))
		}
	},
	"char": func(c *call) {
		out := make([]byte, len(c.args))
		for n := range c.args {
			one := c.int(n + 1)
			if out[n] = byte(one); int(out[n]) != one {
				c.wrong(n+1, "invalid value")
			}
		}
		c.push(string(out))
	},
	"dump":   func(c *call) { c.function(1); c.lacks("string.dump") },
	"find":   func(c *call) { c.find(true) },
	"match":  func(c *call) { c.find(false) },
	"format": format,
	"gmatch": gmatch,
	"gfind":  gmatch,
	"gsub":   gsub,
	"len":    func(c *call) { c.push(float64(len(c.text(1)))) },
	"lower":  func(c *call) { c.push(mapped(c.text(1), upper)) },
	"upper":  func(c *call) { c.push(mapped(c.text(1), lower)) },
	"rep": func(c *call) {
		text, n := c.text(1), max(c.int(2), 0)
		if len(text) > 0 && n > c.r.longest()/len(text) {
			c.r.large("a text of string.rep")
		}
		c.push(strings.Repeat(text, n))
	},
	"reverse": func(c *call) {
		out := []byte(c.text(1))
		slices.Reverse(out)
		c.push(string(out))
	},
	"sub": func(c *call) {
		text := c.text(1)
		from, to := max(relative(c.whole(2), len(text)), 1), min(relative(c.optional(3, -1), len(text)), len(text))
		if from > to {
			c.push("")
			return
		}
		c.push(text[from-1 : to])
	},
}

// relative is a place in a text, which may be counted from its end.
func relative(n, size int) int {
	if n < 0 {
		n += size + 1
	}
	return max(n, 0)
}

// mapped has the letters of ASCII in the other case.
func mapped(text string, is func(byte) bool) string {
	out := []byte(text)
	for n, b := range out {
		if is(b) {
			out[n] ^= 0x20
		}
	}
	return string(out)
}

// tables is Lua's table.
var tables = map[string]func(*call){
	"concat": func(c *call) {
		separator := ""
		if c.get(2) != nil {
			separator = c.text(2)
		}
		t := c.table(1)
		from, last := c.optionalInt(3, 1), 0
		if c.get(4) != nil {
			last = c.int(4)
		} else {
			last = t.length()
		}
		var out strings.Builder
		for n := from; n <= last; n++ {
			v := t.at(n)
			one, ok := written(v)
			if !ok {
				c.fail("invalid value (%s) at index %d in table for 'concat'", typeName(v), n)
			}
			out.WriteString(one)
			if n < last {
				out.WriteString(separator)
			}
			if out.Len() > c.r.longest() {
				c.r.large("a text of table.concat")
			}
		}
		c.push(out.String())
	},
	"foreach": func(c *call) {
		t, f := c.table(1), c.function(2)
		for k, v, ok := t.next(nil); ok && k != nil; k, v, ok = t.next(k) {
			if v := c.r.call1(f, k, v); v != nil {
				c.push(v)
				return
			}
		}
	},
	"foreachi": func(c *call) {
		t, f := c.table(1), c.function(2)
		for n := range t.length() {
			if v := c.r.call1(f, float64(n+1), t.at(n+1)); v != nil {
				c.push(v)
				return
			}
		}
	},
	"getn": func(c *call) { c.push(float64(c.table(1).length())) },
	"insert": func(c *call) {
		t := c.table(1)
		last := t.length() + 1
		at := last
		switch len(c.args) {
		case 2:
		case 3:
			at = c.int(2)
			for n := max(last, at); n > at; n-- {
				c.r.step(1)
				c.set(t, n, t.at(n-1))
			}
		default:
			c.fail("wrong number of arguments to 'insert'")
		}
		c.set(t, at, c.args[len(c.args)-1])
	},
	"maxn": func(c *call) {
		most := 0.0
		c.table(1).each(func(k, _ value) {
			if n, ok := k.(float64); ok {
				most = max(most, n)
			}
		})
		c.push(most)
	},
	"remove": func(c *call) {
		t := c.table(1)
		last := t.length()
		at := c.optionalInt(2, last)
		if at < 1 || at > last {
			return
		}
		c.push(t.at(at))
		for ; at < last; at++ {
			c.r.step(1)
			c.set(t, at, t.at(at+1))
		}
		c.set(t, last, nil)
	},
	"setn": func(c *call) { c.table(1); c.fail("'setn' is obsolete") },
	"sort": func(c *call) {
		t := c.table(1)
		n := t.length()
		s := sorter{c: c, t: t}
		if c.get(2) != nil {
			s.less = c.function(2)
		}
		s.sort(1, n)
	},
}

// set sets a place of a table that may be written.
func (c *call) set(t *table, n int, v value) { *c.r.place(t, float64(n)) = v }

// sorter sorts as Lua does: equal values, and what an order that is none comes to, lie
// where they would there.
type sorter struct {
	c    *call
	t    *table
	less *function
}

func (s *sorter) before(a, b value) bool {
	s.c.r.step(1)
	if s.less == nil {
		return s.c.r.before(a, b, false)
	}
	return truth(s.c.r.call1(s.less, a, b))
}

func (s *sorter) swap(a int, v value, b int, w value) {
	s.c.set(s.t, a, w)
	s.c.set(s.t, b, v)
}

func (s *sorter) sort(low, high int) {
	t := s.t
	for low < high {
		if a, b := t.at(low), t.at(high); s.before(b, a) {
			s.swap(low, a, high, b)
		}
		if high-low == 1 {
			return
		}
		i := (low + high) / 2
		if a, b := t.at(i), t.at(low); s.before(a, b) {
			s.swap(i, a, low, b)
		} else if b := t.at(high); s.before(b, a) {
			s.swap(i, a, high, b)
		}
		if high-low == 2 {
			return
		}
		pivot := t.at(i)
		s.swap(i, pivot, high-1, t.at(high-1))
		i = low
		j := high - 1
		for {
			for i++; s.before(t.at(i), pivot); i++ {
				if i > high {
					s.c.fail("invalid order function for sorting")
				}
			}
			for j--; s.before(pivot, t.at(j)); j-- {
				if j < low {
					s.c.fail("invalid order function for sorting")
				}
			}
			if j < i {
				break
			}
			s.swap(i, t.at(i), j, t.at(j))
		}
		s.swap(high-1, t.at(high-1), i, t.at(i))
		if i-low < high-i {
			j, i, low = low, i-1, i+1
		} else {
			j, i, high = i+1, high, i-1
		}
		s.sort(j, i)
	}
}

// maths is Lua's math.
func maths() map[string]func(*call) {
	funcs := map[string]func(*call){
		"frexp":      func(c *call) { f, e := math.Frexp(c.number(1)); c.push(f, float64(e)) },
		"ldexp":      func(c *call) { c.push(math.Ldexp(c.number(1), c.int(2))) },
		"max":        func(c *call) { c.extreme(func(a, b float64) bool { return a > b }) },
		"min":        func(c *call) { c.extreme(func(a, b float64) bool { return a < b }) },
		"random":     func(c *call) { c.r.dice.random(c) },
		"randomseed": func(c *call) { c.r.dice.seed(int32(c.int(1))) },
		"modf": func(c *call) {
			n := c.number(1)
			part := n - math.Trunc(n)
			if math.IsInf(n, 0) {
				part = 0
			}
			c.push(math.Trunc(n), math.Copysign(part, n))
		},
	}
	for name, f := range map[string]func(float64) float64{
		"abs": math.Abs, "acos": math.Acos, "asin": math.Asin, "atan": math.Atan, "ceil": math.Ceil, "cos": math.Cos, "cosh": math.Cosh, "exp": math.Exp,
		"floor": math.Floor, "log": math.Log, "log10": math.Log10, "sin": math.Sin, "sinh": math.Sinh, "sqrt": math.Sqrt, "tan": math.Tan, "tanh": math.Tanh,
		"deg": func(n float64) float64 { return n / (math.Pi / 180) }, "rad": func(n float64) float64 { return n * (math.Pi / 180) },
	} {
		none := math.Copysign(math.NaN(), -1)
		switch name {
		case "acos", "asin", "log10":
			none = math.NaN()
		}
		funcs[name] = func(c *call) {
			n := c.number(1)
			switch out := f(n); {
			case math.IsNaN(n) && name != "abs":
				c.push(n)
			case math.IsNaN(out) && name != "abs":
				c.push(none)
			default:
				c.push(out)
			}
		}
	}
	for name, f := range map[string]func(a, b float64) float64{"atan2": math.Atan2, "fmod": math.Mod, "mod": math.Mod, "pow": math.Pow} {
		funcs[name] = func(c *call) { c.push(signed(f, c.number(1), c.number(2))) }
	}
	return funcs
}

// signed is what a function comes to; if that is no number, it has C's sign.
func signed(f func(a, b float64) float64, a, b float64) float64 {
	out := f(a, b)
	switch {
	case !math.IsNaN(out):
		return out
	case math.IsNaN(a):
		return a
	case math.IsNaN(b):
		return b
	default:
		return math.Copysign(out, -1)
	}
}

func (c *call) extreme(beats func(a, b float64) bool) {
	most := c.number(1)
	for n := 2; n <= len(c.args); n++ {
		if one := c.number(n); beats(one, most) {
			most = one
		}
	}
	c.push(most)
}

// format is string.format as C does it, with a bound.
func format(c *call) {
	text := c.text(1)
	var out strings.Builder
	next := 1
	for {
		before, after, found := strings.Cut(text, "%")
		out.WriteString(before)
		if out.Len() > c.r.longest() {
			c.r.large("a text of string.format")
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
		if next++; next > len(c.args) {
			c.wrong(next, "no value")
		}
		n := len(text) - len(strings.TrimLeft(text, "-+ #0"))
		if n > 5 {
			c.fail("invalid format (repeated flags)")
		}
		width := digits(text[n:])
		n += width
		precision := -1
		if strings.HasPrefix(text[n:], ".") {
			precision = digits(text[n+1:])
			n += 1 + precision
		}
		if width > 2 || precision > 2 {
			c.fail("invalid format (width or precision too long)")
		}
		if n == len(text) {
			c.fail("invalid option '%%' to 'format'")
		}
		spec, verb := "%"+text[:n], text[n]
		text = text[n+1:]
		switch verb {
		case 'c':
			one := string([]byte{byte(whole(c.number(next)))})
			one, _, _ = strings.Cut(fmt.Sprintf(strings.NewReplacer("+", "", " ", "", "#", "").Replace(spec)+"s", one), "\x00")
			out.WriteString(one)
		case 'd', 'i':
			fmt.Fprintf(&out, spec+"d", whole(c.number(next)))
		case 'u':
			fmt.Fprintf(&out, spec+"d", integerOf(c.number(next)))
		case 'o', 'x', 'X':
			fmt.Fprintf(&out, spec+string(verb), integerOf(c.number(next)))
		case 'e', 'E', 'f', 'g', 'G':
			n := c.number(next)
			if math.IsInf(n, 0) || math.IsNaN(n) {
				spec, _, _ = strings.Cut(strings.NewReplacer("0", "", "#", "").Replace(spec), ".")
				fmt.Fprintf(&out, spec+"s", number(n, digitsOfText))
				break
			}
			if precision < 0 {
				spec += ".6"
			}
			fmt.Fprintf(&out, spec+string(verb), n)
		case 'q':
			out.WriteString(quoted(c.text(next)))
		case 's':
			v := c.text(next)
			if precision >= 0 || len(v) < 100 {
				v, _, _ = strings.Cut(v, "\x00")
			}
			if len(v) > c.r.longest() {
				c.r.large("a text of string.format")
			}
			fmt.Fprintf(&out, strings.ReplaceAll(spec, "#", "")+"s", v)
		default:
			c.fail("invalid option '%%%c' to 'format'", verb)
		}
	}
	c.push(out.String())
}

func digits(text string) int { return len(text) - len(strings.TrimLeft(text, "0123456789")) }

func quoted(text string) string {
	return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", "\\\n", "\r", `\r`, "\x00", `\000`).Replace(text) + `"`
}

// dice is Redis' math.random: drand48's numbers, here from the same seed in each run,
// so that a question has one answer.
type dice uint64

func (d *dice) seed(n int32) { *d = dice(uint64(uint32(n))<<16 | 0x330E) }

func (d *dice) roll() float64 {
	*d = (*d*0x5DEECE66D + 0xB) & (1<<48 - 1)
	return float64(*d>>17%math.MaxInt32) / math.MaxInt32
}

func (d *dice) random(c *call) {
	roll := d.roll()
	low, high := 1, 0
	switch len(c.args) {
	case 0:
		c.push(roll)
		return
	case 1:
		high = c.int(1)
	case 2:
		low, high = c.int(1), c.int(2)
	default:
		c.fail("wrong number of arguments")
	}
	if low > high {
		c.wrong(len(c.args), "interval is empty")
	}
	c.push(math.Floor(roll*float64(high-low+1)) + float64(low))
}

// redisCalls is Redis' redis.
var redisCalls = map[string]func(*call){
	"call":               func(c *call) { c.command(true) },
	"pcall":              func(c *call) { c.command(false) },
	"error_reply":        errorReply,
	"status_reply":       statusReply,
	"replicate_commands": func(c *call) { c.push(true) },
	"breakpoint":         func(c *call) { c.push(false) },
	"debug":              func(*call) {},
	"set_repl": func(c *call) {
		if len(c.args) != 1 {
			c.refuse("redis.set_repl() requires two arguments.")
		}
		if flags := c.whole(1); flags&^3 != 0 {
			c.refuse("Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
		}
	},
	"sha1hex": func(c *call) {
		if len(c.args) != 1 {
			c.refuse("wrong number of arguments")
		}
		text, _ := written(c.args[0])
		sum := sha1.Sum([]byte(text)) //nolint:gosec // what redis.sha1hex is
		c.push(hex.EncodeToString(sum[:]))
	},
	"log": func(c *call) {
		if len(c.args) < 2 {
			c.refuse("redis.log() requires two arguments or more.")
		}
		n, ok := numeric(c.args[0])
		if !ok {
			c.refuse("First argument must be a number (log level).")
		}
		if level := whole(n); level < 0 || level > 3 {
			c.refuse("Invalid debug level.")
		}
	},
	"setresp": func(c *call) {
		if len(c.args) != 1 {
			c.refuse("redis.setresp() requires one argument.")
		}
		switch c.whole(1) {
		case 2:
		case 3:
			c.lacks("redis.setresp(3)")
		default:
			c.refuse("RESP version must be 2 or 3.")
		}
	},
	"acl_check_cmd": func(c *call) {
		if args := c.words(); !c.r.redis.Knows(args[0]) {
			c.refuse("Invalid command passed to redis.acl_check_cmd()")
		}
		c.push(true)
	},
}

// refuse raises an error of Redis'.
func (c *call) refuse(text string) { c.r.throw(c.r.failure("ERR " + text)) }

// Lacks begins what is refused because this Redis has it not, and a real one has.
const Lacks = "Relock's Redis has no "

// lacks refuses what would have another answer on a real Redis.
func (c *call) lacks(what string) { c.refuse(Lacks + what) }

func (r *Interpreter) failure(text string) *table {
	t := r.newTable(0, 0)
	t.setText("err", text)
	return t
}

// words are the arguments as a command has them.
func (c *call) words() []string {
	if len(c.args) == 0 {
		c.refuse("Please specify at least one argument for this redis lib call")
	}
	list := make([]string, len(c.args))
	for n, v := range c.args {
		switch v := v.(type) {
		case string:
			list[n] = v
		case float64:
			list[n] = number(v, digitsOfArgument)
		default:
			c.refuse("Lua redis lib command arguments must be strings or integers")
		}
	}
	return list
}

// command is redis.call, and redis.pcall if a mistake is returned.
func (c *call) command(raise bool) {
	var v value
	var failed string
	if wrong := c.r.caught(func() { v, failed = c.r.do(c.words()) }); wrong != nil {
		if raise {
			panic(wrong)
		}
		c.push(wrong.value)
		return
	}
	if failed == "" {
		c.push(v)
		return
	}
	t := c.r.failure(failed)
	t.setText("ignore_error_stats_update", true)
	if raise {
		c.r.throw(t)
	}
	c.push(t)
}

func errorReply(c *call) {
	text, ok := c.get(1).(string)
	if !ok || len(c.args) != 1 {
		c.push(c.r.failure("ERR wrong number or type of arguments"))
		return
	}
	s := strings.TrimPrefix(text, "-")
	if !strings.Contains(s, " ") {
		s = "ERR " + s
	}
	c.push(c.r.failure(s))
}

func statusReply(c *call) {
	text, ok := c.get(1).(string)
	if !ok || len(c.args) != 1 {
		c.push(c.r.failure("ERR wrong number or type of arguments"))
		return
	}
	c.push(c.r.status(text))
}

// bitwise is Redis' bit, which is Lua BitOp: numbers of 32 bits, with a sign.
var bitwise = map[string]func(*call){
	"tobit":   func(c *call) { c.bits(c.word(1)) },
	"bnot":    func(c *call) { c.bits(^c.word(1)) },
	"bswap":   func(c *call) { c.bits(bits.ReverseBytes32(c.word(1))) },
	"band":    folded(func(a, b uint32) uint32 { return a & b }),
	"bor":     folded(func(a, b uint32) uint32 { return a | b }),
	"bxor":    folded(func(a, b uint32) uint32 { return a ^ b }),
	"lshift":  shifted(func(a, b uint32) uint32 { return a << b }),
	"rshift":  shifted(func(a, b uint32) uint32 { return a >> b }),
	"arshift": shifted(func(a, b uint32) uint32 { return uint32(int32(a) >> b) }),
	"rol":     shifted(func(a, b uint32) uint32 { return bits.RotateLeft32(a, int(b)) }),
	"ror":     shifted(func(a, b uint32) uint32 { return bits.RotateLeft32(a, -int(b)) }),
	"tohex": func(c *call) {
		b, n, format := c.word(1), int32(8), "%08x"
		if len(c.args) > 1 {
			n = int32(c.word(2))
		}
		if n < 0 {
			n, format = -n, "%08X"
		}
		text := fmt.Sprintf(format, b)
		if n < 0 || n > 8 { // the least number has no other sign
			n = 8
		}
		c.push(text[8-n:])
	},
}

// word is an argument as BitOp rounds it: to even, by the last bits of a sum.
func (c *call) word(n int) uint32 {
	return uint32(math.Float64bits(c.number(n) + 6755399441055744.0))
}

func (c *call) bits(n uint32) { c.push(float64(int32(n))) }

func folded(f func(a, b uint32) uint32) func(*call) {
	return func(c *call) {
		all := c.word(1)
		for n := 2; n <= len(c.args); n++ {
			all = f(all, c.word(n))
		}
		c.bits(all)
	}
}

func shifted(f func(a, b uint32) uint32) func(*call) {
	return func(c *call) { a := c.word(1); c.bits(f(a, c.word(2)&31)) }
}
