package interpreter

import (
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
)

// base is Lua's own library, without what reaches out of a script.
var base = map[string]func(*call){
	"assert": func(c *call) {
		if !truth(c.some(1)) {
			text := "assertion failed!"
			if c.get(2) != nil {
				text = c.text(2)
			}
			c.fail("%s", text)
		}
		c.push(c.args...)
	},
	"collectgarbage": func(c *call) { c.lacks("collectgarbage") },
	"gcinfo":         func(c *call) { c.lacks("gcinfo") },
	"error": func(c *call) {
		v, level := c.get(1), c.optionalInt(2, 1)
		if text, ok := written(v); ok && level > 0 {
			v = c.r.where(level) + text
		}
		c.r.throw(v)
	},
	"getmetatable": func(c *call) {
		m := c.r.metatable(c.some(1))
		switch {
		case m == nil:
			c.push(nil)
		case m.get("__metatable") != nil:
			c.push(m.get("__metatable"))
		default:
			c.push(m)
		}
	},
	"ipairs": func(c *call) { c.push(c.r.inOrder, c.table(1), 0.0) },
	"load": func(c *call) {
		var text strings.Builder
		for f := c.function(1); ; {
			v := c.r.call1(f)
			piece, ok := written(v)
			if v == nil || piece == "" && ok {
				break
			}
			if !ok {
				c.push(nil, "reader function must return a string")
				return
			}
			if text.WriteString(piece); text.Len() > c.r.longest() {
				c.r.large("a text of load")
			}
		}
		c.load(text.String(), "=(load)")
	},
	"loadstring": func(c *call) { c.load(c.text(1), c.text(1)) },
	"next": func(c *call) {
		k, v, ok := c.table(1).next(c.get(2))
		if !ok {
			c.r.fail("invalid key to 'next'")
		}
		if c.push(k); k != nil {
			c.push(v)
		}
	},
	"pairs": func(c *call) { c.push(c.r.next, c.table(1), nil) },
	"pcall": func(c *call) {
		if len(c.args) == 0 { // to Redis' own pcall this is a call of true
			c.push(false, "attempt to call a boolean value")
			return
		}
		c.protected(func() []value { return c.r.call(c.args[0], c.args[1:], nil) }, func(t *thrown) []value {
			of, ok := t.value.(*table)
			if !ok {
				return []value{t.value}
			}
			failed := of.get("err")
			if isText(failed) { // of an error of Redis' that alone
				return []value{failed}
			}
			return []value{of, failed}
		})
	},
	"xpcall": func(c *call) {
		if len(c.args) < 2 {
			c.wrong(2, "value expected")
		}
		c.protected(func() []value { return c.r.call(c.args[0], nil, nil) }, func(t *thrown) []value {
			// The handler runs when the stack has been unwound.
			var v value
			if failed := c.r.caught(func() { v = first(c.r.call(c.args[1], []value{t.value}, nil)) }); failed != nil {
				v = failed.value
			}
			return []value{v}
		})
	},
	"rawequal": func(c *call) { c.some(1); c.some(2); c.push(c.args[0] == c.args[1]) },
	"rawget":   func(c *call) { t := c.table(1); c.some(2); c.push(t.get(c.args[1])) },
	"rawset": func(c *call) {
		t := c.table(1)
		c.some(2)
		c.some(3)
		*c.r.place(t, c.args[1]) = c.args[2]
		c.push(t)
	},
	"select": func(c *call) {
		n := len(c.args)
		if text, ok := c.get(1).(string); ok && strings.HasPrefix(text, "#") {
			c.push(float64(n - 1))
			return
		}
		i := c.int(1)
		if i < 0 {
			i += n
		} else if i > n {
			i = n
		}
		if i < 1 {
			c.wrong(1, "index out of range")
		}
		c.push(c.args[i:]...)
	},
	"setmetatable": func(c *call) {
		t := c.table(1)
		m, ok := c.get(2).(*table)
		if !ok && (len(c.args) < 2 || c.args[1] != nil) {
			c.wrong(2, "nil or table expected")
		}
		if t.meta != nil && t.meta.get("__metatable") != nil {
			c.fail("cannot change a protected metatable")
		}
		if t.readonly {
			c.r.fail("Attempt to modify a readonly table")
		}
		t.meta = m
		c.push(t)
	},
	"tonumber": toNumber,
	"tostring": func(c *call) { c.push(c.r.written(c.some(1))) },
	"type":     func(c *call) { c.push(typeName(c.some(1))) },
	"unpack": func(c *call) {
		t := c.table(1)
		from := c.optionalInt(2, 1)
		to := 0
		if c.get(3) != nil {
			to = c.int(3)
		} else {
			to = t.length()
		}
		if from > to {
			return
		}
		n := to - from + 1
		if n+len(c.args) > mostResults {
			c.fail("too many results to unpack")
		}
		c.out = make([]value, n)
		for i := range n {
			c.out[i] = t.at(from + i)
		}
	},
	"__redis__err__handler": func(c *call) {
		t := c.r.newTable(0, 0)
		t.setText("err", "ERR "+c.r.written(c.get(1)))
		c.push(t)
	},
}

