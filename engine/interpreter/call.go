package interpreter

import (
	"fmt"
	"strconv"
)

// Bounds of calls.
const (
	maxCalls  = 16384     // as in Lua 5.1
	maxNative = 200       // of functions of the script by native ones, as in Lua 5.1
	maxWeight = 1 << 17   // of the syntax of functions that call one another: it takes the process's stack
	maxArgs   = 8000 - 20 // what unpack may give, about
)

// call is a call of a native function.
type call struct {
	r    *Interpreter
	args []value
	out  []value // what it comes to
}

func (c *call) push(list ...value) { c.out = append(c.out, list...) }

// thrown is an error of Lua's on its way.
type thrown struct {
	value value
	lines Lines
}

// level is a function that has been called, and is not over.
type level struct {
	*frame // nil of a native function
}

// throw raises a value.
func (r *Interpreter) throw(v value) {
	t := &thrown{value: v}
	for n := len(r.levels) - 1; n >= 0 && len(t.lines) < 20; n-- {
		if f := r.levels[n].frame; f != nil && f.fn.code.chunk == Chunk {
			t.lines = append(t.lines, f.line)
		}
	}
	panic(t)
}

// where is the position of a level, 0 the innermost function, as a message begins with
// it; or nothing.
func (r *Interpreter) where(n int) string {
	for at := len(r.levels) - 1; at >= 0; at-- {
		f := r.levels[at].frame
		switch {
		case n == 0 && f != nil:
			return f.fn.code.chunk + ":" + strconv.Itoa(f.line) + ": "
		case n == 0:
			return ""
		}
		n--
		if f != nil {
			if n -= f.tails; n < 0 {
				return ""
			}
		}
	}
	return ""
}

// fail is an error of Lua itself: it names the line if the script's function runs.
func (r *Interpreter) fail(format string, args ...any) {
	r.throw(r.where(0) + fmt.Sprintf(format, args...))
}

// fail is an error of a native function: it names the line of who called it.
func (c *call) fail(format string, args ...any) {
	c.r.throw(c.r.where(1) + fmt.Sprintf(format, args...))
}

// wrong says what is wrong with an argument.
func (c *call) wrong(n int, what string) {
	name, kind := "?", ""
	if at := len(c.r.levels) - 2; at >= 0 {
		if f := c.r.levels[at].frame; f != nil && f.calling != nil {
			if kind, name = f.calling.described(); name == "" {
				name = "?"
			}
		}
	}
	if kind == "method" {
		if n--; n == 0 {
			c.fail("calling '%s' on bad self (%s)", name, what)
		}
	}
	c.fail("bad argument #%d to '%s' (%s)", n, name, what)
}

// described is what an expression is called in an error.
func described(e expression) (kind, name string) {
	switch e := e.(type) {
	case *local:
		return "local", e.v.name
	case *outer:
		return "upvalue", e.name
	case *global:
		return "global", e.name
	case *field:
		return "field", e.name
	case *element:
		return "field", "?"
	case *single:
		if _, ok := e.e.(many); !ok {
			return described(e.e)
		}
	}
	return "", ""
}

func (e *calling) described() (kind, name string) {
	if e.method != "" {
		return "method", e.method
	}
	return described(e.fn)
}

// wrongType says that a value, of an expression, is not what it should be.
func (r *Interpreter) wrongType(e expression, v value, what string) {
	r.wrongKind(v, what, func() (string, string) { return described(e) })
}

func (r *Interpreter) wrongKind(v value, what string, described func() (string, string)) {
	if kind, name := described(); kind != "" {
		r.fail("attempt to %s %s '%s' (a %s value)", what, kind, name, typeName(v))
	}
	r.fail("attempt to %s a %s value", what, typeName(v))
}

// step counts what the script does, and ends it when it has had its time.
func (r *Interpreter) step(n int) {
	if r.left -= n; r.left >= 0 {
		return
	}
	if r.following == nil && r.ctx != nil && r.ctx.Err() == nil || r.following == nil && r.ctx == nil {
		r.left = between
		return
	}
	if r.fault == nil {
		r.fault = &Fault{Kind: ErrEndless}
	}
	r.throw("the script must end")
}

// between is how many steps are between two looks at the context.
const between = 256

// call calls a function. The expression, which may be nil, is what calls it.
func (r *Interpreter) call(fn value, args []value, e *calling) []value {
	f, ok := fn.(*function)
	if !ok {
		tm, is := r.metaOf(fn, "__call").(*function)
		if !is {
			r.wrongKind(fn, "call", func() (string, string) {
				if e == nil {
					return "", ""
				}
				return e.described()
			})
		}
		f, args = tm, append([]value{fn}, args...)
	}
	if f.native != nil {
		return r.callNative(f, args)
	}
	return r.callOwn(f, args)
}

func (r *Interpreter) call1(fn value, args ...value) value {
	defer r.deeper()()
	return first(r.call(fn, args, nil))
}

// deeper counts what goes through native code; the returned function ends it.
func (r *Interpreter) deeper() func() {
	if r.deep++; r.deep >= maxNative {
		r.deep--
		r.fail("C stack overflow")
	}
	return func() { r.deep-- }
}

func (r *Interpreter) push(f *frame) {
	if len(r.levels) >= r.mostCalls() {
		r.fail("stack overflow")
	}
	r.levels = append(r.levels, level{f})
}

func (r *Interpreter) pop() { r.levels = r.levels[:len(r.levels)-1] }

func (r *Interpreter) callNative(fn *function, args []value) []value {
	c := call{r: r, args: args}
	r.push(nil)
	fn.native(&c)
	r.pop()
	r.step(1 + len(c.out)/8)
	return c.out
}

// callOwn calls a function of the script, and those that it ends with calling.
func (r *Interpreter) callOwn(fn *function, args []value) []value {
	for gone := 0; ; gone++ {
		r.step(1)
		c := fn.code
		if r.weight += c.weight; r.weight > maxWeight {
			r.weight -= c.weight
			r.fail("stack overflow")
		}
		f := &frame{r: r, fn: fn, line: c.line, tails: gone, slots: make([]value, c.slots), watching: r.following != nil}
		r.push(f)
		for n, p := range c.params {
			if n < len(args) {
				f.declare(p, args[n])
			} else {
				f.declare(p, nil)
			}
		}
		if c.dots && len(args) > len(c.params) {
			f.more = args[len(c.params):]
		}
		if c.arg != nil {
			f.declare(c.arg, f.further())
		}
		signal := f.run(c.body)
		r.pop()
		if r.weight -= c.weight; signal != tails {
			return f.results
		}
		fn, args = f.next.(*function), f.results
	}
}

// further is the table of further arguments.
func (f *frame) further() value {
	if f.fn.code.named {
		return nil
	}
	t := f.r.newTable(len(f.more), 1)
	t.fill(0, f.more)
	t.setText("n", float64(len(f.more)))
	return t
}

// try runs something, and returns the error that it raises.
func (r *Interpreter) try(do func()) (failed *thrown) {
	levels, weight, deep := len(r.levels), r.weight, r.deep
	defer func() {
		if p := recover(); p != nil {
			t, ok := p.(*thrown)
			if !ok {
				panic(p)
			}
			failed = t
			r.levels, r.weight, r.deep = r.levels[:levels], weight, deep
		}
	}()
	do()
	return nil
}

// caught tries something, and raises an error again if the script must end.
func (r *Interpreter) caught(do func()) *thrown {
	failed := r.try(do)
	if failed == nil {
		return nil
	}
	r.note(failed)
	if r.ended() {
		panic(failed)
	}
	return failed
}

// Values and their metatables.

func typeName(v value) string {
	switch v.(type) {
	case nil:
		return "nil"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case *table:
		return "table"
	case *function:
		return "function"
	case *thread:
		return "thread"
	default:
		return "userdata"
	}
}

// newTable makes a table with places for a list and for keys.
func (r *Interpreter) newTable(listed, keyed int) *table {
	t := &table{id: r.identity()}
	if listed > 0 || keyed > 0 {
		t.resize(listed, keyed)
	}
	return t
}

// identity is what tables and functions hash by: in a run always the same.
func (r *Interpreter) identity() uint64 {
	r.identities++
	return r.identities
}

func (r *Interpreter) metatable(v value) *table {
	switch v := v.(type) {
	case *table:
		return v.meta
	case string:
		return r.ofText
	}
	return nil
}

func (r *Interpreter) metaOf(v value, event string) value {
	if m := r.metatable(v); m != nil {
		return m.get(event)
	}
	return nil
}

// either is what one of two values has for an event.
func (r *Interpreter) either(a, b value, event string) value {
	if tm := r.metaOf(a, event); tm != nil {
		return tm
	}
	return r.metaOf(b, event)
}

const maxMetas = 100 // metatables of metatables