// mostResults is how many values a function returns at most: Lua 5.1's stack of C.
const mostResults = 8000

// protected is pcall, whose errors are told.
func (c *call) protected(do func() []value, told func(*thrown) []value) {
	defer c.r.deeper()()
	var list []value
	if failed := c.r.caught(func() { list = do() }); failed != nil {
		c.push(false)
		c.push(told(failed)...)
		return
	}
	c.out = append(make([]value, 0, 1+len(list)), true)
	c.push(list...)
}

// load compiles a text that the script has.
func (c *call) load(text, chunk string) {
	if c.get(2) != nil {
		chunk = c.text(2)
	}
	c.r.step(len(text) / 8)
	compiled := source{text: text, chunk: chunkName(chunk)}.compile()
	if f := compiled.fault; f != nil {
		c.push(nil, chunkName(chunk)+":"+strconv.Itoa(f.Lines[0])+": "+f.What)
		return
	}
	c.push(&function{code: compiled.code, id: c.r.identity()})
}

// chunkName is how errors name a text.
func chunkName(of string) string {
	if name, ok := strings.CutPrefix(of, "="); ok {
		return cut(name, 59)
	}
	if name, ok := strings.CutPrefix(of, "@"); ok {
		return name
	}
	line, _, more := strings.Cut(of, "\n")
	const most = 60 - len(`[string "..."]`) - 1
	if len(line) > most || more {
		return `[string "` + cut(line, most) + `..."]`
	}
	return `[string "` + line + `"]`
}

// written is a value as tostring writes it. The addresses of tables and functions are
// counted, so that a question has one answer.
func (r *Interpreter) written(v value) string {
	if tm := r.metaOf(v, "__tostring"); tm != nil {
		text, ok := r.call1(tm, v).(string)
		if !ok {
			r.fail("'tostring' must return a string to 'print'")
		}
		return text
	}
	switch v := v.(type) {
	case nil:
		return "nil"
	case bool:
		return strconv.FormatBool(v)
	case *light:
		return "userdata: (nil)"
	case *table, *function, *thread:
		if r.addresses[v] == 0 {
			r.addresses[v] = len(r.addresses) + 1
		}
		return fmt.Sprintf("%s: 0x%012x", typeName(v), 0x55<<40+r.addresses[v]*64)
	}
	text, _ := written(v)
	return text
}

func toNumber(c *call) {
	base := c.optionalInt(2, 10)
	if base == 10 {
		if n, ok := numeric(c.some(1)); ok {
			c.push(n)
		} else {
			c.push(nil)
		}
		return
	}
	text := c.text(1)
	if base < 2 || base > 36 {
		c.wrong(2, "base out of range")
	}
	text, _, _ = strings.Cut(text, "\x00")
	text = strings.Trim(text, space)
	unsigned := strings.TrimPrefix(text, "-")
	minus := len(unsigned) < len(text)
	if !minus {
		unsigned = strings.TrimPrefix(text, "+")
	}
	unsigned = strings.ToLower(unsigned)
	if base == 16 {
		unsigned = strings.TrimPrefix(unsigned, "0x")
	}
	if strings.ContainsAny(unsigned, "+-_") {
		unsigned = ""
	}
	n, err := strconv.ParseUint(unsigned, base, 64)
	if err != nil && n != math.MaxUint64 {
		c.push(nil)
		return
	}
	if minus && err == nil {
		n = -n
	}
	c.push(float64(n))
}