// index is what a value, of an expression, has under a key.
func (r *Interpreter) index(of, key value, e expression) value {
	for range maxMetas {
		var tm value
		if t, ok := of.(*table); ok {
			v := t.get(key)
			if v != nil || t.meta == nil {
				return v
			}
			if tm = t.meta.get("__index"); tm == nil {
				return nil
			}
		} else if tm = r.metaOf(of, "__index"); tm == nil {
			r.wrongType(e, of, "index")
		}
		if fn, ok := tm.(*function); ok {
			return r.call1(fn, of, key)
		}
		of, e = tm, nil
	}
	r.fail("loop in gettable")
	return nil
}

// setIndex sets what a value, of an expression, has under a key.
func (r *Interpreter) setIndex(of, key, v value, e expression) {
	for range maxMetas {
		var tm value
		if t, ok := of.(*table); ok {
			place := r.place(t, key)
			if *place == nil && t.meta != nil {
				tm = t.meta.get("__newindex")
			}
			if tm == nil {
				*place = v
				return
			}
		} else if tm = r.metaOf(of, "__newindex"); tm == nil {
			r.wrongType(e, of, "index")
		}
		if fn, ok := tm.(*function); ok {
			defer r.deeper()()
			r.call(fn, []value{of, key, v}, nil)
			return
		}
		of, e = tm, nil
	}
	r.fail("loop in settable")
}

// place is where a table has a key's value, which may be written.
func (r *Interpreter) place(t *table, key value) *value {
	if t.readonly {
		r.fail("Attempt to modify a readonly table")
	}
	switch k := key.(type) {
	case nil:
		r.fail("table index is nil")
	case float64:
		if k != k { // it is NaN
			r.fail("table index is NaN")
		}
	}
	return t.slot(key)
}

// before reports whether a value is less than another, or equal.
func (r *Interpreter) before(a, b value, orEqual bool) bool {
	switch x := a.(type) {
	case float64:
		if y, ok := b.(float64); ok {
			return x < y || orEqual && x == y
		}
	case string:
		if y, ok := b.(string); ok {
			return x < y || orEqual && x == y
		}
	}
	if one, other := typeName(a), typeName(b); one != other {
		r.fail("attempt to compare %s with %s", one, other)
	}
	both := func(event string) value {
		if tm := r.metaOf(a, event); tm != nil && tm == r.metaOf(b, event) {
			return tm
		}
		return nil
	}
	if orEqual {
		if tm := both("__le"); tm != nil {
			return truth(r.call1(tm, a, b))
		}
		if tm := both("__lt"); tm != nil {
			return !truth(r.call1(tm, b, a))
		}
	} else if tm := both("__lt"); tm != nil {
		return truth(r.call1(tm, a, b))
	}
	r.fail("attempt to compare two %s values", typeName(a))
	return false
}

// Arguments.

func (c *call) get(n int) value {
	if n <= len(c.args) {
		return c.args[n-1]
	}
	return nil
}

func (c *call) typeName(n int) string {
	if n > len(c.args) {
		return "no value"
	}
	return typeName(c.args[n-1])
}

func (c *call) wrongType(n int, expected string) {
	c.wrong(n, expected+" expected, got "+c.typeName(n))
}

// some is an argument that is there.
func (c *call) some(n int) value {
	if n > len(c.args) {
		c.wrong(n, "value expected")
	}
	return c.args[n-1]
}

// text is an argument that is a text, or a number as Lua writes it.
func (c *call) text(n int) string {
	text, ok := written(c.get(n))
	if !ok {
		c.wrongType(n, "string")
	}
	return text
}

// number is an argument that is a number, or reads as one.
func (c *call) number(n int) float64 {
	number, ok := numeric(c.get(n))
	if !ok {
		c.wrongType(n, "number")
	}
	return number
}

// whole is an argument that is a whole number, of C's long.
func (c *call) whole(n int) int { return int(whole(c.number(n))) }

// int is one of C's int.
func (c *call) int(n int) int { return int(int32(c.whole(n))) }

// optional is a whole number that may be left out.
func (c *call) optional(n, usual int) int {
	if c.get(n) == nil {
		return usual
	}
	return c.whole(n)
}

func (c *call) optionalInt(n, usual int) int {
	if c.get(n) == nil {
		return usual
	}
	return c.int(n)
}

func (c *call) table(n int) *table {
	t, ok := c.get(n).(*table)
	if !ok {
		c.wrongType(n, "table")
	}
	return t
}

func (c *call) function(n int) *function {
	f, ok := c.get(n).(*function)
	if !ok {
		c.wrongType(n, "function")
	}
	return f
}