// thread is a coroutine.
type thread struct {
	resume func() ([]value, bool)
	stop   func()
	given  []value // to it
	yield  func([]value) bool
	status string
	failed *thrown
	levels []level
	deep   int
	weight int
	around *thread
}

// The states of a coroutine.
const (
	suspended = "suspended"
	running   = "running"
	normal    = "normal"
	dead      = "dead"
)

// killed ends a coroutine that nobody resumes any more.
type killed struct{}

func (r *Interpreter) newThread(f *function) *thread {
	t := &thread{status: suspended}
	t.resume, t.stop = iter.Pull(func(yield func([]value) bool) {
		defer func() {
			if p := recover(); p != nil {
				if _, ok := p.(killed); !ok {
					panic(p)
				}
			}
		}()
		t.yield = yield
		var list []value
		if t.failed = r.try(func() { list = r.call(f, t.given, nil) }); t.failed == nil {
			t.given = list
		}
		t.status = dead
	})
	r.threads = append(r.threads, t)
	return t
}

// continues runs a coroutine until it yields or ends.
func (r *Interpreter) continues(t *thread, args []value) ([]value, *thrown) {
	if t.status != suspended {
		return nil, &thrown{value: "cannot resume " + t.status + " coroutine"}
	}
	defer r.deeper()()
	if r.thread != nil {
		r.thread.status = normal
	}
	t.around, t.given, t.status = r.thread, args, running
	levels, deep, weight := r.levels, r.deep, r.weight
	r.levels, r.deep, r.weight, r.thread = t.levels, t.deep, weight+t.weight, t
	list, yielded := t.resume()
	t.levels, t.deep, t.weight = r.levels, r.deep, r.weight-weight
	r.levels, r.deep, r.weight, r.thread = levels, deep, weight, t.around
	if r.thread != nil {
		r.thread.status = running
	}
	if yielded {
		t.status = suspended
		return list, nil
	}
	if t.failed != nil {
		if r.note(t.failed); r.ended() {
			panic(t.failed)
		}
		return nil, t.failed
	}
	return t.given, nil
}

func (c *call) coroutine() *thread {
	t, ok := c.get(1).(*thread)
	if !ok {
		c.wrong(1, "coroutine expected")
	}
	return t
}

func (c *call) newCoroutine() *thread {
	f := c.function(1)
	if f.native != nil {
		c.wrong(1, "Lua function expected")
	}
	c.r.step(32)
	return c.r.newThread(f)
}

var coroutines = map[string]func(*call){
	"create": func(c *call) { c.push(c.newCoroutine()) },
	"resume": func(c *call) {
		list, failed := c.r.continues(c.coroutine(), c.args[1:])
		if failed != nil {
			c.push(false, failed.value)
			return
		}
		c.push(true)
		c.push(list...)
	},
	"running": func(c *call) {
		if c.r.thread == nil {
			c.push(nil)
			return
		}
		c.push(c.r.thread)
	},
	"status": func(c *call) { c.push(c.coroutine().status) },
	"wrap": func(c *call) {
		t := c.newCoroutine()
		c.push(&function{id: c.r.identity(), native: func(c *call) {
			list, failed := c.r.continues(t, c.args)
			if failed != nil {
				v := failed.value
				if text, ok := written(v); ok {
					v = c.r.where(1) + text
				}
				c.r.throw(v)
			}
			c.push(list...)
		}})
	},
	"yield": func(c *call) {
		t := c.r.thread
		if t == nil || c.r.deep > 0 {
			c.r.fail("attempt to yield across metamethod/C-call boundary")
		}
		if !t.yield(c.args) {
			panic(killed{})
		}
		c.push(t.given...)
	},
}
